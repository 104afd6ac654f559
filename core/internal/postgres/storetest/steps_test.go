package storetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
	"github.com/servery-hub/servery/core/order"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/step"
)

func TestOnlyTheLeaseOwnerStoresSteps(t *testing.T) {
	d := newRiderHarness(t)
	one, other := core.NewID(d.clock.Now()), core.NewID(d.clock.Now())
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	first := d.claim(one)
	require.Len(t, first, 1)
	require.Nil(t, first[0].Steps)
	save := func(c int, steps string) bool {
		t.Helper()
		call := first[0]
		if c == 2 {
			call.Owner = other
		}
		held, err := d.calls.SaveSteps(t.Context(), call, []byte(steps))
		require.NoError(t, err)
		return held
	}
	require.True(t, save(1, `{"a":"secret-value"}`))
	require.False(t, save(2, `{"b":1}`), "another replica has no lease")
	var sealed []byte
	require.NoError(t, d.db.Bun().NewRaw(`SELECT steps FROM call_queue WHERE steps IS NOT NULL`).Scan(t.Context(),
		&sealed))
	require.NotContains(t, string(sealed), "secret-value")

	d.clock.Advance(21 * time.Second) // the replica has crashed
	second := d.claim(other)
	require.Len(t, second, 1)
	require.Equal(t, first[0].ID, second[0].ID)
	require.JSONEq(t, `{"a":"secret-value"}`, string(second[0].Steps))
	require.False(t, save(1, `{"c":1}`), "the lease has ended")
	require.False(t, save(2, `{"c":1}`), "the same owner has a new lease")

	d.finish(other, d.retried(second[0], time.Second))
	d.clock.Advance(2 * time.Second)
	third := d.claim(one)
	require.JSONEq(t, `{"a":"secret-value"}`, string(third[0].Steps), "a retry has the steps")

	key, err := seal.New(newKey)
	require.NoError(t, err)
	d.db.UseSealer(key)
	d.clock.Advance(21 * time.Second)
	require.Nil(t, d.claim(one)[0].Steps, "without their key the call begins again")
}

func TestLostLeaseDoesNotEndTheNextOne(t *testing.T) {
	d := newRiderHarness(t)
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	owner := core.NewID(d.clock.Now())
	first := d.claim(owner)[0]
	d.clock.Advance(21 * time.Second)
	second := d.claim(owner)[0]
	lost := d.retried(first, 0)
	lost.LeaseLost = true
	d.finish(owner, lost)
	require.Empty(t, d.claim(owner), "the owner has the call")
	held, err := d.calls.SaveSteps(t.Context(), second, []byte(`{}`))
	require.NoError(t, err)
	require.True(t, held)
}

func TestStepsOfAnEndedCallAreDeleted(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{Name: "Ann", Phone: "1"}))
	owner := core.NewID(d.clock.Now())
	call := d.claim(owner)[0]
	held, err := d.calls.SaveSteps(t.Context(), call, []byte(`{}`))
	require.NoError(t, err)
	require.True(t, held)
	d.finish(owner, d.done(call))
	d.clock.Advance(time.Second)
	next := d.claim(owner)
	require.Len(t, next, 1)
	require.NotEqual(t, call.ID, next[0].ID)
	require.Nil(t, next[0].Steps)
}

func TestStepsOfMenusFollowTheirLease(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(time.Minute)
	work, _ := p.claim(me)
	require.NotEmpty(t, work)
	held, err := p.queue.SaveSteps(t.Context(), work[0], []byte(`{"a":"secret-value"}`))
	require.NoError(t, err)
	require.True(t, held)
	stolen := work[0]
	stolen.Owner = core.NewID(p.clock.Now())
	held, err = p.queue.SaveSteps(t.Context(), stolen, []byte(`{}`))
	require.NoError(t, err)
	require.False(t, held)

	sealed, err := schema.CountSealed(t.Context(), p.db)
	require.NoError(t, err)
	for _, column := range sealed {
		require.Zero(t, column.Unreadable, column.Column)
		if column.Column == "publications.steps" {
			require.Len(t, column.Keys, 1, "key rotation finds them")
		}
	}
	p.clock.Advance(2 * time.Minute) // the lease ends
	again, _ := p.claim(me)
	require.JSONEq(t, `{"a":"secret-value"}`, string(again[0].Steps))
	p.finish(me, p.published(again[0]))
	n := 0
	require.NoError(t, p.db.Bun().NewRaw(`SELECT count(*) FROM publications WHERE steps IS NOT NULL`).Scan(t.Context(),
		&n))
	require.Zero(t, n)
}

// The steps of a call are reused under its id only.
func TestMenuKeepsItsCallUntilItChanges(t *testing.T) {
	p := newPublishHarness(t)
	change := func(price string) {
		p.send("s1", `{"items":[{"ref_id":"curry","price":`+price+`}]}`)
	}
	claim := func() publishing.Work {
		t.Helper()
		work, _ := p.claim(me)
		return work[slices.IndexFunc(work, func(w publishing.Work) bool { return w.Platform == "a" })]
	}
	save := func(w publishing.Work) {
		t.Helper()
		held, err := p.queue.SaveSteps(t.Context(), w, []byte(`{}`))
		require.NoError(t, err)
		require.True(t, held)
	}
	change("2")
	p.clock.Advance(time.Minute)
	first := claim()
	require.Zero(t, first.CallID)
	first.CallID = core.NewID(p.clock.Now())
	save(first)
	p.clock.Advance(2 * time.Minute) // the replica has crashed
	again := claim()
	require.Equal(t, first.CallID, again.CallID)
	p.finish(me, publishing.Result{Work: again, State: publishing.Waiting, Uncounted: true, RetryAt: p.clock.Now()})
	throttled := claim()
	require.Equal(t, first.CallID, throttled.CallID, "no attempt has counted")
	require.NotEmpty(t, throttled.Steps)

	change("3")
	save(throttled)
	p.finish(me, publishing.Result{Work: throttled, State: publishing.Waiting, RetryAt: p.clock.Now()})
	p.clock.Advance(time.Minute)
	changed := claim()
	require.Zero(t, changed.CallID)
	changed.CallID = core.NewID(p.clock.Now())
	save(changed)
	change("4")
	p.clock.Advance(2 * time.Minute)
	require.Zero(t, claim().CallID, "the replica has crashed after a change")
}

// steppedAggregator plans two steps for each call. The first one is reused. Each replica has its own.
type steppedAggregator struct {
	mu       sync.Mutex
	requests []string
	hangs    chan struct{} // if set, the second step hangs until it is closed
}

func (*steppedAggregator) Plan(context.Context, relay.Call, []byte) (relay.Decision, error) {
	request := func(method, path string) relay.Plan {
		return relay.Plan{Endpoint: "api", Hosts: []string{"x.example"}, Method: method, Path: path}
	}
	return relay.Decision{Plan: &relay.Plan{Steps: []relay.Step{
		{Name: "create", Request: request("POST", "/riders"), Reuse: time.Hour,
			Take: []step.Take{{Name: "id", Pointer: "/id", MaxLength: 10}}},
		{Name: "change", Request: request("PUT", "/riders/{create.id}")}}}}, nil
}

func (*steppedAggregator) Serves(string) bool { return true }

func (*steppedAggregator) Interpret(context.Context, relay.Call, []byte, relay.Response) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

func (*steppedAggregator) Access(context.Context, core.BusinessID, string) (relay.Access, error) {
	return relay.Access{BaseURLs: map[string]string{"api": "https://x.example"}}, nil
}

func (*steppedAggregator) Called(relay.Result) {}

func (p *steppedAggregator) Send(_ context.Context, r relay.Request) relay.Attempt {
	p.mu.Lock()
	p.requests = append(p.requests, r.Method+" "+strings.TrimPrefix(r.URL, "https://x.example"))
	p.mu.Unlock()
	if p.hangs != nil && r.Method == "PUT" {
		<-p.hangs
	}
	return relay.Attempt{StartedAt: time.Now(), Method: r.Method, URL: r.URL, Status: 200, Raw: []byte(`{"id":7}`)}
}

func (p *steppedAggregator) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

func TestAnotherReplicaContinuesAfterACompletedStep(t *testing.T) {
	d := newRiderHarness(t)
	placed := d.order("b", "") // no engine may claim its acknowledgement, which order deletes
	ctx, stop := context.WithCancel(context.Background())
	var engines sync.WaitGroup
	start := func(p *steppedAggregator) *relay.Engine {
		config := relay.Config{Poll: 20 * time.Millisecond, StopWithin: time.Second}
		engine := relay.NewEngine(config, relay.Dependencies{
			Queue: d.calls, SaveSteps: d.calls.SaveSteps, Plugins: p, Platforms: p, Sender: p, Clock: d.clock,
			Observer: p, Log: hubtest.Logger()})
		engines.Go(func() { engine.Run(ctx) })
		return engine
	}
	hanging := &steppedAggregator{hangs: make(chan struct{})}
	engine := start(hanging)
	require.NoError(t, d.send(placed, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	hubtest.WaitUntil(t, "the second step hangs", func() bool { // within the lease: the clock stands still
		engine.Wake()
		return len(hanging.sent()) == 2
	})
	require.Equal(t, []string{"POST /riders", "PUT /riders/7"}, hanging.sent())
	other := &steppedAggregator{}
	start(other)
	hubtest.WaitUntil(t, "another replica after the lease", func() bool {
		d.clock.Advance(50 * time.Millisecond)
		return len(other.sent()) >= 1
	})
	require.Equal(t, []string{"PUT /riders/7"}, other.sent(), "the first step is not sent again")
	close(hanging.hangs)
	stop()
	engines.Wait()
}
