package queue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/servery-hub/servery/core"
)

// item is the work in these tests.
type item struct {
	id     int
	key    int64
	group  string
	urgent bool
	due    time.Time
	until  time.Time // of the lease
}

// table is a Policy with its items in memory.
type table struct {
	mu         sync.Mutex
	clock      core.Clock
	pending    []item
	leased     map[int]item
	recorded   []int
	released   []int
	claims     []Capacity
	claimAt    []time.Time
	started    map[int64][]int // ids by key, in order
	running    map[int64]int
	maxRunning map[int64]int // most running at once, by key

	run       func(ctx context.Context, work item) Outcome // nil: respond at once
	failing   bool                                         // claims and results fail
	failAfter bool                                         // the next claim fails after it has leased its items
	effect    FinishResult
	onClaim   func() // at the end of a claim
	unlimited bool   // claims ignore the capacity of keys
	rowLocks  bool   // another transaction locks the pending items
}

func newTable(items ...item) *table {
	t := &table{clock: core.NewSystemClock(nil), pending: items, leased: map[int]item{}, started: map[int64][]int{},
		running: map[int64]int{}, maxRunning: map[int64]int{}}
	for n := range t.pending {
		t.pending[n].id = n
	}
	return t
}

func (t *table) Claim(_ context.Context, _ core.ID, c Capacity, until time.Time) (batch Batch[item], err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims, t.claimAt = append(t.claims, c), append(t.claimAt, t.clock.Now())
	if t.failing {
		return batch, errors.New("the database is unavailable")
	}
	taken := map[int64]int{}
	t.pending = slices.DeleteFunc(t.pending, func(i item) bool {
		limit, known := c.PerKey[i.key]
		if !known {
			limit = c.OtherKeys
		}
		switch {
		case slices.Contains(c.Busy, i.key) || slices.Contains(c.BusyGroups, i.group):
			return false
		case i.due.After(t.clock.Now().Add(c.Ahead)) || len(batch.Items) == c.Items || t.rowLocks ||
			taken[i.key] == limit && !t.unlimited:
			if batch.NextDue.IsZero() || i.due.Before(batch.NextDue) {
				batch.NextDue = i.due.Add(1) // zero would mean none
			}
			return false
		}
		taken[i.key]++
		i.until = until
		t.leased[i.id] = i
		batch.Items = append(batch.Items, i)
		return true
	})
	batch.More = len(batch.Items) == c.Items
	if t.onClaim != nil {
		t.onClaim()
	}
	if t.failAfter {
		t.failAfter = false
		return batch, errors.New("the database is unavailable")
	}
	return batch, nil
}

func (t *table) Lease(i item) Lease {
	return Lease{ID: strconv.Itoa(i.id), Key: i.key, Group: i.group, From: i.due, Until: i.until, Urgent: i.urgent}
}

func (t *table) Run(ctx context.Context, i item) (int, Outcome) {
	t.mu.Lock()
	t.started[i.key] = append(t.started[i.key], i.id)
	t.running[i.key]++
	t.maxRunning[i.key] = max(t.maxRunning[i.key], t.running[i.key])
	t.mu.Unlock()
	outcome := Outcome{Response: Responded}
	if t.run != nil {
		outcome = t.run(ctx, i)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[i.key]--
	if outcome.Next == Done {
		delete(t.leased, i.id)
		t.recorded = append(t.recorded, i.id)
	}
	return i.id, outcome
}

func (t *table) Finish(_ context.Context, _ core.ID, ids []int) (FinishResult, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing {
		return FinishResult{}, errors.New("the database is unavailable")
	}
	for _, id := range ids {
		delete(t.leased, id)
	}
	t.recorded = append(t.recorded, ids...)
	return t.effect, nil
}

func (t *table) Release(_ context.Context, _ core.ID, items []item) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range items {
		delete(t.leased, i.id)
		t.pending, t.released = append(t.pending, i), append(t.released, i.id)
	}
	return nil
}

// locked runs a function with the table locked.
func (t *table) locked(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}

// small returns a configuration for few items.
func small() Config {
	return Config{Name: "items", Capacity: 16, Batch: 16, KeyLimit: 4, FirstLimit: 4, Lease: time.Minute,
		StartMargin: time.Second, Poll: time.Hour, StopWithin: time.Second}
}

func engineOf(t *table, config Config) *Engine[item, int] {
	return New(config, t, t.clock, slog.New(slog.DiscardHandler))
}

// start runs an engine until stop is called or the test ends.
func start(tb testing.TB, t *table, config Config) (e *Engine[item, int], stop func()) {
	tb.Helper()
	e = engineOf(t, config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	return e, stop
}

// items returns n items of a key.
func items(n int, key int64) []item {
	list := make([]item, n)
	for i := range list {
		list[i].key = key
	}
	return list
}

// hang blocks until the context ends.
func hang(ctx context.Context, _ item) Outcome {
	<-ctx.Done()
	return Outcome{Response: NoResponse}
}
