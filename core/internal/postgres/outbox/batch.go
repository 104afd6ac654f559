package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/webhook"
)

// queuedDelivery is a row of the delivery queue.
type queuedDelivery struct {
	webhook.Delivery
	callbackURL string // the URL, unless it is that of a subscription
	circuitOpen bool   // the endpoint's circuit is open: do not start from memory
	available   time.Time
	owner       *core.ID
}

// Batch is events with their deliveries, as rows to store.
type Batch struct {
	Checks cache.Checks // of the receivers

	events     []core.Event
	compressed [][]byte
	rows       []queuedDelivery
	unrouted   map[core.ID]bool
}

// contains reports whether an event is in the batch.
func (b *Batch) contains(event core.ID) bool {
	return slices.ContainsFunc(b.events, func(e core.Event) bool { return e.ID == event })
}

// HasReceiver reports whether an event has a delivery.
func (b *Batch) HasReceiver(event core.ID) bool { return !b.unrouted[event] }

// Prepare returns the rows of events that have their sequence numbers. It leases the deliveries that may start in this
// replica. Snapshots that are known to be stale are not used.
func (o *Outbox) Prepare(ctx context.Context, in bun.IDB, events []core.Event, stale cache.Stale) (*Batch, error) {
	found, err := o.targets(ctx, in, events, stale)
	if err != nil {
		return nil, err
	}
	b := o.newBatch(ctx, events, found)
	waits, err := o.blockedRows(ctx, in, b.rows)
	if err != nil {
		return nil, err
	}
	for i := range b.rows {
		o.leaseHere(&b.rows[i], waits[b.rows[i].ID])
	}
	return b, nil
}

func (o *Outbox) newBatch(ctx context.Context, events []core.Event, found receivers) *Batch {
	b := &Batch{events: events, compressed: make([][]byte, len(events)), Checks: found.checks,
		unrouted: map[core.ID]bool{}}
	trace := core.TraceFromContext(ctx)
	now := o.db.Clock().Now()
	for i := range events {
		if events[i].Trace == "" {
			events[i].Trace = trace
		}
		event := events[i]
		b.compressed[i] = o.db.Compress(event.Body)
		targets := found.targets[RouteOf(event)]
		if len(targets) == 0 {
			b.unrouted[event.ID] = true
			o.unrouted = append(o.unrouted, unroutedEvent{event.ID, unroutedKey{event.Business, event.Type}})
		}
		for _, t := range targets {
			// Ids one microsecond apart sort in the order of the events.
			at := now.Add(time.Duration(len(b.rows)) * time.Microsecond)
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
			b.rows = append(b.rows, row)
		}
	}
	return b
}

// Into sets the arguments of a statement that stores the rows (see the statement publish), without the checks.
func (b *Batch) Into(args postgres.Args) {
	b.eventsInto(args)
	b.deliveriesInto(args)
}

func (b *Batch) eventsInto(args postgres.Args) {
	n, bodies := len(b.events), []byte{}
	businesses, orders, sequences, starts, sizes := make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n), make([]int64, n)
	ids, types, references, traces, tests := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]bool, n)
	for i, e := range b.events {
		businesses[i], orders[i], sequences[i] = int64(e.Business), e.OrderID, int64(e.Sequence)
		starts[i], sizes[i] = int64(len(bodies)+1), int64(len(b.compressed[i]))
		bodies = append(bodies, b.compressed[i]...)
		ids[i], types[i], references[i], traces[i], tests[i] = e.ID.String(), string(e.Type), e.Reference,
			string(e.Trace), e.Test
	}
	args["bodies"], args["starts"], args["sizes"] = bodies, postgres.Array(starts), postgres.Array(sizes)
	args["event_businesses"], args["event_ids"] = postgres.Array(businesses), postgres.Array(ids)
	args["event_types"], args["event_references"] = postgres.Array(types), postgres.Array(references)
	args["tests"], args["traces"] = postgres.Array(tests), postgres.Array(traces)
	args["event_orders"], args["event_sequences"] = postgres.Array(orders), postgres.Array(sequences)
}

// deliveriesInto sets the columns of the queue. The size of a delivery is that of the uncompressed body.
func (b *Batch) deliveriesInto(args postgres.Args) {
	n := len(b.rows)
	businesses, webhooks, endpoints, lengths := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	keys, sequences, leased, manual := make([]int64, n), make([]int64, n), make([]bool, n), make([]bool, n)
	ids, events, types, urls, due, available := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]string, n)
	var owner *core.ID
	for i, d := range b.rows {
		businesses[i], webhooks[i], endpoints[i], lengths[i] = int64(d.Business), d.WebhookID, d.Endpoint,
			int64(len(d.Body))
		keys[i], sequences[i], leased[i], manual[i] = d.OrderingKey, int64(d.Sequence), d.owner != nil, d.Manual
		ids[i], events[i], types[i], urls[i] = d.ID.String(), d.EventID.String(), string(d.EventType), d.callbackURL
		due[i], available[i] = d.DueAt.UTC().Format(postgres.CopyTimeLayout),
			d.available.UTC().Format(postgres.CopyTimeLayout)
		if d.owner != nil {
			owner = d.owner
		}
	}
	args["businesses"], args["webhooks"], args["endpoints"] = postgres.Array(businesses), postgres.Array(webhooks),
		postgres.Array(endpoints)
	args["lengths"], args["ordering_keys"], args["sequences"] = postgres.Array(lengths), postgres.Array(keys),
		postgres.Array(sequences)
	args["leased"], args["manuals"], args["owner"] = postgres.Array(leased), postgres.Array(manual), owner
	args["ids"], args["events"], args["types"], args["urls"] = postgres.Array(ids), postgres.Array(events),
		postgres.Array(types), postgres.Array(urls)
	args["due"], args["available"] = postgres.Array(due), postgres.Array(available)
}

// maxStale is how often a statement may find cached receivers out of date. After that they are read in the transaction
// that stores the events.
const maxStale = 3

// publish prepares and stores events, again if receivers were out of date. Without a transaction, each statement
// is one.
func (o *Outbox) publish(ctx context.Context, tx *bun.Conn, events []core.Event) error {
	stale := cache.Stale{}
	var in bun.IDB = o.db.Keyed()
	if tx != nil {
		in = *tx
	}
	for range maxStale {
		b, err := o.Prepare(ctx, in, events, stale)
		if err != nil {
			return err
		}
		found, err := o.store(ctx, tx, b)
		if err != nil || len(found) == 0 {
			return err
		}
		stale.Add(found)
		o.Keep(func(event core.ID) bool { return !b.contains(event) })
	}
	if tx != nil {
		return o.publishUncached(ctx, *tx, events)
	}
	return o.db.InKeyedTx(ctx, func(tx bun.Conn) error { return o.publishUncached(ctx, tx, events) })
}

// publishUncached stores events with the receivers that the transaction reads.
func (o *Outbox) publishUncached(ctx context.Context, tx bun.Conn, events []core.Event) error {
	b, err := o.prepareUncached(ctx, tx, events)
	if err != nil {
		return err
	}
	_, err = o.store(ctx, &tx, b)
	return err
}

// prepareUncached is Prepare with the receivers that the transaction reads. They need no checks.
func (o *Outbox) prepareUncached(ctx context.Context, tx bun.Conn, events []core.Event) (*Batch, error) {
	o.uncached = true
	defer func() { o.uncached = false }()
	b, err := o.Prepare(ctx, tx, events, nil)
	if err == nil {
		b.Checks = cache.Checks{}
	}
	return b, err
}

// store stores the rows, unless receivers were out of date. It returns their snapshots.
func (o *Outbox) store(ctx context.Context, tx *bun.Conn, b *Batch) (cache.Stale, error) {
	statement := postgres.Statement{Query: queries.Get("publish"), Args: make(postgres.Args), Before: o.Notify()}
	b.Into(statement.Args)
	b.Checks.Into(statement.Args)
	stale := cache.Stale{}
	scan := func(rows *sql.Rows) error {
		var position int64
		err := rows.Scan(&position)
		if err == nil {
			stale[b.Checks.At(position)] = true
		}
		return err
	}
	var err error
	switch {
	case tx == nil:
		err = o.db.QueryKeyed(ctx, statement, scan)
	case o.keyed:
		err = o.db.QueryPrepared(ctx, *tx, statement, scan)
	default:
		err = postgres.QueryPlanned(ctx, *tx, statement, scan)
	}
	if err != nil {
		return nil, fmt.Errorf("storing events: %w", err)
	}
	return stale, nil
}

// Notify returns the statement that wakes the other replicas for the deliveries that an engine must claim, or "". A
// notification that comes too soon after another is sent after the commit.
func (o *Outbox) Notify() string {
	switch {
	case len(o.toClaim) == 0:
		return ""
	case notifierOf(o.db).allow(DeliveriesChannel):
		return "NOTIFY " + DeliveriesChannel + "; "
	}
	o.notifyLater = append(o.notifyLater, DeliveriesChannel)
	return ""
}

// Keep drops the events that the transaction has not stored.
func (o *Outbox) Keep(stored func(event core.ID) bool) {
	o.start = slices.DeleteFunc(o.start, func(d webhook.Delivery) bool {
		dropped := !stored(d.EventID)
		if dropped {
			o.replica.starter.CancelReservation(d.Endpoint)
		}
		return dropped
	})
	o.toClaim = slices.DeleteFunc(o.toClaim, func(event core.ID) bool { return !stored(event) })
	o.unrouted = slices.DeleteFunc(o.unrouted, func(e unroutedEvent) bool { return !stored(e.id) })
}

// maxStatementEvents is how many events one statement stores. COPY stores more.
const maxStatementEvents = 128

// copyEvents stores many events and their deliveries by COPY. It reads the receivers in the transaction.
func (o *Outbox) copyEvents(ctx context.Context, tx bun.Conn, events []core.Event) error {
	b, err := o.prepareUncached(ctx, tx, events) // COPY checks no snapshots
	if err != nil {
		return err
	}
	if err := b.copyEvents(ctx, tx); err != nil {
		return err
	}
	if err := b.copyDeliveries(ctx, tx); err != nil {
		return err
	}
	if notify := o.Notify(); notify != "" {
		_, err = tx.ExecContext(ctx, notify)
	}
	return err
}

func (b *Batch) copyEvents(ctx context.Context, tx bun.Conn) error {
	var rows postgres.CopyWriter
	for i, e := range b.events {
		rows.Int(int64(e.Business))
		rows.ID(e.ID)
		rows.Text(string(e.Type))
		rows.Bytes(b.compressed[i])
		rows.Text(e.Reference)
		rows.Bool(e.Test)
		postgres.NonZero(&rows, string(e.Trace), rows.Text)
		postgres.NonZero(&rows, e.OrderID, rows.Int)
		postgres.NonZero(&rows, int64(e.Sequence), rows.Int)
		rows.End()
	}
	return rows.CopyInto(ctx, tx, "events",
		`business_id, id, event_type, body, reference, test, trace, order_id, sequence`)
}

func (b *Batch) copyDeliveries(ctx context.Context, tx bun.Conn) error {
	var rows postgres.CopyWriter
	for _, d := range b.rows {
		rows.Int(int64(d.Business))
		rows.ID(d.ID)
		rows.ID(d.EventID)
		rows.Text(string(d.EventType))
		postgres.NonZero(&rows, d.WebhookID, rows.Int)
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
	return rows.CopyInto(ctx, tx, "delivery_queue", `business_id, id, event_id, event_type, webhook_id, url, endpoint,
		size, ordering_key, sequence, due_at, available_at, owner, manual`)
}
