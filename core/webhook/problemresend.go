package webhook

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// ProblemSelector selects the deliveries that had failed of a problem by at. The selection never grows.
func ProblemSelector(problem int64, at time.Time) Selector {
	return Selector{State: Failed, ProblemID: problem, To: at, EndedBy: at}
}

// ProblemJob returns the resend of a problem as a job of the business.
func (s Selector) ProblemJob(business core.BusinessID, count int, now time.Time) (core.Job, error) {
	job, err := s.Job(business, count, now)
	job.Kind, job.Subject = core.ProblemResendJob, strconv.FormatInt(s.ProblemID, 10)
	return job, err
}

// ResendOutcome counts the deliveries of a resend.
type ResendOutcome struct {
	Selected  int `json:"selected"` // when it began
	Sent      int `json:"sent"`     // of these; the others changed, or their webhook is paused
	Delivered int `json:"delivered"`
	Failed    int `json:"failed"`            // again, after all attempts
	LeftOut   int `json:"left_out,omitzero"` // not selected, WithoutFinalOrders
}

// Pending returns how many of the sent deliveries have not ended.
func (o ResendOutcome) Pending() int { return max(o.Sent-o.Delivered-o.Failed, 0) }

// ProblemResends stores the progress of resends of problems.
type ProblemResends interface {
	// Select fixes the deliveries that the job resends. Later calls keep the first selection.
	Select(ctx context.Context, job core.Job, choice Selector) error
	// Resend makes the next selected deliveries with greater ids than after due, at most limit, and returns the last
	// of their ids. It returns the zero ID if there are none.
	Resend(ctx context.Context, job core.Job, after core.ID, limit int) (core.ID, error)
	// Outcome counts the deliveries that have ended, and stores the counts as the progress of the job.
	Outcome(ctx context.Context, job core.Job) (ResendOutcome, error)
	// End ends the job with its outcome.
	End(ctx context.Context, job core.Job, outcome ResendOutcome, failure string) error
}

// ProblemResend runs resends of problems.
type ProblemResend struct {
	Resends ProblemResends
	Clock   core.Clock
}

// Counting ends after problemResendLimit, which is later than the last retry of a schedule in minutes. The interval
// between two counts grows by one problemResendPart-th of the time since the first attempt of the job.
const (
	problemResendLimit = time.Hour
	problemResendPart  = 20
)

// Run resends the selected deliveries and counts their outcomes until all have ended (job.Handler). After an
// interruption it continues where it stopped.
func (r ProblemResend) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var work bulkResendBody
	if err := json.Unmarshal(job.Body, &work); err != nil {
		return fmt.Errorf("reading a stored request: %w", err)
	}
	if err := r.Resends.Select(ctx, job, work.Selector); err != nil {
		return err
	}
	if err := resendAll(ctx, r.Clock, job, r.Resends.Resend); err != nil {
		return err
	}
	outcome, err := r.Resends.Outcome(ctx, job)
	if err != nil {
		return err
	}
	report(outcome.Sent-outcome.Pending(), outcome.Selected)
	now := r.Clock.Now()
	age := now.Sub(job.StartedAt)
	if outcome.Pending() == 0 || age >= problemResendLimit {
		return r.Resends.End(ctx, job, outcome, "")
	}
	return core.Snooze{Until: now.Add(responsePoll + time.Duration(outcome.Pending())*responsePollPerMissing +
		age/problemResendPart)}
}

// Fail ends the job. Deliveries already resent stay so (job.Handler).
func (r ProblemResend) Fail(ctx context.Context, job core.Job, cause error) error {
	outcome, err := r.Resends.Outcome(ctx, job)
	if err != nil {
		return err
	}
	return r.Resends.End(ctx, job, outcome, cause.Error())
}
