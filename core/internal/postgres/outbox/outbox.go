// Package outbox stores events with their deliveries, and calls to aggregators, in the transaction
// that causes them. After the commit it starts the deliveries that fit the capacity of this
// replica.
package outbox

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// DeliveriesChannel notifies replicas of queued deliveries, and of changed webhooks.
const DeliveriesChannel = "servery_deliveries"

// Outbox collects what one transaction publishes. Deliveries for which this replica has
// capacity are stored with its lease. They start from memory after the commit, without a
// claim or a notification.
type Outbox struct {
	db          *postgres.DB
	replica     *replica
	start       []webhook.Delivery
	toClaim     int           // deliveries that an engine must claim
	unrouted    []unroutedKey // events that had no receiver
	callsQueued bool          // calls were queued
	notifyLater []string      // channels to notify some time after the commit
}

// Run runs a transaction. After the commit it starts the deliveries and calls of the outbox.
func Run(ctx context.Context, db *postgres.DB, do func(tx bun.Conn, box *Outbox) error) error {
	box := Outbox{db: db, replica: replicaOf(db)}
	defer box.releaseReserved()
	err := db.InTx(ctx, func(tx bun.Conn) error { return do(tx, &box) })
	if err == nil {
		box.afterCommit()
	}
	return err
}

// copyMinRows is the minimum number of rows for COPY; INSERT writes fewer rows.
const copyMinRows = 4

// queuedDelivery is a row of the delivery queue.
type queuedDelivery struct {
	webhook.Delivery
	callbackURL string // the URL, unless it is that of a subscription
	circuitOpen bool   // the endpoint's circuit is open: do not start from memory
	available   time.Time
	owner       *core.ID
}

// Publish stores events, each with a delivery to every receiver, and assigns the next
// sequence number to those of orders that have none. The number of statements does not
// grow with the number of events.
func (o *Outbox) Publish(ctx context.Context, tx bun.Conn, events ...core.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := assignSequence(ctx, tx, events); err != nil {
		return err
	}
	receivers, err := Targets(ctx, o.db, tx, events)
	if err != nil {
		return err
	}
	return o.PublishTo(ctx, tx, receivers, events)
}

// PublishTo publishes events that have their sequence numbers to known receivers.
func (o *Outbox) PublishTo(ctx context.Context, tx bun.Conn, receivers map[Route][]Target, events []core.Event) error {
	if len(events) == 0 {
		return nil
	}
	compressed := make([][]byte, len(events))
	var rows []queuedDelivery
	trace := core.TraceFromContext(ctx)
	for i := range events {
		if events[i].Trace == "" {
			events[i].Trace = trace
		}
		event := events[i]
		compressed[i] = o.db.Compress(event.Body)
		if len(receivers[RouteOf(event)]) == 0 {
			o.unrouted = append(o.unrouted, unroutedKey{event.Business, event.Type})
		}
		for _, t := range receivers[RouteOf(event)] {
			// Ids one microsecond apart sort in the order of the events.
			at := o.db.Clock().Now().Add(time.Duration(len(rows)) * time.Microsecond)
			row := queuedDelivery{Delivery: webhook.Delivery{
				ID: core.NewID(at), Business: event.Business, EventID: event.ID, EventType: event.Type,
				Body:      event.Body,
				WebhookID: t.ID, Endpoint: t.ID, DueAt: event.At, OrderingKey: event.OrderID, Sequence: event.Sequence,
				Manual: event.Test, Test: event.Test, Trace: event.Trace,
			}}
			if t.ID == 0 {
				row.callbackURL, row.Endpoint = t.URL, EndpointOf(event.Business, t.URL)
			}
			t.ApplyTo(&row.Delivery)
			row.circuitOpen = t.CircuitOpen
			rows = append(rows, row)
		}
	}
	waits, err := blockedRows(ctx, tx, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		o.leaseHere(&rows[i], waits[rows[i].ID])
	}
	if err := writeEvents(ctx, tx, events, compressed); err != nil {
		return err
	}
	if err := writeQueue(ctx, tx, rows); err != nil {
		return err
	}
	if o.toClaim == 0 {
		return nil
	}
	return o.notify(ctx, tx, DeliveriesChannel)
}

// leaseHere leases the delivery to this replica if it may start at once and there is capacity. The
// claim leases large bodies, because it limits their memory.
func (o *Outbox) leaseHere(row *queuedDelivery, waits bool) {
	row.available = row.DueAt
	if row.circuitOpen || waits || len(row.Body) > webhook.LargeBody || o.replica.starter == nil ||
		!o.replica.starter.Reserve(row.Endpoint) {
		o.toClaim++
		return
	}
	owner := o.replica.starter.Owner()
	row.LeasedUntil = o.replica.starter.LeaseUntil()
	row.available, row.owner = row.LeasedUntil, &owner
	o.start = append(o.start, row.Delivery)
}

func writeEvents(ctx context.Context, tx bun.Conn, events []core.Event, compressed [][]byte) error {
	const columns = `business_id, id, event_type, body, reference, test, trace, order_id, sequence`
	var rows postgres.CopyWriter
	for i, e := range events {
		if len(events) >= copyMinRows {
			rows.Int(int64(e.Business))
			rows.ID(e.ID)
			rows.Text(string(e.Type))
			rows.Bytes(compressed[i])
			rows.Text(e.Reference)
			rows.Bool(e.Test)
			postgres.NonEmpty(&rows, string(e.Trace))
			postgres.NonZero(&rows, e.OrderID)
			postgres.NonZero(&rows, int64(e.Sequence))
			rows.End()
			continue
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO events (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, 0), nullif(?, 0))`,
			e.Business, e.ID, e.Type, compressed[i], e.Reference, e.Test, e.Trace, e.OrderID, e.Sequence); err != nil {
			return fmt.Errorf("storing the event: %w", err)
		}
	}
	return rows.CopyInto(ctx, tx, "events", columns)
}

// writeQueue stores deliveries. Their size is that of the uncompressed body.
func writeQueue(ctx context.Context, tx bun.Conn, list []queuedDelivery) error {
	const columns = `business_id, id, event_id, event_type, webhook_id, url, endpoint, size, ordering_key, sequence,
		due_at,` +
		` available_at, owner, manual`
	var rows postgres.CopyWriter
	for _, d := range list {
		if len(list) < copyMinRows {
			if _, err := tx.ExecContext(ctx,
				`INSERT INTO delivery_queue (`+columns+`) VALUES (?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				d.Business, d.ID, d.EventID, d.EventType, d.WebhookID, d.callbackURL, d.Endpoint, len(d.Body),
				d.OrderingKey,
				d.Sequence, d.DueAt, d.available, d.owner, d.Manual); err != nil {
				return fmt.Errorf("queueing the delivery: %w", err)
			}
			continue
		}
		rows.Int(int64(d.Business))
		rows.ID(d.ID)
		rows.ID(d.EventID)
		rows.Text(string(d.EventType))
		postgres.NonZero(&rows, d.WebhookID)
		rows.Text(d.callbackURL)
		rows.Int(d.Endpoint)
		rows.Int(int64(len(d.Body)))
		rows.Int(d.OrderingKey)
		rows.Int(int64(d.Sequence))
		rows.Time(d.DueAt)
		rows.Time(d.available)
		postgres.Optional(&rows, d.owner, rows.ID)
		rows.Bool(d.Manual)
		rows.End()
	}
	return rows.CopyInto(ctx, tx, "delivery_queue", columns)
}

// afterCommit starts the first attempts and wakes this replica's relay.
func (o *Outbox) afterCommit() {
	o.replica.unrouted.add(o.unrouted, o.db.Clock().Now())
	for _, d := range o.start {
		o.replica.starter.Start(d)
	}
	if o.toClaim > 0 {
		Wake(o.db)
	}
	if o.callsQueued && o.replica.wakeCalls != nil {
		o.replica.wakeCalls()
	}
	for _, channel := range o.notifyLater {
		notifierOf(o.db).later(channel)
	}
	o.start = nil
}

// notify wakes the workers of all replicas at the commit, or soon after it.
func (o *Outbox) notify(ctx context.Context, tx bun.Conn, channel string) error {
	if notifierOf(o.db).allow(channel) {
		return postgres.Notify(ctx, tx, channel)
	}
	o.notifyLater = append(o.notifyLater, channel)
	return nil
}

// releaseReserved releases the reserved capacity, unless afterCommit has used it.
func (o *Outbox) releaseReserved() {
	for _, d := range o.start {
		o.replica.starter.CancelReservation(d.Endpoint)
	}
}

// EndpointOf returns the endpoint id of a callback_url: one per business and URL. It is
// negative, so that it is never a webhook's id.
func EndpointOf(business core.BusinessID, url string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", business, url)
	return -int64(h.Sum64()>>1) - 1
}

// Publisher publishes events in separate transactions (webhook.Publisher).
type Publisher struct{ db *postgres.DB }

// NewPublisher returns a Publisher that uses db.
func NewPublisher(db *postgres.DB) Publisher { return Publisher{db} }

// Publish stores events with their deliveries, in one transaction.
func (p Publisher) Publish(ctx context.Context, events ...core.Event) error {
	return Run(ctx, p.db, func(tx bun.Conn, box *Outbox) error { return box.Publish(ctx, tx, events...) })
}
