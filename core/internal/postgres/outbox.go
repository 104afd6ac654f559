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
}

// target is where an event goes.
type target struct {
	ID      int64         `bun:"id"`
	URL     string        `bun:"url"`
	Units   webhook.Units `bun:"retrial_interval_units"`
	Headers []byte        `bun:"headers"`
	Secret  []byte        `bun:"secret"`
}

// publish stores an event with a delivery to each of its receivers.
func (o *outbox) publish(ctx context.Context, tx bun.Conn, event core.Event) error {
	targets, err := o.db.targets(ctx, tx, event)
	if err != nil {
		return err
	}
	packed := o.db.packer.pack(event.Body)
	if _, err := tx.ExecContext(ctx, `INSERT INTO events (business_id, id, event_type, body, reference) VALUES (?, ?, ?, ?, ?)`,
		event.Business, event.ID, event.Type, packed, event.Reference); err != nil {
		return fmt.Errorf("storing the event: %w", err)
	}
	for _, t := range targets {
		d := webhook.Delivery{
			ID: core.NewID(o.db.clock.Now()), Business: event.Business, EventID: event.ID, EventType: event.Type, Body: event.Body,
			WebhookID: t.ID, Endpoint: t.ID, URL: t.URL, DueAt: event.At,
		}
		if t.ID == 0 {
			d.Endpoint = endpointOf(event.Business, t.URL)
		}
		if err := o.db.unsealTarget(&d, t); err != nil {
			return err
		}
		if err := o.enqueue(ctx, tx, d, len(packed)); err != nil {
			return err
		}
	}
	if o.left > 0 && o.db.worthTelling() {
		if _, err := tx.ExecContext(ctx, `SELECT pg_notify(?, '')`, deliveriesChannel); err != nil {
			return fmt.Errorf("waking workers: %w", err)
		}
	}
	return nil
}

// enqueue writes a delivery, leased to this replica where that has room for it.
func (o *outbox) enqueue(ctx context.Context, tx bun.Conn, d webhook.Delivery, size int) error {
	available, owner := d.DueAt, any(nil)
	if o.db.starter != nil && o.db.starter.Reserve(d.Endpoint) {
		d.LeasedTo = o.db.starter.LeaseUntil()
		available, owner = d.LeasedTo, o.db.starter.Owner()
		o.start = append(o.start, d)
	} else {
		o.left++
	}
	callback := ""
	if d.WebhookID == 0 {
		callback = d.URL
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO delivery_queue (business_id, id, event_id, event_type, webhook_id, url, endpoint, size, due_at, available_at, owner)
		VALUES (?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?)`,
		d.Business, d.ID, d.EventID, d.EventType, d.WebhookID, callback, d.Endpoint, size, d.DueAt, available, owner); err != nil {
		return fmt.Errorf("queueing the delivery: %w", err)
	}
	return nil
}

// committed begins the first attempts.
func (o *outbox) committed() {
	for _, d := range o.start {
		o.db.starter.Start(d)
	}
	if o.left > 0 && o.db.starter != nil {
		o.db.starter.Wake()
	}
	o.start = nil
}

// rolledBack gives promised places back, unless committed has used them.
func (o *outbox) rolledBack() {
	for _, d := range o.start {
		o.db.starter.Forget(d.Endpoint)
	}
}

// targets are the receivers of an event: the address that came with the
// request, else every active subscription.
func (db *DB) targets(ctx context.Context, tx bun.Conn, event core.Event) ([]target, error) {
	var list []target
	var err error
	if event.CallbackURL != "" {
		err = tx.NewRaw(`SELECT 0 AS id, ? AS url, 'minutes' AS retrial_interval_units, ''::bytea AS headers, callback_secret AS secret
			FROM businesses WHERE id = ?`, event.CallbackURL, event.Business).Scan(ctx, &list)
	} else {
		err = tx.NewRaw(`SELECT id, url, retrial_interval_units, headers, secret FROM webhooks
			WHERE business_id = ? AND event_type = ? AND active ORDER BY id`, event.Business, event.Type).Scan(ctx, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the event's receivers: %w", err)
	}
	return list, nil
}

// endpointOf is the endpoint of a callback_url: negative, so that it is no
// webhook's id, and the same for all deliveries of the business to the address.
func endpointOf(business core.BusinessID, url string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", business, url)
	return -int64(h.Sum64()>>1) - 1
}

// worthTelling keeps notifications to twenty a second: they are a hint, and
// each makes commits wait for one another.
func (db *DB) worthTelling() bool {
	now, last := time.Now().UnixNano(), db.told.Load()
	return now-last > int64(50*time.Millisecond) && db.told.CompareAndSwap(last, now)
}

// Publish stores an event with its deliveries.
func (db *DB) Publish(ctx context.Context, event core.Event) error {
	box := outbox{db: db}
	defer box.rolledBack()
	err := db.inTx(ctx, func(tx bun.Conn) error { return box.publish(ctx, tx, event) })
	if err == nil {
		box.committed()
	}
	return err
}
