package poll

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// plugins declare the polls orders and jobs, and record what they are asked.
type plugins struct {
	relay.Plugins
	run      Run
	decision relay.Decision
	readErr  error
	planned  int
	ends     []End
	failing  int // runs whose end is not stored
	due      []time.Time
}

func (p *plugins) Polls(string) []Declaration {
	return []Declaration{{Name: "orders", Period: time.Minute}, {Name: "jobs", Period: time.Minute, OnlyPending: true}}
}

func (p *plugins) PlanPoll(context.Context, relay.Call, Run, []byte) (relay.Decision, error) {
	p.planned++
	return p.decision, nil
}

func (p *plugins) ReadPoll(context.Context, relay.Call, Run, []byte, relay.Response) (relay.Polled, error) {
	return relay.Polled{Cursor: "c1", Messages: make([]relay.PolledMessage, 2)}, p.readErr
}

func (p *plugins) Read(context.Context, relay.Call) (Run, error) { return p.run, nil }

func (p *plugins) Finish(_ context.Context, _ core.ID, end End, next func(int) time.Time) error {
	if p.failing > 0 {
		p.failing--
		return errors.New("the database rejects it")
	}
	p.ends, p.due = append(p.ends, end), append(p.due, next(2))
	return nil
}

// others is the queue of the other calls.
type others struct {
	relay.Queue
	finished []relay.Result
}

func (o *others) Finish(_ context.Context, _ core.ID, results []relay.Result) error {
	o.finished = append(o.finished, results...)
	return nil
}

func call(name string) relay.Call {
	return relay.Call{Kind: relay.Poll, Payload: []byte(`{"poll":"` + name + `"}`)}
}

func TestPollRunsOnlyWhenItIsNeeded(t *testing.T) {
	p := &plugins{decision: relay.Decision{Skip: "closed"}}
	caller := Caller{Polls: p, Runs: p}
	_, err := caller.Plan(t.Context(), call("unknown"), nil)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	decision, err := caller.Plan(t.Context(), call("jobs"), nil)
	require.NoError(t, err)
	require.Equal(t, relay.Decision{Done: "no outcome is pending"}, decision)
	require.Zero(t, p.planned)
	p.run.Pending = []Task{{Reference: "T-1"}}
	decision, err = caller.Plan(t.Context(), call("jobs"), nil)
	require.NoError(t, err)
	require.Equal(t, relay.Decision{Done: "closed"}, decision)
	require.Equal(t, 1, p.planned)
}

func TestUnreadableResponseIsRetried(t *testing.T) {
	p := &plugins{}
	caller := Caller{Polls: p, Runs: p}
	outcome, err := caller.Interpret(t.Context(), call("orders"), nil, relay.Response{})
	require.NoError(t, err)
	require.Equal(t, relay.OutcomeDone, outcome.State)
	require.Equal(t, "found 2 messages", outcome.Message)
	require.Equal(t, "c1", outcome.Polled.Cursor)
	p.readErr = core.Errorf(core.Invalid, "no list")
	outcome, err = caller.Interpret(t.Context(), call("orders"), nil, relay.Response{})
	require.NoError(t, err)
	require.Equal(t, relay.OutcomeRetry, outcome.State)
	require.Nil(t, outcome.Polled)
	require.Contains(t, outcome.Message, "no list")
}

func TestNextRunDependsOnTheResult(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	in := func(wait time.Duration) time.Time { return now.Add(wait) }
	attempt := &relay.Attempt{}
	for name, row := range map[string]struct {
		result         relay.Result
		earliest, last time.Time
		over, leaves   bool
	}{
		"done":   {relay.Result{State: relay.Done}, in(57 * time.Second), in(63 * time.Second), true, false},
		"failed": {relay.Result{State: relay.Failed}, in(456 * time.Second), in(504 * time.Second), true, false},
		"more": {relay.Result{State: relay.Done, Outcome: relay.Outcome{Polled: &relay.Polled{More: true}}},
			in(time.Second), in(time.Second), true, false},
		"retried": {relay.Result{State: relay.Waiting, RetryAt: in(2 * time.Second), Attempt: attempt},
			in(2 * time.Second), in(2 * time.Second), false, false},
		"a plugin that does not run": {relay.Result{State: relay.Waiting, RetryAt: in(2 * time.Second),
			Uncounted: true}, in(15 * time.Second), in(15 * time.Second), false, false},
		"a rate limit": {relay.Result{State: relay.Waiting, RetryAt: in(2 * time.Second),
			RetryAfter: in(2 * time.Second)}, in(2 * time.Second), in(2 * time.Second), false, false},
		"without a plugin": {relay.Result{State: relay.Skipped}, in(57 * time.Second), in(63 * time.Second), true,
			true},
	} {
		p, rest := &plugins{}, &others{}
		row.result.Call, row.result.FinishedAt = call("orders"), now
		err := Queue{Queue: rest, Polls: p, Runs: p}.Finish(t.Context(), core.ID{},
			[]relay.Result{row.result, {Call: relay.Call{Kind: relay.OrderStatus}}})
		require.NoError(t, err, name)
		require.Len(t, rest.finished, 1, name)
		require.Equal(t, []bool{row.over, row.leaves}, []bool{p.ends[0].Over, p.ends[0].Leaves}, name)
		require.WithinRange(t, p.due[0], row.earliest, row.last, name)
	}
}

func TestPollThatCannotBeRecordedDelaysNoOther(t *testing.T) {
	p, rest := &plugins{failing: 1}, &others{}
	poll := relay.Result{Call: call("orders"), State: relay.Done}
	require.Error(t, Queue{Queue: rest, Polls: p, Runs: p}.Finish(t.Context(), core.ID{},
		[]relay.Result{poll, poll, {Call: relay.Call{Kind: relay.OrderStatus}}}))
	require.Len(t, p.ends, 1)
	require.Len(t, rest.finished, 1)
}

func TestFirstRunsSpreadOverThePeriod(t *testing.T) {
	now, halves := time.Now(), map[bool]bool{}
	for range 200 {
		due := FirstDue(time.Minute, now)
		require.WithinRange(t, due, now, now.Add(time.Minute))
		halves[due.After(now.Add(30*time.Second))] = true
	}
	require.Len(t, halves, 2)
	require.WithinRange(t, FirstDue(24*time.Hour, now), now, now.Add(5*time.Minute))
}
