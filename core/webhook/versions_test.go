package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// blockingPoster returns a poster that passes on each delivery and responds when allowed.
func blockingPoster() (begun chan Delivery, answer chan struct{}, post poster) {
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

func TestPendingDeliveriesReloadAChangedWebhook(t *testing.T) {
	l := newFakeQueue(3, func(int) int64 { return 1 })
	l.version = 1
	begun, answer, post := blockingPoster()
	defer close(answer)
	e := runEngine(t, l, Config{EndpointLimit: 1, Poll: 10 * time.Millisecond}, post)
	require.Equal(t, int64(1), (<-begun).Version)
	answer <- struct{}{}
	require.Equal(t, int64(1), (<-begun).Version)
	require.Eventually(t, func() bool { return l.held() == 2 }, 5*time.Second, time.Millisecond,
		"the third waits in memory")
	l.mu.Lock()
	l.version = 2
	l.mu.Unlock()
	e.Invalidate(1, 2)
	answer <- struct{}{}
	require.Equal(t, int64(2), (<-begun).Version)
	e.Invalidate(1, 1) // a late signal of an earlier change
	require.Equal(t, 1, l.releases())
}

func TestStaleWebhookVersionDoesNotStart(t *testing.T) {
	l := newFakeQueue(0, nil)
	l.version = 2
	begun, answer, post := blockingPoster()
	close(answer)
	e := runEngine(t, l, Config{}, post)
	require.True(t, e.Reserve(1), "the transaction then reads the webhook")
	e.Invalidate(1, 2)
	e.Start(Delivery{ID: core.NewID(time.Now()), Endpoint: 1, Version: 1, LeasedUntil: e.LeaseUntil()})
	require.Equal(t, int64(2), (<-begun).Version)
}
