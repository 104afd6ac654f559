package aggregator

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
)

// countsEvery is how often a hub reports the statistics of its plugins.
const countsEvery = 10 * time.Second

// callCounts counts calls of plugins since the hub's start, for the console.
type callCounts struct {
	pluginhost.Observer
	hub   core.ID
	last  time.Time // reported
	mu    sync.Mutex
	calls map[string]map[string]*console.PluginCall // by plugin and call
}

func newCallCounts(observer pluginhost.Observer, now time.Time) *callCounts {
	return &callCounts{Observer: observer, hub: core.NewID(now),
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
	one := console.PluginCall{Count: 1, Took: took, Slowest: took}
	switch outcome {
	case "ok", "refused", "absent", "canceled": // answered, or the caller cancelled
	default:
		one.Failed = 1
	}
	t.calls[plugin][call].Add(one)
}

// of returns the call statistics of a plugin, by name.
func (t *callCounts) of(plugin string) []console.PluginCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []console.PluginCall{}
	for _, call := range t.calls[plugin] {
		list = append(list, *call)
	}
	slices.SortFunc(list, func(a, b console.PluginCall) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// reportCounts reports the statistics of the plugins in this hub, at an interval.
func (h *Host) reportCounts(ctx context.Context, now time.Time) error {
	if now.Sub(h.counts.last) < countsEvery {
		return nil
	}
	h.counts.last = now
	var list []console.PluginHub
	for _, s := range h.Status() {
		about, err := described(s)
		if err != nil {
			return err
		}
		list = append(list, console.PluginHub{Plugin: s.ID, Hub: h.counts.hub, Version: s.Version,
			State:    string(s.State),
			InFlight: s.InFlight, Memory: int64(s.Memory), Calls: h.counts.of(s.ID), Renderer: rendererOf(s, about)})
	}
	return h.config.Reports.ReportCounts(ctx, list)
}
