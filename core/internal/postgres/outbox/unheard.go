package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// unheard counts unrouted events in memory until StoreUnheard stores them. A crash loses
// the counts since the last store.
type unheard struct {
	mu     sync.Mutex
	counts map[unheardKey]unheardCount
}

type unheardKey struct {
	business core.BusinessID
	event    core.EventType
}

type unheardCount struct {
	n  int64
	at time.Time
}

func (u *unheard) add(keys []unheardKey, now time.Time) {
	if len(keys) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts = map[unheardKey]unheardCount{}
	}
	for _, key := range keys {
		u.counts[key] = unheardCount{u.counts[key].n + 1, now}
	}
}

// giveBack puts counts that could not be stored back, for the next StoreUnheard.
func (u *unheard) giveBack(counts map[unheardKey]unheardCount) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, since := range u.counts {
		counts[key] = unheardCount{counts[key].n + since.n, since.at}
	}
	u.counts = counts
}

func (u *unheard) take() map[unheardKey]unheardCount {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts := u.counts
	u.counts = nil
	return counts
}

// unheardFor is the gap after which counting of unrouted events starts from zero.
const unheardFor = 24 * time.Hour

// StoreUnheard stores the counts of unrouted events.
func StoreUnheard(ctx context.Context, db *postgres.DB) error {
	counts := replicaOf(db).unheard.take()
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
		"counts": postgres.Array(numbers), "gap_seconds": int(unheardFor / time.Second),
	}))
	if err != nil {
		replicaOf(db).unheard.giveBack(counts)
		return fmt.Errorf("storing events without a receiver: %w", err)
	}
	return nil
}
