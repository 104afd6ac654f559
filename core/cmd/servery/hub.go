package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/core/webhook/catalogue"
	"github.com/servery-hub/servery/web"
)

// The roles that a process can take.
const (
	roleAPI     = "api"
	roleWorker  = "worker"
	roleConsole = "console"
)

// hubConfig is what a hub is made of.
type hubConfig struct {
	roles         []string
	limits        map[web.Limit]limit.Rule
	maxBody       int
	memory        *limit.Memory // for bodies; nil: no bound
	connections   connectionConfig
	allow         []netip.Prefix
	rulebook      menu.Rulebook
	retention     time.Duration
	deliveryLease time.Duration
	jobLease      time.Duration
	actionWithin  time.Duration // how long an aggregator may owe the outcome of an action; 0: for ever
	ackWithin     time.Duration // how long an order may wait for its acknowledgement; 0: for ever
	silentAfter   time.Duration // how long nothing may be heard of a POS; 0: for ever
	identity      identityFlags
	secretOverlap time.Duration // how long an earlier signing secret of a webhook signs too
	renderings    int           // menus that are rendered for aggregators at a time
	debounce      publish.Debounce
	tracer        *core.Tracer // nil: none
	host          *pluginHost
	plugins       plugins
	platforms     relay.Platforms
}

// hub is one replica: its parts and the goroutines that run them.
type hub struct {
	config hubConfig
	db     *postgres.DB
	log    *slog.Logger
	server *web.Server
	peers  *inbound.Limiter // of the connections to the server
	guard  *webhook.Guard
	sender *webhook.Sender
	engine *webhook.Engine
	runner *job.Runner
	intake *postgres.Intake
	riders *postgres.Riders
	relay  *relay.Engine
	caller *webhook.Sender // to aggregators

	timer     toggle.Timer // of what goes on again by itself
	publisher *publish.Engine
	courier   *webhook.Sender // of menus

	tally   console.Tally // of delivery attempts, for the console
	watch   *watchman
	uses    access.Uses      // of keys, for the console
	console *adminui.Console // nil without the role
	wakeUp  func()           // of the runner, where there is one

	playground playground            // of the console
	simulate   func(context.Context) // plays the aggregators of a demo; nil without
}

// newHub joins the parts. The database is migrated and has its sealer.
func newHub(config hubConfig, db *postgres.DB, log *slog.Logger) *hub {
	h := &hub{config: config, db: db, log: log, guard: webhook.NewGuard(config.allow), wakeUp: func() {}}
	clock, m := db.Clock(), newMetrics(db, log)
	db.UseDebounce(config.debounce)
	h.peers = inbound.New(config.connections.limits(log))
	m.registry.MustRegister(connectionFigures{h.peers})
	h.watch = newWatchman(config, db, m.registry, log)
	if slices.Contains(config.roles, roleWorker) {
		h.sender = webhook.NewSender(webhook.SenderConfig{UserAgent: "Servery/1 (webhooks)"}, h.guard, clock)
		h.engine = webhook.NewEngine(webhook.Config{Lease: config.deliveryLease, Tracer: config.tracer}, postgres.Deliveries{DB: db}, h.sender, clock, counting{m, &h.tally, h.watch}, log)
		db.UseStarter(h.engine)
		handlers := map[core.JobKind]job.Handler{
			core.StoreJob:      store.Ingestor{Records: postgres.Stores{DB: db}, Clock: clock},
			core.MenuJob:       menu.Ingestor{Records: postgres.Menus{DB: db}, Rulebook: config.rulebook, Inspector: inspector{config.host, inspectedWithin, inspectedAtOnce}, Rollbacks: postgres.Menus{DB: db}, Clock: clock},
			core.TimingJob:     menu.TimingIngestor{Records: postgres.Menus{DB: db}, Clock: clock},
			core.OrderRetryJob: webhook.OrderRetry{Records: postgres.Resends{DB: db}, Clock: clock},
			core.RecheckJob:    menu.Rechecker{Records: postgres.Menus{DB: db}, Inspector: inspector{config.host, recheckedWithin, recheckedAtOnce}, Clock: clock},
			core.RedeliveryJob: webhook.Redelivery{Records: postgres.Deliveries{DB: db}, Clock: clock},
		}
		for kind := range handlers {
			m.jobs.WithLabelValues(string(kind), "failed") // there from the start, so that the first failure is seen to come
		}
		h.runner = job.NewRunner(job.Config{Lease: config.jobLease, Memory: jobMemory{config.memory}, Tracer: config.tracer}, postgres.Jobs{DB: db}, handlers, clock, m, log)
		h.wakeUp = h.runner.Wake
	}
	h.intake, h.riders = postgres.NewIntake(db), postgres.NewRiders(db)
	if h.engine != nil {
		h.joinPublisher(config, m)
		h.joinRelay(config, m)
		h.timer = toggle.Timer{Records: postgres.Toggles{DB: db}, Clock: clock, Log: log}
	}
	h.server = web.New(web.Config{
		SystemOnly:          !slices.Contains(config.roles, roleAPI),
		MaxBody:             config.maxBody,
		Memory:              config.memory,
		HeaderTimeout:       config.connections.header,
		IdleTimeout:         config.connections.idle,
		Limits:              config.limits,
		Authenticator:       access.Access{Records: postgres.Access{DB: db}, Clock: clock, Uses: &h.uses},
		Throttle:            limit.Throttle{Records: postgres.Throttles{DB: db}, Clock: clock},
		Businesses:          db,
		Jobs:                wakingJobs{postgres.Jobs{DB: db}, h},
		Stores:              postgres.Stores{DB: db},
		Menus:               postgres.Menus{DB: db},
		Rulebook:            config.rulebook,
		Window:              store.Window{Reader: postgres.Stores{DB: db}, Clock: clock},
		Intake:              h.intake,
		Orders:              postgres.Orders{DB: db},
		Riders:              h.riders,
		ActionDesk:          action.Desk{Records: postgres.Actions{DB: db}, Offers: config.plugins, Clock: clock},
		Actions:             postgres.Actions{DB: db},
		Callers:             relay.Callers{Records: postgres.Callers{DB: db}, Directory: postgres.Platforms{DB: db}, Proofs: config.plugins, Clock: clock},
		Callbacks:           config.plugins,
		PlatformStores:      postgres.Callers{DB: db},
		Refusals:            postgres.Calls{DB: db},
		Publications:        postgres.Publications{DB: db},
		Checklist:           postgres.Checklist{DB: db, Offers: config.plugins},
		Toggles:             postgres.Toggles{DB: db},
		Subscriptions:       h.subscriptions(),
		SubscriptionRecords: postgres.Webhooks{DB: db},
		Deliveries:          postgres.Deliveries{DB: db},
		Presence:            h.watch.presence,
		Tester:              h.tester(),
		Ready:               db.Ping,
		Observer:            m,
		Tracer:              config.tracer,
		Clock:               clock,
		Log:                 log,
	})
	if slices.Contains(config.roles, roleConsole) {
		h.console = h.newConsole()
	}
	m.registry.MustRegister(config.host.metrics.calls, config.host.metrics.states, pluginFigures{config.host.Host})
	m.registry.MustRegister(lines{h})
	h.server.App.Get("/metrics", adaptor.HTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})))
	return h
}

func (h *hub) subscriptions() webhook.Subscriptions {
	return webhook.Subscriptions{Records: postgres.Webhooks{DB: h.db}, Guard: h.guard, Overlap: h.config.secretOverlap, Clock: h.db.Clock()}
}

func (h *hub) tester() webhook.Tester {
	return webhook.Tester{Records: postgres.Webhooks{DB: h.db}, Publisher: h.db, Sample: catalogue.Sample, Clock: h.db.Clock()}
}

// wakingJobs accepts jobs and has this replica look for them at once.
type wakingJobs struct {
	postgres.Jobs
	hub *hub
}

// Enqueue stores a job and wakes the runner.
func (w wakingJobs) Enqueue(ctx context.Context, work core.Job, requestID string) error {
	err := w.Jobs.Enqueue(ctx, work, requestID)
	if err == nil {
		w.hub.wakeUp()
	}
	return err
}

// At a stop, new requests are told so for a moment, in which a balancer notices;
// then those under way may take drainTime to end. What waits for the database after
// stopTime has no answer to hope for: whoever manages the process ends it soon.
const (
	refuseTime = 250 * time.Millisecond
	drainTime  = 10 * time.Second
	stopTime   = 25 * time.Second
)

// run serves on the listener until the context ends, then stops gracefully:
// no new requests, no new claims, what is in flight ends.
func (h *hub) run(ctx context.Context, listener net.Listener) error {
	if err := h.db.SetClock(ctx); err != nil {
		return err
	}
	_, again := h.maintain(ctx)
	if there, err := h.db.Walled(ctx); err == nil && !there {
		h.log.Warn(noWall, "do", mendsWall)
	}
	var parts sync.WaitGroup
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	start := func(part func(context.Context)) {
		parts.Add(1)
		go func() {
			defer parts.Done()
			part(work)
		}()
	}
	start(func(ctx context.Context) { h.housekeep(ctx, again) })
	start(h.tellUnreadable)
	start(h.keepNotes)
	start(func(ctx context.Context) { h.watch.run(ctx, h.engine != nil) })
	if h.engine != nil {
		start(h.engine.Run)
		start(h.keepCounts)
		start(h.runner.Run)
		start(h.relay.Run)
		start(h.publisher.Run)
		start(h.timer.Run)
		start(func(ctx context.Context) {
			h.db.Listen(ctx, h.runner.Wake, h.engine.Wake, h.relay.Wake, h.publisher.Wake)
		})
	}
	if h.console != nil {
		start(h.playground.run)
		start(h.console.Run)
	}
	if h.simulate != nil {
		start(h.simulate)
	}
	start(func(ctx context.Context) { h.config.host.run(ctx, h.engine != nil) })
	served := make(chan error, 1)
	go func() { served <- h.server.App.Listener(h.peers.Listener(listener)) }()
	var err error
	select {
	case <-ctx.Done():
		h.log.Info("stopping")
		defer time.AfterFunc(stopTime, func() {
			h.log.Warn("cutting off the database, which does not answer in time")
			h.db.CutOff()
		}).Stop()
		h.server.Drain()
		if h.console != nil {
			h.console.Stop()
		}
		<-time.After(refuseTime)
		if err = h.server.App.ShutdownWithTimeout(drainTime); errors.Is(err, context.DeadlineExceeded) {
			h.log.Warn("cutting off requests that did not end in time")
			err = nil
		}
		<-served
	case err = <-served:
	}
	h.intake.Close() // before the engine: what it stores begins its first attempts there
	h.riders.Close()
	stopWork()
	parts.Wait()
	if h.sender != nil {
		h.sender.Close()
		h.caller.Close()
		h.courier.Close()
	}
	return err
}

// tellUnreadable looks once for stored secrets that none of the keys opens: what needs
// them fails, and nothing else does.
func (h *hub) tellUnreadable(ctx context.Context) {
	sealed, err := h.db.Sealed(ctx)
	if err != nil && ctx.Err() == nil {
		h.log.Warn("the stored secrets could not be looked at", "error", err)
	}
	for _, column := range sealed {
		if column.Unreadable > 0 {
			h.log.Error("stored secrets cannot be opened: what needs them fails; add the key that sealed them to SERVERY_SECRET_KEY_PREVIOUS, or set them anew",
				"kept_in", column.Column, "secrets", column.Unreadable)
		}
	}
}

// maintain makes and drops partitions, and tells for how long what has been is kept and
// when to do so again: sooner where something could not be done, which stops nothing.
func (h *hub) maintain(ctx context.Context) (retention, again time.Duration) {
	retention, err := h.db.Retention(ctx, h.config.retention)
	if err == nil {
		err = h.db.Maintain(ctx, retention)
	}
	if err != nil {
		if ctx.Err() == nil {
			h.log.Warn("partitions could not be made or dropped; meanwhile the default ones take the rows", "error", err)
		}
		return retention, 5 * time.Minute
	}
	if retention > h.config.retention {
		h.log.Warn("SERVERY_RETENTION is longer at another hub, or was within a day: that counts, for all", "here", h.config.retention.String(), "counts", retention.String())
	}
	return retention, time.Hour
}

// housekeep keeps the clock right, the queue moving and, from then on, the partitions
// made, until the context ends.
func (h *hub) housekeep(ctx context.Context, then time.Duration) {
	clock, partitions := time.NewTicker(30*time.Second), time.NewTimer(then)
	defer clock.Stop()
	defer partitions.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			err = errors.Join(h.db.SetClock(ctx), postgres.Deliveries{DB: h.db}.Sweep(ctx))
		case <-partitions.C:
			retention, again := h.maintain(ctx)
			partitions.Reset(again)
			if retention > 0 {
				err = postgres.Orders{DB: h.db}.DropOld(ctx, retention)
			}
			err = errors.Join(err, h.riders.Sweep(ctx))
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("housekeeping failed; it is tried again", "error", err)
		}
	}
}
