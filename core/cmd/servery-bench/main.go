// Command servery-bench measures the hub: intake of requests, rate and latency of deliveries, lateness of retries, and
// the cost of an idle hub. Each figure has a floor that the same run measured on the same machine: the least cost of
// the work without the hub. The file table.yaml lists all figures.
//
// It starts a private PostgreSQL with full durability. Figures of the whole hub use the built program. It connects to
// this machine only.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/procfs"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var all commands
	parsed := kong.Parse(&all, kong.Name("servery-bench"),
		kong.Description("Measure the hub against the floors of this machine."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	err := attempt(func() { check(parsed.Run()) })
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
	Quick  bool     `help:"Fewer and shorter rounds: about 17 minutes instead of 45, on two cores."`
	JSON   string   `name:"json" placeholder:"FILE" help:"Write the figures as JSON, too."`
	Page   string   `name:"markdown" type:"existingfile" help:"Write the table into a page, and the chart beside it."`
	Stores string   `placeholder:"FILE" help:"A request whose stores are posted. Default: generated stores."`
	Menu   string   `placeholder:"FILE" help:"A menu request for a business in India. Default: a generated menu."`
	Hub    string   `default:"bin/servery" placeholder:"FILE" help:"The built hub (${default})."`
	Data   string   `placeholder:"DIR" help:"Directory that keeps the data of console pages for later runs."`
	Kills  int      `default:"20" help:"How often replicas/takeover kills a replica."`
	Strict bool     `help:"Fail if a figure misses its target."`
}

// compareCommand compares two runs.
type compareCommand struct {
	Before string  `arg:"" placeholder:"FILE" help:"JSON of the earlier run."`
	After  string  `arg:"" placeholder:"FILE" help:"JSON of the later one."`
	Within float64 `default:"10" help:"Changes up to this percentage are ignored."`
	Strict bool    `help:"Fail if a figure is worse."`
}

// Run prints the later run with its changes.
func (c compareCommand) Run() error {
	before, after := must(figures.Read(c.Before)), must(figures.Read(c.After))
	changes, worse := figures.Compare(before.Figures, after.Figures, c.Within)
	fmt.Printf("%s\n%s\n%s", before.Machine.Line(), after.Machine.Line(), figures.Table(changes))
	verify(!worse || !c.Strict, "a figure is worse")
	return nil
}

// bench is what measurements share.
type bench struct {
	measureCommand
	scratch   string // removed at the end
	server    *devpg.Server
	admin     *postgres.DB
	databases int // created so far
}

// Run measures the selected figures. It leaves nothing behind but Data, also when it is interrupted.
func (c *measureCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pick(c.Quick, 90*time.Minute, 30*time.Minute))
	defer cancel()
	r := &run{bench: &bench{measureCommand: *c}, ctx: ctx}
	defer r.close()
	r.startDatabase()
	all := figures.Results{Machine: r.describeMachine()}
	fmt.Println(all.Machine.Line())
	for _, m := range measurements() {
		if slices.ContainsFunc(m.rows, r.selected) && ctx.Err() == nil {
			took := timed(func() { all.Figures = append(all.Figures, r.bench.measure(ctx, m)...) })
			fmt.Fprintf(os.Stderr, "%-40s %5.1f s\n", m.rows[0].Name, took/1000)
		}
	}
	verify(!errors.Is(ctx.Err(), context.Canceled), "%w", ctx.Err()) // half a table means nothing
	r.report(all)
	return ctx.Err()
}

// startDatabase starts the private PostgreSQL. It may run as another user, who must be able to enter the directory.
func (r *run) startDatabase() {
	dir := cmp.Or(r.Data, os.TempDir())
	check(os.MkdirAll(dir, 0o755))
	r.scratch = must(os.MkdirTemp(dir, "servery-bench-*"))
	r.Cleanup(func() { _ = os.RemoveAll(r.scratch) })
	check(os.Chmod(r.scratch, 0o755))
	log := hubtest.Logger()
	r.server = must(devpg.Start(r.ctx, devpg.Config{DataDir: cmp.Or(r.Data, r.scratch), Install: true, Testing: true,
		Log: log}))
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = r.server.Close(ctx)
	})
	r.admin = must(postgres.Open(r.ctx,
		postgres.Config{URL: r.server.AdminDSN(), Application: "servery-bench", Connections: 2, Log: log}))
	r.Cleanup(func() { _ = r.admin.Close() })
}

func (b *bench) selected(one figures.Figure) bool {
	return len(b.Only) == 0 ||
		slices.ContainsFunc(b.Only, func(prefix string) bool { return strings.HasPrefix(one.Name, prefix) })
}

// report prints the table, writes the files that were asked for, and fails if a figure does.
func (r *run) report(all figures.Results) {
	fmt.Print("\n", figures.Table(all.Figures))
	if r.JSON != "" {
		check(all.Write(r.JSON))
	}
	if r.Page != "" {
		check(all.WriteMarkdown(r.Page))
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

// describeMachine describes this machine and the versions of the programs.
func (r *run) describeMachine() figures.Machine {
	m := figures.Machine{CPU: "unknown processor", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Settings: map[string]string{}, FsyncMS: fsyncTime(filepath.Join(r.scratch, "fsync")),
		At: time.Now().UTC().Truncate(time.Second)}
	if cpus, err := must(procfs.NewDefaultFS()).CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
		m.CPU = cpus[0].ModelName
	}
	status, version, _ := hubtest.Run(r, r.Hub, nil, "version")
	verify(status == 0, "%s is no hub", r.Hub)
	m.Hub = strings.TrimSpace(version)
	db := openSQL(r.server.DSN(), 1)
	defer db.Close()
	setting := func(name string) (value string) {
		check(db.QueryRowContext(r.ctx, `SELECT current_setting(?)`, name).Scan(&value))
		return value
	}
	m.PostgreSQL = setting("server_version")
	for _, name := range figures.ShownSettings {
		m.Settings[name] = setting(name)
	}
	return m
}

// fsyncTime is the median time, in milliseconds, to write a page durably. Every durable commit costs at least that.
func fsyncTime(path string) float64 {
	file := must(os.Create(path))
	defer file.Close()
	return figures.Median(inTurn(50, func() float64 {
		return timed(func() {
			must(file.WriteAt(make([]byte, 8<<10), 0))
			check(file.Sync())
		})
	})[0])
}

// measurement measures the figures of its rows.
type measurement struct {
	measure func(*run)
	rows    []figures.Figure // without their values
}

// measurements are in the order of the table.
func measurements() (all []measurement) {
	rows := map[string][]figures.Figure{}
	decode("table.yaml", &rows)
	verify(len(rows) == len(measures), "the table has rows of %d measurements, not %d", len(rows), len(measures))
	for _, one := range measures {
		all = append(all, measurement{one.measure, rows[one.name]})
	}
	return all
}

// measures are the measurements of table.yaml, in its order.
var measures = []struct {
	name    string
	measure func(*run)
}{
	{"stores", measureStores},
	{"stores/growth", measureStoreGrowth},
	{"stores/callback", measureCallbackLatency},
	{"menu", measureMenu},
	{"menu/growth", measureMenuGrowth},
	{"menu/independence", measureMenuIndependence},
	{"menu/effective", measureMenuEffective},
	{"deliveries/drain", measureDrain},
	{"deliveries/backlog", measureBacklog},
	{"deliveries/publish", measurePublish},
	{"deliveries/latency", measureLatency},
	{"deliveries/retry", measureRetry},
	{"idle", measureIdle},
	{"idle/statements", measureIdleStatements},
	{"deliveries/neighbour", measureNeighbour},
	{"deliveries/thousand", measureThousand},
	{"deliveries/endpoints", measureEndpointGrowth},
	{"orders", measureOrders},
	{"orders/steady", measureSteady},
	{"orders/statuses", measureStatuses},
	{"orders/retry", measureOrderRetry},
	{"plugins/call", measurePluginCalls},
	{"plugins/life", measurePluginLife},
	{"plugins/menu", measurePluginMenu},
	{"publish", measurePublishMenus},
	{"toggles", measureToggles},
	{"sandbox/rush", measureRush},
	{"riders", measureRiders},
	{"history", measureHistory},
	{"replicas/two", measureReplicas},
	{"replicas/takeover", measureTakeover},
	{"console", measureConsole},
	{"abuse", measureAbuse},
}
