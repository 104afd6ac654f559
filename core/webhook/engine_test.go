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

// line is a queue in memory.
type line struct {
	mu       sync.Mutex
	waiting  []Delivery
	leased   map[core.ID]Delivery
	finished map[core.ID]int
	all      chan struct{} // closed when everything is finished
	expected int
	share    int   // most deliveries of an endpoint in a claim; 0: all
	version  int64 // of all webhooks
	returned int
}

func newLine(n int, endpoint func(i int) int64) *line {
	l := &line{leased: map[core.ID]Delivery{}, finished: map[core.ID]int{}, all: make(chan struct{}), expected: n}
	for i := range n {
		l.waiting = append(l.waiting,
			Delivery{ID: core.NewID(time.Now()), Endpoint: endpoint(i), WebhookID: endpoint(i), DueAt: time.Now()})
	}
	return l
}

func (l *line) Claim(_ context.Context, _ core.ID, capacity Capacity,
	until time.Time) (batch queue.Batch[Delivery], _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := map[int64]int{} // endpoints have a share of a claim each
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
		if of[d.Endpoint] == most(d.Endpoint) || l.share > 0 && of[d.Endpoint] == l.share {
			batch.NextDue = d.DueAt // it is due still
			return false
		}
		if len(d.Body) > LargeBody {
			if bodies >= capacity.Bodies {
				if capacity.Bodies > 0 { // it is due still
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

func (l *line) Finish(_ context.Context, _ core.ID, results []Result, _ CircuitRules) (queue.FinishResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range results {
		delete(l.leased, r.Delivery.ID)
		l.finished[r.Delivery.ID]++
		if len(l.finished) == l.expected && l.finished[r.Delivery.ID] == 1 {
			close(l.all)
		}
	}
	return queue.FinishResult{}, nil
}

func (l *line) Release(_ context.Context, _ core.ID, deliveries []Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range deliveries {
		delete(l.leased, d.ID)
		l.waiting = append(l.waiting, d)
		l.returned++
	}
	return nil
}

// held is how many are leased.
func (l *line) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.leased)
}

// givenBack is how often a lease was given back.
func (l *line) givenBack() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.returned
}

type poster func(ctx context.Context, d Delivery) Attempt

func (p poster) Post(ctx context.Context, d Delivery) Attempt { return p(ctx, d) }

type blind struct{}

func (blind) Attempted(Result, time.Duration) {}

func accepted(context.Context, Delivery) Attempt { return Attempt{Status: 200} }

func runEngine(t *testing.T, l *line, config Config, post poster) *Engine {
	t.Helper()
	e := NewEngine(config, l, post, core.NewSystemClock(nil), blind{}, slog.New(slog.DiscardHandler))
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

// TestDeliveriesDoNotDependOnPolling has a queue that nobody announces anything of and
// a poll that never comes: the engine's own results must keep it going.
func TestDeliveriesDoNotDependOnPolling(t *testing.T) {
	for name, endpoint := range map[string]func(i int) int64{
		"one endpoint":   func(int) int64 { return 1 },
		"many endpoints": func(i int) int64 { return int64(i%97) + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				l := newLine(3000, endpoint)
				runEngine(t, l, Config{Poll: time.Hour}, accepted)
				select {
				case <-l.all:
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
	l := newLine(500, func(i int) int64 { return int64(i%3) + 1 })
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
	<-l.all
	require.LessOrEqual(t, most, 4)
}

func TestHangingEndpointsLeaveCapacityForOthers(t *testing.T) {
	const hanging, each, room = 100, 20, 512
	l := newLine((hanging+10)*each, func(i int) int64 { return int64(i/each) + 1 }) // the hanging ones stand in front
	l.share, l.expected = 4, 10*each
	runEngine(t, l, Config{Capacity: room, Poll: time.Hour, StopWithin: time.Millisecond},
		func(ctx context.Context, d Delivery) Attempt {
			if d.Endpoint <= hanging {
				<-ctx.Done()
				return Attempt{Error: "cut off"}
			}
			return accepted(ctx, d)
		})
	select {
	case <-l.all:
	case <-time.After(20 * time.Second):
		t.Fatal("the endpoints that answer wait for those that do not")
	}
}

func TestDeliveryWithExpiringLeaseIsReleased(t *testing.T) {
	l := newLine(1, func(int) int64 { return 1 })
	tried := make(chan struct{}, 1)
	runEngine(t, l, Config{Lease: startMargin - time.Second, Poll: 10 * time.Millisecond},
		func(ctx context.Context, d Delivery) Attempt {
			tried <- struct{}{}
			return accepted(ctx, d)
		})
	require.Eventually(t, func() bool { return l.givenBack() > 0 }, 5*time.Second, time.Millisecond)
	require.Empty(t, tried)
}

func TestStopLeavesNoGoroutineBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("run", func(t *testing.T) {
		l := newLine(1000, func(i int) int64 { return int64(i % 7) })
		runEngine(t, l, Config{}, accepted)
	})
}
