package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Storage writes stores.
type Storage interface {
	// Ingest ends the job in one transaction. It reads the state that the request needs and calls decide for the plan.
	// Then it writes the changes, the event with its deliveries, and the job's outcome. It writes nothing and returns
	// Conflict if the job's lease is lost.
	Ingest(ctx context.Context, job core.Job, request Request,
		decide func(state State, newID func() int64) (IngestResult, error)) error
}

// IngestResult is the result of a job.
type IngestResult struct {
	Changes []Change
	Event   core.Event
	Result  []byte // JSON, stored with the job
	Failure string // why the job failed as a whole; "" if it did not
}

// Ingestor runs the jobs of bulk requests.
type Ingestor struct {
	Storage Storage
	Clock   core.Clock
}

// Run executes a bulk request (job.Handler).
func (i Ingestor) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	request, err := Decode(job.Body)
	if err != nil {
		return core.UnreadableRequest(err)
	}
	report(0, len(request.Stores))
	err = i.ingest(ctx, job, request, "", Decide)
	if err == nil {
		report(len(request.Stores), len(request.Stores))
	}
	return err
}

// Fail ends a bulk request that could not be executed. It writes nothing, and the callback reports every store as
// failed (job.Handler). It does not check the request, because a violation may be the cause.
func (i Ingestor) Fail(ctx context.Context, job core.Job, cause error) error {
	request, err := decodeUnchecked(job.Body)
	if err != nil {
		return core.UnreadableRequest(err)
	}
	return i.ingest(ctx, job, request, cause.Error(), func(request Request, state State, _ func() int64) Plan {
		return Failed(request, state, core.UnprocessedRequest(job.ID))
	})
}

func (i Ingestor) ingest(ctx context.Context, job core.Job, request Request, failure string,
	decide func(Request, State, func() int64) Plan,
) error {
	return i.Storage.Ingest(ctx, job, request, func(state State, newID func() int64) (IngestResult, error) {
		plan := decide(request, state, newID)
		body, err := Callback(job.ID, request, plan)
		if err != nil {
			return IngestResult{}, fmt.Errorf("encoding the callback: %w", err)
		}
		result, err := json.Marshal(plan.summary(request))
		if err != nil {
			return IngestResult{}, fmt.Errorf("encoding the result: %w", err)
		}
		now := i.Clock.Now()
		return IngestResult{Changes: plan.Changes, Result: result, Failure: failure, Event: core.Event{
			ID: core.NewID(now), Business: job.Business, Type: core.StoreCreation, At: now,
			Body: body, Reference: job.ID.String(), CallbackURL: job.CallbackURL,
		}}, nil
	})
}

// summary returns the result that is stored with a plan's job: the counts, the first failed stores and the first
// warnings.
func (p Plan) summary(request Request) any {
	var failed []core.FailedObject
	var warnings []core.Warning
	for i, outcome := range p.Outcomes {
		if outcome.Message != "" && len(failed) < core.MaxFailedObjects {
			failed = append(failed, core.FailedObject{Entity: "stores", RefID: *request.Stores[i].Object.RefID,
				Message: outcome.Message})
		}
		for _, w := range outcome.Warnings {
			if len(warnings) < core.MaxFailedObjects {
				warnings = append(warnings, core.Warning{Path: fmt.Sprintf("stores[%d].%s", i, w.Path),
					Message: w.Message})
			}
		}
	}
	return struct {
		Stats    `json:",inline"`
		Failed   []core.FailedObject `json:"failed,omitzero"`
		Warnings []core.Warning      `json:"warnings,omitzero"`
	}{p.Stats, failed, warnings}
}

// Stored is a stored store: the fields of the request with their current values, and the id in the hub.
type Stored struct {
	ID int64 `json:"id"`
	Object
	ClosedOn       []PlatformClosure `json:"closed_on,omitempty"`
	BusyOn         []PlatformBusy    `json:"busy_on,omitempty"`
	PlatformStatus []PlatformStatus  `json:"platform_status,omitempty"` // by platforms that have reported
}

// PlatformBusy is a platform on which a store is busy. Times are epoch milliseconds.
type PlatformBusy struct {
	Platform    string `json:"platform"`
	PrepMinutes int64  `json:"prep_minutes,omitzero"` // of new orders; 0: not given
	Actor       string `json:"actor,omitzero"`        // such as key:pos; "" as a channel sees it
	Since       int64  `json:"since"`                 // when it was last requested
	Until       int64  `json:"until,omitzero"`        // when it ends automatically; 0: on request only
}

// PlatformClosure is a platform on which a store does not accept orders. Times are epoch milliseconds.
type PlatformClosure struct {
	Platform string `json:"platform"`
	Source   string `json:"action_src"`          // api, presence
	Actor    string `json:"actor"`               // such as key:pos
	Reason   string `json:"reason,omitzero"`     // for people
	Since    int64  `json:"since"`               // when it was last requested
	TurnOnAt int64  `json:"turn_on_at,omitzero"` // when it opens automatically; 0: on request only
}

// ClosureOn returns the closure of the store on a platform, or nil.
func (s Stored) ClosureOn(platform string) *PlatformClosure {
	if at := slices.IndexFunc(s.ClosedOn, func(c PlatformClosure) bool { return c.Platform == platform }); at >= 0 {
		return &s.ClosedOn[at]
	}
	return nil
}

// TakesOrders reports whether the store accepts orders, apart from its closures on platforms.
func (s Stored) TakesOrders() bool { return *s.Active && *s.OrderingEnabled }

// TakesOrdersOn reports whether the store accepts orders on a platform.
func (s Stored) TakesOrdersOn(platform string) bool {
	return s.TakesOrders() && s.ClosureOn(platform) == nil
}
