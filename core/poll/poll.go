// Package poll polls aggregators that do not send everything. A poll is a call of the relay that stays in
// its queue: after each run it is due again. The messages that it finds are handled like requests of the aggregator.
package poll

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Declaration is a poll that a plugin declares.
type Declaration struct {
	Name        string
	Period      time.Duration // from the end of a run to the next one
	PerStore    bool
	OnlyPending bool // no run while no outcome is pending
}

// Run is one run of a poll.
type Run struct {
	Cursor          string // of the last successful run
	StoreRefID      string // of a poll per store
	PlatformStoreID string
	Pending         []Task // requests whose outcome is still to come
}

// Task is a request whose outcome the aggregator has not reported yet.
type Task struct {
	Reference  string
	Kind       string // outcome.Menu, or the kind of the call
	StoreRefID string
	Deadline   time.Time
}

// End is how a run ended.
type End struct {
	relay.Result
	Over   bool // the run is over: the next one is due
	Leaves bool // the poll leaves the queue, because nothing declares it any more
}

// Plugins have polls. The errors are those of relay.Plugins.
type Plugins interface {
	// Polls returns the polls that a plugin declares. It returns nil if it is unknown.
	Polls(plugin string) []Declaration
	PlanPoll(ctx context.Context, call relay.Call, run Run, settings []byte) (relay.Decision, error)
	ReadPoll(ctx context.Context, call relay.Call, run Run, settings []byte,
		response relay.Response) (relay.Polled, error)
}

// Runs stores the runs of polls.
type Runs interface {
	// Read returns the run of a leased call. It returns NotFound if the platform does not list its store any more.
	Read(ctx context.Context, call relay.Call) (Run, error)
	// Finish stores how a run ended, in one transaction: its messages, its cursor, and when the poll is due next. The
	// function next returns that time for the number of failed runs before. Finish stores nothing if the owner has lost
	// the lease.
	Finish(ctx context.Context, owner core.ID, end End, next func(failures int) time.Time) error
}

// Caller plans and interprets the calls of polls. The other calls are those of Plugins.
type Caller struct {
	relay.Plugins
	Polls Plugins
	Runs  Runs
}

// Plan plans a call (relay.Plugins).
func (p Caller) Plan(ctx context.Context, call relay.Call, settings []byte) (relay.Decision, error) {
	if call.Kind != relay.Poll {
		return p.Plugins.Plan(ctx, call, settings)
	}
	declared, ok := find(p.Polls, call)
	if !ok {
		return relay.Decision{}, core.Errorf(core.NotFound, "plugin %s does not declare the poll", call.Plugin)
	}
	run, err := p.Runs.Read(ctx, call)
	if err != nil {
		return relay.Decision{}, err
	}
	if declared.OnlyPending && len(run.Pending) == 0 {
		return relay.Decision{Done: "no outcome is pending"}, nil
	}
	decision, err := p.Polls.PlanPoll(ctx, call, run, settings)
	if decision.Skip != "" {
		decision = relay.Decision{Done: decision.Skip}
	}
	return decision, err
}

// Interpret interprets a response (relay.Plugins).
func (p Caller) Interpret(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	if call.Kind != relay.Poll {
		return p.Plugins.Interpret(ctx, call, settings, response)
	}
	run, err := p.Runs.Read(ctx, call)
	if err != nil {
		return relay.Outcome{}, err
	}
	polled, err := p.Polls.ReadPoll(ctx, call, run, settings, response)
	if err != nil {
		return relay.Outcome{State: relay.OutcomeRetry,
			Message: "the response could not be read: " + core.PublicMessage(err)}, nil
	}
	return relay.Outcome{State: relay.OutcomeDone, Message: fmt.Sprintf("found %d messages", len(polled.Messages)),
		Polled: &polled}, nil
}

// find returns the declaration of a call's poll.
func find(plugins Plugins, call relay.Call) (Declaration, bool) {
	var payload relay.PollPayload
	_ = json.Unmarshal(call.Payload, &payload) // no declaration has an empty name
	list := plugins.Polls(call.Plugin)
	i := slices.IndexFunc(list, func(d Declaration) bool {
		return d.Name == payload.Poll && d.PerStore == (payload.StoreID != 0)
	})
	if i < 0 {
		return Declaration{}, false
	}
	return list[i], true
}

// Queue stores the results of polls separately from those of other calls.
type Queue struct {
	relay.Queue
	Polls Plugins
	Runs  Runs
}

// Finish records the results of calls (relay.Queue). Each poll has its own transaction, after that of the other calls:
// their orders wait for it. A poll that cannot be recorded delays no other.
func (q Queue) Finish(ctx context.Context, owner core.ID, results []relay.Result) error {
	var others, polls []relay.Result
	for _, r := range results {
		if r.Call.Kind == relay.Poll {
			polls = append(polls, r)
		} else {
			others = append(others, r)
		}
	}
	var err error
	if len(others) > 0 {
		err = q.Queue.Finish(ctx, owner, others)
	}
	for _, r := range polls {
		if ctx.Err() != nil {
			break
		}
		declared, known := find(q.Polls, r.Call)
		end := End{Result: r, Over: r.State != relay.Waiting}
		end.Leaves = r.State == relay.Skipped || end.Over && !known
		err = errors.Join(err, q.Runs.Finish(ctx, owner, end, func(failures int) time.Time {
			return next(declared, r, failures)
		}))
	}
	return err
}

const (
	morePause   = time.Second      // before the next run if there is more
	idlePause   = 15 * time.Second // until a paused poll is looked at again
	longestWait = time.Hour        // after failed runs, unless the period is longer
	maxDoubling = 12               // of the wait
)

// next returns when a poll is due after a result. Each failed run in sequence doubles the wait. Periods differ by up to
// a twentieth, so that the polls of many businesses spread out.
func next(declared Declaration, r relay.Result, failures int) time.Time {
	wait := declared.Period
	switch {
	case r.State == relay.Waiting && r.Attempt == nil && r.RetryAfter.IsZero():
		return later(r.RetryAt, r.FinishedAt.Add(idlePause))
	case r.State == relay.Waiting:
		return r.RetryAt
	case r.Outcome.Polled != nil && r.Outcome.Polled.More:
		return r.FinishedAt.Add(morePause)
	case r.State == relay.Failed:
		wait = max(wait, min(wait<<min(failures+1, maxDoubling), longestWait))
	}
	return r.FinishedAt.Add(wait - wait/20 + rand.N(wait/10+1))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// FirstDue returns when a new poll is due: at a random time of its first period, but within five minutes.
func FirstDue(period time.Duration, now time.Time) time.Time {
	return now.Add(rand.N(min(period, 5*time.Minute)))
}
