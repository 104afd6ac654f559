package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
)

// MaxResendIDs bounds the deliveries that one request can name.
const MaxResendIDs = 1000

// Selector selects deliveries, by id or by a filter.
type Selector struct {
	IDs       []core.ID      `json:"ids,omitempty"` // sorted
	State     State          `json:"state,omitempty"`
	EventType core.EventType `json:"event_type,omitempty"`
	WebhookID int64          `json:"webhook_id,omitempty"`
	ProblemID int64          `json:"problem_id,omitempty"`
	OrderID   int64          `json:"order_id,omitempty"`
	Reference string         `json:"reference,omitempty"`
	From      time.Time      `json:"from,omitzero"`       // created at or after
	To        time.Time      `json:"to,omitzero"`         // created before
	Status    int            `json:"status,omitempty"`    // of the last response
	EndedFrom time.Time      `json:"ended_from,omitzero"` // finished at or after
	EndedBy   time.Time      `json:"ended_by,omitzero"`   // finished by then, so the selection never grows
	// FinalOrders leaves out order_placed events of orders that are Cancelled or Completed, or selects only them.
	FinalOrders FinalOrders `json:"final_orders,omitempty"`
}

// FinalOrders says whether a selection has order_placed events of orders that are Cancelled or Completed. Such an event
// says that the order is Placed, so a kitchen may prepare it.
type FinalOrders string

// The choices. The zero value is that of the API.
const (
	WithFinalOrders    FinalOrders = ""
	WithoutFinalOrders FinalOrders = "without"
	OnlyFinalOrders    FinalOrders = "only"
)

// SelectIDs selects deliveries by id.
func SelectIDs(ids []core.ID) Selector {
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b core.ID) int { return slices.Compare(a[:], b[:]) })
	return Selector{IDs: slices.Compact(sorted)}
}

// DecodeBulkResend decodes the body of a bulk resend: ids or a filter. Without a state the filter selects failed
// deliveries. It never selects deliveries created after now. An unknown field is rejected, because ignoring it would
// select more than intended.
func DecodeBulkResend(body []byte, now time.Time) (Selector, error) {
	var root struct {
		IDs    []string      `json:"ids"`
		Filter *resendFilter `json:"filter"`
	}
	if err := core.DecodeJSON(body, &root, json.RejectUnknownMembers(true)); err != nil {
		return Selector{}, err
	}
	var v core.Violations
	if (root.IDs == nil) == (root.Filter == nil) {
		v.AddBody("ids", "required", "or filter is required, but not both")
		return Selector{}, v.Err()
	}
	if root.Filter == nil {
		return selectIDs(root.IDs, &v), v.Err()
	}
	return root.Filter.selector(now, &v), v.Err()
}

// resendFilter is the filter of a bulk resend as a request contains it.
type resendFilter struct {
	State     *string        `json:"state"`
	EventType jsontext.Value `json:"event_type"` // a name or a numeric id
	WebhookID *core.Integer  `json:"webhook_id"`
	OrderID   *core.Integer  `json:"order_id"`
	Reference *string        `json:"reference"`
	From      *core.Integer  `json:"from"`
	To        *core.Integer  `json:"to"`
}

// selector checks the filter and returns its selection.
func (f resendFilter) selector(now time.Time, v *core.Violations) Selector {
	end := now.Add(time.Millisecond) // ids have millisecond precision, and the current millisecond is included
	s := Selector{State: Failed, To: end}
	if f.State != nil {
		s.State = State(*f.State)
	}
	if s.State != Failed && s.State != Delivered && s.State != Pending {
		v.AddBody("filter.state", "value", core.OneOf([]State{Failed, Delivered, Pending}, s.State))
	}
	s.EventType = readEventType("filter.event_type", f.EventType, false, v.AddBody)
	if f.WebhookID != nil {
		if s.WebhookID = int64(*f.WebhookID); s.WebhookID < 1 {
			v.AddBody("filter.webhook_id", "range", fmt.Sprintf("must be the id of a webhook, not %d", s.WebhookID))
		}
	}
	if f.OrderID != nil {
		if s.OrderID = int64(*f.OrderID); s.OrderID < 1 {
			v.AddBody("filter.order_id", "range", fmt.Sprintf("must be the id of an order, not %d", s.OrderID))
		}
	}
	if f.Reference != nil {
		if s.Reference = *f.Reference; s.Reference == "" {
			v.AddBody("filter.reference", "required", "must not be empty")
		}
	}
	if f.From != nil {
		s.From = instant("filter.from", f.From, v)
	}
	if f.To != nil {
		if to := instant("filter.to", f.To, v); to.Before(end) {
			s.To = to
		}
	}
	if !v.Any() && !s.From.Before(s.To) {
		v.AddBody("filter.from", "range", "must be before filter.to, and in the past")
	}
	return s
}

func selectIDs(texts []string, v *core.Violations) Selector {
	if len(texts) == 0 || len(texts) > MaxResendIDs {
		v.AddBody("ids", "limit", fmt.Sprintf("must have 1 to %d ids, not %d", MaxResendIDs, len(texts)))
		return Selector{}
	}
	ids := make([]core.ID, 0, len(texts))
	for i, text := range texts {
		id, err := uuid.Parse(text)
		if err != nil {
			v.AddBody(fmt.Sprintf("ids[%d]", i), "value", "must be the id of a delivery, not "+core.Quote(text))
		}
		ids = append(ids, id)
	}
	return SelectIDs(ids)
}

// bulkResendBody is the body of a job: the selection, and how many deliveries it had when the job was created.
type bulkResendBody struct {
	Selector
	Count int `json:"count"`
}

// Job returns the bulk resend as a job of the business.
func (s Selector) Job(business core.BusinessID, count int, now time.Time) (core.Job, error) {
	body, err := json.Marshal(bulkResendBody{s, count})
	if err != nil {
		return core.Job{}, fmt.Errorf("encoding the job: %w", err)
	}
	return core.Job{ID: core.NewID(now), Business: business, Kind: core.BulkResendJob, Body: body, CreatedAt: now}, nil
}

// ResendResult is the progress of a bulk resend.
type ResendResult struct {
	Resent  int `json:"resent"`
	Skipped int `json:"skipped"`           // disabled, in flight, blocked or expired, or an unknown id
	LeftOut int `json:"left_out,omitzero"` // those WithoutFinalOrders
}

// BulkResends stores the progress of bulk resends.
type BulkResends interface {
	// ResendNext resends the next selected deliveries, at most limit, and stores the cursor in the same transaction. It
	// returns more as false after the last one.
	ResendNext(ctx context.Context, job core.Job, choice Selector, limit int) (result ResendResult, more bool,
		err error)
	// EndBulkResend ends the job with its final counts.
	EndBulkResend(ctx context.Context, job core.Job, failure string) error
}

// BulkResend runs bulk resends.
type BulkResend struct {
	Resends BulkResends
	Clock   core.Clock
}

// Run resends the selected deliveries in the order of their ids (job.Handler). After an interruption it continues
// from the stored cursor.
func (r BulkResend) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var work bulkResendBody
	if err := json.Unmarshal(job.Body, &work); err != nil {
		return fmt.Errorf("reading a stored request: %w", err)
	}
	until := r.Clock.Now().Add(resendTimeSlice)
	for {
		result, more, err := r.Resends.ResendNext(ctx, job, work.Selector, resendChunk)
		if err != nil {
			return err
		}
		done := result.Resent + result.Skipped
		report(done, max(done, work.Count))
		if !more {
			return r.Resends.EndBulkResend(ctx, job, "")
		}
		if now := r.Clock.Now(); !now.Before(until) {
			return core.Snooze{Until: now}
		}
	}
}

// Fail ends the job. Deliveries already resent stay so (job.Handler).
func (r BulkResend) Fail(ctx context.Context, job core.Job, cause error) error {
	return r.Resends.EndBulkResend(ctx, job, cause.Error())
}
