// Command servery-bench measures the hub: intake of requests, rate and latency of deliveries, lateness of retries, and
// the cost of an idle hub. Each figure has a floor that the same run measured on the same machine: the least cost of
// the work without the hub.
//
// It starts a private PostgreSQL with full durability. Figures of the whole hub use the built program. It connects to
// this machine only.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
)

// commands is the command line.
type commands struct {
	Measure measureCommand `cmd:"" default:"withargs" help:"Measure and print the figures (the default)."`
	Compare compareCommand `cmd:"" help:"Compare two runs."`

	Sink        sinkCommand        `cmd:"" hidden:"" help:"Be the endpoint of deliveries."`
	IntakeFloor intakeFloorCommand `cmd:"" hidden:"" help:"Be the server that stores each order by one INSERT."`
	Attack      attackCommand      `cmd:"" hidden:"" help:"Be the clients that attack a hub."`
	Burn        burnCommand        `cmd:"" hidden:"" help:"Use the processors."`
}

func main() {
	pluginhost.Shim()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var all commands
	parsed := kong.Parse(&all, kong.Name("servery-bench"),
		kong.Description("Measure the hub against the floors of this machine."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	err := parsed.Run()
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "servery-bench:", err)
		os.Exit(1)
	}
}

// measureCommand runs measurements and prints their figures.
type measureCommand struct {
	Only   []string `placeholder:"FIGURE" help:"Measure only figures with these prefixes, such as stores."`
	Quick  bool     `help:"Fewer and shorter rounds: about four minutes instead of fourteen."`
	JSON   string   `name:"json" placeholder:"FILE" help:"Write the figures as JSON, too."`
	Page   string   `name:"markdown" placeholder:"FILE" help:"Write the table into a page, and the chart beside it."`
	Stores string   `placeholder:"FILE" help:"A request whose stores are posted. Default: generated stores."`
	Menu   string   `placeholder:"FILE" help:"A menu request for a business in India. Default: a generated menu."`
	Hub    string   `default:"bin/servery" placeholder:"FILE" help:"The built hub (${default})."`
	Data   string   `placeholder:"DIR" help:"Directory for the private PostgreSQL. Default: temporary files."`
	Strict bool     `help:"Fail if a figure misses its target."`
}

// bench is what measurements share.
type bench struct {
	measureCommand
	scratch string // removed at the end
	server  *devpg.Server
	admin   *postgres.DB
}

// measurement adds figures to a run; names are their prefixes, for selection.
type measurement struct {
	measure func(*run)
	names   []string
}

func row(measure func(*run), names ...string) measurement { return measurement{measure, names} }

// measurements run group after group. Those of a group run in parallel, because they mostly wait.
func measurements() [][]measurement {
	return [][]measurement{
		{row(measureStores, "stores/accept", "stores/job created", "stores/job updated")},
		{row(measureStoreGrowth, "stores/growth")},
		{row(measureCallbackLatency, "stores/callback")},
		{row(measureMenu, "menu/accept", "menu/job first", "menu/job unchanged", "menu/job 1% changed", "menu/memory")},
		{row(measureMenuGrowth, "menu/growth")},
		{row(measureMenuIndependence, "menu/independence")},
		{row(measureMenuEffective, "menu/effective")},
		{row(measureDrain, "deliveries/drain")},
		{row(measureBacklog, "deliveries/backlog")},
		{row(measurePublish, "deliveries/publish")},
		{row(measureLatency, "deliveries/latency")},
		{row(measureRetry, "deliveries/retry"), row(measureIdle, "idle/memory", "idle/cpu")},
		{row(measureNeighbour, "deliveries/neighbour")},
		{row(measureThousand, "deliveries/thousand endpoints")},
		{row(measureEndpointGrowth, "deliveries/endpoints")},
		{row(measureOrders, "orders/intake", "orders/journey")},
		{row(measureOrderRetry, "orders/retry")},
		{row(measurePluginCalls, "plugins/call")},
		{row(measurePluginLife, "plugins/start", "plugins/killed", "plugins/upgrade")},
		{row(measurePluginMenu, "plugins/menu check", "plugins/menu memory")},
		{row(measurePublishMenus, "publish/menus", "publish/beside")},
		{row(measureToggles, "toggles/items", "toggles/items p99", "toggles/stores")},
		{row(measureRush, "sandbox/rush")},
		{row(measureRiders, "riders/locations", "riders/statuses")},
		{row(measureHistory, "deliveries/history drain", "deliveries/history publish", "orders/history")},
		{row(measureReplicas, "replicas/two")},
		{row(measureConsole, "console/pages", "console/pages p95", "console/page size")},
		{row(measureAbuse, abuseNames()...)},
	}
}

// Run measures the selected figures. It leaves nothing behind, also when it is interrupted.
func (c *measureCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pick(c.Quick, 45*time.Minute, 12*time.Minute))
	defer cancel()
	r := &run{bench: &bench{measureCommand: *c}, ctx: ctx}
	return attempt(func() {
		defer r.close()
		r.startDatabase()
		on := r.describeMachine()
		fmt.Println(on.line())
		figures := r.measureAll()
		if !errors.Is(ctx.Err(), context.Canceled) { // half a table means nothing
			r.report(results{on, figures})
		}
		check(ctx.Err())
	})
}

// startDatabase starts the private PostgreSQL. It may run as another user, who must be able to enter the directory.
func (r *run) startDatabase() {
	if r.Data != "" {
		check(os.MkdirAll(r.Data, 0o755))
	}
	r.scratch = must(os.MkdirTemp(r.Data, "servery-bench-*"))
	r.Cleanup(func() { _ = os.RemoveAll(r.scratch) })
	check(os.Chmod(r.scratch, 0o755))
	log := hubtest.Logger()
	r.server = must(devpg.Start(r.ctx, devpg.Config{DataDir: r.scratch, Install: true, Testing: true, Log: log}))
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = r.server.Close(ctx)
	})
	r.admin = must(postgres.Open(r.ctx,
		postgres.Config{URL: r.server.AdminDSN(), Application: "servery-bench", Connections: 2, Log: log}))
	r.Cleanup(func() { _ = r.admin.Close() })
}

// measureAll measures the selected figures in order.
func (r *run) measureAll() (all []figure) {
	for _, group := range measurements() {
		figures := make([][]figure, len(group))
		var running sync.WaitGroup
		for i, m := range group {
			if r.selected(m.names...) && r.ctx.Err() == nil {
				running.Go(func() {
					seconds := timed(func() { figures[i] = r.measure(r.ctx, m) }) / 1000
					fmt.Fprintf(os.Stderr, "%-40s %5.1f s\n", strings.Join(m.names, ", "), seconds)
				})
			}
		}
		running.Wait()
		all = append(all, slices.Concat(figures...)...)
	}
	return all
}

func (b *bench) selected(names ...string) bool {
	return len(b.Only) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(b.Only, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// report prints the table, writes the files that were asked for, and fails if a figure does.
func (r *run) report(all results) {
	fmt.Print("\n", table(all.Figures))
	if r.JSON != "" {
		all.write(r.JSON)
	}
	if r.Page != "" {
		all.writeMarkdown(r.Page)
	}
	for _, f := range all.Figures {
		verify(f.Error == "", "%s: %s", f.Name, f.Error)
		verify(!r.Strict || f.Met == nil || *f.Met, "%s missed its target", f.Name)
	}
}

// pick is the first value in a full run and the second in a quick one.
func pick[T any](quick bool, full, short T) T {
	if quick {
		return short
	}
	return full
}
