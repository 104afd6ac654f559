package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// recordRow is a delivery, waiting or at its end.
type recordRow struct {
	ID         core.ID            `bun:"id,type:uuid"`
	EventID    core.ID            `bun:"event_id,type:uuid"`
	EventType  core.EventType     `bun:"event_type"`
	Reference  string             `bun:"reference"`
	OrderID    int64              `bun:"order_id"`
	WebhookID  int64              `bun:"webhook_id"`
	URL        string             `bun:"url"`
	State      webhook.State      `bun:"state"`
	Attempts   int                `bun:"attempts"`
	Base       int                `bun:"base"`
	DueAt      sql.NullTime       `bun:"due_at"`
	FinishedAt sql.NullTime       `bun:"finished_at"`
	LastStatus int                `bun:"last_status"`
	LastError  string             `bun:"last_error"`
	LastClass  webhook.ErrorClass `bun:"last_class"`
	SwitchedOn bool               `bun:"switched_on"` // its subscription, if it has one
	Waits      bool               `bun:"waits"`
	Health     healthRow          `bun:"embed:health_"`
	Trace      core.Trace         `bun:"trace"`
}

func (r recordRow) record() webhook.DeliveryRecord {
	because, since := "", time.Time{}
	if r.State == webhook.Held {
		because, since = heldBecause(r.SwitchedOn, r.Waits, r.Health.health())
	}
	return webhook.DeliveryRecord{
		HeldBecause: because, HeldSince: since, ID: r.ID, EventID: r.EventID, EventType: r.EventType, Reference: r.Reference, OrderID: r.OrderID, WebhookID: r.WebhookID, URL: r.URL,
		State: r.State, Attempts: r.Attempts, Base: r.Base, CreatedAt: core.TimeOf(r.ID), NextAttempt: r.DueAt.Time, FinishedAt: r.FinishedAt.Time,
		LastStatus: r.LastStatus, LastError: r.LastError, LastClass: r.LastClass, TraceID: r.Trace.ID(),
	}
}

// heldBecause is why a delivery is held, and since when, where the words tell that.
func heldBecause(switchedOn, waits bool, h webhook.Health) (because string, since time.Time) {
	at := h.Since.UTC().Format(time.RFC3339)
	switch {
	case waits:
		return "an earlier event of the same order is still on its way", since
	case !switchedOn:
		return "the webhook is switched off", since
	case h.Status == 0:
		return fmt.Sprintf("the endpoint has not answered since %s; it is tried every %v", at, h.Pause), h.Since
	default:
		return fmt.Sprintf("the endpoint has answered with errors since %s, the last was %d; it is tried every %v", at, h.Status, h.Pause), h.Since
	}
}

// waitsForProbe tells whether a row d of the queue waits because its endpoint is probed.
const waitsForProbe = `(d.owner IS NULL AND NOT d.asked AND EXISTS (
	SELECT 1 FROM unwell_endpoints h WHERE h.endpoint = d.endpoint AND h.business_id = d.business_id AND h.probing_since IS NOT NULL))`

// isSwitchedOff tells whether the webhook of a row d of deliveries is switched off.
const isSwitchedOff = `EXISTS (SELECT 1 FROM webhooks o WHERE o.business_id = d.business_id AND o.id = d.webhook_id AND NOT o.active)`

// isHeld tells whether a row d of the queue is held. What is to go to a webhook that
// is switched off is so at once, though it is parked only when it comes due.
const isHeld = `(d.available_at = 'infinity' OR ` + waitsForProbe + ` OR d.owner IS NULL AND ` + isSwitchedOff + `)`

// List reads deliveries of a business, the newest first: what still waits in
// the queue and what came to an end, each from its index.
func (q Deliveries) List(ctx context.Context, business core.BusinessID, f webhook.Filter) ([]webhook.DeliveryRecord, error) {
	var only conditions
	only.add(f.Before != (core.ID{}), "d.id < ?", f.Before)
	only.add(!f.From.IsZero(), "d.id >= ?", core.FirstID(f.From))
	only.add(!f.To.IsZero(), "d.id < ?", core.FirstID(f.To))
	only.add(f.EventType != "", "d.event_type = ?", f.EventType)
	only.add(f.WebhookID != 0, "d.webhook_id = ?", f.WebhookID)
	if f.Reference != "" {
		answers, err := q.answering(ctx, q.of(business), business, f.Reference)
		if err != nil {
			return nil, err
		}
		only.add(true, answers)
	}
	if f.OrderID != 0 {
		tells, err := q.ofOrder(ctx, q.of(business), business, f.OrderID)
		if err != nil {
			return nil, err
		}
		only.add(true, tells)
	}
	waiting, ended := "", ""
	switch f.State {
	case webhook.Held:
		waiting, ended = " AND "+isHeld, " AND false"
	case webhook.Pending:
		waiting, ended = " AND NOT "+isHeld, " AND false"
	case webhook.Delivered:
		waiting, ended = " AND false", " AND d.state = 'delivered'"
	case webhook.Failed:
		waiting, ended = " AND false", " AND d.state = 'failed'"
	}
	return q.records(ctx, business, only.text+waiting, only.text+ended, only.args, f.Limit)
}

// answering is the condition under which a delivery d tells an event that
// answers the request of the reference. Its deliveries are made with the event,
// so that their ids are of about the same time: what lies elsewhere is not read.
func (q Deliveries) answering(ctx context.Context, db bun.IDB, business core.BusinessID, reference string) (string, error) {
	var ids []core.ID
	if err := db.NewRaw(`SELECT id FROM events WHERE business_id = ? AND reference = ? AND reference <> '' ORDER BY id`, business, reference).Scan(ctx, &ids); err != nil {
		return "", fmt.Errorf("looking for the events of a request: %w", err)
	}
	if len(ids) == 0 {
		return "false", nil
	}
	return formatter.FormatQuery(`d.event_id = ANY (?::uuid[]) AND d.id >= ? AND d.id < ?`, array(ids),
		core.FirstID(core.TimeOf(ids[0]).Add(-time.Minute)), core.FirstID(core.TimeOf(ids[len(ids)-1]).Add(time.Hour))), nil
}

// ofOrder is the condition under which a delivery d tells an event of the order, or
// what came of a call to its aggregator. As with answering, only what lies near the
// events is read.
func (q Deliveries) ofOrder(ctx context.Context, db bun.IDB, business core.BusinessID, order int64) (string, error) {
	var ids []core.ID
	if err := db.NewRaw(`SELECT id FROM events WHERE business_id = ?0 AND order_id = ?1
		UNION SELECT e.id FROM calls c JOIN events e ON e.business_id = c.business_id AND e.reference = c.id::text AND e.reference <> ''
			WHERE c.business_id = ?0 AND c.order_id = ?1 ORDER BY id`, business, order).Scan(ctx, &ids); err != nil {
		return "", fmt.Errorf("looking for the events of an order: %w", err)
	}
	var near []string
	for i := 0; i < len(ids); {
		from := core.TimeOf(ids[i]).Add(-nearEvent)
		to := from
		for ; i < len(ids) && !core.TimeOf(ids[i]).Add(-nearEvent).After(to); i++ {
			to = core.TimeOf(ids[i]).Add(nearEvent)
		}
		near = append(near, formatter.FormatQuery("d.id >= ? AND d.id < ?", core.FirstID(from), core.FirstID(to)))
	}
	if len(near) == 0 {
		return "false", nil
	}
	return formatter.FormatQuery("d.event_id = ANY (?::uuid[])", array(ids)) + " AND (" + strings.Join(near, " OR ") + ")", nil
}

// nearEvent is how far from its event a delivery may have been made.
const nearEvent = time.Minute

// Get reads one delivery with its body and its attempts; NotFound where the business
// has none of that id.
func (q Deliveries) Get(ctx context.Context, business core.BusinessID, id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord, error) {
	found, err := q.records(ctx, business, " AND d.id = ?", " AND d.id = ?", []any{id}, 1)
	if err != nil {
		return webhook.DeliveryRecord{}, nil, err
	}
	if len(found) == 0 {
		return webhook.DeliveryRecord{}, nil, errNoDelivery
	}
	d := found[0]
	var packed []byte
	err = q.of(business).QueryRowContext(ctx, `SELECT body FROM events WHERE id = ? AND business_id = ?`, d.EventID, business).Scan(&packed)
	if err == nil {
		d.Body, err = q.packer.unpack(packed)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return webhook.DeliveryRecord{}, nil, fmt.Errorf("reading the body of a delivery: %w", err)
	}
	attempts, err := q.attempts(ctx, business, id)
	return d, attempts, err
}

var errNoDelivery = core.Errorf(core.NotFound, "there is no delivery with this id")

func (q Deliveries) records(ctx context.Context, business core.BusinessID, waiting, ended string, args []any, limit int) ([]webhook.DeliveryRecord, error) {
	var rows []recordRow
	err := q.of(business).NewRaw(`SELECT d.id, d.event_id, d.event_type, coalesce(e.reference, '') AS reference, coalesce(e.trace, '') AS trace, coalesce(e.order_id, 0) AS order_id, coalesce(d.webhook_id, 0) AS webhook_id,
			coalesce(nullif(d.url, ''), w.url, '') AS url, d.state, d.attempts, d.base, d.due_at, d.finished_at,
			coalesce(a.status, 0) AS last_status, coalesce(a.error, '') AS last_error, coalesce(a.error_class, '') AS last_class, coalesce(w.active, true) AS switched_on, d.waits,
			coalesce(h.since, 'epoch') AS health_since, coalesce(h.status, 0) AS health_status, coalesce(h.pause_ms, 0) AS health_pause_ms
		FROM ((SELECT d.business_id, d.id, d.event_id, d.event_type, d.webhook_id, d.url, d.attempts, NULL::timestamptz AS finished_at,
				CASE WHEN `+isHeld+` THEN 'held' ELSE 'pending' END AS state,
				CASE WHEN NOT `+isHeld+` THEN d.due_at END AS due_at, d.waits, d.endpoint, d.base
			FROM delivery_queue d WHERE d.business_id = ?`+waiting+` ORDER BY d.id DESC LIMIT ?)
			UNION ALL
			(SELECT d.business_id, d.id, d.event_id, d.event_type, d.webhook_id, d.url, d.attempts, d.finished_at, d.state, NULL, false, 0, 0
			FROM deliveries d WHERE d.business_id = ?`+ended+` ORDER BY d.id DESC LIMIT ?)) d
		LEFT JOIN LATERAL (SELECT reference, trace, order_id FROM events WHERE id = d.event_id AND business_id = d.business_id LIMIT 1) e ON true
		LEFT JOIN webhooks w ON w.business_id = d.business_id AND w.id = d.webhook_id
		LEFT JOIN unwell_endpoints h ON h.endpoint = d.endpoint AND h.business_id = d.business_id
		LEFT JOIN LATERAL (SELECT status, error, error_class FROM attempts WHERE business_id = d.business_id AND delivery_id = d.id
			ORDER BY n DESC, started_at DESC LIMIT 1) a ON true
		ORDER BY d.id DESC LIMIT ?`, slices.Concat([]any{business}, args, []any{limit, business}, args, []any{limit, limit})...).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading deliveries: %w", err)
	}
	list := make([]webhook.DeliveryRecord, len(rows))
	for i, row := range rows {
		list[i] = row.record()
	}
	return list, nil
}

func (q Deliveries) attempts(ctx context.Context, business core.BusinessID, id core.ID) ([]webhook.AttemptRecord, error) {
	rows, err := q.of(business).QueryContext(ctx, `SELECT `+attemptRead+` FROM attempts WHERE business_id = ? AND delivery_id = ? ORDER BY n, started_at`, business, id)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	defer rows.Close()
	list := []webhook.AttemptRecord{}
	for rows.Next() {
		var a webhook.AttemptRecord
		var sent, received []byte
		var times [5]int64
		if err := rows.Scan(&a.N, &a.StartedAt, &a.URL, &sent, &a.Status, &a.ErrorClass, &a.Error, &received, &a.ResponseBody,
			&times[0], &times[1], &times[2], &times[3], &times[4]); err != nil {
			return nil, fmt.Errorf("reading attempts: %w", err)
		}
		if err := json.Unmarshal(sent, &a.RequestHeaders); err != nil {
			return nil, fmt.Errorf("reading an attempt's headers: %w", err)
		}
		if err := json.Unmarshal(received, &a.ResponseHeaders); err != nil {
			return nil, fmt.Errorf("reading an attempt's headers: %w", err)
		}
		for i, at := range []*time.Duration{&a.Timing.DNS, &a.Timing.Connect, &a.Timing.TLS, &a.Timing.FirstByte, &a.Timing.Total} {
			*at = time.Duration(times[i]) * time.Microsecond
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

const attemptRead = `n, started_at, url, request_headers, status, error_class, error, response_headers, response_body,
	dns_us, connect_us, tls_us, first_byte_us, total_us`

// Retry makes a delivery due now, also when its endpoint is probed: one that
// waits for its next attempt starts at once, one that came to an end begins its
// schedule anew under the same webhook-id, after earlier events of its order that
// are on their way.
// NotFound where the business has none of that id, Conflict while its
// subscription is switched off or an earlier event of its order is on its way.
func (q Deliveries) Retry(ctx context.Context, business core.BusinessID, id core.ID) error {
	err := q.inTx(ctx, func(tx bun.Conn) error {
		err := q.hasten(ctx, tx, business, id)
		if errors.Is(err, sql.ErrNoRows) {
			err = q.beginAnew(ctx, tx, business, id)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return errNoDelivery
		}
		return err
	})
	if err == nil {
		q.look()
	}
	return err
}

// hasten makes a waiting delivery due, unless it is under way.
func (q Deliveries) hasten(ctx context.Context, tx bun.Conn, business core.BusinessID, id core.ID) error {
	const mine = ` FROM delivery_queue WHERE business_id = ? AND id = ?`
	var webhookID int64
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(webhook_id, 0)`+mine, business, id).Scan(&webhookID); err != nil {
		return err
	}
	if err := q.mustBeOn(ctx, tx, business, webhookID); err != nil { // locked before the row, as by who switches it
		return err
	}
	var waits bool
	err := tx.QueryRowContext(ctx, `SELECT waits`+mine+` FOR UPDATE`, business, id).Scan(&waits)
	if err != nil {
		return err
	}
	if waits {
		return core.Errorf(core.Conflict, "an earlier event of the same order is still on its way; this delivery follows it by itself")
	}
	_, err = tx.ExecContext(ctx, `UPDATE delivery_queue SET due_at = ?0, available_at = ?0, asked = true
		WHERE business_id = ?1 AND id = ?2 AND owner IS NULL`, q.clock.Now(), business, id)
	return err
}

// beginAnew takes a delivery that came to an end back into the queue.
func (q Deliveries) beginAnew(ctx context.Context, tx bun.Conn, business core.BusinessID, id core.ID) error {
	var row recordRow
	err := tx.NewRaw(`DELETE FROM deliveries WHERE business_id = ? AND id = ?
		RETURNING id, event_id, event_type, coalesce(webhook_id, 0) AS webhook_id, url, attempts`, business, id).Scan(ctx, &row)
	if err != nil {
		return err
	}
	if err := q.mustBeOn(ctx, tx, business, row.WebhookID); err != nil {
		return err
	}
	endpoint, url := row.WebhookID, ""
	if endpoint == 0 {
		endpoint, url = endpointOf(business, row.URL), row.URL
	}
	var head []byte
	var stored int
	err = tx.QueryRowContext(ctx, `SELECT substring(body FOR ?), length(body) FROM events WHERE id = ? AND business_id = ? LIMIT 1`, packedHead, row.EventID, business).Scan(&head, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Errorf(core.Conflict, "the event of this delivery is no longer kept")
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO delivery_queue (business_id, id, event_id, event_type, webhook_id, url, endpoint, size, line, place, attempts, base, due_at, available_at, asked)
			SELECT business_id, ?0, id, event_type, nullif(?1, 0), ?2, ?3, ?8, coalesce(order_id, 0), coalesce(place, 0), ?4, ?4, ?5, ?5, true FROM events WHERE id = ?6 AND business_id = ?7`,
			id, row.WebhookID, url, endpoint, row.Attempts, q.clock.Now(), row.EventID, business, unpackedLength(head, stored))
	}
	if err != nil {
		return fmt.Errorf("queueing the delivery again: %w", err)
	}
	return nil
}

// mustBeOn is a Conflict while the webhook is switched off; 0 is none.
func (q Deliveries) mustBeOn(ctx context.Context, tx bun.Conn, business core.BusinessID, webhookID int64) error {
	if webhookID == 0 {
		return nil
	}
	var active bool
	err := tx.QueryRowContext(ctx, `SELECT active FROM webhooks WHERE business_id = ? AND id = ? FOR SHARE`, business, webhookID).Scan(&active)
	if err == nil && !active {
		return core.Errorf(core.Conflict, "the webhook is switched off; switch it on to have its deliveries sent")
	}
	return err
}
