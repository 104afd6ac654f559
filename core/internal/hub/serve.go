package hub

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
	"slices"
	"syscall"

	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/limit"
)

// Options configures a replica and what it opens.
type Options struct {
	Config
	Listen     string // HOST:PORT
	Database   DatabaseConfig
	PluginDir  string
	BodyMemory int64  // 0: half of the memory of the process
	Simulator  string // URL of the simulator for the demo
	Token      string // of the simulator, for the console's sandbox
	Demo       bool
}

// Welcome is what a user of the demo needs.
type Welcome struct {
	sandbox.Demo
	URL         string // of the hub
	ConsoleLink string // works once; "" without a console
}

// Validate returns the mistakes in the options, except in those of the database. They name the environment variables
// of `servery serve`.
func (o Options) Validate() error {
	mistakes := o.Config.Validate()
	if _, port, err := net.SplitHostPort(o.Listen); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: must be HOST:PORT, not %q", o.Listen))
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: unknown port %q", port))
	}
	if o.BodyMemory != 0 && o.BodyMemory < minMemory {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_BODY_MEMORY: must be 0 or at least %d bytes", minMemory))
	}
	_, err := tracingEnabled(os.Getenv)
	return errors.Join(append(mistakes, err)...)
}

// Serve runs a replica until the context ends. It calls ready when it accepts requests of a demo.
func Serve(ctx context.Context, o Options, ready func(Welcome), log *slog.Logger) error {
	tracer, stopTracing, err := openTracing(ctx, o.Version, log)
	if err != nil {
		return err
	}
	defer stopTracing()
	o.Tracer, o.Memory = tracer, limit.NewMemory(bodyMemory(o.BodyMemory))
	if os.Getenv("GOGC") == "" {
		// Live data is small compared to the garbage of large requests. Collecting less often costs some memory and
		// saves a sixth of the time.
		debug.SetGCPercent(300)
	}
	slog.SetDefault(log) // for libraries with their own logging
	// Bind the address first: if it is taken, nothing has started yet.
	bound, err := bind(ctx, o.Listen)
	if err != nil {
		return err
	}
	defer bound.Close()
	var welcome func()
	listener, started := serveStarting(bound, startingServer(), func() {
		if welcome != nil {
			welcome()
		}
	})
	defer started()
	db, err := o.openDatabase(ctx, log)
	if err != nil {
		return err
	}
	defer db.CloseAll(log)
	if err := o.openPlugins(ctx, db, log); err != nil {
		return err
	}
	defer o.Host.Close()
	url := localURL(listener.Addr().String())
	o.Sandbox = sandbox.Options{BaseURL: url, DataDir: o.Database.DataDir, Token: o.Token}
	h := New(o.Config, db.DB, log)
	var demo sandbox.Demo
	if o.Demo {
		w, err := o.openDemo(ctx, h, url)
		if err != nil {
			return fmt.Errorf("preparing the demo: %w", err)
		}
		demo, welcome = w.Demo, func() { ready(w) }
		defer simulate(ctx, demo)()
	}
	h.mountPages(cmp.Or(o.Identity.BaseURL, url), demo.Business)
	log.Info("serving", "address", listener.Addr().String(), "roles", o.Roles, "version", o.Version)
	return h.Run(ctx, listener)
}

// openDatabase opens and migrates the database.
func (o *Options) openDatabase(ctx context.Context, log *slog.Logger) (*Database, error) {
	o.Database.Create = true
	db, err := OpenDatabase(ctx, o.Database, log)
	if err != nil {
		return nil, err
	}
	applied, err := schema.MigrateUp(ctx, db.DB)
	if len(applied) > 0 {
		log.Info("database migrated", "migrations", applied)
	}
	if err == nil {
		err = db.CheckSeal(ctx)
	}
	if err != nil {
		db.CloseAll(log)
		return nil, db.Remedy(err)
	}
	o.Platforms = platforms.New(db.DB)
	return db, nil
}

// openPlugins starts the plugins.
func (o *Options) openPlugins(ctx context.Context, db *Database, log *slog.Logger) error {
	host, metrics, err := OpenPlugins(ctx, PluginsConfig{Dir: o.PluginDir, Hidden: db.SecretDirs(), Tracer: o.Tracer,
		Log: log}, db.DB)
	if err != nil {
		return err
	}
	o.Host, o.Config.Plugins, o.PluginMetrics = host, host, metrics
	o.IngestPolicy.Vocabulary = host
	return nil
}

// openDemo prepares the demo business.
func (o *Options) openDemo(ctx context.Context, h *Hub, url string) (w Welcome, err error) {
	plugins, err := plugindir.Dir{Path: o.PluginDir, DB: h.db}.Running(ctx)
	if err != nil {
		return w, err
	}
	if w.Demo, err = sandbox.OpenDemo(ctx, sandbox.DemoConfig{DB: h.db, DataDir: o.Database.DataDir, BaseURL: url,
		Simulator: o.Simulator, Token: o.Token, Plugins: plugins, Subscriptions: h.Subscriptions(),
		Log: h.log}); err != nil {
		return w, err
	}
	w.URL = url
	if slices.Contains(o.Roles, RoleConsole) {
		w.ConsoleLink, err = sandbox.DemoLink(ctx, h.db, url)
	}
	return w, err
}

// simulate runs the demo's aggregators until the returned function is called. They still respond while the hub shuts
// down.
func simulate(ctx context.Context, demo sandbox.Demo) (stop func()) {
	simulating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		demo.Simulate(simulating)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func bind(ctx context.Context, address string) (*net.TCPListener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop the other program, or set SERVERY_LISTEN=HOST:PORT", address)
	}
	if err != nil {
		return nil, fmt.Errorf("serving on %s: %w", address, err)
	}
	return listener.(*net.TCPListener), nil // the network is always tcp
}

// localURL returns the local URL of a listener.
func localURL(address string) string {
	addr, err := netip.ParseAddrPort(address)
	if err == nil && addr.Addr().IsUnspecified() {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
		address = addr.String()
	}
	return "http://" + address
}
