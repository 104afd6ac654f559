package queue

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// heldRecording records no result before the channel is closed.
type heldRecording struct {
	*table
	recording chan struct{}
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
	h := heldRecording{q, make(chan struct{})}
	e := New(small(), h, q.clock, slog.New(slog.DiscardHandler))
	q.onClaim = func() { // reservations fill the capacity, and the claimed items exceed it
		q.onClaim = nil
		for n := range each {
			if key := int64(each + n); e.Reserve(key) {
				go e.Start(item{id: each + n, key: key, until: time.Now().Add(time.Minute)})
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		runs := 0
		for key := range q.started {
			runs += 1 - int(q.running[key])
		}
		return runs == 2*each
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
	q.locked(func() { require.Len(t, q.recorded, 2*each) })
}
