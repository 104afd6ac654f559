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

// MaxRedeliveryIDs is the most deliveries that one request names.
const MaxRedeliveryIDs = 1000

// Choice is a set of deliveries: those named, or those that a filter finds.
type Choice struct {
	IDs       []core.ID      `json:"ids,omitempty"` // sorted
	State     State          `json:"state,omitempty"`
	EventType core.EventType `json:"event_type,omitempty"`
	WebhookID int64          `json:"webhook_id,omitempty"`
	OrderID   int64          `json:"order_id,omitempty"`
	Reference string         `json:"reference,omitempty"`
	From      time.Time      `json:"from,omitzero"`     // created at or after
	To        time.Time      `json:"to,omitzero"`       // created before
	EndedBy   time.Time      `json:"ended_by,omitzero"` // came to its end by then: such a choice never grows
}

// DecodeRedelivery reads the body of a request to send deliveries again: ids,
// or a filter. Without a state the filter is for deliveries that have failed;
// none created after now is chosen. A field that it does not know is refused: left
// out, it would choose more than was meant.
func DecodeRedelivery(body []byte, now time.Time) (Choice, error) {
	var root struct {
		IDs    []string `json:"ids"`
		Filter *struct {
			State     *string        `json:"state"`
			EventType jsontext.Value `json:"event_type"` // a name, or a numeric id as number or string
			WebhookID *core.Integer  `json:"webhook_id"`
			OrderID   *core.Integer  `json:"order_id"`
			Reference *string        `json:"reference"`
			From      *core.Integer  `json:"from"`
			To        *core.Integer  `json:"to"`
		} `json:"filter"`
	}
	if err := core.DecodeJSON(body, &root, json.RejectUnknownMembers(true)); err != nil {
		return Choice{}, err
	}
	var v core.Violations
	if (root.IDs == nil) == (root.Filter == nil) {
		v.AddBody("ids", "required", "or filter is required, one of the two")
		return Choice{}, v.Err()
	}
	if root.Filter == nil {
		return chosenIDs(root.IDs, &v), v.Err()
	}
	end := now.Add(time.Millisecond) // ids tell milliseconds, and the present one belongs to it
	f, c := root.Filter, Choice{State: Failed, To: end}
	if f.State != nil {
		c.State = State(*f.State)
	}
	if c.State != Failed && c.State != Delivered && c.State != Pending {
		v.AddBody("filter.state", "value", "must be failed, delivered or pending")
	}
	c.EventType = readEventType("filter.event_type", f.EventType, false, &v)
	if f.WebhookID != nil {
		if c.WebhookID = int64(*f.WebhookID); c.WebhookID < 1 {
			v.AddBody("filter.webhook_id", "range", "must be the number of a webhook")
		}
	}
	if f.OrderID != nil {
		if c.OrderID = int64(*f.OrderID); c.OrderID < 1 {
			v.AddBody("filter.order_id", "range", "must be the number of an order")
		}
	}
	if f.Reference != nil {
		if c.Reference = *f.Reference; c.Reference == "" {
			v.AddBody("filter.reference", "required", "must not be empty")
		}
	}
	if f.From != nil {
		c.From = instant("filter.from", f.From, &v)
	}
	if f.To != nil {
		if to := instant("filter.to", f.To, &v); to.Before(end) {
			c.To = to
		}
	}
	if !v.Any() && !c.From.Before(c.To) {
		v.AddBody("filter.from", "range", "must be before filter.to, and in the past")
	}
	return c, v.Err()
}

func chosenIDs(texts []string, v *core.Violations) Choice {
	if len(texts) == 0 || len(texts) > MaxRedeliveryIDs {
		v.AddBody("ids", "limit", fmt.Sprintf("must be 1 to %d", MaxRedeliveryIDs))
		return Choice{}
	}
	ids := make([]core.ID, 0, len(texts))
	for i, text := range texts {
		id, err := uuid.Parse(text)
		if err != nil {
			v.AddBody(fmt.Sprintf("ids[%d]", i), "value", "must be the id of a delivery")
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b core.ID) int { return slices.Compare(a[:], b[:]) })
	return Choice{IDs: slices.Compact(ids)}
}

// redelivery is the body of a job: what was chosen, and how many there were then.
type redelivery struct {
	Choice
	Count int `json:"count"`
}

// Job is the sending again of what was chosen, as a job of the business.
func (c Choice) Job(business core.BusinessID, count int, now time.Time) (core.Job, error) {
	body, err := json.Marshal(redelivery{c, count})
	if err != nil {
		return core.Job{}, fmt.Errorf("writing the job: %w", err)
	}
	return core.Job{ID: core.NewID(now), Business: business, Kind: core.RedeliveryJob, Body: body, CreatedAt: now}, nil
}

// Redone is how far the sending again of deliveries is.
type Redone struct {
	Resent  int `json:"resent"`
	Skipped int `json:"skipped"` // switched off, under way, or no longer kept, or of ids that there are not
}

// Redeliveries sends chosen deliveries again.
type Redeliveries interface {
	// Again sends the next of the chosen deliveries again, at most limit, and
	// remembers in the same transaction where it goes on; more is false when there
	// are no more.
	Again(ctx context.Context, job core.Job, choice Choice, limit int) (so Redone, more bool, err error)
	// EndRedelivery ends the job with what it has come to.
	EndRedelivery(ctx context.Context, job core.Job, failure string) error
}

// Redelivery carries out the sending again of deliveries.
type Redelivery struct {
	Records Redeliveries
	Clock   core.Clock
}

// redeliveryShift is how long one attempt works before it makes room for other
// jobs: far less than after which the runner cuts it off.
const redeliveryShift = time.Minute

// Run sends again what was chosen, in the order of the ids (job.Handler). Cut
// off at any point, it goes on where it was.
func (r Redelivery) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var work redelivery
	if err := json.Unmarshal(job.Body, &work); err != nil {
		return fmt.Errorf("the stored request cannot be read: %w", err)
	}
	until := r.Clock.Now().Add(redeliveryShift)
	for {
		so, more, err := r.Records.Again(ctx, job, work.Choice, resendChunk)
		if err != nil {
			return err
		}
		done := so.Resent + so.Skipped
		report(done, max(done, work.Count))
		if !more {
			return r.Records.EndRedelivery(ctx, job, "")
		}
		if now := r.Clock.Now(); !now.Before(until) {
			return core.Postponed{Until: now}
		}
	}
}

// Fail ends the job; what has been sent again stays so (job.Handler).
func (r Redelivery) Fail(ctx context.Context, job core.Job, cause error) error {
	return r.Records.EndRedelivery(ctx, job, cause.Error())
}
