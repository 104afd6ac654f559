package webhook

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// open is a poster that hands over what it is to send and answers when it is let.
func open() (begun chan Delivery, answer chan struct{}, post poster) {
	begun, answer = make(chan Delivery, 100), make(chan struct{})
	return begun, answer, func(ctx context.Context, d Delivery) Attempt {
		begun <- d
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return Attempt{Status: 200}
	}
}

func TestWhatWaitsForAChangedWebhookIsReadAnew(t *testing.T) {
	l := newLine(3, func(int) int64 { return 1 })
	l.version = 1
	begun, answer, post := open()
	defer close(answer)
	e := runEngine(t, l, Config{EndpointInFlight: 1, Poll: 10 * time.Millisecond}, post)
	require.Equal(t, int64(1), (<-begun).Version)
	answer <- struct{}{}
	require.Equal(t, int64(1), (<-begun).Version)
	require.Eventually(t, func() bool { return l.held() == 2 }, 5*time.Second, time.Millisecond, "the third waits in memory")
	l.mu.Lock()
	l.version = 2
	l.mu.Unlock()
	e.Recall(1, 2)
	answer <- struct{}{}
	require.Equal(t, int64(2), (<-begun).Version)
	e.Recall(1, 1) // late, of the change before
	require.Equal(t, 1, l.givenBack())
}

func TestWhatWasReadBeforeAChangeDoesNotStartAfterIt(t *testing.T) {
	l := newLine(0, nil)
	l.version = 2
	begun, answer, post := open()
	close(answer)
	e := runEngine(t, l, Config{}, post)
	require.True(t, e.Reserve(1), "and its transaction reads the webhook")
	e.Recall(1, 2)
	e.Start(Delivery{ID: core.NewID(time.Now()), Endpoint: 1, Version: 1, LeasedTo: e.LeaseUntil()})
	require.Equal(t, int64(2), (<-begun).Version)
}

func TestAnEndpointThatAnswersNoLongerLosesItsLine(t *testing.T) {
	begun, answer, post := open()
	e := NewEngine(Config{}, newLine(0, nil), post, core.NewSystemClock(nil), blind{}, slog.New(slog.DiscardHandler))
	defer e.running.Wait()
	defer close(answer)
	l := e.lane(1)
	l.recent, l.pace = 100, 5*time.Second
	for i := range 60 {
		require.True(t, e.Reserve(1))
		e.Start(Delivery{ID: core.NewID(time.Now()), Endpoint: 1, LeasedTo: e.LeaseUntil(), Asked: i == 59})
	}
	for range firstPlaces {
		<-begun
	}
	require.Empty(t, e.given())
	e.mu.Lock()
	l.recent = 0
	e.advance(l)
	e.mu.Unlock()
	require.Len(t, e.given(), 60-firstPlaces-1, "but for what a person asked for")
	require.Len(t, l.waiting, 1)
}
