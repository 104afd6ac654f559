package queue

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// heldRecording records no result before the channel is closed.
type heldRecording struct {
	*table
	recording chan struct{}
	most      int // items of a claim; 0: its capacity
}

func (h heldRecording) Claim(ctx context.Context, owner core.ID, c Capacity, until time.Time) (Batch[item], error) {
	c.Items = cmp.Or(h.most, c.Items)
	return h.table.Claim(ctx, owner, c, until)
}

func (h heldRecording) Finish(ctx context.Context, owner core.ID, ids []int) (FinishResult, error) {
	<-h.recording
	return h.table.Finish(ctx, owner, ids)
}

func TestReservationsDuringAClaimBlockNoResults(t *testing.T) {
	const each = 16 // the capacity
	items := make([]item, each)
	for n := range items {
		items[n].key = int64(n)
	}
	q := newTable(items...)
	h := heldRecording{table: q, recording: make(chan struct{})}
	e := New(small(), h, q.clock, slog.New(slog.DiscardHandler))
	q.onClaim = func() { // reservations fill the capacity, and the claimed items exceed it
		q.onClaim = nil
		for n := range each {
			if key := int64(each + n); e.Reserve(key) {
				go e.Start(item{id: each + n, key: key, until: time.Now().Add(time.Minute)})
			}
		}
	}
	h.requireAllRecorded(t, e, 2*each)
}

func TestClaimBeyondItsCapacityBlocksNoResults(t *testing.T) {
	const n = 100 // more than the capacity and a batch
	items := make([]item, n)
	for i := range items {
		items[i].key = int64(i)
	}
	h := heldRecording{table: newTable(items...), recording: make(chan struct{}), most: n}
	h.requireAllRecorded(t, New(small(), h, h.clock, slog.New(slog.DiscardHandler)), n)
}

// requireAllRecorded runs n items, and records results once all have run.
func (h heldRecording) requireAllRecorded(t *testing.T, e *Engine[item, int], n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	require.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		runs := 0
		for key := range h.started {
			runs += 1 - int(h.running[key])
		}
		return runs == n
	}, time.Minute, time.Millisecond, "all have run")
	free := make(chan struct{})
	go func() {
		defer close(free)
		e.Reserve(-1)
	}()
	select {
	case <-free:
	case <-time.After(30 * time.Second):
		t.Fatal("the engine waits for its own results")
	}
	close(h.recording)
	cancel()
	<-ended
	h.locked(func() { require.Len(t, h.recorded, n) })
}

func TestCancelledReservationLetsDueItemsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(1, 7)...)
		started := make(chan time.Time, 1)
		q.run = func(context.Context, item) Outcome {
			started <- time.Now()
			return Outcome{Response: Responded}
		}
		config := small()
		config.Poll, config.MaxWaiting = time.Second, 8
		e := engineOf(q, config)
		reserved := 0
		for e.Reserve(7) { // as many as the key admits
			reserved++
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.Run(ctx) }()
		synctest.Wait() // the first claim leaves the item out
		due := time.Now()
		for range reserved {
			e.CancelReservation(7)
		}
		require.Less(t, (<-started).Sub(due), config.Poll)
		cancel()
		<-ended
	})
}
