package deliveries

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// sortOrders are the orders of the rows "delivery".
var sortOrders = map[webhook.Sort]bun.Safe{
	webhook.NewestFirst: "delivery.id DESC", webhook.OldestFirst: "delivery.id",
	webhook.LatestFailure:     "delivery.finished_at DESC, delivery.id DESC",
	webhook.FirstFailureFirst: "delivery.finished_at, delivery.id",
}

// queueOrder returns the order of queue rows. With an order by failure there are none.
func queueOrder(s webhook.Sort) bun.Safe {
	if s.ByFailure() {
		s = webhook.NewestFirst
	}
	return sortOrders[s]
}

// addCursor adds the condition that the row "delivery" comes after the cursor.
func addCursor(only *postgres.Conditions, f webhook.Filter) {
	if f.Before == (core.ID{}) {
		return
	}
	switch f.Sort {
	case webhook.OldestFirst:
		only.Add(true, "delivery.id > ?", f.Before)
	case webhook.LatestFailure:
		only.Add(true, "(delivery.finished_at, delivery.id) < (?, ?)", f.BeforeAt, f.Before)
	case webhook.FirstFailureFirst:
		only.Add(true, "(delivery.finished_at, delivery.id) > (?, ?)", f.BeforeAt, f.Before)
	default:
		only.Add(true, "delivery.id < ?", f.Before)
	}
}

// List returns deliveries of a business in the order of the filter. It reads the queue and the history, each by its
// index. It returns Invalid for an order that no index serves.
func (q Store) List(ctx context.Context, business core.BusinessID, f webhook.Filter) ([]webhook.DeliveryRecord, error) {
	if _, known := sortOrders[f.Sort]; !known || f.Sort.ByFailure() && !f.OfFailure {
		return nil, core.Errorf(core.Invalid, "deliveries cannot be sorted by %q", f.Sort)
	}
	var only postgres.Conditions
	if !f.OfFailure {
		only.Add(!f.From.IsZero(), "delivery.id >= ?", core.FirstID(f.From))
		only.Add(!f.To.IsZero(), "delivery.id < ?", core.FirstID(f.To))
	}
	only.Add(f.EventType != "", "delivery.event_type = ?", f.EventType)
	only.Add(f.WebhookID != 0, "delivery.webhook_id = ?", f.WebhookID)
	if f.Reference != "" {
		condition, err := q.ofReference(ctx, q.db.Tenant(business), business, f.Reference)
		if err != nil {
			return nil, err
		}
		only.Add(true, "?", condition)
	}
	if f.OrderID != 0 {
		condition, err := q.ofOrder(ctx, q.db.Tenant(business), business, f.OrderID)
		if err != nil {
			return nil, err
		}
		only.Add(true, "?", condition)
	}
	queued, ended := only, only
	ended.Args = slices.Clone(only.Args)                               // each appends its own
	queued.Add(f.WebhookID != 0, "delivery.endpoint = ?", f.WebhookID) // its index
	if !f.Sort.ByFailure() {
		addCursor(&queued, f)
	}
	addCursor(&ended, f)
	none := func(c *postgres.Conditions) { c.Add(true, "false") }
	switch f.State {
	case webhook.Held:
		queued.Add(true, "?", IsHeld)
		none(&ended)
	case webhook.Pending:
		queued.Add(true, "NOT ?", IsHeld)
		none(&ended)
	case webhook.Delivered, webhook.Failed:
		none(&queued)
		ended.Add(true, "delivery.state = ?", f.State)
	}
	if f.ProblemID != 0 {
		none(&queued)
		ended.Add(true, "delivery.problem_id = ?", f.ProblemID)
	}
	if f.OfFailure {
		none(&queued)
		ended.Add(true, "delivery.state = 'failed'")
		ended.Add(!f.From.IsZero(), "delivery.finished_at >= ?", f.From)
		ended.Add(!f.To.IsZero(), "delivery.finished_at < ?", f.To)
	}
	if f.Status != 0 {
		queued.Add(true, lastStatusIs, f.Status)
		ended.Add(true, "delivery.status = ?", f.Status)
		ended.Add(f.Status/100 != 2, "delivery.state = 'failed'") // which has an index
	}
	return q.records(ctx, business, queued, ended, f)
}

// lastStatusIs is the condition that the last attempt of a row of the queue had a status.
const lastStatusIs = `delivery.attempts > 0 AND (
	SELECT status FROM attempts WHERE business_id = delivery.business_id AND delivery_id = delivery.id
	ORDER BY n DESC, started_at DESC LIMIT 1) = ?`

// ofReference returns the condition that the row "delivery" has an event of the given request.
// Deliveries are created with their event, so only ids near that time are read.
func (q Store) ofReference(ctx context.Context, db bun.IDB, business core.BusinessID,
	reference string) (bun.Safe, error) {
	var ids []core.ID
	if err := db.NewRaw(`SELECT id FROM events WHERE business_id = ? AND reference = ? AND reference <> '' ORDER BY id`,
		business, reference).Scan(ctx, &ids); err != nil {
		return "", fmt.Errorf("finding the events of a request: %w", err)
	}
	if len(ids) == 0 {
		return "false", nil
	}
	return bun.Safe(postgres.Formatter.FormatQuery(
		`delivery.event_id = ANY (?::uuid[]) AND delivery.id >= ? AND delivery.id < ?`,
		postgres.Array(ids),
		core.FirstID(core.TimeOf(ids[0]).Add(-time.Minute)),
		core.FirstID(core.TimeOf(ids[len(ids)-1]).Add(time.Hour)))), nil
}

// ofOrder returns the condition that the row "delivery" has an event of the order, or the result of
// a call to its aggregator. Like ofReference, it reads only ids near the events.
func (q Store) ofOrder(ctx context.Context, db bun.IDB, business core.BusinessID, order int64) (bun.Safe, error) {
	var ids []core.ID
	if err := db.NewRaw(queries.With("events_of_order", postgres.Args{
		"business": business, "order": order,
	})).Scan(ctx, &ids); err != nil {
		return "", fmt.Errorf("finding the events of an order: %w", err)
	}
	var near []string
	for i := 0; i < len(ids); {
		from := core.TimeOf(ids[i]).Add(-eventWindow)
		to := from
		for ; i < len(ids) && !core.TimeOf(ids[i]).Add(-eventWindow).After(to); i++ {
			to = core.TimeOf(ids[i]).Add(eventWindow)
		}
		near = append(near, postgres.Formatter.FormatQuery("delivery.id >= ? AND delivery.id < ?", core.FirstID(from),
			core.FirstID(to)))
	}
	if len(near) == 0 {
		return "false", nil
	}
	return bun.Safe(postgres.Formatter.FormatQuery("delivery.event_id = ANY (?::uuid[]) AND (?)", postgres.Array(ids),
		bun.Safe(strings.Join(near, " OR ")))), nil
}

// eventWindow bounds the time between an event and its delivery.
const eventWindow = time.Minute
