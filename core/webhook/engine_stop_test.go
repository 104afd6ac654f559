package webhook

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// unrecordable is a queue whose Finish always fails.
type unrecordable struct{ *fakeQueue }

func (unrecordable) Finish(context.Context, core.ID, []Result, CircuitRules) (queue.FinishResult, error) {
	return queue.FinishResult{}, errors.New("the database is unavailable")
}

func TestStopAbandonsRecordingDuringADatabaseOutage(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	post := poster(func(context.Context, Delivery) Attempt {
		stop()
		return Attempt{Status: 200}
	})
	l := newFakeQueue(1, func(int) int64 { return 1 })
	e := NewEngine(Config{Lease: time.Hour, StopWithin: time.Millisecond}, Dependencies{Queue: unrecordable{l},
		Poster: post, Clock: core.NewSystemClock(nil), Observer: noObserver{}, Log: slog.New(slog.DiscardHandler)})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the stop waits for the database")
	}
	require.Len(t, l.leased, 1, "it is repeated when its lease expires")
}
