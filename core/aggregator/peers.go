package aggregator

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// A replica may lack a plugin that others have. Its worker then leaves the work to theirs. If no worker has had the
// plugin for a while, that is reported.
const (
	servingInterval = 15 * time.Second // how often a worker records its plugins
	servingValidity = 30 * time.Second // how long a record is valid
	peerRetryAfter  = 5 * time.Second  // how long work is left to others before the next check
)

// servedByPeer returns core.Snooze if a plugin cannot be called here and a worker of another replica has it, and
// otherwise nil.
func (h *Host) servedByPeer(id string) error {
	if h.Plugin(id).Serves() {
		return nil
	}
	now := h.config.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.lastSeen[id]
	if at.Equal(h.lastRecorded[id]) || now.Sub(at) >= servingValidity {
		return nil
	}
	return core.Snooze{Until: now.Add(peerRetryAfter)}
}

// recordHeartbeat records when a worker last had a plugin.
func (h *Host) recordHeartbeat(id string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastSeen[id] = at
}

// recordServing records the plugins of this worker, at an interval.
func (h *Host) recordServing(ctx context.Context) error {
	// PostgreSQL's precision, so that a worker recognises its own record.
	now := h.config.Clock.Now().Truncate(time.Microsecond)
	if now.Sub(h.recordedAt) < servingInterval {
		return nil
	}
	var ids []string
	for id := range h.desired {
		if h.Plugin(id).Serves() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	h.mu.Lock()
	for _, id := range ids {
		h.lastRecorded[id] = now
	}
	h.mu.Unlock()
	if err := h.config.Reports.RecordServing(ctx, ids, now); err != nil {
		return err
	}
	h.recordedAt = now
	return nil
}

// mustRead reports whether the desired states must be read again.
func (h *Host) mustRead() bool {
	interval := readInterval
	if h.absent {
		interval = peerInterval
	}
	for id, p := range h.desired {
		if p.Enabled && !h.Plugin(id).Serves() {
			interval = peerInterval
		}
	}
	return time.Since(h.readAt) >= interval
}

// Wake makes Run read the desired states soon. It never blocks.
func (h *Host) Wake() {
	select {
	case h.woken <- struct{}{}:
	default:
	}
}
