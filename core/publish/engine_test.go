package publish

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// fakeQueue is a queue in memory, and the renderer of its publications. The plugin of endpoint 1 is down, and another
// replica has that of endpoint 4. The aggregator of endpoint 40 throttles, and the renderings of endpoint 50 hang.
type fakeQueue struct {
	mu       sync.Mutex
	due      []Work
	rendered map[int64]int
	released int
	results  map[int64][]Result
	block    chan struct{} // blocks sending from endpoint 5 on; nil: sending returns at once
	hangs    chan struct{} // receives a value when a rendering of endpoint 50 begins
	resume   chan struct{} // closed to end the renderings of endpoint 50
	log      slog.Handler
}

func (s *fakeQueue) Claim(_ context.Context, _ core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[Work], _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rest []Work
	taken := map[int64]int{}
	for _, w := range s.due {
		if len(batch.Items) == capacity.Items || taken[w.Endpoint] == capacity.OtherKeys ||
			slices.Contains(capacity.Busy, w.Endpoint) || slices.Contains(capacity.BusyGroups, w.Plugin) {
			rest = append(rest, w)
			continue
		}
		taken[w.Endpoint]++
		w.LeasedUntil = until
		batch.Items = append(batch.Items, w)
	}
	s.due = rest
	return batch, nil
}

func (s *fakeQueue) Finish(_ context.Context, _ core.ID, r Result, _ []core.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[r.Endpoint] = append(s.results[r.Endpoint], r)
	if r.State == Waiting {
		s.due = append(s.due, r.Work)
	}
	return nil
}

func (s *fakeQueue) Release(_ context.Context, _ core.ID, w Work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due, s.released = append(s.due, w), s.released+1
	return nil
}

func (s *fakeQueue) Render(ctx context.Context, w Work) (Rendering, error) {
	s.mu.Lock()
	s.rendered[w.Endpoint]++
	s.mu.Unlock()
	switch w.Endpoint {
	case 1:
		return Rendering{}, core.Errorf(core.Unavailable, "it is down")
	case 2:
		panic("broken")
	case 4:
		return Rendering{}, core.Snooze{Until: time.Now().Add(time.Hour)}
	case 50:
		s.hangs <- struct{}{}
		<-s.resume
	}
	return Rendering{Content: []string{"menu"}, Send: func(ctx context.Context) SendResult {
		if w.Endpoint == 40 {
			return SendResult{State: Waiting, RetryAt: time.Now(), RetryAfter: time.Now().Add(time.Hour)}
		}
		if s.block != nil && w.Endpoint > 4 {
			select {
			case <-s.block:
			case <-ctx.Done():
				return SendResult{State: Failed, Message: "cut off"} // as after the last attempt
			}
		}
		return SendResult{State: Published, Responded: true}
	}}, nil
}

func (s *fakeQueue) Published(Result, time.Duration) {}

// count returns how many renderings of an endpoint have begun, and how many results are recorded.
func (s *fakeQueue) count(endpoint int64) (rendered, results int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rendered[endpoint], len(s.results[endpoint])
}

func (s *fakeQueue) start(t *testing.T, config Config, due ...int64) (stop func()) {
	s.rendered, s.results = map[int64]int{}, map[int64][]Result{}
	for n, endpoint := range due {
		s.due = append(s.due, Work{Endpoint: endpoint, StoreID: int64(n)})
	}
	config.Poll = time.Millisecond
	e := NewEngine(config, Dependencies{Queue: s, Renderer: s, Clock: core.NewSystemClock(nil), Observer: s,
		Busy: func() bool { return false }, Log: slog.New(cmp.Or(s.log, slog.DiscardHandler))})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); e.Run(ctx) }()
	return func() { cancel(); <-ended }
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}

func TestUnavailablePluginPausesOnlyItsPlatform(t *testing.T) {
	var log bytes.Buffer
	s := &fakeQueue{log: slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})}
	stop := s.start(t, Config{UnavailablePause: time.Hour}, 1, 2, 3)
	eventually(t, func() bool {
		_, down := s.count(1)
		_, broken := s.count(2)
		_, well := s.count(3)
		return down == 1 && broken > 0 && well == 1
	})
	stop()
	rendered, results := s.count(1)
	require.Equal(t, []int{1, 1}, []int{rendered, results})
	require.Equal(t, []any{Waiting, true, "it is down"},
		[]any{s.results[1][0].State, s.results[1][0].Uncounted, s.results[1][0].Message})
	require.Contains(t, s.results[2][0].Message, "the hub failed")
	require.Contains(t, log.String(), "broken")
	require.Contains(t, log.String(), "engine_test.go", "the stack")
	require.Equal(t, Published, s.results[3][0].State)
	require.NotZero(t, s.results[3][0].CallID)
}

func TestThrottlingAggregatorReceivesNoFurtherMenus(t *testing.T) {
	s := &fakeQueue{}
	stop := s.start(t, Config{}, 40, 40, 40, 40, 40, 40)
	eventually(t, func() bool { _, results := s.count(40); return results > 0 })
	s.mu.Lock()
	for range 20 { // the engine polls again
		s.due = append(s.due, Work{Endpoint: 3})
	}
	s.mu.Unlock()
	eventually(t, func() bool { _, results := s.count(3); return results == 20 })
	stop()
	rendered, results := s.count(40)
	require.LessOrEqual(t, rendered, firstLimit, "only those already in flight")
	require.Equal(t, rendered, results)
}

func TestWorkOfAnotherReplicasPluginIsReleased(t *testing.T) {
	s := &fakeQueue{}
	stop := s.start(t, Config{UnavailablePause: time.Millisecond}, 4, 3)
	eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.released == 1 && len(s.results[3]) == 1
	})
	s.mu.Lock()
	s.due = append(s.due, Work{Endpoint: 3}) // the engine polls again
	s.mu.Unlock()
	eventually(t, func() bool { _, results := s.count(3); return results == 2 })
	stop()
	rendered, results := s.count(4)
	require.Equal(t, []int{1, 0}, []int{rendered, results},
		"it is given back as it was, and not taken again before its time")
	require.Len(t, s.due, 1)
	require.Equal(t, 1, s.released)
}

func TestConcurrencyLimitsHoldPerEndpointAndReplica(t *testing.T) {
	s := &fakeQueue{block: make(chan struct{})}
	stop := s.start(t, Config{Capacity: 3, PluginCapacity: 3, EndpointLimit: 2}, 5, 6, 7, 8)
	eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.due) == 1 })
	close(s.block)
	eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.results) == 4 })
	stop()
}

func TestHangingAggregatorLeavesCapacityForOthers(t *testing.T) {
	s := &fakeQueue{block: make(chan struct{})}
	for n := range int64(60) { // queued first, for 20 businesses
		s.due = append(s.due, Work{Endpoint: 100 + n/3, StoreID: n, Plugin: "hangs"})
	}
	stop := s.start(t, Config{Capacity: 8}, 3, 3, 3, 3, 3, 3)
	eventually(t, func() bool { _, results := s.count(3); return results == 6 })
	close(s.block)
	eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.due) == 0 })
	stop()
}

func TestStopCutsOffHangingPublications(t *testing.T) {
	s := &fakeQueue{block: make(chan struct{})}
	stop := s.start(t, Config{StopWithin: time.Millisecond}, 9)
	eventually(t, func() bool { rendered, _ := s.count(9); return rendered == 1 })
	stop()
	r := s.results[9][0]
	require.Equal(t, []any{Waiting, true, true, "cut off"}, []any{r.State, r.Attempted, r.Uncounted, r.Message})
}

func TestHangingRenderingDoesNotBlockOthers(t *testing.T) {
	s := &fakeQueue{hangs: make(chan struct{}), resume: make(chan struct{})}
	due := []int64{50, 50}
	for range 100 {
		due = append(due, 3, 6)
	}
	stop := s.start(t, Config{RenderSlotTime: time.Millisecond}, due...)
	eventually(t, func() bool {
		_, one := s.count(3)
		_, other := s.count(6)
		return one == 100 && other == 100
	})
	<-s.hangs
	<-s.hangs
	_, results := s.count(50)
	require.Zero(t, results)
	close(s.resume)
	eventually(t, func() bool { _, results := s.count(50); return results == 2 })
	stop()
}

func TestRenderingWaitsForHalfOfItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEngine(Config{}, Dependencies{Clock: core.NewSystemClock(nil)})
		e.renderSlots <- struct{}{}
		begin := time.Now()
		_, err := e.render(t.Context(), Work{LeasedUntil: begin.Add(e.Lease/2 + time.Second)})
		require.ErrorAs(t, err, &core.Snooze{})
		require.Equal(t, time.Second, time.Since(begin), "it has waited in memory before")
	})
}

func TestWorkWithoutRenderingCapacityIsReleased(t *testing.T) {
	s := &fakeQueue{hangs: make(chan struct{}), resume: make(chan struct{})}
	stop := s.start(t, Config{RenderSlotTime: time.Hour, Lease: endMargin + 20*time.Millisecond,
		UnavailablePause: time.Hour}, 50)
	<-s.hangs
	s.mu.Lock()
	s.due = append(s.due, Work{Endpoint: 3})
	s.mu.Unlock()
	eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.released > 0 })
	close(s.resume)
	eventually(t, func() bool { _, results := s.count(3); return results == 1 })
	stop()
	require.Equal(t, Published, s.results[3][0].State, "its platform was not paused")
}
