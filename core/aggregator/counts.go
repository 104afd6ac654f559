package aggregator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
)

// The intervals at which a hub reports the statistics of its plugins: after calls or a new state, and at rest.
const (
	countsInterval = 10 * time.Second
	restInterval   = 30 * time.Second
)

// callCounts counts calls of plugins since the hub's start, for the console.
type callCounts struct {
	pluginhost.Observer
	hubID      core.ID
	reportedAt time.Time // reported
	states     string    // of the plugins, as last reported
	mu         sync.Mutex
	called     bool                                      // since the last report
	calls      map[string]map[string]*console.PluginCall // by plugin and call
}

func newCallCounts(observer pluginhost.Observer, now time.Time) *callCounts {
	return &callCounts{Observer: observer, hubID: core.NewID(now),
		calls: map[string]map[string]*console.PluginCall{}}
}

// PluginCalled counts a call (pluginhost.Observer).
func (t *callCounts) PluginCalled(plugin, call, outcome string, took time.Duration) {
	t.Observer.PluginCalled(plugin, call, outcome, took)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls[plugin] == nil {
		t.calls[plugin] = map[string]*console.PluginCall{}
	}
	if t.calls[plugin][call] == nil {
		t.calls[plugin][call] = &console.PluginCall{Name: call}
	}
	one := console.PluginCall{Count: 1, TotalTime: took, Slowest: took}
	switch outcome {
	case "ok", "refused", "absent", "canceled": // the plugin responded, or the caller cancelled
	default:
		one.Failed = 1
	}
	t.calls[plugin][call].Add(one)
	t.called = true
}

// byPlugin returns the call statistics of a plugin, by name.
func (t *callCounts) byPlugin(plugin string) []console.PluginCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []console.PluginCall{}
	for _, call := range t.calls[plugin] {
		list = append(list, *call)
	}
	slices.SortFunc(list, func(a, b console.PluginCall) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// takeChanged reports whether plugins were called or have another state since the last call of takeChanged.
func (t *callCounts) takeChanged(plugins []pluginhost.Status) bool {
	states := ""
	for _, s := range plugins {
		states += fmt.Sprintln(s.ID, s.Version, s.State, s.Description == nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.called || t.states != states
	t.called, t.states = false, states
	return changed
}

// reportCounts reports the statistics of the plugins in this hub, at an interval.
func (h *Host) reportCounts(ctx context.Context, now time.Time) error {
	since := now.Sub(h.counts.reportedAt)
	if since < countsInterval || !h.counts.takeChanged(h.Status()) && since < restInterval {
		return nil
	}
	h.counts.reportedAt = now
	var list []console.PluginHub
	for _, s := range h.Status() {
		about, err := encodeDescription(s)
		if err != nil {
			return err
		}
		list = append(list, console.PluginHub{Plugin: s.ID, Hub: h.counts.hubID, Version: s.Version,
			State:    string(s.State),
			InFlight: s.InFlight, Memory: int64(s.Memory), Calls: h.counts.byPlugin(s.ID),
			Renderer: rendererID(s, about)})
	}
	return h.config.Reports.ReportCounts(ctx, list)
}

// StatusReport is the reported status of a plugin, for the command line and the console.
type StatusReport struct {
	pluginhost.Status
	Renderer string   `json:"renderer"`
	Log      []string `json:"log,omitzero"` // its last lines
}
