package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/web"
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

// Run serves until it is told to stop.
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
	tracer, stopTracing, err := openTracing(ctx, log)
	if err != nil {
		return err
	}
	defer stopTracing()
	config.tracer = tracer
	config.memory = limit.NewMemory(bodyMemory(c.BodyMemory))
	if os.Getenv("GOGC") == "" {
		// What lives on is small, what a large request makes and drops is not: collecting
		// less often costs some memory and saves a sixth of the time.
		debug.SetGCPercent(300)
	}
	slog.SetDefault(log) // for libraries that log by themselves
	// First the address: when it is taken nothing has been started yet.
	bound, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer bound.Close()
	demo := demoCredentials{}
	listener, started := greet(bound, func() { fmt.Fprint(out.stdout, demo.welcome) })
	defer started()
	c.begins = true
	db, err := c.open(ctx, log)
	if err != nil {
		return err
	}
	defer db.close(log)
	if applied, err := db.MigrateUp(ctx); err != nil {
		return err
	} else if len(applied) > 0 {
		log.Info("database migrated", "migrations", applied)
	}
	if err := db.CheckSeal(ctx); err != nil {
		return err
	}
	plugins, err := openPlugins(ctx, c.dir(), db.DB, config.tracer, log, db.secretDirs(c.DataDir)...)
	if err != nil {
		return err
	}
	defer plugins.Close()
	config.host, config.plugins, config.platforms = plugins, plugins, plugins.places
	if config.rulebook.Vocabulary, err = plugins.vocabulary(); err != nil {
		return err
	}
	h := newHub(config, db.DB, log)
	base := addressHere(listener.Addr().String())
	h.playground.flags = simulateFlags{databaseFlags: c.databaseFlags, BaseURL: base, Token: c.SimulatorToken}
	if c.Demo {
		if demo, err = c.demo(ctx, h, base, log); err != nil {
			return fmt.Errorf("preparing the demo: %w", err)
		}
	}
	h.mountPages(cmp.Or(strings.TrimSuffix(c.BaseURL, "/"), base), demo.Business)
	log.Info("serving", "address", listener.Addr().String(), "roles", config.roles, "version", version())
	return h.run(ctx, listener)
}

func listen(ctx context.Context, address string) (*net.TCPListener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use, perhaps by another servery: stop it, or choose another address with SERVERY_LISTEN=HOST:PORT", address)
	}
	if err != nil {
		return nil, fmt.Errorf("serving on %s: %w", address, err)
	}
	return listener.(*net.TCPListener), nil // as the network tcp has it
}

// addressHere is how this machine reaches what listens on the address.
func addressHere(listens string) string {
	at, err := netip.ParseAddrPort(listens)
	if err == nil && at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		listens = at.String()
	}
	return "http://" + listens
}

// longestLease bounds how long the work of a hub that died waits.
const longestLease = 10 * time.Minute

// config checks the flags, all of them, and names every mistake at once.
func (c serveCommand) config() (hubConfig, error) {
	var mistakes []error
	config := hubConfig{
		roles: c.Roles, maxBody: c.MaxBody, retention: c.Retention, limits: map[web.Limit]limit.Rule{},
		deliveryLease: c.DeliveryLease, jobLease: c.JobLease, renderings: c.Renderings, debounce: publish.Debounce{Quiet: c.PublishQuiet, Most: c.PublishWithin},
	}
	throttles := map[web.Limit]string{
		web.LimitStores: c.LimitStores, web.LimitMenu: c.LimitMenu, web.LimitWebhooks: c.LimitWebhooks, web.LimitRead: c.LimitRead, web.LimitRetry: c.LimitRetry,
		web.LimitOperations: c.LimitOps, web.LimitOrders: c.LimitOrders,
		web.LimitOrderUpdates: c.LimitUpdates, web.LimitSwitches: c.LimitSwitches, web.LimitCallbacks: c.LimitCallbacks,
		web.LimitRider: c.LimitRider, web.LimitLocation: c.LimitLocation, web.LimitActions: c.LimitActions,
	}
	for _, name := range slices.Sorted(maps.Keys(throttles)) {
		rule, err := limit.ParseRule(throttles[name])
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_LIMIT_%s: %w", name, err))
		}
		if name == web.LimitRetry || name == web.LimitCallbacks {
			rule.Block = 0 // who asked too often waits until the sliding window has a place: a block would keep orders out
		}
		config.limits[name] = rule
	}
	for _, text := range c.WebhookAllow {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_WEBHOOK_ALLOW: %q is not an address range such as 10.1.0.0/16", text))
		}
		config.allow = append(config.allow, prefix.Masked())
	}
	if _, err := tracingWanted(os.Getenv); err != nil {
		mistakes = append(mistakes, err)
	}
	mistakes = append(mistakes, c.places()...)
	if len(c.Roles) == 0 {
		mistakes = append(mistakes, errors.New("SERVERY_ROLES: is empty: a hub does at least one of api, worker, console"))
	}
	config.rulebook = menu.Rulebook{FlushGuard: c.FlushGuard}
	if c.FlushGuard < 0 || c.FlushGuard > 100 {
		mistakes = append(mistakes, errors.New("SERVERY_FLUSH_GUARD: must be from 0 to 100 percent"))
	}
	if c.MaxBody < 1<<10 || c.MaxBody > 1<<30 {
		mistakes = append(mistakes, errors.New("SERVERY_MAX_BODY: must be from 1024 to 1073741824 bytes"))
	}
	if c.BodyMemory != 0 && c.BodyMemory < leastMemory {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_BODY_MEMORY: must be 0 or at least %d bytes", leastMemory))
	}
	if c.Retention < 48*time.Hour {
		mistakes = append(mistakes, errors.New("SERVERY_RETENTION: must be at least 48h"))
	}
	if config.actionWithin = c.ActionWithin; c.ActionWithin != 0 && c.ActionWithin < time.Minute {
		mistakes = append(mistakes, errors.New("SERVERY_ACTION_WITHIN: must be 0 or at least 1m"))
	}
	if config.ackWithin = c.AckWithin; c.AckWithin != 0 && c.AckWithin < 30*time.Second {
		mistakes = append(mistakes, errors.New("SERVERY_ORDER_ACK_WITHIN: must be 0 or at least 30s"))
	}
	if config.silentAfter = c.SilentAfter; c.SilentAfter != 0 && c.SilentAfter < 2*time.Minute {
		mistakes = append(mistakes, errors.New("SERVERY_POS_SILENT_AFTER: must be 0 or at least 2m"))
	}
	config.identity = c.identityFlags
	mistakes = append(mistakes, c.identityFlags.wrong()...)
	config.connections = c.connectionFlags.config(c.trusted())
	mistakes = append(mistakes, c.connectionFlags.wrong(inbound.OpenFiles())...)
	config.secretOverlap = c.SecretOverlap
	if err := c.overlapFlag.wrong(); err != nil {
		mistakes = append(mistakes, err)
	}
	if c.PublishQuiet <= 0 || c.PublishWithin < c.PublishQuiet {
		mistakes = append(mistakes, errors.New("SERVERY_PUBLISH_QUIET: must be above 0 and at most SERVERY_PUBLISH_WITHIN"))
	}
	if c.Renderings < 1 || c.Renderings > 64 {
		mistakes = append(mistakes, errors.New("SERVERY_PUBLISH_RENDERINGS: must be from 1 to 64"))
	}
	if c.DeliveryLease < 10*time.Second || c.DeliveryLease > longestLease {
		mistakes = append(mistakes, errors.New("SERVERY_DELIVERY_LEASE: must be at least 10s, longer than an exchange, and at most 10m"))
	}
	if c.JobLease < time.Second || c.JobLease > longestLease {
		mistakes = append(mistakes, errors.New("SERVERY_JOB_LEASE: must be from 1s to 10m"))
	}
	if c.Demo {
		config.allow = append(config.allow, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return config, errors.Join(mistakes...)
}

// logger writes JSON lines. The demo keeps its terminal for people: its log
// goes to a file.
func (c serveCommand) logger(out output) (*slog.Logger, func(), error) {
	file := c.LogFile
	if file == "" && c.Demo {
		file = filepath.Join(c.DataDir, "servery.log")
	}
	if file == "" {
		return slog.New(slog.NewJSONHandler(out.stderr, &slog.HandlerOptions{Level: c.LogLevel})), func() {}, nil
	}
	opened, err := openLog(file)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(opened, &slog.HandlerOptions{Level: c.LogLevel})), func() { _ = opened.Close() }, nil
}

func openLog(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	opened, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	return opened, nil
}
