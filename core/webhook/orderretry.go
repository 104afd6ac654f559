package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// TimeRange is a time range. From is inclusive, To is exclusive.
type TimeRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// RetryRequest asks to resend the orders that their endpoint has not accepted.
type RetryRequest struct {
	TimeRange
	Clipped bool // the window began before the current day of the business
}

// DecodeRetryRequest decodes the body of an order retry. Only orders of the current day in the business's time zone
// are covered. A window that begins earlier is clipped, one that ends before that day is rejected.
func DecodeRetryRequest(body []byte, now time.Time, zone *time.Location) (RetryRequest, error) {
	var root struct {
		EventType jsontext.Value `json:"event_type"`
		StartTime *core.Integer  `json:"start_time"`
		EndTime   *core.Integer  `json:"end_time"`
	}
	if err := core.DecodeJSON(body, &root); err != nil {
		return RetryRequest{}, err
	}
	var v core.Violations
	var event core.Integer
	if err := json.Unmarshal(root.EventType, &event); err != nil || event != 18 {
		code := "value"
		if text := string(root.EventType); text == "" || text == "null" {
			code = "required"
		}
		v.AddBody("event_type", code, "must be 18, the id of order_placed")
	}
	var r RetryRequest
	r.From = instant("start_time", root.StartTime, &v)
	r.To = instant("end_time", root.EndTime, &v)
	if v.Any() {
		return r, v.Err()
	}
	today := dayOf(now.In(zone))
	switch {
	case !r.From.Before(r.To):
		v.AddBody("start_time", "range", "must be before end_time")
	case !r.To.After(today):
		v.AddBody("end_time", "range",
			"must be after the start of the current day, "+today.Format(time.RFC3339)+
				": only orders of the day are resent")
	case !r.From.Before(dayOf(today.Add(36 * time.Hour))):
		v.AddBody("start_time", "range", "must be before the end of the current day")
	case r.From.Before(today):
		r.From, r.Clipped = today, true
	}
	return r, v.Err()
}

// dayOf returns the start of the day in the zone of now. That is midnight, or the clock change if the clocks are put
// forward at midnight.
func dayOf(now time.Time) time.Time {
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	if midnight.Day() != d {
		_, midnight = midnight.ZoneBounds()
	}
	return midnight
}

// Instants are in epoch milliseconds. A value below the earliest was sent in seconds. The latest is the end of the
// year 9999, because later times have no RFC 3339 form.
const (
	earliestInstant = 1_000_000_000_000
	latestInstant   = 253402300799999
)

// instant reads a time in epoch milliseconds. 0 means no lower bound.
func instant(field string, ms *core.Integer, v *core.Violations) time.Time {
	switch {
	case ms == nil:
		v.AddBody(field, "required", "is required, in epoch milliseconds")
	case *ms != 0 && (*ms < earliestInstant || *ms > latestInstant):
		v.AddBody(field, "range", fmt.Sprintf("must be in epoch milliseconds, not %d", *ms))
	default:
		return time.UnixMilli(int64(*ms)).UTC()
	}
	return time.Time{}
}

// Job returns the request as a job of the business.
func (r RetryRequest) Job(business core.BusinessID, now time.Time) (core.Job, error) {
	body, err := json.Marshal(r.TimeRange)
	if err != nil {
		return core.Job{}, fmt.Errorf("encoding the job: %w", err)
	}
	return core.Job{ID: core.NewID(now), Business: business, Kind: core.OrderRetryJob, Body: body, CreatedAt: now}, nil
}

// Tally is the progress of an order retry. An order that goes to several webhooks counts once. It has failed if any
// of them did not accept it.
type Tally struct {
	Selected  int // orders within the window
	Sent      int // of them, resent
	Responded int // of those, with all responses, timeouts included
	Failed    int // of those, rejected again
}

// OrderRetries stores the progress of order retries.
type OrderRetries interface {
	// Select fixes the deliveries that the job resends. Later calls keep the first selection.
	Select(ctx context.Context, job core.Job, window TimeRange) error
	// Resend makes the next selected deliveries with greater ids than after due, at most limit, and returns the last
	// of their ids. It returns the zero ID if there are none.
	Resend(ctx context.Context, job core.Job, after core.ID, limit int) (core.ID, error)
	// Tally counts the responses received so far.
	Tally(ctx context.Context, job core.Job) (Tally, error)
	// End stores the event and the outcome and ends the job, in one transaction.
	End(ctx context.Context, job core.Job, event core.Event, tally Tally, failure string) error
}

// OrderRetry runs order retries.
type OrderRetry struct {
	Retries OrderRetries
	Clock   core.Clock
}

// resendChunk is how many deliveries one transaction makes due.
const resendChunk = 500

// resendTimeSlice is how long one attempt resends before it yields to other jobs. It is far shorter than the runner's
// limit for an attempt.
const resendTimeSlice = time.Minute

// resendAll makes all selected deliveries of a job due, chunk by chunk. After a time slice it returns a core.Snooze.
func resendAll(ctx context.Context, clock core.Clock, job core.Job,
	resend func(ctx context.Context, job core.Job, after core.ID, limit int) (core.ID, error)) error {
	until := clock.Now().Add(resendTimeSlice)
	last, err := resend(ctx, job, core.ID{}, resendChunk)
	for err == nil && last != (core.ID{}) {
		if now := clock.Now(); !now.Before(until) {
			return core.Snooze{Until: now}
		}
		last, err = resend(ctx, job, last, resendChunk)
	}
	return err
}

// The interval between counts of the responses. It grows with the number of missing responses, so that counting does
// not delay the deliveries.
const (
	responsePoll           = 250 * time.Millisecond
	responsePollPerMissing = 50 * time.Microsecond
)

// Run resends the orders within the window and notifies the business after every response (job.Handler). After an
// interruption it continues where it stopped.
func (o OrderRetry) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var window TimeRange
	if err := json.Unmarshal(job.Body, &window); err != nil {
		return fmt.Errorf("reading a stored request: %w", err)
	}
	if err := o.Retries.Select(ctx, job, window); err != nil {
		return err
	}
	if err := resendAll(ctx, o.Clock, job, o.Retries.Resend); err != nil {
		return err
	}
	tally, err := o.Retries.Tally(ctx, job)
	if err != nil {
		return err
	}
	report(tally.Responded, tally.Selected)
	if tally.Responded < tally.Sent {
		return core.Snooze{Until: o.Clock.Now().Add(responsePoll +
			time.Duration(tally.Sent-tally.Responded)*responsePollPerMissing)}
	}
	return o.end(ctx, job, tally, "")
}

// Fail ends an order retry that could not be completed. The callback states its progress (job.Handler).
func (o OrderRetry) Fail(ctx context.Context, job core.Job, cause error) error {
	tally, err := o.Retries.Tally(ctx, job)
	if err != nil {
		return err
	}
	tally.Failed += tally.Sent - tally.Responded
	return o.end(ctx, job, tally, cause.Error())
}

func (o OrderRetry) end(ctx context.Context, job core.Job, tally Tally, failure string) error {
	body, err := json.Marshal(struct {
		Reference string `json:"reference_id"`
		Retried   int    `json:"num_webhooks_retried"`
		Failed    int    `json:"num_webhooks_retry_failed"`
	}{job.ID.String(), tally.Sent, tally.Failed})
	if err != nil {
		return fmt.Errorf("encoding the callback: %w", err)
	}
	now := o.Clock.Now()
	return o.Retries.End(ctx, job, core.Event{
		ID: core.NewID(now), Business: job.Business, Type: core.WebhookRetry, At: now, Body: body,
		Reference: job.ID.String(),
	}, tally, failure)
}
