package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Deliveries is the queue of the delivery engine (webhook.Queue).
type Deliveries struct{ *DB }

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
	Line       int64           `bun:"line"`
	Place      int             `bun:"place"`
	Asked      bool            `bun:"asked"`
	Probe      bool            `bun:"probe"`
}

// endpointsOf are those with rows in the table under the condition, found by as many
// steps in an index as there are endpoints, however long their lines.
func endpointsOf(table, condition string) string {
	return `endpoints AS (
	(SELECT endpoint FROM ` + table + ` WHERE ` + condition + ` ORDER BY endpoint LIMIT 1)
	UNION ALL
	SELECT (SELECT q.endpoint FROM ` + table + ` q WHERE q.endpoint > e.endpoint AND ` + condition + ` ORDER BY q.endpoint LIMIT 1)
	FROM endpoints e WHERE e.endpoint IS NOT NULL)`
}

// endpoints are those with deliveries in the queue.
var endpoints = endpointsOf("delivery_queue", "true")

// isProbed tells whether endpoint e fails and is probed.
const isProbed = `EXISTS (SELECT 1 FROM unwell_endpoints p WHERE p.endpoint = e.endpoint AND p.probing_since IS NOT NULL)`

// Claim leases due deliveries, the longest waiting endpoints first and of each
// a share, so that the backlog of one costs the others nothing; what is left of the
// shares of those for which there is less room goes to the others. Of an endpoint
// that is probed it takes the longest waiting one when a probe is due, and what
// a person asked for. Those of a subscription that is switched off are parked
// instead: they wait until it is switched on again. Large bodies for which there is
// no room stay where they are, and keep nothing else from being claimed.
func (q Deliveries) Claim(ctx context.Context, owner core.ID, room webhook.Room, until time.Time) (webhook.Batch, error) {
	var rows []queueRow
	now, epoch := q.reading()
	known := slices.Sorted(maps.Keys(room.Most)) // the same set, the same statement
	most := make([]int, len(known))
	for i, endpoint := range known {
		most[i] = room.Most[endpoint]
	}
	largest := math.MaxInt32
	if room.Bodies == 0 {
		largest = webhook.LargeBody
	}
	err := q.bun.NewRaw(`WITH RECURSIVE `+endpoints+`,
		probes AS (UPDATE unwell_endpoints h SET next_probe = ?4 FROM (
				SELECT e.endpoint, e.business_id FROM unwell_endpoints e
				WHERE ?6`+unset+` AND e.probing_since IS NOT NULL AND e.next_probe <= ?0 AND e.endpoint <> ALL (?1) AND EXISTS (
					SELECT 1 FROM delivery_queue WHERE endpoint = e.endpoint AND available_at <= ?0 AND NOT asked AND size <= ?7) FOR UPDATE SKIP LOCKED) due
			WHERE h.endpoint = due.endpoint AND h.business_id = due.business_id RETURNING h.endpoint),
		heads AS (SELECT e.endpoint, coalesce(r.most, nullif(?11, 0), ?2) AS most FROM endpoints e
			LEFT JOIN unnest(?9::bigint[], ?10::integer[]) AS r (endpoint, most) ON r.endpoint = e.endpoint
			CROSS JOIN LATERAL (SELECT available_at FROM delivery_queue
				WHERE endpoint = e.endpoint AND available_at <= ?0 AND size <= ?7 ORDER BY available_at LIMIT 1) head
			WHERE e.endpoint <> ALL (?1) AND NOT `+isProbed+` ORDER BY head.available_at LIMIT ?2),
		share AS (SELECT greatest(4, (?2 - coalesce(sum(most) FILTER (WHERE NOT long), 0)) / greatest(1, count(*) FILTER (WHERE long))) AS most
			FROM (SELECT most, most >= ?2 / count(*) OVER () AS long FROM heads) h),
		due AS (SELECT d.*, true AS probe FROM probes p CROSS JOIN LATERAL (
				SELECT business_id, id, event_id, available_at, size FROM delivery_queue WHERE endpoint = p.endpoint AND available_at <= ?0 AND NOT asked AND size <= ?7
				ORDER BY available_at LIMIT 1 FOR UPDATE SKIP LOCKED) d
			UNION ALL (SELECT d.*, false FROM (
				SELECT business_id, id, event_id, available_at, size FROM delivery_queue e WHERE asked AND available_at <= ?0 AND size <= ?7 AND endpoint <> ALL (?1) AND `+isProbed+`
				ORDER BY available_at LIMIT 16 FOR UPDATE SKIP LOCKED) d)
			UNION ALL (SELECT d.*, false FROM heads h CROSS JOIN LATERAL (
				SELECT business_id, id, event_id, available_at, size FROM delivery_queue WHERE endpoint = h.endpoint AND available_at <= ?0 AND size <= ?7
				ORDER BY available_at LIMIT least(h.most, (SELECT most FROM share)) FOR UPDATE SKIP LOCKED) d LIMIT ?2)),
		placed AS (SELECT *, row_number() OVER (ORDER BY NOT probe, available_at, id) AS place FROM due),
		told AS (SELECT *, min(place) OVER (PARTITION BY event_id) AS first FROM placed),
		fit AS (SELECT *, sum(CASE WHEN place = first AND size > ?8 THEN size ELSE 0 END) OVER (ORDER BY first) - size AS before FROM told)
		UPDATE delivery_queue q SET owner = ?3, available_at = ?4 FROM fit
		WHERE ?6`+unset+` AND q.business_id = fit.business_id AND q.id = fit.id AND (fit.size <= ?8 OR fit.before < ?5)
		RETURNING q.business_id, q.id, q.event_id, coalesce(q.webhook_id, 0) AS webhook_id, q.url, q.endpoint, q.attempts, q.base, q.due_at,
			q.line, q.place, q.asked, fit.probe`,
		now, pgdialect.Array(room.Busy), room.Deliveries, owner, until, room.Bodies, epoch, largest, webhook.LargeBody,
		pgdialect.Array(known), pgdialect.Array(most), room.First).Scan(ctx, &rows)
	if err != nil {
		return webhook.Batch{}, fmt.Errorf("claiming deliveries: %w", err)
	}
	batch := webhook.Batch{More: len(rows) >= room.Deliveries}
	if len(rows) > 0 {
		if batch.Deliveries, err = q.startable(ctx, owner, rows, until); err != nil {
			return webhook.Batch{}, err
		}
	}
	if !batch.More {
		batch.NextDue, err = q.nextDue(ctx, room.Busy, largest)
	}
	return batch, err
}

// startable are those of the claimed rows that may start, complete. A probe that
// came to nothing is made good by another row.
func (q Deliveries) startable(ctx context.Context, owner core.ID, claimed []queueRow, until time.Time) ([]webhook.Delivery, error) {
	probes := map[int64]bool{}
	for _, row := range claimed {
		if row.Probe {
			probes[row.Endpoint] = true
		}
	}
	rows, err := q.await(ctx, owner, claimed)
	if err != nil {
		return nil, err
	}
	deliveries, err := q.load(ctx, owner, rows, until)
	if err != nil {
		return nil, err
	}
	for _, d := range deliveries {
		if d.Probe {
			delete(probes, d.Endpoint)
		}
	}
	return deliveries, q.probeAtOnce(ctx, slices.Collect(maps.Keys(probes)))
}

// nextDue is when the earliest of what waits is due, or the earliest probe; zero: nothing
// waits. Bodies larger than the largest wait for something else.
func (q Deliveries) nextDue(ctx context.Context, busy []int64, largest int) (time.Time, error) {
	var next sql.NullTime
	var epoch int64
	if err := q.bun.QueryRowContext(ctx, `WITH RECURSIVE `+endpoints+`
		SELECT least(min(greatest(head.available_at, p.next_probe)),
			(SELECT min(available_at) FROM delivery_queue WHERE asked AND size <= ?1 AND endpoint <> ALL (?0))), (SELECT epoch FROM clock_epoch)
		FROM endpoints e
		CROSS JOIN LATERAL (SELECT available_at FROM delivery_queue
			WHERE endpoint = e.endpoint AND available_at < 'infinity' AND size <= ?1 ORDER BY available_at LIMIT 1) head
		LEFT JOIN unwell_endpoints p ON p.endpoint = e.endpoint AND p.probing_since IS NOT NULL
		WHERE e.endpoint <> ALL (?0)`, pgdialect.Array(busy), largest).Scan(&next, &epoch); err != nil {
		return time.Time{}, fmt.Errorf("looking for the next delivery: %w", err)
	}
	return next.Time, q.follow(ctx, epoch)
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
			Line: row.Line, Place: row.Place, Asked: row.Asked, Probe: row.Probe, Test: event.Test, Trace: event.Trace,
			Body: event.Body, // of all its deliveries
		}
		receiver.URL = cmp.Or(row.URL, receiver.URL)
		receiver.address(&d)
		if event.Wrong != nil {
			d.Unready = fmt.Sprintf("the stored body of event %s: %v", row.EventID, event.Wrong)
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
	Test      bool           `bun:"test"`
	Trace     core.Trace     `bun:"trace"`
	Wrong     error          `bun:"-"` // with its body
}

func (q Deliveries) events(ctx context.Context, rows []queueRow) (map[core.ID]eventRow, error) {
	ids, businesses := make([]string, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		ids[i], businesses[i] = row.EventID.String(), int64(row.BusinessID)
	}
	var list []eventRow
	// One by one, by the key: a day without statistics yet would else be read whole.
	err := q.bun.NewRaw(`SELECT e.id, e.event_type, e.body, e.test, coalesce(e.trace, '') AS trace FROM unnest(?::uuid[], ?::bigint[]) AS r (id, business_id)
		CROSS JOIN LATERAL (SELECT id, event_type, body, test, trace FROM events WHERE id = r.id AND business_id = r.business_id LIMIT 1) e`,
		pgdialect.Array(ids), pgdialect.Array(businesses)).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events := make(map[core.ID]eventRow, len(list))
	for _, event := range list {
		if _, twice := events[event.ID]; !twice {
			event.Body, event.Wrong = q.packer.unpack(event.Body)
			events[event.ID] = event
		}
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
	err := q.bun.NewRaw(`SELECT w.business_id, w.active, `+targetColumns+` FROM webhooks w WHERE w.id = ANY (?)
		UNION ALL SELECT b.id, true, `+callbackColumns+` FROM businesses b WHERE b.id = ANY (?)`,
		pgdialect.Array(webhooks), pgdialect.Array(businesses)).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("reading receivers: %w", err)
	}
	receivers := make(map[receiverKey]receiver, len(list))
	for _, r := range list {
		q.ready(r.BusinessID, &r.target)
		receivers[receiverKey{r.BusinessID, r.ID}] = r
	}
	return receivers, nil
}

// drop removes deliveries whose event is no longer kept: they waited longer
// than the retention.
func (q Deliveries) drop(ctx context.Context, rows []queueRow) error {
	q.log.Warn("dropping deliveries whose event is past retention", "deliveries", len(rows))
	return q.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM delivery_queue q USING `+placesOf(rows)+` WHERE q.business_id = r.business_id AND q.id = r.id`); err != nil {
			return err
		}
		return q.advanceAfter(ctx, tx, rows)
	})
}

// advanceAfter lets go what stood behind rows that have left their lines.
func (q Deliveries) advanceAfter(ctx context.Context, tx bun.Conn, rows []queueRow) error {
	lines := slices.DeleteFunc(slices.Clone(rows), func(row queueRow) bool { return row.Line == 0 })
	freed, err := q.advance(ctx, tx, lines)
	if freed > 0 {
		q.look()
	}
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
			FROM (SELECT id FROM webhooks WHERE id = ANY (?) AND NOT active ORDER BY id FOR SHARE) off, `+placesOf(rows)+`
			WHERE q.webhook_id = off.id AND q.owner = ? AND q.business_id = r.business_id AND q.id = r.id`,
			pgdialect.Array(webhooks), owner); err != nil {
			return fmt.Errorf("holding deliveries: %w", err)
		}
		if err := giveBack(ctx, tx, owner, rows); err != nil {
			return err
		}
		return q.advanceAfter(ctx, tx, rows)
	})
}

// Release gives leased deliveries back, due as they were.
func (q Deliveries) Release(ctx context.Context, owner core.ID, deliveries []webhook.Delivery) error {
	rows, probes := make([]queueRow, len(deliveries)), []int64{}
	for i, d := range deliveries {
		rows[i] = queueRow{BusinessID: d.Business, ID: d.ID}
		if d.Probe {
			probes = append(probes, d.Endpoint)
		}
	}
	if err := giveBack(ctx, q.bun, owner, rows); err != nil {
		return err
	}
	return q.probeAtOnce(ctx, probes)
}

func giveBack(ctx context.Context, in bun.IDB, owner core.ID, rows []queueRow) error {
	_, err := in.ExecContext(ctx, `UPDATE delivery_queue q SET available_at = due_at, owner = NULL FROM `+placesOf(rows)+`
		WHERE q.business_id = r.business_id AND q.id = r.id AND q.owner = ?`, owner)
	if err != nil {
		return fmt.Errorf("giving deliveries back: %w", err)
	}
	return nil
}
