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

// The intervals at which a hub reports its plugins: after calls, and at rest. It reports a change of state at once.
const (
	countsInterval = 10 * time.Second
	restInterval   = 30 * time.Second
)

// callCounts counts calls of plugins since the hub's start, for the console.
type callCounts struct {
	pluginhost.Observer
	entered    func() // called after a plugin enters a state
	hubID      core.ID
	reportedAt time.Time
	states     string // of the plugins, as last reported
	mu         sync.Mutex
	called     bool                                      // since the last report
	calls      map[string]map[string]*console.PluginCall // by plugin and call
}

func newCallCounts(observer pluginhost.Observer, now time.Time) *callCounts {
	return &callCounts{Observer: observer, entered: func() {}, hubID: core.NewID(now),
		calls: map[string]map[string]*console.PluginCall{}}
}

// PluginEntered has the new state reported at once (pluginhost.Observer).
func (t *callCounts) PluginEntered(plugin string, state pluginhost.State) {
	t.Observer.PluginEntered(plugin, state)
	t.entered()
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
	case "ok", "refused", "absent", "canceled", "set_aside": // it responded, or the call was cancelled or not made
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

// statesOf returns the states of plugins in a form that can be compared.
func statesOf(plugins []pluginhost.Status) (states string) {
	for _, s := range plugins {
		states += fmt.Sprintln(s.ID, s.Version, s.State, s.Since.UnixNano(), s.Manifest, s.Build, s.Description == nil)
	}
	return states
}

// mustReport reports whether a report is due: at once after a change of state, soon after calls, and at rest as a
// heartbeat.
func (t *callCounts) mustReport(states string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := now.Sub(t.reportedAt)
	return t.states != states || since >= restInterval || t.called && since >= countsInterval
}

// beginReport records that a report begins.
func (t *callCounts) beginReport(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.called, t.reportedAt = false, now
}

// endReport records the reported states.
func (t *callCounts) endReport(states string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states = states
}

// reportCounts reports the states and the statistics of the plugins in this hub, if that is due.
func (h *Host) reportCounts(ctx context.Context, now time.Time) error {
	statuses := h.Status()
	states := statesOf(statuses)
	if !h.counts.mustReport(states, now) {
		return nil
	}
	var list []console.PluginHub
	for _, s := range statuses {
		about, err := encodeDescription(s)
		if err != nil {
			return err
		}
		list = append(list, console.PluginHub{Plugin: s.ID, Hub: h.counts.hubID, Version: s.Version,
			State: string(s.State), Since: s.Since, Reason: stateReason(s), Build: s.Build,
			InFlight: s.InFlight, Memory: int64(s.Memory), Calls: h.counts.byPlugin(s.ID),
			Renderer: rendererID(s, about)})
	}
	h.counts.beginReport(now)
	err := h.config.Reports.ReportCounts(ctx, list)
	if err == nil {
		h.counts.endReport(states)
	}
	return err
}

// stateReason returns why a plugin is in a state that is a problem, or "".
func stateReason(s pluginhost.Status) string {
	switch s.State {
	case pluginhost.Degraded:
		return s.Health
	case pluginhost.Backoff, pluginhost.Quarantined:
		for _, fault := range s.Faults {
			if fault.Ended {
				return fault.Text
			}
		}
	}
	return ""
}

// StatusReport is the reported status of a plugin, for the command line and the console.
type StatusReport struct {
	pluginhost.Status
	Hub      core.ID  `json:"hub,omitzero"` // that reports it
	Renderer string   `json:"renderer"`
	Log      []string `json:"log,omitzero"` // its last lines
}
