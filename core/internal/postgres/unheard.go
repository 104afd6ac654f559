package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// unheard counts in memory the events that had no receiver, until StoreUnheard
// stores them. A crash loses what was counted since.
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

// giveBack has counts that could not be stored stored with the next.
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

// unheardFor is how long an event that nobody heard counts together with the next.
const unheardFor = 24 * time.Hour

// StoreUnheard stores what was counted of events without a receiver.
func (c Console) StoreUnheard(ctx context.Context) error {
	counts := c.unheard.take()
	if len(counts) == 0 {
		return nil
	}
	var businesses, numbers []int64
	var events, at []string
	for key, count := range counts {
		businesses, events = append(businesses, int64(key.business)), append(events, string(key.event))
		numbers, at = append(numbers, count.n), append(at, count.at.UTC().Format(time.RFC3339Nano))
	}
	// In the order of the key, so that two replicas never wait for each other crosswise.
	_, err := c.bun.ExecContext(ctx, `INSERT INTO unheard_events AS u (business_id, event_type, at, count)
		SELECT b, e, a, n FROM unnest(?::bigint[], ?::text[], ?::timestamptz[], ?::bigint[]) AS r (b, e, a, n) ORDER BY b, e
		ON CONFLICT (business_id, event_type) DO UPDATE SET at = greatest(u.at, excluded.at),
			count = excluded.count + CASE WHEN u.at > excluded.at - ? * interval '1 second' THEN u.count ELSE 0 END`,
		array(businesses), array(events), array(at), array(numbers), int(unheardFor/time.Second))
	if err != nil {
		c.unheard.giveBack(counts)
		return fmt.Errorf("storing events without a receiver: %w", err)
	}
	return nil
}
