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
		l.waiting = append(l.waiting, Delivery{ID: core.NewID(time.Now()), Endpoint: endpoint(i), WebhookID: endpoint(i), DueAt: time.Now()})
	}
	return l
}

func (l *line) Claim(_ context.Context, _ core.ID, room Room, until time.Time) (Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch Batch
	of := map[int64]int{} // endpoints have a share of a claim each
	most := func(endpoint int64) int {
		if n, known := room.Most[endpoint]; known {
			return n
		}
		return room.First
	}
	bodies := 0
	l.waiting = slices.DeleteFunc(l.waiting, func(d Delivery) bool {
		if len(batch.Deliveries) == room.Deliveries || l.share > 0 && of[d.Endpoint] == l.share || slices.Contains(room.Busy, d.Endpoint) {
			return false
		}
		if of[d.Endpoint] == most(d.Endpoint) {
			batch.NextDue = d.DueAt // it is due still
			return false
		}
		if len(d.Body) > LargeBody {
			if bodies >= room.Bodies {
				if room.Bodies > 0 { // it is due still
					batch.NextDue = d.DueAt
				}
				return false
			}
			bodies += len(d.Body)
		}
		of[d.Endpoint]++
		d.LeasedTo, d.Version = until, l.version
		l.leased[d.ID] = d
		batch.Deliveries = append(batch.Deliveries, d)
		return true
	})
	batch.More = len(batch.Deliveries) == room.Deliveries
	return batch, nil
}

func (l *line) Finish(_ context.Context, _ core.ID, results []Result, _ Probing) (Outlook, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range results {
		delete(l.leased, r.Delivery.ID)
		l.finished[r.Delivery.ID]++
		if len(l.finished) == l.expected && l.finished[r.Delivery.ID] == 1 {
			close(l.all)
		}
	}
	return Outlook{}, nil
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

// TestNothingWaitsForThePoll has a queue that nobody announces anything of and
// a poll that never comes: the engine's own results must keep it going.
func TestNothingWaitsForThePoll(t *testing.T) {
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

func TestNoMoreThanTheLimitInFlightToOneEndpoint(t *testing.T) {
	l := newLine(500, func(i int) int64 { return int64(i%3) + 1 })
	var mu sync.Mutex
	flying, most := map[int64]int{}, 0
	runEngine(t, l, Config{EndpointInFlight: 4}, func(ctx context.Context, d Delivery) Attempt {
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

func TestManyEndpointsThatHangLeaveRoomForTheOthers(t *testing.T) {
	const hanging, each, room = 100, 20, 512
	l := newLine((hanging+10)*each, func(i int) int64 { return int64(i/each) + 1 }) // the hanging ones stand in front
	l.share, l.expected = 4, 10*each
	runEngine(t, l, Config{Held: room, Poll: time.Hour, StopWithin: time.Millisecond}, func(ctx context.Context, d Delivery) Attempt {
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

func TestAnEndpointHasAsManyPlacesAsItEarns(t *testing.T) {
	at := time.Now()
	l := &lane{places: core.Places{Now: firstPlaces, Most: 16}, longest: 1000, inFlight: 3000}
	for _, step := range []struct {
		times           int
		well            bool
		took            time.Duration
		places, allowed int
	}{
		{1, true, 10 * time.Millisecond, 5, 5 + 5*16}, {1, true, 400 * time.Millisecond, 6, 6 + 6*2}, {1, true, 1500 * time.Millisecond, 7, 7 + 3},
		{28, true, 1500 * time.Millisecond, 16, 16 + 31}, {1, false, 5 * time.Second, 8, 8 + 31}, {9, false, 5 * time.Second, 1, 1 + 31},
		{3, true, 0, 4, 4 + 4*16}, {2000, true, 0, 16, 16 + 1000},
	} {
		for range step.times {
			l.ended(at, step.took, step.well)
		}
		require.Equal(t, []int{step.places, step.allowed}, []int{l.places.Now, l.allowed(at)}, "%+v", step)
	}
	l.inFlight = 0
	require.Equal(t, 16+16*16, l.allowed(at.Add(3*time.Second)), "what it took in the last seconds counts no longer")
	l.inFlight = 1
	require.Equal(t, 16, l.allowed(at.Add(3*time.Second)), "it hangs")
	for took, allowed := range map[time.Duration]int{5 * time.Second: 1, time.Millisecond: 1 + 16} { // hangs, refuses at once
		l = &lane{places: core.Places{Now: firstPlaces, Most: 16}, longest: 1000}
		for range firstPlaces {
			l.ended(at, took, false)
		}
		require.Equal(t, allowed, l.allowed(at), "%v", took)
	}
}

func TestMoreIsClaimedForAnEndpointBeforeItsLineIsUsedUp(t *testing.T) {
	at := time.Now()
	l := &lane{places: core.Places{Now: 16, Most: 16}, longest: 1000, recent: 10, since: at, moved: at, pace: time.Second, inFlight: 16}
	for waiting, room := range map[int]int{16: 0, 9: 0, 8: 8, 1: 15, 0: 16} {
		l.waiting = make([]Delivery, waiting)
		require.Equal(t, room, l.room(at, 512), "%d waiting", waiting)
	}
	l.recent, l.waiting = 900, make([]Delivery, 750)
	require.Zero(t, l.room(at, 200))
	l.recent = 1000
	require.Equal(t, 250, l.room(at, 200), "a whole claim, though the line is not half used up")
}

func TestADeliveryThatCannotStartWithinItsLeaseIsGivenBackAtOnce(t *testing.T) {
	l := newLine(1, func(int) int64 { return 1 })
	tried := make(chan struct{}, 1)
	runEngine(t, l, Config{Lease: startMargin - time.Second, Poll: 10 * time.Millisecond}, func(ctx context.Context, d Delivery) Attempt {
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
