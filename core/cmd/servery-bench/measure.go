package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"
)

// measureCommand runs measurements and prints their figures.
type measureCommand struct {
	Only    []string `placeholder:"FIGURE" help:"Measure only figures whose names begin so, such as stores or deliveries/drain."`
	Quick   bool     `help:"Fewer and shorter rounds: about four minutes instead of fourteen."`
	JSON    string   `name:"json" placeholder:"FILE" help:"Write the figures as JSON, too."`
	Page    string   `name:"markdown" placeholder:"FILE" help:"Put the table into a page, in the place of the one before, and draw the growth curves beside it."`
	Stores  string   `placeholder:"FILE" help:"A request of stores whose rows are posted; without it, or where it is missing, rows of the same shape are generated."`
	Menu    string   `placeholder:"FILE" help:"A menu request, as large as may be, for a business in India, which is posted without the key-value groups of plugins; without it, or where it is missing, one of the same shape and size is generated."`
	Hub     string   `default:"bin/servery" placeholder:"FILE" help:"The built hub (${default})."`
	Data    string   `placeholder:"DIR" help:"Where the private PostgreSQL keeps its files meanwhile; the directory for temporary files by default."`
	Profile string   `placeholder:"DIR" help:"Write CPU profiles of the figures that are measured within this process."`
	Strict  bool     `help:"Fail when a target is missed."`
}

// bench is what measurements share.
type bench struct {
	measureCommand
	log     *slog.Logger
	scratch string // removed at the end
	pg      *database

	variables []string // of the hub, beside the usual ones
}

// measurement produces figures; names are those of its figures, for selection.
type measurement struct {
	names   []string
	measure func(ctx context.Context, b *bench) ([]figure, error)
}

// measurements are made one group after the other; those of a group at the
// same time, because they mostly wait.
func measurements() [][]measurement {
	return [][]measurement{
		{{[]string{"stores/accept", "stores/job created", "stores/job updated"}, measureStores}},
		{{[]string{"stores/growth"}, measureStoreGrowth}},
		{{[]string{"stores/callback"}, measureCallbackLatency}},
		{{[]string{"menu/accept", "menu/job first", "menu/job unchanged", "menu/job 1% changed", "menu/memory"}, measureMenu}},
		{{[]string{"menu/growth"}, measureMenuGrowth}},
		{{[]string{"menu/independence"}, measureMenuIndependence}},
		{{[]string{"menu/effective"}, measureMenuEffective}},
		{{[]string{"deliveries/drain"}, measureDrain}},
		{{[]string{"deliveries/backlog"}, measureBacklog}},
		{{[]string{"deliveries/publish"}, measurePublish}},
		{{[]string{"deliveries/latency"}, measureLatency}},
		{{[]string{"deliveries/retry"}, measureRetry}, {[]string{"idle/memory", "idle/cpu"}, measureIdle}},
		{{[]string{"deliveries/neighbour"}, measureNeighbour}},
		{{[]string{"deliveries/thousand endpoints"}, measureThousand}},
		{{[]string{"deliveries/endpoints"}, measureEndpointGrowth}},
		{{[]string{"orders/intake", "orders/journey"}, measureOrders}},
		{{[]string{"orders/retry"}, measureOrderRetry}},
		{{[]string{"plugins/call"}, measurePluginCalls}},
		{{[]string{"plugins/start", "plugins/killed", "plugins/upgrade"}, measurePluginLife}},
		{{[]string{"plugins/menu check", "plugins/menu memory"}, measurePluginMenu}},
		{{[]string{"publish/menus", "publish/beside"}, measurePublishMenus}},
		{{[]string{"toggles/items", "toggles/items p99", "toggles/stores"}, measureToggles}},
		{{[]string{"sandbox/rush"}, measureRush}},
		{{[]string{"riders/locations", "riders/statuses"}, measureRiders}},
		{{[]string{"deliveries/history drain", "deliveries/history publish", "orders/history"}, measureHistory}},
		{{[]string{"replicas/two"}, measureReplicas}},
		{{[]string{"console/pages", "console/pages p95", "console/page size"}, measureConsole}},
		{{abuseNames(), measureAbuse}},
	}
}

// errMissed is the failure of a strict run.
var errMissed = errors.New("a target was missed")

// Run measures what was asked for. It leaves nothing behind, also when it is
// interrupted.
func (c *measureCommand) Run(ctx context.Context) error {
	limit := 45 * time.Minute
	if c.Quick {
		limit = 12 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b := &bench{measureCommand: *c, log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	var err error
	if b.scratch, err = scratchDirectory(c.Data); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	if b.pg, err = startDatabase(ctx, b.scratch, b.log); err != nil {
		return err
	}
	defer b.pg.close(b.log)
	on, err := describeMachine(ctx, b)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(on.line()); err != nil {
		return err
	}
	figures := b.measureAll(ctx, os.Stderr)
	if errors.Is(ctx.Err(), context.Canceled) { // interrupted: half a table says nothing
		return ctx.Err()
	}
	return b.report(os.Stdout, on, figures)
}

// report prints the table, writes the JSON, and tells what failed.
func (b *bench) report(out io.Writer, on machine, figures []figure) error {
	if _, err := io.WriteString(out, "\n"+table(figures)); err != nil {
		return err
	}
	if b.JSON != "" {
		if err := writeJSON(b.JSON, on, figures); err != nil {
			return err
		}
	}
	if b.Page != "" {
		if err := writeMarkdown(b.Page, on, figures); err != nil {
			return err
		}
	}
	for _, f := range figures {
		switch {
		case f.Error != "":
			return fmt.Errorf("%s could not be measured", f.Name)
		case b.Strict && f.Met != nil && !*f.Met:
			return errMissed
		}
	}
	return nil
}

// measureAll makes the selected measurements. One that fails yields a figure
// that says so, and the others go on.
func (b *bench) measureAll(ctx context.Context, progress io.Writer) []figure {
	var all []figure
	for _, group := range measurements() {
		results := make([][]figure, len(group))
		var running sync.WaitGroup
		for i, m := range group {
			if !b.selected(m) || errors.Is(ctx.Err(), context.Canceled) {
				continue
			}
			running.Go(func() {
				began := time.Now()
				figures, err := m.measure(ctx, b)
				if err != nil {
					figures = append(figures, figure{Name: m.names[0], Error: err.Error()})
				}
				results[i] = figures
				fmt.Fprintf(progress, "%-40s %5.1f s\n", strings.Join(m.names, ", "), time.Since(began).Seconds())
			})
		}
		running.Wait()
		all = append(all, slices.Concat(results...)...)
	}
	return all
}

func (b *bench) selected(m measurement) bool {
	if len(b.Only) == 0 {
		return true
	}
	return slices.ContainsFunc(m.names, func(name string) bool {
		return slices.ContainsFunc(b.Only, func(wanted string) bool { return strings.HasPrefix(name, wanted) })
	})
}

// pick is the first of the two in a full run and the second in a quick one.
func pick[T any](b *bench, full, quick T) T {
	if b.Quick {
		return quick
	}
	return full
}

// profiled runs the measured part of a figure, under the profiler when that
// was asked for.
func (b *bench) profiled(name string, measured func() error) error {
	if b.Profile == "" {
		return measured()
	}
	if err := os.MkdirAll(b.Profile, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(b.Profile, name+".pprof"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return measured()
}
