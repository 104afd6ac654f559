// Package outbox stores events with their deliveries, and calls to aggregators, in the transaction
// that causes them. After the commit it starts the deliveries that fit the capacity of this
// replica.
package outbox

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Parts returns statements for other packages to include. A statement that also stores something else includes those
// that store events and deliveries, see Batch.Into. Statements that read calls include queued_row.
func Parts() postgres.Queries { return queries }

// DeliveriesChannel notifies replicas of queued deliveries, and of changed webhooks.
const DeliveriesChannel = "servery_deliveries"

// Outbox collects what one transaction publishes. Deliveries for which this replica has
// capacity are stored with its lease. They start from memory after the commit, without a
// claim or a notification.
type Outbox struct {
	db          *postgres.DB
	replica     *replica
	keyed       bool // the transaction is one of DB.InKeyedTx
	uncached    bool // all receivers are read
	start       []webhook.Delivery
	toClaim     []core.ID       // the events of deliveries that an engine must claim
	unrouted    []unroutedEvent // events that had no receiver
	callsQueued bool            // calls were queued
	notifyLater []string        // channels to notify some time after the commit
}

// unroutedEvent is an event without a receiver.
type unroutedEvent struct {
	id  core.ID
	key unroutedKey
}

// Run runs a transaction. After the commit it starts the deliveries and calls of the outbox.
func Run(ctx context.Context, db *postgres.DB, do func(tx bun.Conn, box *Outbox) error) error {
	box := &Outbox{db: db, replica: replicaOf(db)}
	return box.run(func() error {
		return db.InTx(ctx, func(tx bun.Conn) error { return do(tx, box) })
	})
}

// RunKeyed is Run for a transaction that finds each row by its key (DB.InKeyedTx).
func RunKeyed(ctx context.Context, db *postgres.DB, do func(tx bun.Conn, box *Outbox) error) error {
	box := &Outbox{db: db, replica: replicaOf(db), keyed: true}
	return box.run(func() error {
		return db.InKeyedTx(ctx, func(tx bun.Conn) error { return do(tx, box) })
	})
}

// RunStatement is Run for a transaction of one statement, which do executes (DB.QueryKeyed).
func RunStatement(db *postgres.DB, do func(box *Outbox) error) error {
	box := &Outbox{db: db, replica: replicaOf(db), keyed: true}
	return box.run(func() error { return do(box) })
}

func (o *Outbox) run(commit func() error) error {
	defer o.releaseReserved()
	err := commit()
	if err == nil {
		o.afterCommit()
	}
	return err
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
	if len(events) > maxStatementEvents {
		return o.copyEvents(ctx, tx, events)
	}
	return o.publish(ctx, &tx, events)
}

// leaseHere leases the delivery to this replica if it may start at once and there is capacity. The
// claim leases large bodies, because it limits their memory.
func (o *Outbox) leaseHere(row *queuedDelivery, waits bool) {
	row.available = row.DueAt
	if row.circuitOpen || waits || len(row.Body) > webhook.LargeBody || o.replica.starter == nil ||
		!o.replica.starter.Reserve(row.Endpoint) {
		o.toClaim = append(o.toClaim, row.EventID)
		return
	}
	owner := o.replica.starter.Owner()
	row.LeasedUntil = o.replica.starter.LeaseUntil()
	row.available, row.owner = row.LeasedUntil, &owner
	o.start = append(o.start, row.Delivery)
}

// afterCommit starts the first attempts and wakes this replica's relay.
func (o *Outbox) afterCommit() {
	o.replica.unrouted.add(o.unrouted, o.db.Clock().Now())
	for _, d := range o.start {
		o.replica.starter.Start(d)
	}
	if len(o.toClaim) > 0 {
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

// EndpointOf returns the endpoint id of a callback_url: one per business and URL. It is negative, so that it is never a
// webhook's id. The hash is cryptographic, because a business with a URL of the same id would share its limits and
// circuit.
func EndpointOf(business core.BusinessID, url string) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", business, url))
	return -int64(binary.BigEndian.Uint64(sum[:])>>1) - 1
}
