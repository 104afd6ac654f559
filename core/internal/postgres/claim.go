package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Deliveries is the queue of the delivery engine (webhook.Queue).
type Deliveries struct{ *DB }

// claimBytes bounds the bodies that one claim brings into memory, as stored.
const claimBytes = 16 << 20

type queueRow struct {
	BusinessID core.BusinessID `bun:"business_id"`
	ID         core.ID         `bun:"id,type:uuid"`
	EventID    core.ID         `bun:"event_id,type:uuid"`
	WebhookID  int64           `bun:"webhook_id"`
	URL        string          `bun:"url"`
	Endpoint   int64           `bun:"endpoint"`
	Attempts   int             `bun:"attempts"`
	Base       int             `bun:"base"`
	DueAt      time.Time       `bun:"due_at"`
}

// endpoints are those with deliveries in the queue, found by as many steps in
// an index as there are endpoints, however long their lines.
const endpoints = `endpoints AS (
	(SELECT endpoint FROM delivery_queue ORDER BY endpoint LIMIT 1)
	UNION ALL
	SELECT (SELECT q.endpoint FROM delivery_queue q WHERE q.endpoint > e.endpoint ORDER BY q.endpoint LIMIT 1)
	FROM endpoints e WHERE e.endpoint IS NOT NULL)`

// Claim leases due deliveries, the longest waiting endpoints first and of each
// a share, so that the backlog of one costs the others nothing. Those of a subscription that is switched off are
// parked instead: they wait until it is switched on again.
func (q Deliveries) Claim(ctx context.Context, owner core.ID, limit int, busy []int64, until time.Time) (webhook.Batch, error) {
	var rows []queueRow
	err := q.bun.NewRaw(`WITH RECURSIVE `+endpoints+`,
		heads AS (SELECT e.endpoint FROM endpoints e
			CROSS JOIN LATERAL (SELECT available_at FROM delivery_queue
				WHERE endpoint = e.endpoint AND available_at <= ?0 ORDER BY available_at LIMIT 1) head
			WHERE e.endpoint <> ALL (?1) ORDER BY head.available_at LIMIT ?2),
		due AS (SELECT d.* FROM heads h CROSS JOIN LATERAL (
			SELECT business_id, id, available_at, size FROM delivery_queue WHERE endpoint = h.endpoint AND available_at <= ?0
			ORDER BY available_at LIMIT greatest(16, ?2 / (SELECT count(*) FROM heads)) FOR UPDATE SKIP LOCKED) d LIMIT ?2),
		fit AS (SELECT business_id, id, sum(size) OVER (ORDER BY available_at, id) - size AS before FROM due)
		UPDATE delivery_queue q SET owner = ?3, available_at = ?4 FROM fit
		WHERE q.business_id = fit.business_id AND q.id = fit.id AND fit.before < ?5
		RETURNING q.business_id, q.id, q.event_id, coalesce(q.webhook_id, 0) AS webhook_id, q.url, q.endpoint, q.attempts, q.base, q.due_at`,
		q.clock.Now(), pgdialect.Array(busy), limit, owner, until, claimBytes).Scan(ctx, &rows)
	if err != nil {
		return webhook.Batch{}, fmt.Errorf("claiming deliveries: %w", err)
	}
	batch := webhook.Batch{More: len(rows) == limit}
	if len(rows) > 0 {
		batch.Deliveries, err = q.load(ctx, owner, rows, until)
		if err != nil {
			return webhook.Batch{}, err
		}
	}
	if !batch.More {
		var next sql.NullTime
		if err := q.bun.QueryRowContext(ctx, `WITH RECURSIVE `+endpoints+`
			SELECT min(head.available_at) FROM endpoints e
			CROSS JOIN LATERAL (SELECT available_at FROM delivery_queue
				WHERE endpoint = e.endpoint AND available_at < 'infinity' ORDER BY available_at LIMIT 1) head
			WHERE e.endpoint <> ALL (?)`, pgdialect.Array(busy)).Scan(&next); err != nil {
			return batch, fmt.Errorf("looking for the next delivery: %w", err)
		}
		batch.NextDue = next.Time
	}
	return batch, nil
}

// load completes claimed rows with what is to be sent and where to.
func (q Deliveries) load(ctx context.Context, owner core.ID, rows []queueRow, until time.Time) ([]webhook.Delivery, error) {
	events, err := q.events(ctx, rows)
	if err != nil {
		return nil, err
	}
	receivers, err := q.receivers(ctx, rows)
	if err != nil {
		return nil, err
	}
	deliveries := make([]webhook.Delivery, 0, len(rows))
	var off, lost []queueRow
	for _, row := range rows {
		event, kept := events[row.EventID]
		receiver, known := receivers[receiverKey{row.BusinessID, row.WebhookID}]
		switch {
		case !kept || !known:
			lost = append(lost, row)
			continue
		case !receiver.Active:
			off = append(off, row)
			continue
		}
		d := webhook.Delivery{
			ID: row.ID, Business: row.BusinessID, EventID: row.EventID, EventType: event.EventType, WebhookID: row.WebhookID,
			Endpoint: row.Endpoint, Attempts: row.Attempts, Base: row.Base, DueAt: row.DueAt, LeasedTo: until,
		}
		if d.Body, err = q.packer.unpack(event.Body); err != nil {
			return nil, fmt.Errorf("event %s: %w", row.EventID, err)
		}
		receiver.URL = orElse(row.URL, receiver.URL)
		if err := q.unsealTarget(&d, receiver.target); err != nil {
			return nil, err
		}
		deliveries = append(deliveries, d)
	}
	if len(lost) > 0 {
		if err := q.drop(ctx, lost); err != nil {
			return nil, err
		}
	}
	if len(off) > 0 {
		if err := q.park(ctx, owner, off); err != nil {
			return nil, err
		}
	}
	return deliveries, nil
}

type eventRow struct {
	ID        core.ID        `bun:"id,type:uuid"`
	EventType core.EventType `bun:"event_type"`
	Body      []byte         `bun:"body"`
}

func (q Deliveries) events(ctx context.Context, rows []queueRow) (map[core.ID]eventRow, error) {
	ids, businesses := make([]string, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		ids[i], businesses[i] = row.EventID.String(), int64(row.BusinessID)
	}
	var list []eventRow
	// One by one, by the key: a day without statistics yet would else be read whole.
	err := q.bun.NewRaw(`SELECT e.id, e.event_type, e.body FROM unnest(?::uuid[], ?::bigint[]) AS r (id, business_id)
		CROSS JOIN LATERAL (SELECT id, event_type, body FROM events WHERE id = r.id AND business_id = r.business_id LIMIT 1) e`,
		pgdialect.Array(ids), pgdialect.Array(businesses)).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events := make(map[core.ID]eventRow, len(list))
	for _, event := range list {
		events[event.ID] = event
	}
	return events, nil
}

type receiverKey struct {
	business core.BusinessID
	webhook  int64 // 0: the business's callback_url deliveries
}

type receiver struct {
	BusinessID core.BusinessID `bun:"business_id"`
	Active     bool            `bun:"active"`
	target
}

func (q Deliveries) receivers(ctx context.Context, rows []queueRow) (map[receiverKey]receiver, error) {
	webhooks, businesses := []int64{}, []int64{}
	for _, row := range rows {
		if row.WebhookID != 0 {
			webhooks = append(webhooks, row.WebhookID)
		} else {
			businesses = append(businesses, int64(row.BusinessID))
		}
	}
	var list []receiver
	err := q.bun.NewRaw(`SELECT business_id, active, id, url, retrial_interval_units, headers, secret FROM webhooks WHERE id = ANY (?)
		UNION ALL SELECT id, true, 0, '', 'minutes', '', callback_secret FROM businesses WHERE id = ANY (?)`,
		pgdialect.Array(webhooks), pgdialect.Array(businesses)).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading receivers: %w", err)
	}
	receivers := make(map[receiverKey]receiver, len(list))
	for _, r := range list {
		receivers[receiverKey{r.BusinessID, r.ID}] = r
	}
	return receivers, nil
}

func queueIDs(rows []queueRow) any {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID.String()
	}
	return pgdialect.Array(ids)
}

// drop removes deliveries whose event is no longer kept: they waited longer
// than the retention.
func (q Deliveries) drop(ctx context.Context, rows []queueRow) error {
	q.log.Warn("dropping deliveries whose event is past retention", "deliveries", len(rows))
	_, err := q.bun.ExecContext(ctx, `DELETE FROM delivery_queue WHERE id = ANY (?::uuid[])`, queueIDs(rows))
	return err
}

// park holds deliveries of subscriptions that are switched off. The lock on the
// subscription makes this and switching it on wait for each other, so that
// nothing stays parked behind an active one; what was switched on meanwhile is
// given back.
func (q Deliveries) park(ctx context.Context, owner core.ID, rows []queueRow) error {
	webhooks := make([]int64, len(rows))
	for i, row := range rows {
		webhooks[i] = row.WebhookID
	}
	return q.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `UPDATE delivery_queue q SET available_at = 'infinity', owner = NULL
			FROM (SELECT id FROM webhooks WHERE id = ANY (?) AND NOT active ORDER BY id FOR SHARE) off
			WHERE q.webhook_id = off.id AND q.owner = ? AND q.id = ANY (?::uuid[])`,
			pgdialect.Array(webhooks), owner, queueIDs(rows)); err != nil {
			return fmt.Errorf("holding deliveries: %w", err)
		}
		_, err := tx.ExecContext(ctx, `UPDATE delivery_queue SET available_at = due_at, owner = NULL
			WHERE owner = ? AND id = ANY (?::uuid[])`, owner, queueIDs(rows))
		return err
	})
}

// Release gives leased deliveries back, due as they were.
func (q Deliveries) Release(ctx context.Context, owner core.ID, deliveries []webhook.Delivery) error {
	ids := make([]string, len(deliveries))
	for i, d := range deliveries {
		ids[i] = d.ID.String()
	}
	_, err := q.bun.ExecContext(ctx, `UPDATE delivery_queue SET available_at = due_at, owner = NULL
		WHERE owner = ? AND id = ANY (?::uuid[])`, owner, pgdialect.Array(ids))
	if err != nil {
		return fmt.Errorf("releasing deliveries: %w", err)
	}
	return nil
}
