package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// measuredEvery is how often a hub tells how its plugins fare.
const measuredEvery = 10 * time.Second

// pluginTally counts calls of plugins since the hub was started, for the console.
type pluginTally struct {
	*pluginMetrics
	hub   core.ID
	last  time.Time // told
	mu    sync.Mutex
	calls map[string]map[string]*console.PluginCall // by plugin and call
}

func newPluginTally(metrics *pluginMetrics, now time.Time) *pluginTally {
	return &pluginTally{pluginMetrics: metrics, hub: core.NewID(now), calls: map[string]map[string]*console.PluginCall{}}
}

// PluginCalled counts a call (pluginhost.Observer).
func (t *pluginTally) PluginCalled(plugin, call, outcome string, took time.Duration) {
	t.pluginMetrics.PluginCalled(plugin, call, outcome, took)
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
	case "ok", "refused", "absent", "canceled": // answers, or nobody waited for one
	default:
		one.Failed = 1
	}
	t.calls[plugin][call].Add(one)
}

// of are the calls of a plugin, by name.
func (t *pluginTally) of(plugin string) []console.PluginCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []console.PluginCall{}
	for _, call := range t.calls[plugin] {
		list = append(list, *call)
	}
	slices.SortFunc(list, func(a, b console.PluginCall) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// measure tells, now and then, how the plugins fare in this hub.
func (h *pluginHost) measure(ctx context.Context, now time.Time) error {
	if now.Sub(h.tally.last) < measuredEvery {
		return nil
	}
	h.tally.last = now
	var list []console.PluginHub
	for _, s := range h.Status() {
		about, err := described(s)
		if err != nil {
			return err
		}
		list = append(list, console.PluginHub{Plugin: s.ID, Hub: h.tally.hub, Version: s.Version, State: string(s.State),
			InFlight: s.InFlight, Memory: int64(s.Memory), Calls: h.tally.of(s.ID), Renderer: rendererOf(s, about)})
	}
	return h.records.TellHub(ctx, list)
}
