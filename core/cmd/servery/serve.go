package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/limit"
)

// serveCommand runs the hub.
type serveCommand struct {
	databaseFlags
	pluginFlags
	simulatorFlags
	identityFlags
	overlapFlag
	connectionFlags
	Listen         string        `env:"SERVERY_LISTEN" default:"127.0.0.1:8080" help:"Address to serve on."`
	Roles          []string      `env:"SERVERY_ROLES" default:"api,worker,console" enum:"api,worker,console" help:"What this process does: api, worker, console."`
	WebhookAllow   []string      `name:"webhook-allow" env:"SERVERY_WEBHOOK_ALLOW" help:"Address ranges (CIDR) that deliveries may reach besides the public internet."`
	CORSOrigins    []string      `name:"cors-origins" env:"SERVERY_CORS_ORIGINS" help:"Origins of web pages that may call the API, separated by commas; * for all."`
	MaxBody        int           `name:"max-body" env:"SERVERY_MAX_BODY" default:"67108864" help:"Largest request body in bytes."`
	BodyMemory     int64         `name:"body-memory" env:"SERVERY_BODY_MEMORY" default:"0" help:"Memory for the bodies of requests and jobs, in bytes; 0 is half of what the process may use."`
	Retention      time.Duration `env:"SERVERY_RETENTION" default:"720h" help:"How long events, deliveries and attempts are kept."`
	LimitStores    string        `name:"limit-stores" env:"SERVERY_LIMIT_STORES" default:"20/1m" help:"Throttle of store requests, per business; off lifts it."`
	LimitMenu      string        `name:"limit-menu" env:"SERVERY_LIMIT_MENU" default:"1/5s" help:"Throttle of menu requests, per business."`
	FlushGuard     int           `name:"flush-guard" env:"SERVERY_FLUSH_GUARD" default:"0" help:"Share in percent; a flush that would take out more is held until it is sent with confirm_flush. 0 holds none."`
	LimitWebhooks  string        `name:"limit-webhooks" env:"SERVERY_LIMIT_WEBHOOKS" default:"5/1m" help:"Throttle of webhook subscription requests."`
	LimitRetry     string        `name:"limit-retry" env:"SERVERY_LIMIT_RETRY" default:"2/1h" help:"Throttle of order retries."`
	LimitRead      string        `name:"limit-read" env:"SERVERY_LIMIT_READ" default:"60/1m" help:"Throttle of read-back requests."`
	LimitOps       string        `name:"limit-operations" env:"SERVERY_LIMIT_OPERATIONS" default:"60/1m" help:"Throttle of what the hub adds, such as retrying a delivery."`
	LimitOrders    string        `name:"limit-orders" env:"SERVERY_LIMIT_ORDERS" default:"off" help:"Throttle of the calls that bring, follow and move orders."`
	LimitUpdates   string        `name:"limit-order-updates" env:"SERVERY_LIMIT_ORDER_UPDATES" default:"30000/1m" help:"Throttle of what the POS says of orders: status, reference, items out of stock."`
	LimitSwitches  string        `name:"limit-switches" env:"SERVERY_LIMIT_SWITCHES" default:"1200/1m" help:"Throttle of the calls that switch stores and items on and off."`
	LimitCallbacks string        `name:"limit-callbacks" env:"SERVERY_LIMIT_CALLBACKS" default:"30000/1m" help:"Throttle of what aggregators send, per platform of a business."`
	LimitRider     string        `name:"limit-rider" env:"SERVERY_LIMIT_RIDER" default:"100/1m" help:"Throttle of rider statuses."`
	LimitLocation  string        `name:"limit-location" env:"SERVERY_LIMIT_LOCATION" default:"6000/1m" help:"Throttle of rider locations."`
	LimitActions   string        `name:"limit-actions" env:"SERVERY_LIMIT_ACTIONS" default:"100/1m" help:"Throttle of feature actions."`
	ActionWithin   time.Duration `name:"action-within" env:"SERVERY_ACTION_WITHIN" default:"1h" help:"How long an aggregator may owe the outcome of a feature action before it counts as failed; 0 is for ever."`
	AckWithin      time.Duration `name:"order-ack-within" env:"SERVERY_ORDER_ACK_WITHIN" default:"5m" help:"How long an order may wait for its acknowledgement before it is escalated; 0 escalates none."`
	SilentAfter    time.Duration `name:"pos-silent-after" env:"SERVERY_POS_SILENT_AFTER" default:"30m" help:"After what time without a sign of life the POS of an open store counts as silent; 0 looks for none."`
	LogLevel       slog.Level    `name:"log-level" env:"SERVERY_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	LogFile        string        `name:"log-file" env:"SERVERY_LOG_FILE" help:"File to write the log to instead of standard error."`
	DeliveryLease  time.Duration `name:"delivery-lease" env:"SERVERY_DELIVERY_LEASE" default:"20s" help:"How soon another replica takes over deliveries of one that died."`
	JobLease       time.Duration `name:"job-lease" env:"SERVERY_JOB_LEASE" default:"15s" help:"How soon another replica takes over jobs of one that died."`
	PublishQuiet   time.Duration `name:"publish-quiet" env:"SERVERY_PUBLISH_QUIET" default:"2s" help:"How long no change may come before a store's menu is published to its aggregators."`
	PublishWithin  time.Duration `name:"publish-within" env:"SERVERY_PUBLISH_WITHIN" default:"15s" help:"After what time it is published even so."`
	Renderings     int           `name:"publish-renderings" env:"SERVERY_PUBLISH_RENDERINGS" default:"1" help:"How many menus are rendered for aggregators at a time."`
	SimulatorToken string        `name:"simulator-token" env:"SERVERY_SIMULATOR_TOKEN" help:"Of the simulator, where it asks for one, for the console's sandbox."`
	Demo           bool          `env:"SERVERY_DEMO" help:"Make a demo business with webhooks to a built-in receiver, and print how to use it."`
}

// Run serves until the context ends.
func (c serveCommand) Run(ctx context.Context, out output) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	log, closeLog, err := c.logger(out)
	if err != nil {
		return err
	}
	defer closeLog()
	tracer, stopTracing, err := hub.OpenTracing(ctx, version(), log)
	if err != nil {
		return err
	}
	defer stopTracing()
	config.Tracer = tracer
	config.Memory = limit.NewMemory(hub.BodyMemory(c.BodyMemory))
	if os.Getenv("GOGC") == "" {
		// Live data is small compared to the garbage of large requests. Collecting less often costs some memory and
		// saves a sixth of the time.
		debug.SetGCPercent(300)
	}
	slog.SetDefault(log) // for libraries with their own logging
	// Bind the address first: if it is taken, nothing has started yet.
	bound, err := bind(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer bound.Close()
	welcome := ""
	listener, started := hub.RespondStarting(bound, func() { fmt.Fprint(out.stdout, welcome) })
	defer started()
	c.begins = true
	db, err := c.open(ctx, log)
	if err != nil {
		return err
	}
	defer db.CloseAll(log)
	if applied, err := schema.MigrateUp(ctx, db.DB); err != nil {
		return err
	} else if len(applied) > 0 {
		log.Info("database migrated", "migrations", applied)
	}
	if err := db.CheckSeal(ctx); err != nil {
		return err
	}
	plugins, metrics, err := hub.OpenPlugins(ctx, c.dir(), db.DB, config.Tracer, log, db.SecretDirs(c.DataDir)...)
	if err != nil {
		return err
	}
	defer plugins.Close()
	config.Host, config.Plugins, config.PluginMetrics = plugins, plugins, metrics
	config.Platforms = platforms.New(db.DB)
	if config.Rulebook.Vocabulary, err = plugins.Vocabulary(); err != nil {
		return err
	}
	base := addressHere(listener.Addr().String())
	config.Sandbox = sandbox.Options{BaseURL: base, DataDir: c.DataDir, Token: c.SimulatorToken}
	h := hub.New(config, db.DB, log)
	demo := sandbox.Demo{}
	if c.Demo {
		if demo, welcome, err = c.demo(ctx, h, db.DB, base, log); err != nil {
			return fmt.Errorf("preparing the demo: %w", err)
		}
		defer simulate(ctx, demo)()
	}
	h.MountPages(cmp.Or(strings.TrimSuffix(c.BaseURL, "/"), base), demo.Business)
	log.Info("serving", "address", listener.Addr().String(), "roles", config.Roles, "version", version())
	return h.Run(ctx, listener)
}

func bind(ctx context.Context, address string) (*net.TCPListener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil,
			fmt.Errorf("%s is in use: stop the other program, or set SERVERY_LISTEN=HOST:PORT", address)
	}
	if err != nil {
		return nil, fmt.Errorf("serving on %s: %w", address, err)
	}
	return listener.(*net.TCPListener), nil // the network is always tcp
}

// addressHere returns the local address of a listener.
func addressHere(listens string) string {
	at, err := netip.ParseAddrPort(listens)
	if err == nil && at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		listens = at.String()
	}
	return "http://" + listens
}
