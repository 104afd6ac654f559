package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

const deliveriesChannel = "servery_deliveries"

// outbox is what one transaction publishes. Deliveries for which this replica
// has room are written already leased to it and start from memory the moment
// the transaction has committed: no claim, no wake-up.
type outbox struct {
	db    *DB
	start []webhook.Delivery
	left  int // deliveries that somebody has to claim
	// events that had no receiver
	unheard []unheardKey
	called  bool // there are calls to make
}

// tell runs a transaction and, once it has committed, begins what it put into the
// outbox.
func (db *DB) tell(ctx context.Context, do func(tx bun.Conn, box *outbox) error) error {
	box := outbox{db: db}
	defer box.rolledBack()
	err := db.inTx(ctx, func(tx bun.Conn) error { return do(tx, &box) })
	if err == nil {
		box.committed()
	}
	return err
}

// byCopy is from how many rows on they are written by COPY.
const byCopy = 4

// queued is a row for the queue: the delivery, and what is stored beside it.
type queued struct {
	webhook.Delivery
	callback  string // the address, where it is not that of a subscription
	probed    bool   // its endpoint fails: it is not to be started from memory
	available time.Time
	owner     *core.ID
}

// publish stores events with a delivery of each to every receiver of it, and gives
// those of orders that have no place the next one. The
// number of statements does not grow with that of the events.
func (o *outbox) publish(ctx context.Context, tx bun.Conn, events ...core.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := queueUp(ctx, tx, events); err != nil {
		return err
	}
	receivers, err := o.db.targets(ctx, tx, events)
	if err != nil {
		return err
	}
	return o.publishTo(ctx, tx, receivers, events)
}

// publishTo is publish of events that have their places, to receivers that are known.
func (o *outbox) publishTo(ctx context.Context, tx bun.Conn, receivers map[route][]target, events []core.Event) error {
	if len(events) == 0 {
		return nil
	}
	packed := make([][]byte, len(events))
	var rows []queued
	trace := core.TraceOf(ctx)
	for i := range events {
		if events[i].Trace == "" {
			events[i].Trace = trace
		}
		event := events[i]
		packed[i] = o.db.packer.pack(event.Body)
		if len(receivers[routeOf(event)]) == 0 {
			o.unheard = append(o.unheard, unheardKey{event.Business, event.Type})
		}
		for _, t := range receivers[routeOf(event)] {
			// A microsecond apart, so that the ids sort as the events do.
			at := o.db.clock.Now().Add(time.Duration(len(rows)) * time.Microsecond)
			row := queued{Delivery: webhook.Delivery{
				ID: core.NewID(at), Business: event.Business, EventID: event.ID, EventType: event.Type, Body: event.Body,
				WebhookID: t.ID, Endpoint: t.ID, DueAt: event.At, Line: event.Order, Place: event.Place,
				Asked: event.Test, Test: event.Test, Trace: event.Trace,
			}}
			if t.ID == 0 {
				row.callback, row.Endpoint = t.URL, endpointOf(event.Business, t.URL)
			}
			t.address(&row.Delivery)
			row.probed = t.Probed
			rows = append(rows, row)
		}
	}
	waits, err := behind(ctx, tx, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		o.place(&rows[i], waits[rows[i].ID])
	}
	if err := writeEvents(ctx, tx, events, packed); err != nil {
		return err
	}
	if err := writeQueue(ctx, tx, rows); err != nil {
		return err
	}
	if o.left > 0 && seldom(&o.db.told) {
		return notify(ctx, tx, deliveriesChannel)
	}
	return nil
}

// place leases the delivery to this replica where it may start at once and
// there is room for it. What is large is claimed, within the room for such.
func (o *outbox) place(row *queued, waits bool) {
	row.available = row.DueAt
	if row.probed || waits || len(row.Body) > webhook.LargeBody || o.db.starter == nil || !o.db.starter.Reserve(row.Endpoint) {
		o.left++
		return
	}
	owner := o.db.starter.Owner()
	row.LeasedTo = o.db.starter.LeaseUntil()
	row.available, row.owner = row.LeasedTo, &owner
	o.start = append(o.start, row.Delivery)
}

func writeEvents(ctx context.Context, tx bun.Conn, events []core.Event, packed [][]byte) error {
	const columns = `business_id, id, event_type, body, reference, test, trace, order_id, place`
	var rows copyRows
	for i, e := range events {
		if len(events) >= byCopy {
			rows.int(int64(e.Business))
			rows.id(e.ID)
			rows.text(string(e.Type))
			rows.bytes(packed[i])
			rows.text(e.Reference)
			rows.bool(e.Test)
			nonEmpty(&rows, string(e.Trace))
			nonZero(&rows, e.Order)
			nonZero(&rows, int64(e.Place))
			rows.end()
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO events (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, 0), nullif(?, 0))`,
			e.Business, e.ID, e.Type, packed[i], e.Reference, e.Test, e.Trace, e.Order, e.Place); err != nil {
			return fmt.Errorf("storing the event: %w", err)
		}
	}
	return rows.copyInto(ctx, tx, "events", columns)
}

// writeQueue stores deliveries. Their size is that of the body as it is sent.
func writeQueue(ctx context.Context, tx bun.Conn, list []queued) error {
	const columns = `business_id, id, event_id, event_type, webhook_id, url, endpoint, size, line, place, due_at, available_at, owner, asked`
	var rows copyRows
	for _, d := range list {
		if len(list) < byCopy {
			if _, err := tx.ExecContext(ctx, `INSERT INTO delivery_queue (`+columns+`) VALUES (?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				d.Business, d.ID, d.EventID, d.EventType, d.WebhookID, d.callback, d.Endpoint, len(d.Body), d.Line, d.Place, d.DueAt, d.available, d.owner, d.Asked); err != nil {
				return fmt.Errorf("queueing the delivery: %w", err)
			}
			continue
		}
		rows.int(int64(d.Business))
		rows.id(d.ID)
		rows.id(d.EventID)
		rows.text(string(d.EventType))
		nonZero(&rows, d.WebhookID)
		rows.text(d.callback)
		rows.int(d.Endpoint)
		rows.int(int64(len(d.Body)))
		rows.int(d.Line)
		rows.int(int64(d.Place))
		rows.time(d.DueAt)
		rows.time(d.available)
		optional(&rows, d.owner, rows.id)
		rows.bool(d.Asked)
		rows.end()
	}
	return rows.copyInto(ctx, tx, "delivery_queue", columns)
}

// committed begins the first attempts, and has this replica look at its calls.
func (o *outbox) committed() {
	o.db.unheard.add(o.unheard, o.db.clock.Now())
	for _, d := range o.start {
		o.db.starter.Start(d)
	}
	if o.left > 0 {
		o.db.look()
	}
	if o.called && o.db.wakeRelay != nil {
		o.db.wakeRelay()
	}
	o.start = nil
}

// rolledBack gives promised places back, unless committed has used them.
func (o *outbox) rolledBack() {
	for _, d := range o.start {
		o.db.starter.Forget(d.Endpoint)
	}
}

// endpointOf is the endpoint of a callback_url: negative, so that it is no
// webhook's id, and the same for all deliveries of the business to the address.
func endpointOf(business core.BusinessID, url string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", business, url)
	return -int64(h.Sum64()>>1) - 1
}

// Publish stores events with their deliveries, in one transaction.
func (db *DB) Publish(ctx context.Context, events ...core.Event) error {
	return db.tell(ctx, func(tx bun.Conn, box *outbox) error { return box.publish(ctx, tx, events...) })
}
