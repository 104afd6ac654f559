package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Results is a run as it is written for programs.
type Results struct {
	Machine Machine  `json:"machine"`
	Figures []Figure `json:"figures"`
}

// Machine describes the machine and the versions of the programs.
type Machine struct {
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

// ShownSettings decide about durability and speed.
var ShownSettings = []string{"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers",
	"max_wal_size"}

// Line is the machine on one line.
func (m Machine) Line() string {
	settings := make([]string, len(ShownSettings))
	for i, name := range ShownSettings {
		settings[i] = name + "=" + m.Settings[name]
	}
	return fmt.Sprintf("%s on %s, %d cores, %s, %s, PostgreSQL %s (%s; durable=fsync %s, one takes %.2f ms)", m.Hub,
		m.CPU, m.Cores, m.System, m.Go, m.PostgreSQL, strings.Join(settings, " "), m.Settings["fsync"], m.FsyncMS)
}

// Write writes a run for programs.
func (r Results) Write(file string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// Read reads a run.
func Read(file string) (r Results, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

// The table of a page is between these lines.
const (
	tableBegins = "<!-- the last table: written by servery-bench --markdown -->"
	tableEnds   = "<!-- the end of the last table -->"
)

// WriteMarkdown replaces the table of a page. In the directory of the page it updates the capacities in README.md,
// and writes bench.json and growth.svg unless only some figures were measured.
func (r Results) WriteMarkdown(page string) error {
	guide := filepath.Join(filepath.Dir(page), "README.md")
	if err := edit(page, r.withTable); err != nil {
		return err
	}
	err := edit(guide, func(text string) (string, error) { return capacities(text, r.Figures), nil })
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	chart := drawChart(r.Figures)
	if chart == "" {
		return nil
	}
	if err := r.Write(filepath.Join(filepath.Dir(page), "bench.json")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(page), "growth.svg"), []byte(chart), 0o644)
}

// edit changes the text of a file.
func edit(file string, change func(string) (string, error)) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := change(string(content))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

func (r Results) withTable(page string) (string, error) {
	before, rest, begins := strings.Cut(page, tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return "", fmt.Errorf("the page has no place for the table: the lines %s and %s", tableBegins, tableEnds)
	}
	return fmt.Sprintf("%s%s\n\n%s\n\nMeasured %s.\n\n```\n%s```\n\n%s%s", before, tableBegins, r.Machine.Line(),
		r.Machine.At.UTC().Format("2006-01-02"), Table(r.Figures), tableEnds, after), nil
}

// capacities updates the table of a page in which the name of a figure, in backquotes, is followed by its value.
func capacities(page string, figures []Figure) string {
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
