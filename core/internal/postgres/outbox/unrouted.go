package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// unroutedCounts counts unrouted events in memory until StoreUnrouted stores them. A crash loses
// the counts since the last store.
type unroutedCounts struct {
	mu     sync.Mutex
	counts map[unroutedKey]unroutedCount
}

type unroutedKey struct {
	business core.BusinessID
	event    core.EventType
}

type unroutedCount struct {
	n  int64
	at time.Time
}

func (u *unroutedCounts) add(events []unroutedEvent, now time.Time) {
	if len(events) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts = map[unroutedKey]unroutedCount{}
	}
	for _, event := range events {
		u.counts[event.key] = unroutedCount{u.counts[event.key].n + 1, now}
	}
}

// restore restores counts that could not be stored, for the next StoreUnrouted.
func (u *unroutedCounts) restore(counts map[unroutedKey]unroutedCount) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, since := range u.counts {
		counts[key] = unroutedCount{counts[key].n + since.n, since.at}
	}
	u.counts = counts
}

func (u *unroutedCounts) take() map[unroutedKey]unroutedCount {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts := u.counts
	u.counts = nil
	return counts
}

// unroutedGap is the gap after which counting of unrouted events starts from zero.
const unroutedGap = 24 * time.Hour

// StoreUnrouted stores the counts of unrouted events.
func StoreUnrouted(ctx context.Context, db *postgres.DB) error {
	counts := replicaOf(db).unrouted.take()
	if len(counts) == 0 {
		return nil
	}
	var businesses, numbers []int64
	var events, at []string
	for key, count := range counts {
		businesses, events = append(businesses, int64(key.business)), append(events, string(key.event))
		numbers, at = append(numbers, count.n), append(at, count.at.UTC().Format(time.RFC3339Nano))
	}
	_, err := db.Bun().ExecContext(ctx, queries.With("store_unrouted", postgres.Args{
		"businesses": postgres.Array(businesses), "events": postgres.Array(events), "at": postgres.Array(at),
		"counts": postgres.Array(numbers), "gap_seconds": int(unroutedGap / time.Second),
	}))
	if err != nil {
		replicaOf(db).unrouted.restore(counts)
		return fmt.Errorf("storing events without a receiver: %w", err)
	}
	return nil
}
