package plugindir

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/pluginhost"
)

// Log is the last part of a plugin's log in one hub, or what a report adds to it.
type Log struct {
	Hub     core.ID            `json:"hub,omitzero"`
	Faults  []pluginhost.Fault `json:"faults"` // newest first
	Lines   []string           `json:"log"`
	Missing bool               `json:"missing,omitzero"` // lines before these were not reported

	heading bool // the text begins with the hub
}

// String returns the log for people.
func (l Log) String() string {
	var text strings.Builder
	if l.heading {
		fmt.Fprintf(&text, "==> hub %s <==\n", l.Hub)
	}
	for _, fault := range slices.Backward(l.Faults) {
		fmt.Fprintf(&text, "%s fault: %s\n", fault.At.Format(time.RFC3339), fault.Text)
	}
	if l.Missing {
		text.WriteString("… lines are missing: the plugin logs faster than the hub reports\n")
	}
	for _, line := range l.Lines {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// Log returns the last reported log of a plugin.
func (d Dir) Log(ctx context.Context, id string) (Log, error) {
	p, err := d.Find(ctx, id)
	log := Log{Faults: []pluginhost.Fault{}, Lines: []string{}}
	if err != nil || p.Status == "" {
		return log, err
	}
	var report aggregator.StatusReport
	if err := json.Unmarshal([]byte(p.Status), &report); err != nil {
		return log, fmt.Errorf("reading the status of plugin %s: %w", id, err)
	}
	log.Hub = report.Hub
	log.Faults, log.Lines = append(log.Faults, report.Faults...), append(log.Lines, report.Log...)
	return log, nil
}

// FollowLog calls show with the last reported log of a plugin, and then with what each report adds. It returns nil
// when the context ends.
func (d Dir) FollowLog(ctx context.Context, id string, show func(Log) error) error {
	tail, last := logTail{}, core.ID{}
	for {
		log, err := d.Log(ctx, id)
		if err == nil && log.Hub != (core.ID{}) {
			if log = tail.next(log); len(log.Faults)+len(log.Lines) > 0 {
				log.heading, last = log.Hub != last, log.Hub
				err = show(log)
			}
		}
		if ctx.Err() != nil {
			return nil // the reader has seen enough
		}
		if err != nil {
			return err
		}
		core.SleepUntil(ctx, d.DB.Clock(), d.DB.Clock().Now().Add(reportPollInterval))
	}
}

// maxTailedHubs bounds the hubs in a logTail. Beyond it, known lines can appear again.
const maxTailedHubs = 100

// logTail holds the last report of each hub.
type logTail map[core.ID]Log

// next returns what a report adds to the previous one of its hub.
func (t logTail) next(report Log) Log {
	before, known := t[report.Hub]
	if !known && len(t) >= maxTailedHubs {
		clear(t)
	}
	t[report.Hub] = report
	if !known {
		return report
	}
	added := report
	if len(before.Faults) > 0 {
		latest := func(f pluginhost.Fault) bool {
			return f.At.Equal(before.Faults[0].At) && f.Text == before.Faults[0].Text
		}
		if i := slices.IndexFunc(report.Faults, latest); i >= 0 {
			added.Faults = report.Faults[:i]
		}
	}
	added.Lines, added.Missing = addedLines(before.Lines, report.Lines)
	return added
}

// addedLines returns the lines that follow those of an earlier log, which has lost its oldest ones since. If the logs
// do not overlap, lines are missing between them.
func addedLines(before, after []string) (added []string, missing bool) {
	for start := range before {
		if kept := before[start:]; len(kept) <= len(after) && slices.Equal(kept, after[:len(kept)]) {
			return after[len(kept):], false
		}
	}
	return after, len(before) > 0
}
