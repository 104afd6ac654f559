package main

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// A replica may lack a plugin that others have. Its worker then leaves the work
// to theirs; where no worker has had the plugin for a while, that is told.
const (
	servesEvery  = 5 * time.Second  // how often a worker says which plugins it has
	servesFor    = 30 * time.Second // how long that counts
	elsewhereFor = 5 * time.Second  // how long work is left to others before it is looked at again
)

// elsewhere is core.Postponed where a plugin cannot be asked here and a worker
// of another replica has it; else nil.
func (h *pluginHost) elsewhere(id string) error {
	if h.Plugin(id).Serves() {
		return nil
	}
	now := h.clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.hadAt[id]
	if at.Equal(h.hadHere[id]) || now.Sub(at) >= servesFor {
		return nil
	}
	return core.Postponed{Until: now.Add(elsewhereFor)}
}

// heard keeps when a worker last had a plugin.
func (h *pluginHost) heard(id string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hadAt[id] = at
}

// serve says which plugins this worker has, where it has not done so of late.
func (h *pluginHost) serve(ctx context.Context) error {
	// As PostgreSQL keeps it: by this a worker knows its own word again.
	now := h.clock.Now().Truncate(time.Microsecond)
	if now.Sub(h.saidAt) < servesEvery {
		return nil
	}
	var ids []string
	for id := range h.wanted {
		if h.Plugin(id).Serves() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	h.mu.Lock()
	for _, id := range ids {
		h.hadHere[id] = now
	}
	h.mu.Unlock()
	if err := h.records.Serve(ctx, ids, now); err != nil {
		return err
	}
	h.saidAt = now
	return nil
}
