package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// Orders keeps orders.
type Orders struct{ *DB }

var errNoOrder = core.Errorf(core.NotFound, "there is no order with this id")

// noOrder names the id of a body that is none of an order.
func noOrder(id int64) error { return core.NoSuch("order_id", id, errNoOrder.Message) }

// Get reads an order with its history. platform, when set, is the only one
// whose orders count. NotFound where the business has no such order.
func (o Orders) Get(ctx context.Context, business core.BusinessID, platform string, id int64) (order.Record, error) {
	var r order.Record
	var placed time.Time
	var actor string
	var stored []byte
	var escalated sql.NullTime
	err := o.of(business).QueryRowContext(ctx, `SELECT o.state, o.created_at, o.placed_by, coalesce(o.reference, ''), o.escalated_at, e.body FROM orders o
		JOIN events e ON e.id = o.placed_event AND e.business_id = o.business_id
		WHERE o.business_id = ?0 AND o.id = ?1 AND (?2 = '' OR o.platform = ?2)`, business, id, platform).
		Scan(&r.State, &placed, &actor, &r.Reference, &escalated, &stored)
	if err != nil {
		return r, orNoOrder(err)
	}
	if r.Relay, err = o.packer.unpack(stored); err != nil {
		return r, err
	}
	if escalated.Valid {
		r.Escalated = escalated.Time.UnixMilli()
	}
	if r.Shortages, err = o.shortages(ctx, o.of(business), business, id); err != nil {
		return r, err
	}
	r.History = []order.Step{{State: order.Placed, At: placed.UnixMilli(), Actor: actor}}
	rows, err := o.of(business).QueryContext(ctx, `SELECT state, at, message, reason_code, prep_time_mins, actor FROM order_states
		WHERE business_id = ? AND order_id = ? ORDER BY n`, business, id)
	if err != nil {
		return r, fmt.Errorf("reading the order's history: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var step order.Step
		var at time.Time
		if err := rows.Scan(&step.State, &at, &step.Message, &step.ReasonCode, &step.PrepMinutes, &step.Actor); err != nil {
			return r, fmt.Errorf("reading the order's history: %w", err)
		}
		step.At = at.UnixMilli()
		r.History = append(r.History, step)
	}
	// A move that was made between the two readings is in the history already.
	r.State = r.History[len(r.History)-1].State
	if err := rows.Err(); err != nil {
		return r, fmt.Errorf("reading the order's history: %w", err)
	}
	return r, readRides(ctx, o.of(business), []int64{int64(business)}, []int64{id}, func(_ core.BusinessID, _ int64, step order.RiderStep) {
		r.Rides = append(r.Rides, step)
	})
}

func orNoOrder(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNoOrder
	}
	return err
}

// Change moves an order to another state and tells so by an event, in one
// transaction; from is the state it was in. The same state again changes nothing
// and tells nothing, but Acknowledged with another preparation time is a step of
// its own. NotFound and Conflict as order.State.Move.
func (o Orders) Change(ctx context.Context, business core.BusinessID, id int64, change order.Change) (from order.State, err error) {
	err = o.tell(ctx, func(tx bun.Conn, box *outbox) error {
		subject, events := order.Subject{OrderID: id}, 0
		err := tx.QueryRowContext(ctx, `SELECT o.state, o.platform, o.platform_order_id, s.ref_id, o.events
			FROM orders o JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
			WHERE o.business_id = ?0 AND o.id = ?1 AND (?2 = '' OR o.platform = ?2) FOR UPDATE OF o`, business, id, change.Platform).
			Scan(&from, &subject.Platform, &subject.PlatformOrderID, &subject.StoreRefID, &events)
		if err != nil {
			return orNoOrder(err)
		}
		changed, err := from.Move(change.To)
		if err == nil && !changed {
			changed, err = retimed(ctx, tx, business, id, change)
		}
		if err != nil || !changed {
			return err
		}
		now := o.clock.Now()
		body, err := order.StatusUpdate(subject, from, change, now)
		if err != nil {
			return fmt.Errorf("writing the event: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE orders SET state = ?, events = ?, updated_at = ? WHERE business_id = ? AND id = ?`,
			change.To, events+1, now, business, id); err != nil {
			return fmt.Errorf("moving the order: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO order_states (business_id, order_id, n, state, at, message, reason_code, prep_time_mins, actor)
			SELECT ?0, ?1, coalesce(max(n), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM order_states WHERE business_id = ?0 AND order_id = ?1`,
			business, id, change.To, now, change.Message, change.ReasonCode, change.PrepMinutes, change.Actor); err != nil {
			return fmt.Errorf("keeping the order's history: %w", err)
		}
		if err := o.relayOrderStatus(ctx, tx, box, business, subject, from, change); err != nil {
			return err
		}
		return box.publish(ctx, tx, core.Event{
			ID: core.NewID(now), Business: business, Type: core.OrderStatusUpdate, At: now, Body: body, Order: id, Place: events + 1,
		})
	})
	return from, err
}

// retimed tells whether a repeat of Acknowledged brings another preparation time.
func retimed(ctx context.Context, tx bun.Conn, business core.BusinessID, id int64, change order.Change) (bool, error) {
	if change.To != order.Acknowledged || change.PrepMinutes == nil {
		return false, nil
	}
	var known int64
	err := tx.QueryRowContext(ctx, `SELECT prep_time_mins FROM order_states WHERE business_id = ? AND order_id = ? AND prep_time_mins IS NOT NULL
		ORDER BY n DESC LIMIT 1`, business, id).Scan(&known)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the preparation time of an order: %w", err)
	}
	return known != *change.PrepMinutes, nil
}

// List reads a page of orders, the newest first, and where the next page begins
// when there is one.
func (o Orders) List(ctx context.Context, business core.BusinessID, f order.Filter) (list []order.Summary, next order.Cursor, err error) {
	var only conditions
	only.add(f.State != "", "o.state = ?", f.State)
	only.add(f.Platform != "", "o.platform = ?", f.Platform)
	only.add(f.StoreRefID != "", "s.ref_id = ?", f.StoreRefID)
	only.add(f.Reference != "", "o.reference = ?", f.Reference)
	only.add(f.Escalated, "o.escalated_at IS NOT NULL")
	only.add(!f.From.IsZero(), "o.created_at >= ?", f.From)
	only.add(!f.To.IsZero(), "o.created_at < ?", f.To)
	only.add(f.After.ID != 0, "(o.created_at, o.id) < (?, ?)", time.UnixMicro(f.After.Placed).UTC(), f.After.ID)
	rows, err := o.of(business).QueryContext(ctx, `SELECT o.id, o.platform, o.platform_order_id, s.ref_id, o.state, o.delivery_type, o.is_bulk_order, o.flags,
			coalesce(o.reference, ''), o.created_at, o.updated_at, o.escalated_at
		FROM orders o JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
		WHERE o.business_id = ?`+only.text+` ORDER BY o.created_at DESC, o.id DESC LIMIT ?`, slices.Concat([]any{business}, only.args, []any{f.Limit + 1})...)
	if err != nil {
		return nil, next, fmt.Errorf("reading orders: %w", err)
	}
	defer rows.Close()
	last := next
	for list = []order.Summary{}; rows.Next(); {
		var s order.Summary
		var created, updated time.Time
		var escalated sql.NullTime
		if err := rows.Scan(&s.OrderID, &s.Platform, &s.PlatformOrderID, &s.StoreRefID, &s.State, &s.Carrier, &s.Bulk, &s.Flags,
			&s.Reference, &created, &updated, &escalated); err != nil {
			return nil, next, fmt.Errorf("reading orders: %w", err)
		}
		if len(list) == f.Limit {
			next = last
			break
		}
		s.Created, s.Updated = created.UnixMilli(), updated.UnixMilli()
		if escalated.Valid {
			s.Escalated = escalated.Time.UnixMilli()
		}
		last = order.Cursor{Placed: created.UnixMicro(), ID: s.OrderID}
		list = append(list, s)
	}
	return list, next, rows.Err()
}

// ordersAtOnce is how many orders of a business one step of the maintenance deletes.
const ordersAtOnce = 1000

// DropOld deletes orders past the retention, which begins for one of a later day on
// that day, step by step: no transaction is long, and several replicas may do it at once.
func (o Orders) DropOld(ctx context.Context, retention time.Duration) error {
	before := o.clock.Now().Add(-retention)
	var businesses []int64
	if err := o.bun.NewRaw(`SELECT id FROM businesses ORDER BY id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("deleting old orders: %w", err)
	}
	for _, business := range businesses {
		for deleted := int64(ordersAtOnce); deleted == ordersAtOnce; {
			err := o.bun.QueryRowContext(ctx, `WITH old AS (
					DELETE FROM orders WHERE business_id = ?0 AND id IN (
						SELECT id FROM orders WHERE business_id = ?0 AND created_at < ?1 AND coalesce(scheduled_for < ?1, true) ORDER BY created_at, id LIMIT ?2 FOR UPDATE SKIP LOCKED)
					RETURNING id
				), states AS (DELETE FROM order_states WHERE business_id = ?0 AND order_id IN (SELECT id FROM old)
				), short AS (DELETE FROM order_shortages WHERE business_id = ?0 AND order_id IN (SELECT id FROM old)
				), riders AS (DELETE FROM rider_statuses WHERE business_id = ?0 AND order_id IN (SELECT id FROM old)
				), called AS (DELETE FROM calls WHERE business_id = ?0 AND order_id IN (SELECT id FROM old))
				SELECT count(*) FROM old`, business, before, ordersAtOnce).Scan(&deleted)
			if err != nil {
				return fmt.Errorf("deleting old orders: %w", err)
			}
		}
		if _, err := o.bun.ExecContext(ctx, `DELETE FROM calls WHERE business_id = ? AND order_id = 0 AND state <> 'waiting' AND created_at < ?`, business, before); err != nil {
			return fmt.Errorf("deleting old refusals of orders: %w", err)
		}
		if _, err := o.bun.ExecContext(ctx, `DELETE FROM early_cancellations WHERE business_id = ? AND at < ?`, business, before); err != nil {
			return fmt.Errorf("deleting old cancellations of orders: %w", err)
		}
		if _, err := o.bun.ExecContext(ctx, `DELETE FROM refused_orders WHERE business_id = ? AND last_at < ?`, business, before); err != nil {
			return fmt.Errorf("deleting old orders that were not taken: %w", err)
		}
		if _, err := o.bun.ExecContext(ctx, `DELETE FROM untold_switches WHERE business_id = ? AND reference < ?`, business, core.FirstID(before)); err != nil {
			return fmt.Errorf("deleting old references of switches: %w", err)
		}
	}
	return nil
}
