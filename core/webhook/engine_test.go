package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// fakeQueue is a queue in memory.
type fakeQueue struct {
	mu               sync.Mutex
	waiting          []Delivery
	leased           map[core.ID]Delivery
	finished         map[core.ID]int
	allFinished      chan struct{} // closed when every delivery is finished
	expected         int
	claimPerEndpoint int   // most deliveries of an endpoint in one claim; 0: all
	version          int64 // of all webhooks
	returned         int
}

func newFakeQueue(n int, endpoint func(i int) int64) *fakeQueue {
	l := &fakeQueue{leased: map[core.ID]Delivery{}, finished: map[core.ID]int{},
		allFinished: make(chan struct{}), expected: n}
	for i := range n {
		l.waiting = append(l.waiting,
			Delivery{ID: core.NewID(time.Now()), Endpoint: endpoint(i), WebhookID: endpoint(i), DueAt: time.Now()})
	}
	return l
}

func (l *fakeQueue) Claim(_ context.Context, _ core.ID, capacity Capacity,
	until time.Time) (batch queue.Batch[Delivery], _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := map[int64]int{} // claimed deliveries by endpoint
	most := func(endpoint int64) int {
		if n, known := capacity.PerKey[endpoint]; known {
			return n
		}
		return capacity.OtherKeys
	}
	bodies := 0
	l.waiting = slices.DeleteFunc(l.waiting, func(d Delivery) bool {
		if len(batch.Items) == capacity.Items || slices.Contains(capacity.Busy, d.Endpoint) {
			return false
		}
		if of[d.Endpoint] == most(d.Endpoint) || l.claimPerEndpoint > 0 && of[d.Endpoint] == l.claimPerEndpoint {
			batch.NextDue = d.DueAt // still due
			return false
		}
		if len(d.Body) > LargeBody {
			if bodies >= capacity.Bodies {
				if capacity.Bodies > 0 { // still due
					batch.NextDue = d.DueAt
				}
				return false
			}
			bodies += len(d.Body)
		}
		of[d.Endpoint]++
		d.LeasedUntil, d.Version = until, l.version
		l.leased[d.ID] = d
		batch.Items = append(batch.Items, d)
		return true
	})
	batch.More = len(batch.Items) == capacity.Items
	return batch, nil
}

func (l *fakeQueue) Finish(_ context.Context, _ core.ID, results []Result, _ CircuitRules) (queue.FinishResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range results {
		delete(l.leased, r.Delivery.ID)
		l.finished[r.Delivery.ID]++
		if len(l.finished) == l.expected && l.finished[r.Delivery.ID] == 1 {
			close(l.allFinished)
		}
	}
	return queue.FinishResult{}, nil
}

func (l *fakeQueue) Release(_ context.Context, _ core.ID, deliveries []Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range deliveries {
		delete(l.leased, d.ID)
		l.waiting = append(l.waiting, d)
		l.returned++
	}
	return nil
}

// held returns the number of leased deliveries.
func (l *fakeQueue) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.leased)
}

// releases returns the number of released deliveries.
func (l *fakeQueue) releases() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.returned
}

type poster func(ctx context.Context, d Delivery) Attempt

func (p poster) Post(ctx context.Context, d Delivery) Attempt { return p(ctx, d) }

type noObserver struct{}

func (noObserver) Attempted(Result, time.Duration) {}

func accepted(context.Context, Delivery) Attempt { return Attempt{Status: 200} }

func runEngine(t *testing.T, l *fakeQueue, config Config, post poster) *Engine {
	t.Helper()
	e := NewEngine(config, Dependencies{Queue: l, Poster: post, Clock: core.NewSystemClock(nil),
		Observer: noObserver{}, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return e
}

// The engine gets no signals and never polls here: its own results must make it claim again.
func TestDeliveriesDoNotDependOnPolling(t *testing.T) {
	for name, endpoint := range map[string]func(i int) int64{
		"one endpoint":   func(int) int64 { return 1 },
		"many endpoints": func(i int) int64 { return int64(i%97) + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				l := newFakeQueue(3000, endpoint)
				runEngine(t, l, Config{Poll: time.Hour}, accepted)
				select {
				case <-l.allFinished:
				case <-time.After(20 * time.Second):
					l.mu.Lock()
					defer l.mu.Unlock()
					t.Fatalf("stuck with %d waiting and %d leased", len(l.waiting), len(l.leased))
				}
			}
		})
	}
}

func TestInFlightDeliveriesPerEndpointAreLimited(t *testing.T) {
	l := newFakeQueue(500, func(i int) int64 { return int64(i%3) + 1 })
	var mu sync.Mutex
	flying, most := map[int64]int{}, 0
	runEngine(t, l, Config{EndpointLimit: 4}, func(ctx context.Context, d Delivery) Attempt {
		mu.Lock()
		flying[d.Endpoint]++
		most = max(most, flying[d.Endpoint])
		mu.Unlock()
		defer func() {
			mu.Lock()
			flying[d.Endpoint]--
			mu.Unlock()
		}()
		return accepted(ctx, d)
	})
	<-l.allFinished
	require.LessOrEqual(t, most, 4)
}

func TestHangingEndpointsLeaveCapacityForOthers(t *testing.T) {
	const hanging, each, room = 100, 20, 512
	l := newFakeQueue((hanging+10)*each, func(i int) int64 { return int64(i/each) + 1 }) // the hanging ones are first
	l.claimPerEndpoint, l.expected = 4, 10*each
	runEngine(t, l, Config{Capacity: room, Poll: time.Hour, StopWithin: time.Millisecond},
		func(ctx context.Context, d Delivery) Attempt {
			if d.Endpoint <= hanging {
				<-ctx.Done()
				return Attempt{Error: "cut off"}
			}
			return accepted(ctx, d)
		})
	select {
	case <-l.allFinished:
	case <-time.After(20 * time.Second):
		t.Fatal("responding endpoints wait for hanging ones")
	}
}

func TestDeliveryWithExpiringLeaseIsReleased(t *testing.T) {
	l := newFakeQueue(1, func(int) int64 { return 1 })
	tried := make(chan struct{}, 1)
	runEngine(t, l, Config{Lease: startMargin - time.Second, Poll: 10 * time.Millisecond},
		func(ctx context.Context, d Delivery) Attempt {
			tried <- struct{}{}
			return accepted(ctx, d)
		})
	require.Eventually(t, func() bool { return l.releases() > 0 }, 5*time.Second, time.Millisecond)
	require.Empty(t, tried)
}

func TestStopLeavesNoGoroutineBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("run", func(t *testing.T) {
		l := newFakeQueue(1000, func(i int) int64 { return int64(i % 7) })
		runEngine(t, l, Config{}, accepted)
	})
}

func TestPanicFailsOnlyItsAttempt(t *testing.T) {
	e := NewEngine(Config{}, Dependencies{Queue: newFakeQueue(0, nil), Clock: core.NewSystemClock(nil),
		Poster:   poster(func(context.Context, Delivery) Attempt { panic("a response that nobody expected") }),
		Observer: noObserver{}, Log: slog.New(slog.DiscardHandler)})
	result, outcome := policy{e}.Run(t.Context(), Delivery{URL: "https://example.com"})
	require.Equal(t, queue.Outcome{Response: queue.NoResponse}, outcome)
	require.Equal(t, Pending, result.State)
	require.Equal(t, Protocol, result.Attempt.ErrorClass)
	require.Equal(t, "the hub failed", result.Attempt.Error)
	require.Equal(t, "https://example.com", result.Attempt.URL)
	require.False(t, result.Attempt.StartedAt.IsZero())
}
