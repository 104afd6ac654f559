package deliveries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/compress"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// recordRow is a delivery, queued or ended.
type recordRow struct {
	ID            core.ID            `bun:"id,type:uuid"`
	EventID       core.ID            `bun:"event_id,type:uuid"`
	EventType     core.EventType     `bun:"event_type"`
	Reference     string             `bun:"reference"`
	OrderID       int64              `bun:"order_id"`
	Test          bool               `bun:"test"`
	WebhookID     int64              `bun:"webhook_id"`
	URL           string             `bun:"url"`
	State         webhook.State      `bun:"state"`
	Attempts      int                `bun:"attempts"`
	PriorAttempts int                `bun:"prior_attempts"`
	DueAt         sql.NullTime       `bun:"due_at"`
	FinishedAt    sql.NullTime       `bun:"finished_at"`
	LastStatus    int                `bun:"last_status"`
	LastError     string             `bun:"last_error"`
	LastClass     webhook.ErrorClass `bun:"last_class"`
	SwitchedOn    bool               `bun:"switched_on"` // of its subscription, if any
	Disabled      string             `bun:"disabled"`    // why the hub disabled it
	Blocked       bool               `bun:"blocked"`
	Health        healthRow          `bun:"embed:health_"`
	Trace         core.Trace         `bun:"trace"`
	ProblemID     int64              `bun:"problem_id"`
}

func (r recordRow) record() webhook.DeliveryRecord {
	var reason webhook.HeldReason
	because, since := "", time.Time{}
	if r.State == webhook.Held {
		reason, because, since = r.heldReason()
	}
	return webhook.DeliveryRecord{
		HeldReason: reason, HeldMessage: because, HeldSince: since, ID: r.ID, EventID: r.EventID,
		EventType: r.EventType,
		Reference: r.Reference, OrderID: r.OrderID, Test: r.Test, WebhookID: r.WebhookID, URL: r.URL,
		State: r.State, Attempts: r.Attempts, AttemptsBeforeRestart: r.PriorAttempts, CreatedAt: core.TimeOf(r.ID),
		NextAttempt: r.DueAt.Time,
		FinishedAt:  r.FinishedAt.Time,
		LastStatus:  r.LastStatus, LastError: r.LastError, LastClass: r.LastClass, TraceID: r.Trace.ID(),
		ProblemID: r.ProblemID, WebhookOff: !r.SwitchedOn, DisabledReason: r.Disabled,
	}
}

// heldReason returns the reason why a delivery is held, its text, and its start if known.
func (r recordRow) heldReason() (webhook.HeldReason, string, time.Time) {
	h := r.Health.health()
	at := h.Since.UTC().Format(time.RFC3339)
	switch {
	case r.Blocked:
		return webhook.EarlierEvent, "an earlier event of the same order is not delivered yet", time.Time{}
	case r.Disabled != "":
		return webhook.WebhookPaused, "the webhook is disabled: " + r.Disabled, time.Time{}
	case !r.SwitchedOn:
		return webhook.WebhookPaused, "the webhook is paused", time.Time{}
	case h.Status == 0:
		return webhook.EndpointDown,
			fmt.Sprintf("the endpoint has not responded since %s; it is retried every %v", at, h.Pause), h.Since
	default:
		return webhook.EndpointDown, fmt.Sprintf("the endpoint has responded with errors since %s, the last was %d; "+
			"it is retried every %v", at, h.Status, h.Pause), h.Since
	}
}

// Conditions on a row "delivery", see history.sql.
var (
	isSwitchedOff = bun.Safe(queries.With("is_switched_off", nil))

	isOfFinalOrder = bun.Safe(queries.With("is_of_final_order", postgres.Args{
		"event_type": core.OrderPlaced, "cancelled": order.Cancelled, "completed": order.Completed,
	}))

	// IsHeld is the condition that a queue row is held.
	IsHeld = bun.Safe(queries.With("is_held", postgres.Args{"is_switched_off": isSwitchedOff}))
)

// Get returns one delivery with its body and its newest attempts, or NotFound.
func (q Store) Get(ctx context.Context, business core.BusinessID,
	id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord, error) {
	var only postgres.Conditions
	only.Add(true, "delivery.id = ?", id)
	found, err := q.records(ctx, business, only, only, webhook.Filter{Limit: 1})
	if err != nil {
		return webhook.DeliveryRecord{}, nil, err
	}
	if len(found) == 0 {
		return webhook.DeliveryRecord{}, nil, errNoDelivery
	}
	d := found[0]
	var compressed []byte
	err = q.db.Tenant(business).QueryRowContext(ctx, `SELECT body FROM events WHERE id = ? AND business_id = ?`,
		d.EventID, business).Scan(&compressed)
	if err == nil {
		d.Body, err = q.db.Decompress(compressed)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return webhook.DeliveryRecord{}, nil, fmt.Errorf("reading the body of a delivery: %w", err)
	}
	attempts, err := q.attempts(ctx, business, id)
	return d, attempts, err
}

var errWebhookOff = core.Errorf(core.Conflict, "the webhook is disabled: enable it to send its deliveries")

var errNoDelivery = core.Errorf(core.NotFound, "there is no delivery with this id")

func (q Store) records(ctx context.Context, business core.BusinessID, queued, ended postgres.Conditions,
	f webhook.Filter) ([]webhook.DeliveryRecord, error) {
	var rows []recordRow
	err := q.db.Tenant(business).NewRaw(queries.With("records", postgres.Args{
		"business": business, "queued": queued, "ended": ended, "limit": f.Limit, "is_held": IsHeld,
		"order": sortOrders[f.Sort], "queue_order": queueOrder(f.Sort),
	})).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading deliveries: %w", err)
	}
	list := make([]webhook.DeliveryRecord, len(rows))
	for i, row := range rows {
		list[i] = row.record()
	}
	return list, nil
}

// attempts returns the newest attempts of a delivery, oldest first.
func (q Store) attempts(ctx context.Context, business core.BusinessID, id core.ID) ([]webhook.AttemptRecord, error) {
	rows, err := q.db.Tenant(business).QueryContext(ctx,
		`SELECT `+attemptReadColumns+` FROM attempts WHERE business_id = ? AND delivery_id = ?
		ORDER BY n DESC, started_at DESC LIMIT ?`, business, id, webhook.MaxAttemptsRead)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	defer rows.Close()
	list := []webhook.AttemptRecord{}
	for rows.Next() {
		var a webhook.AttemptRecord
		var sent, received []byte
		var times [5]int64
		if err := rows.Scan(&a.N, &a.StartedAt, &a.URL, &sent, &a.Status, &a.ErrorClass, &a.Error, &received,
			&a.ResponseBody, &times[0], &times[1], &times[2], &times[3], &times[4], &a.SentTwice); err != nil {
			return nil, fmt.Errorf("reading attempts: %w", err)
		}
		if err := json.Unmarshal(sent, &a.RequestHeaders); err != nil {
			return nil, fmt.Errorf("reading an attempt's headers: %w", err)
		}
		if err := json.Unmarshal(received, &a.ResponseHeaders); err != nil {
			return nil, fmt.Errorf("reading an attempt's headers: %w", err)
		}
		for i, at := range []*time.Duration{&a.Timing.DNS, &a.Timing.Connect, &a.Timing.TLS, &a.Timing.FirstByte,
			&a.Timing.Total} {
			*at = time.Duration(times[i]) * time.Microsecond
		}
		list = append(list, a)
	}
	slices.Reverse(list)
	return list, rows.Err()
}

const attemptReadColumns = `n, started_at, url, request_headers, status, error_class, error, response_headers,
	response_body, dns_us, connect_us, tls_us, first_byte_us, total_us, sent_twice`

// Retry makes a delivery due now, even if its endpoint's circuit is open. A waiting delivery starts at once. An ended
// one is requeued under the same webhook-id with a new schedule, after earlier pending events of its order.
//
// It returns NotFound if the business has no such delivery. It returns Conflict while the
// subscription is disabled or an earlier event of the order is pending.
func (q Store) Retry(ctx context.Context, business core.BusinessID, id core.ID) error {
	err := q.db.InTx(ctx, func(tx bun.Conn) error { return q.sendNow(ctx, tx, business, id) })
	if err == nil {
		outbox.Wake(q.db)
	}
	return err
}

// sendNow does the work of Retry in a transaction.
func (q Store) sendNow(ctx context.Context, tx bun.Conn, business core.BusinessID, id core.ID) error {
	err := q.retryNow(ctx, tx, business, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = q.requeue(ctx, tx, business, id)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return errNoDelivery
	}
	return err
}

// retryNow makes a waiting delivery due, unless an attempt is running.
func (q Store) retryNow(ctx context.Context, tx bun.Conn, business core.BusinessID, id core.ID) error {
	const fromRow = ` FROM delivery_queue WHERE business_id = ? AND id = ?`
	var webhookID int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(webhook_id, 0)`+fromRow, business,
		id).Scan(&webhookID); err != nil {
		return err
	}
	// locked before the row, like when it is switched
	if err := q.requireActive(ctx, tx, business, webhookID); err != nil {
		return err
	}
	var waits bool
	err := tx.QueryRowContext(ctx, `SELECT blocked`+fromRow+` FOR UPDATE`, business, id).Scan(&waits)
	if err != nil {
		return err
	}
	if waits {
		return core.Errorf(core.Conflict,
			"an earlier event of the same order is still pending, and this delivery follows it")
	}
	_, err = tx.ExecContext(ctx, `UPDATE delivery_queue SET due_at = ?0, available_at = ?0, manual = true
		WHERE business_id = ?1 AND id = ?2 AND owner IS NULL`, q.db.Clock().Now(), business, id)
	return err
}

// requeue requeues an ended delivery.
func (q Store) requeue(ctx context.Context, tx bun.Conn, business core.BusinessID, id core.ID) error {
	var row recordRow
	err := tx.NewRaw(`DELETE FROM deliveries WHERE business_id = ? AND id = ?
		RETURNING id, event_id, event_type, coalesce(webhook_id, 0) AS webhook_id, url, attempts`, business,
		id).Scan(ctx, &row)
	if err != nil {
		return err
	}
	if err := q.requireActive(ctx, tx, business, row.WebhookID); err != nil {
		return err
	}
	endpoint, url := row.WebhookID, ""
	if endpoint == 0 {
		endpoint, url = outbox.EndpointOf(business, row.URL), row.URL
	}
	var head []byte
	var stored int
	err = tx.QueryRowContext(ctx,
		`SELECT substring(body FOR ?), length(body) FROM events WHERE id = ? AND business_id = ? LIMIT 1`,
		compress.HeadSize, row.EventID, business).Scan(&head, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Errorf(core.Conflict, "the event of this delivery is past its retention")
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, queries.With("requeue", postgres.Args{
			"business": business, "id": id, "event": row.EventID, "webhook": row.WebhookID, "url": url,
			"endpoint": endpoint, "attempts": row.Attempts, "now": q.db.Clock().Now(),
			"size": compress.Size(head, stored),
		}))
	}
	if err != nil {
		return fmt.Errorf("requeueing the delivery: %w", err)
	}
	return nil
}

// requireActive returns Conflict while the webhook is disabled. 0 means no webhook.
func (q Store) requireActive(ctx context.Context, tx bun.Conn, business core.BusinessID, webhookID int64) error {
	if webhookID == 0 {
		return nil
	}
	var active bool
	err := tx.QueryRowContext(ctx, `SELECT active FROM webhooks WHERE business_id = ? AND id = ? FOR SHARE`, business,
		webhookID).Scan(&active)
	if err == nil && !active {
		return errWebhookOff
	}
	return err
}
