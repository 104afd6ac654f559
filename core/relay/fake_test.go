package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// fakeDependencies is a queue, plugins, platforms and an aggregator in memory.
type fakeDependencies struct {
	mu       sync.Mutex
	due      []Call
	results  []Result
	released []Call
	busy     []int64 // endpoints at the last claim
	failing  int     // calls of Finish that still fail
	hanging  chan struct{}
	sending  int // requests so far to an aggregator that hangs
	sent     []string
	asked    int  // calls planned of platform down
	absent   bool // the plugin does not serve
	body     int  // bytes of requests; 0: 64 KiB
	log      slog.Handler
}

func (b *fakeDependencies) Serves(string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.absent
}

func (b *fakeDependencies) Claim(_ context.Context, _ core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[Call], _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []Call
	taken := map[int64]int{}
	for _, c := range b.due {
		if slices.Contains(capacity.Busy, c.Endpoint) || slices.Contains(capacity.BusyGroups, c.Plugin) ||
			len(batch.Items) == capacity.Items || taken[c.Endpoint] == capacity.OtherKeys {
			left = append(left, c)
			continue
		}
		taken[c.Endpoint]++
		c.LeasedUntil = until
		batch.Items = append(batch.Items, c)
	}
	b.due, b.busy = left, capacity.Busy
	batch.More = len(batch.Items) == capacity.Items
	return batch, nil
}

func (b *fakeDependencies) Finish(_ context.Context, _ core.ID, results []Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing > 0 {
		b.failing--
		return errors.New("the database is unavailable")
	}
	b.results = append(b.results, results...)
	return nil
}

func (b *fakeDependencies) Release(_ context.Context, _ core.ID, calls []Call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = append(b.released, calls...)
	return nil
}

func (b *fakeDependencies) Plan(_ context.Context, c Call, _ []byte) (Decision, error) {
	switch c.Platform {
	case "panics":
		panic("a fault")
	case "fails":
		return Decision{}, core.Errorf(core.Internal, "a fault")
	case "down":
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked++
		if !b.absent && b.asked > 1 {
			break
		}
		return Decision{}, core.Errorf(core.Unavailable, "a fault")
	case "cut":
		return Decision{}, errors.New("a fault")
	}
	return Decision{Plan: &Plan{Endpoint: "api", Hosts: []string{c.Platform}, Method: "POST", Path: "/",
		Body: make([]byte, cmp.Or(b.body, 64<<10))}}, nil
}

// remotePlugin is a plugin that another replica runs.
type remotePlugin struct {
	*fakeDependencies
	asked atomic.Int64
}

func (a *remotePlugin) Plan(context.Context, Call, []byte) (Decision, error) {
	a.asked.Add(1)
	return Decision{}, core.Snooze{Until: time.Now().Add(time.Hour)}
}

func (b *fakeDependencies) Interpret(_ context.Context, c Call, _ []byte, _ Response) (Outcome, error) {
	if c.Platform == "unreadable" {
		panic("a fault")
	}
	if c.Platform == "unread" {
		return Outcome{}, &core.Error{Code: core.Internal, Message: "the plugin crashed",
			Cause: errors.New("at main.go:1")}
	}
	return Outcome{}, core.Errorf(core.NotFound, "this plugin reads no responses")
}

func (b *fakeDependencies) Access(_ context.Context, _ core.BusinessID, platform string) (Access, error) {
	return Access{BaseURLs: map[string]string{"api": "https://" + platform}}, nil
}

func (b *fakeDependencies) Called(Result) {}

func (b *fakeDependencies) Send(ctx context.Context, r Request) Attempt {
	if r.URL == "https://breaks/" {
		panic("a fault")
	}
	if r.URL == "https://hangs/" {
		b.mu.Lock()
		b.sending++
		b.mu.Unlock()
		select {
		case <-b.hanging:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, r.URL)
	if r.URL == "https://limits/" {
		return Attempt{Status: 429, ResponseHeaders: map[string]string{"Retry-After": "300"}}
	}
	return Attempt{Status: 200, RequestBody: r.Body, ResponseBody: make([]byte, 64<<10)}
}

func (b *fakeDependencies) calls(platform string, endpoint int64, n int) {
	for range n {
		b.due = append(b.due, Call{ID: core.NewID(time.Now()), Platform: platform, Plugin: "p", Endpoint: endpoint,
			Since: time.Now()})
	}
}

func (b *fakeDependencies) finished(platform string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.results {
		if r.Call.Platform == platform {
			n++
		}
	}
	return n
}

func (b *fakeDependencies) run(t *testing.T, config Config) (e *Engine, stop func()) {
	t.Helper()
	return runEngine(t, config, b, cmp.Or(b.log, slog.DiscardHandler))
}

// runEngine runs an engine until stop is called. Leases outlast the test: Release of fakeDependencies does not queue a
// call again.
func runEngine(t *testing.T, config Config, parts interface {
	Queue
	Plugins
	Platforms
	Sender
	Observer
}, log slog.Handler) (e *Engine, stop func()) {
	t.Helper()
	config.Lease = cmp.Or(config.Lease, time.Hour)
	e = NewEngine(config, Dependencies{Queue: parts, Plugins: parts, Platforms: parts, Sender: parts, Observer: parts,
		Clock: core.NewSystemClock(nil), Log: slog.New(log)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	return e, func() {
		cancel()
		<-ended
	}
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}
