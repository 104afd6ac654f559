package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/followups"
	"github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/messages"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/outcomes"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/replicas"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/relay/jwks"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/core/webhook/catalogue"
	"github.com/servery-hub/servery/web"
)

// Hub is one replica: its components and the goroutines that run them.
type Hub struct {
	config           Config
	db               *postgres.DB
	log              *slog.Logger
	server           *web.Server
	connections      *inbound.Limiter // limits the connections to the server
	guard            *webhook.Guard
	senders          []*webhook.Sender // all that Run closes
	engine           *webhook.Engine
	runner           *job.Runner
	waits            *job.Waiter // requests that wait for their jobs
	intake           *intake.Intake
	riders           *orders.Riders
	followUps        followups.Store
	relay            *relay.Engine
	aggregatorSender *webhook.Sender // to aggregators
	tokens           *credential.Manager

	membership   *replicas.Membership // of the replicas that process work; nil without engines
	timerSet     chan struct{}        // buffered, one element: a timer was set
	clockSet     chan struct{}        // the same: the database's clock was set
	timer        toggle.Timer         // re-enables items and stores
	publisher    *publish.Engine
	keySetSender *webhook.Sender // of the key sets that verify callbacks

	tally      console.AttemptCounter // delivery attempts, for the console
	monitor    *monitor
	outcomes   outcomes.Store
	keyUses    access.KeyUsage  // for the console
	console    *adminui.Console // nil without the role
	wakeRunner func()           // no-op without a runner
	sandbox    *sandbox.Runner  // for the console
}

// New builds a hub. The database must be migrated and have its sealer.
func New(config Config, db *postgres.DB, log *slog.Logger) *Hub {
	h := &Hub{config: config, db: db, log: log, guard: webhook.NewGuard(config.Allow), wakeRunner: func() {},
		timerSet: make(chan struct{}, 1), clockSet: make(chan struct{}, 1),
		sandbox: sandbox.NewRunner(db, config.Sandbox)}
	m := newMetrics(db, config.Version, log)
	publications.UseDebounce(db, config.Debounce)
	h.connections = inbound.New(config.Connections.limits(log))
	m.registry.MustRegister(connectionCollector{h.connections}, memoryCollector{config.Memory})
	h.monitor = newMonitor(config, db, m.registry, log)
	h.outcomes = outcomes.New(db, newCallStore(db), m.outcomeReported)
	h.waits = job.NewWaiter(jobs.New(db), db.Clock(), log)
	h.riders = orders.NewRiders(db)
	h.followUps = followups.New(db, h.riders)
	h.intake = intake.New(db, h.followUps.ApplyWaiting)
	if slices.Contains(config.Roles, RoleWorker) {
		h.buildWorker(m)
	}
	h.keySetSender = h.newSender(webhook.SenderConfig{KeepLimit: maxPluginResponse})
	h.server = web.New(h.webConfig(m))
	if slices.Contains(config.Roles, RoleConsole) {
		h.console = h.newConsole()
	}
	m.registry.MustRegister(config.PluginMetrics.calls, config.PluginMetrics.states, pluginCollector{config.Host.Host})
	m.registry.MustRegister(replicaCollector{h})
	h.server.App.Get("/metrics", m.serve())
	return h
}

// buildWorker creates the engines of the role worker.
func (h *Hub) buildWorker(m *metrics) {
	config, db, clock := h.config, h.db, h.db.Clock()
	owner := core.NewID(clock.Now())
	poster := h.newSender(webhook.SenderConfig{UserAgent: "Servery/1 (webhooks)"})
	h.engine = webhook.NewEngine(webhook.Config{Owner: owner, Lease: config.DeliveryLease, Tracer: config.Tracer},
		webhook.Dependencies{Queue: deliveries.New(db), Poster: poster, Clock: clock,
			Observer: observer{m, &h.tally, h.monitor}, Log: h.log})
	outbox.UseStarter(db, h.engine)
	source := menus.NewMenuSource(db)
	handlers := map[core.JobKind]job.Handler{
		core.StoreJob: store.Ingestor{Storage: stores.New(db), Clock: clock},
		core.MenuJob: menu.Ingestor{Storage: menus.New(db), Policy: config.IngestPolicy,
			Inspector: config.Host.MenuInspector(source), RollbackStorage: menus.New(db),
			Clock: clock},
		core.TimingJob:     menu.TimingIngestor{Storage: menus.New(db), Clock: clock},
		core.OrderRetryJob: webhook.OrderRetry{Retries: deliveries.NewOrderRetries(db), Clock: clock},
		core.RecheckJob: menu.Rechecker{Storage: menus.New(db),
			Inspector: config.Host.RecheckInspector(source), Clock: clock},
		core.ProblemResendJob: webhook.ProblemResend{Resends: deliveries.NewProblemResends(db), Clock: clock},
		core.BulkResendJob:    webhook.BulkResend{Resends: deliveries.New(db), Clock: clock},
	}
	for kind := range handlers {
		m.jobs.WithLabelValues(string(kind), "failed") // so that the first failure shows as an increase
	}
	h.runner = job.NewRunner(job.Config{Owner: owner, Lease: config.JobLease, Memory: jobMemory{config.Memory},
		OnEnded: h.waits.NotifyEnded, Tracer: config.Tracer},
		job.Dependencies{Queue: jobs.New(db), Handlers: handlers, Clock: clock, Observer: m, Log: h.log})
	h.wakeRunner = h.runner.Wake
	h.buildTokens()
	h.buildPublisher(owner, m)
	h.buildRelay(owner, m)
	h.membership = replicas.NewMembership(db, owner, map[replicas.Queue]queue.Control{
		replicas.Deliveries: h.engine, replicas.Calls: h.relay,
		replicas.Jobs: h.runner, replicas.Publications: h.publisher,
	}, h.log)
	h.timer = toggle.Timer{Storage: availability.New(db), Clock: clock, Woken: h.timerSet, Log: h.log}
}

// webConfig connects the API to its stores.
func (h *Hub) webConfig(m *metrics) web.Config {
	config, db, clock := h.config, h.db, h.db.Clock()
	return web.Config{
		SystemOnly:    !slices.Contains(config.Roles, RoleAPI),
		MaxBody:       config.MaxBody,
		CORSOrigins:   config.CORSOrigins,
		Memory:        config.Memory,
		HeaderTimeout: config.Connections.HeaderTimeout,
		IdleTimeout:   config.Connections.IdleTimeout,
		Limits:        config.Limits,
		Authenticator: access.Access{Keys: accessdb.New(db), Clock: clock, Usage: &h.keyUses},
		Throttle:      limit.Throttle{States: accessdb.NewThrottles(db), Clock: clock},
		Addresses:     limit.Throttle{States: &limit.LocalStates{}, Clock: clock},
		Proxies:       config.Identity.Proxies,
		BaseURL:       config.Identity.BaseURL,
		Businesses:    accessdb.New(db),
		Platforms:     platforms.New(db),
		Jobs:          wakingJobs{jobs.New(db), h},
		Waits:         h.waits,
		Stores:        stores.New(db),
		Menus:         menus.New(db),
		IngestPolicy:  config.IngestPolicy,
		ChannelStores: store.ChannelStoreView{Reader: stores.New(db), Clock: clock},
		Orders:        orders.New(db),
		Riders:        h.riders,
		ActionDesk:    h.actionDesk(),
		Actions:       orders.NewActions(db),
		Callers: relay.Callers{Keys: platforms.NewCallers(db), Nonces: platforms.NewCallers(db),
			Tokens: jwks.New(outbound{h.keySetSender}, clock), Directory: platforms.New(db),
			Verifications: config.Plugins, Shared: platforms.NewShared(db), Clock: clock},
		Callbacks: config.Plugins,
		Fetches:   messages.New(db),
		Desk:      h.desk(),
		MenuServer: aggregator.NewMenuServer(config.Host, menus.NewMenuSource(db),
			platforms.NewCallers(db)),
		Publications:        publications.New(db),
		Checklist:           consoleview.NewChecklist(db, config.Plugins),
		Toggles:             availability.New(db),
		Subscriptions:       h.Subscriptions(),
		SubscriptionRecords: webhooksdb.New(db),
		Deliveries:          deliveries.New(db),
		Presence:            h.monitor.presence,
		Tester:              h.tester(),
		Ready:               db.Ping,
		Observer:            m,
		Tracer:              config.Tracer,
		Clock:               clock,
		Log:                 h.log,
	}
}

// Subscriptions returns the webhook subscriptions of businesses.
func (h *Hub) Subscriptions() webhook.Subscriptions {
	return webhook.Subscriptions{Store: webhooksdb.New(h.db), Guard: h.guard, Overlap: h.config.SecretOverlap,
		Clock: h.db.Clock()}
}

func (h *Hub) tester() webhook.Tester {
	return webhook.Tester{Subscriptions: webhooksdb.New(h.db), Publisher: outbox.NewPublisher(h.db),
		Sample: catalogue.Sample, Clock: h.db.Clock()}
}

// wakingJobs enqueues jobs and wakes this replica's runner at once.
type wakingJobs struct {
	jobs.Store
	hub *Hub
}

// Enqueue stores a job and wakes the runner.
func (w wakingJobs) Enqueue(ctx context.Context, work core.Job, requestID string) error {
	err := w.Store.Enqueue(ctx, work, requestID)
	if err == nil {
		w.hub.wakeRunner()
	}
	return err
}

// At shutdown, new requests are rejected for drainDelay, so that a load balancer notices. Running requests then have
// drainTimeout to end. After stopTimeout, requests that still wait for the database are aborted, because the process
// supervisor soon kills the process.
const (
	drainDelay   = 250 * time.Millisecond
	drainTimeout = 10 * time.Second
	stopTimeout  = 25 * time.Second
)

// clockRetries bounds the further attempts to follow the database's clock at the start.
const clockRetries = 4

// Run serves on the listener until the context ends, then stops gracefully. It rejects new requests, starts no new
// work, and finishes what is running.
func (h *Hub) Run(ctx context.Context, listener net.Listener) error {
	if err := h.startClock(ctx); err != nil {
		return err
	}
	_, maintainIn := h.maintain(ctx)
	if enabled, err := h.db.RLSEnabled(ctx); err == nil && !enabled {
		h.log.Warn("row-level security is off", "remedy", "run servery doctor")
	}
	leave, err := h.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	records, stopRecords := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRecords()
	parts, recorders := h.startParts(work, maintainIn), h.startRecorders(records)
	served := make(chan error, 1)
	go func() { served <- h.server.App.Listener(h.connections.Listener(listener)) }()
	select {
	case <-ctx.Done():
		h.log.Info("stopping")
		defer time.AfterFunc(stopTimeout, func() {
			h.log.Warn("closing database connections at shutdown")
			h.db.CloseConnections()
		}).Stop()
		h.server.Drain()
		h.waits.Stop()
		if h.console != nil {
			h.console.Stop()
		}
		<-time.After(drainDelay)
		if err = h.server.App.ShutdownWithTimeout(drainTimeout); errors.Is(err, context.DeadlineExceeded) {
			h.log.Warn("cancelling requests at shutdown")
			err = nil
		}
		<-served
	case err = <-served:
	}
	stopWork()
	parts.Wait()
	h.intake.Close() // after the relay, because the last responses of aggregators have orders, states and riders
	orders.New(h.db).CloseChanges()
	h.riders.Close()
	stopRecords()
	recorders.Wait()
	if h.tokens != nil {
		h.tokens.Close()
	}
	for _, sender := range h.senders {
		sender.Close()
	}
	return err
}

// startClock follows the database's clock. A slow round trip does not fail the start.
func (h *Hub) startClock(ctx context.Context) error {
	err := h.db.SyncClock(ctx)
	for n := 0; err != nil && ctx.Err() == nil && n < clockRetries; n++ {
		err = h.db.SyncClock(ctx)
	}
	return err
}

// newSender returns a Sender that the hub closes when it ends.
func (h *Hub) newSender(config webhook.SenderConfig) *webhook.Sender {
	config.UserAgent = cmp.Or(config.UserAgent, "Servery/1")
	sender := webhook.NewSender(config, h.guard, h.db.Clock())
	h.senders = append(h.senders, sender)
	return sender
}

// join makes this replica known to the others. The returned function ends that; call it after the engines have stopped.
func (h *Hub) join(ctx context.Context) (leave func(), err error) {
	if h.membership == nil {
		return func() {}, nil
	}
	if err := h.membership.Join(ctx); err != nil {
		return nil, err
	}
	member, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.membership.Run(member)
	}()
	return func() {
		end()
		<-ended
	}, nil
}

// startParts starts the background work of the hub, which runs until the context ends. The caller waits for the group.
func (h *Hub) startParts(work context.Context, maintainIn time.Duration) *sync.WaitGroup {
	parts := &sync.WaitGroup{}
	start := func(part func(context.Context)) { parts.Go(func() { part(work) }) }
	start(h.housekeep)
	start(func(ctx context.Context) { h.retain(ctx, maintainIn) })
	start(h.reportUnreadable)
	start(h.waits.Run)
	if h.engine != nil {
		start(h.engine.Run)
		start(h.runner.Run)
		start(h.relay.Run)
		start(h.publisher.Run)
		start(h.timer.Run)
	}
	start(h.listenNotifications)
	if h.console != nil {
		start(h.sandbox.Run)
		start(h.console.Run)
	}
	start(func(ctx context.Context) { h.config.Host.Run(ctx, h.engine != nil) })
	return parts
}

// startRecorders starts what stores the counts and records that the other parts keep in memory, also as these end. The
// caller ends the context after them, and waits for the group.
func (h *Hub) startRecorders(ctx context.Context) *sync.WaitGroup {
	recorders := &sync.WaitGroup{}
	recorders.Go(func() { h.storeConsoleRecords(ctx) })
	recorders.Go(func() { h.monitor.run(ctx, h.engine != nil) })
	if h.engine != nil {
		recorders.Go(func() { h.storeAttemptCounts(ctx) })
	}
	return recorders
}
