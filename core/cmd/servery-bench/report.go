package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// results is a run as it is written for programs.
type results struct {
	Machine machine  `json:"machine"`
	Figures []figure `json:"figures"`
}

func (r results) write(file string) {
	check(os.WriteFile(file, append(must(json.MarshalIndent(r, "", "  ")), '\n'), 0o644))
}

func readResults(file string) (r results) {
	check(json.Unmarshal(must(os.ReadFile(file)), &r))
	return r
}

// The table of a page is between these lines.
const (
	tableBegins = "<!-- the last table: written by servery-bench --markdown -->"
	tableEnds   = "<!-- the end of the last table -->"
)

// writeMarkdown replaces the table of a page. In the directory of the page it updates the capacities in README.md,
// and writes bench.json and growth.svg unless only some figures were measured.
func (r results) writeMarkdown(file string) {
	beside := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	check(os.WriteFile(file, r.withTable(must(os.ReadFile(file))), 0o644))
	if guide, err := os.ReadFile(beside("README.md")); err == nil {
		check(os.WriteFile(beside("README.md"), []byte(capacities(string(guide), r.Figures)), 0o644))
	}
	if chart := drawChart(r.Figures); chart != "" {
		r.write(beside("bench.json"))
		check(os.WriteFile(beside("growth.svg"), []byte(chart), 0o644))
	}
}

func (r results) withTable(page []byte) []byte {
	before, rest, begins := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	verify(begins && ends, "the page has no place for the table: the lines %s and %s", tableBegins, tableEnds)
	return fmt.Appendf(nil, "%s%s\n\n%s\n\nMeasured %s.\n\n```\n%s```\n\n%s%s", before, tableBegins, r.Machine.line(),
		r.Machine.At.UTC().Format("2006-01-02"), table(r.Figures), tableEnds, after)
}

// capacities updates the table of a page in which the name of a figure, in backquotes, is followed by its value.
func capacities(page string, figures []figure) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		cells := strings.Split(line, " | ")
		for _, f := range figures {
			if len(cells) > 2 && cells[1] == "`"+f.Name+"`" && f.Error == "" {
				cells[2] = amount(f.Measured, f.Unit)
				lines[i] = strings.Join(cells, " | ")
			}
		}
	}
	return strings.Join(lines, "\n")
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
	return attempt(func() {
		before, after := readResults(c.Before), readResults(c.After)
		figures, worse := compare(before.Figures, after.Figures, c.Within)
		fmt.Printf("%s\n%s\n%s", before.Machine.line(), after.Machine.line(), table(figures))
		verify(!worse || !c.Strict, "a figure is worse")
	})
}

// compare notes the change of each figure, and reports whether one is worse. It compares ratios to the floor where both
// runs have one, because these hold across machines.
func compare(before, after []figure, within float64) (noted []figure, worse bool) {
	earlier := map[string]figure{}
	for _, f := range before {
		earlier[f.Name] = f
	}
	for _, now := range after {
		was, known := earlier[now.Name]
		delete(earlier, now.Name)
		switch {
		case now.Error != "":
			worse = true
		case !known || was.Error != "":
			now.Note = "new"
		default:
			change := 100 * (now.Measured/was.Measured - 1)
			now.Note = fmt.Sprintf("was %s, %+.0f%%", amount(was.Measured, was.Unit), change)
			if was.Ratio != nil && now.Ratio != nil {
				change = 100 * (*now.Ratio / *was.Ratio - 1)
				now.Note += fmt.Sprintf(", %+.0f%% by ratio", change)
			}
			if now.Unit == perSecond { // more is better
				change = -change
			}
			missed := was.Met != nil && *was.Met && now.Met != nil && !*now.Met
			switch {
			case missed || change > within:
				now.Note, worse = now.Note+": WORSE", true
			case change < -within:
				now.Note += ": better"
			}
		}
		noted = append(noted, now)
	}
	for _, f := range before {
		if _, gone := earlier[f.Name]; gone {
			noted = append(noted, figure{Name: f.Name, Error: "not measured"})
		}
	}
	return noted, worse
}

// growthCurves are the figures of the chart, by the prefix of their names.
var growthCurves = []struct{ prefix, title, x string }{
	{"menu/growth ", "A menu: cost of one object", "objects in the request"},
	{"stores/growth ", "Stores: cost of one store", "stores in the request"},
	{"deliveries/endpoints ", "Deliveries a second", "endpoints"},
	{"deliveries/history drain", "Deliveries a second", "deliveries in the history"},
}

const chartStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #333; text-anchor: middle }
.line { fill: none; stroke: #0a6cbd; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .line { stroke: #6cb8f6 } }
</style>
`

// drawChart draws how figures grow as one SVG, two curves in a row. Sizes are spaced evenly, and each point has its
// value. A single figure with a floor is a curve from 0. It returns "" unless there are curves.
func drawChart(figures []figure) string {
	const width, height, left, right, bottom, rise = 440, 240, 50, 390, 170, 100
	var svg strings.Builder
	n := 0
	for _, g := range growthCurves {
		var points []figure
		top := 0.0
		for _, f := range figures {
			if !strings.HasPrefix(f.Name, g.prefix) || f.Error != "" {
				continue
			}
			if f.Name == g.prefix && f.Floor != nil {
				points = append(points, measured("", f.Unit, *f.Floor))
			}
			points = append(points, f)
		}
		if len(points) < 2 {
			continue
		}
		for _, p := range points {
			top = max(top, p.Measured)
		}
		text := func(x, y float64, content string) {
			fmt.Fprintf(&svg, `<text x="%.0f" y="%.0f">%s</text>`+"\n", x, y, html.EscapeString(content))
		}
		fmt.Fprintf(&svg, `<g transform="translate(%d %d)">`+"\n", n%2*width, n/2*height)
		text(width/2, 20, g.title)
		text(width/2, height-15, g.x)
		line := ""
		for i, p := range points {
			x, y := left+float64(i*(right-left)/(len(points)-1)), bottom-rise*p.Measured/top
			line += fmt.Sprintf(" %.1f,%.1f", x, y)
			text(x, y-10, amount(p.Measured, p.Unit))
			text(x, bottom+25, thousands(int64(p.At)))
		}
		fmt.Fprintf(&svg, `<polyline class="line" points="%s"/></g>`+"\n", line[1:])
		n++
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Growth">`+
		"\n%s%s</svg>\n", 2*width, (n+1)/2*height, chartStyle, svg.String())
}

// machine describes the machine and the versions of the programs.
type machine struct {
	Hub        string            `json:"hub"` // its version
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	System     string            `json:"system"`
	Go         string            `json:"go"`
	PostgreSQL string            `json:"postgresql"`
	Settings   map[string]string `json:"settings"`
	FsyncMS    float64           `json:"fsync_ms"` // median of writing and syncing 8 KiB beside the database
	At         time.Time         `json:"at"`
}

// shownSettings decide about durability and speed.
var shownSettings = []string{"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers",
	"max_wal_size"}

func (r *run) describeMachine() machine {
	m := machine{CPU: "unknown processor", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Settings: map[string]string{}, FsyncMS: fsyncTime(filepath.Join(r.scratch, "fsync")),
		At: time.Now().UTC().Truncate(time.Second)}
	if cpus, err := must(procfs.NewDefaultFS()).CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
		m.CPU = cpus[0].ModelName
	}
	version := exec.CommandContext(r.ctx, r.Hub, "version")
	version.Env = withoutSettings()
	m.Hub = strings.TrimSpace(string(must(version.Output())))
	db := must(openSQL(r.server.DSN(), 1))
	defer db.Close()
	setting := func(name string) (value string) {
		check(db.QueryRowContext(r.ctx, `SELECT current_setting(?)`, name).Scan(&value))
		return value
	}
	m.PostgreSQL = setting("server_version")
	for _, name := range shownSettings {
		m.Settings[name] = setting(name)
	}
	return m
}

// line is the machine on one line.
func (m machine) line() string {
	settings := make([]string, len(shownSettings))
	for i, name := range shownSettings {
		settings[i] = name + "=" + m.Settings[name]
	}
	return fmt.Sprintf("%s on %s, %d cores, %s, %s, PostgreSQL %s (%s; durable=fsync %s, one takes %.2f ms)", m.Hub,
		m.CPU, m.Cores, m.System, m.Go, m.PostgreSQL, strings.Join(settings, " "), m.Settings["fsync"], m.FsyncMS)
}

// fsyncTime is the median time, in milliseconds, to write a page durably. Every durable commit costs at least that.
func fsyncTime(path string) float64 {
	file := must(os.Create(path))
	defer file.Close()
	rounds := make([]float64, 50)
	for i := range rounds {
		rounds[i] = timed(func() {
			must(file.WriteAt(make([]byte, 8<<10), 0))
			check(file.Sync())
		})
	}
	return median(rounds)
}
