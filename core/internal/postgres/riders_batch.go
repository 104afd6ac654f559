package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// riderBatch is the statuses that one transaction stores.
type riderBatch struct {
	ctx      context.Context
	tx       bun.Conn
	db       *DB
	updates  []order.RiderUpdate
	verdicts []verdict[bool] // of the updates: whether anything changed
	rides    map[rideKey]*ride
	taken    []takenStatus
	calls    []newCall
	events   []core.Event
}

// rideKey is an order of a business.
type rideKey struct {
	business core.BusinessID
	order    int64
}

// ride is an order's rider as stored.
type ride struct {
	order.Ride
	servedBy string
}

// takenStatus is a status that the transaction is to store.
type takenStatus struct {
	rideKey
	n    int
	step order.RiderStep
	call core.ID // zero: nobody to relay it to
}

// carriedBy is who brings an order o; nobody where it is not for delivery.
const carriedBy = `CASE WHEN o.order_type = 'delivery' THEN o.delivery_type ELSE '' END`

// read locks the orders, in the order of their keys, and reads their riders.
func (b *riderBatch) read() error {
	b.rides = map[rideKey]*ride{}
	var businesses, orders []int64
	for _, u := range b.updates {
		key := rideKey{u.Business, u.OrderID}
		if _, known := b.rides[key]; !known {
			b.rides[key] = nil
			businesses, orders = append(businesses, int64(u.Business)), append(orders, u.OrderID)
		}
	}
	rows, err := b.tx.QueryContext(b.ctx, `SELECT o.business_id, o.id, o.platform, o.platform_order_id, `+carriedBy+`, o.state, s.id, s.ref_id, coalesce(p.served_by, 'own')
		FROM orders o
		JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
		LEFT JOIN platforms p ON p.business_id = o.business_id AND p.name = o.platform
		WHERE (o.business_id, o.id) IN (SELECT * FROM unnest(?::bigint[], ?::bigint[])) ORDER BY o.business_id, o.id FOR UPDATE OF o`,
		array(businesses), array(orders))
	if err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key rideKey
		r := &ride{}
		if err := rows.Scan(&key.business, &key.order, &r.Platform, &r.PlatformOrderID, &r.Carrier, &r.State, &r.StoreID, &r.StoreRefID, &r.servedBy); err != nil {
			return fmt.Errorf("reading orders: %w", err)
		}
		r.OrderID = key.order
		b.rides[key] = r
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	return readRides(b.ctx, b.tx, businesses, orders, func(business core.BusinessID, id int64, step order.RiderStep) {
		if r := b.rides[rideKey{business, id}]; r != nil {
			r.Rides = append(r.Rides, step)
		}
	})
}

// readRides reads statuses of riders, those of each order in order.
func readRides(ctx context.Context, in bun.IDB, businesses, orders []int64, visit func(core.BusinessID, int64, order.RiderStep)) error {
	rows, err := in.QueryContext(ctx, `SELECT r.business_id, r.order_id, r.status, r.at, r.rider_name, r.rider_phone, r.actor, coalesce(c.state, ''),
			CASE WHEN c.state = 'waiting' THEN coalesce(l.note, '') ELSE coalesce(c.message, '') END
		FROM unnest(?::bigint[], ?::bigint[]) AS q (business, id)
		JOIN rider_statuses r ON r.business_id = q.business AND r.order_id = q.id
		LEFT JOIN calls c ON c.business_id = r.business_id AND c.id = r.call_id
		LEFT JOIN call_lines l ON c.state = 'waiting' AND l.business_id = c.business_id AND l.line = c.line
		ORDER BY r.business_id, r.order_id, r.n`, array(businesses), array(orders))
	if err != nil {
		return fmt.Errorf("reading the statuses of riders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var business core.BusinessID
		var id int64
		var at time.Time
		var step order.RiderStep
		var told order.RiderRelay
		if err := rows.Scan(&business, &id, &step.Status, &at, &step.Name, &step.Phone, &step.Actor, &told.State, &told.Message); err != nil {
			return fmt.Errorf("reading the statuses of riders: %w", err)
		}
		step.At = at.UnixMilli()
		if told.State != "" {
			step.Relay = &told
		}
		visit(business, id, step)
	}
	return rows.Err()
}

// take applies the rules, one status after the other.
func (b *riderBatch) take() error {
	now := b.db.clock.Now()
	for i, u := range b.updates {
		key := rideKey{u.Business, u.OrderID}
		r, v := b.rides[key], &b.verdicts[i]
		if r == nil {
			v.err = noOrder(u.OrderID)
			continue
		}
		var body []byte
		if v.answer, body, v.err = r.Take(u, now.UnixMilli()); v.err != nil || !v.answer {
			continue
		}
		// A microsecond apart, so that the ids sort as the statuses do.
		at := now.Add(time.Duration(i) * time.Microsecond)
		b.events = append(b.events, core.Event{
			ID: core.NewID(at), Business: u.Business, Type: core.RiderStatusUpdate, At: now, Body: body, Order: u.OrderID, Trace: u.Trace,
		})
		taken := takenStatus{rideKey: key, n: len(r.Rides), step: r.Rides[len(r.Rides)-1]}
		if r.servedBy != core.ServedByOwn {
			taken.call = core.NewID(at)
			payload, err := json.Marshal(relay.RiderStatusPayload{
				Status: string(taken.step.Status), Name: taken.step.Name, Phone: taken.step.Phone, At: taken.step.At,
			})
			if err != nil {
				return err
			}
			b.calls = append(b.calls, newCall{
				business: u.Business, id: taken.call, kind: relay.RiderStatus, line: relay.Line(relay.RiderStatus, strconv.FormatInt(u.OrderID, 10)),
				platform: r.Platform, order: u.OrderID, payload: payload, actor: u.Actor, at: now, trace: u.Trace,
			})
		}
		b.taken = append(b.taken, taken)
	}
	return nil
}

func (b *riderBatch) write() error {
	if len(b.taken) == 0 {
		return nil
	}
	n := len(b.taken)
	businesses, orders, places, at := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	statuses, names, phones, actors, calls := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, t := range b.taken {
		businesses[i], orders[i], places[i], at[i] = int64(t.business), t.order, int64(t.n), t.step.At
		statuses[i], names[i], phones[i], actors[i] = string(t.step.Status), t.step.Name, t.step.Phone, t.step.Actor
		if t.call != (core.ID{}) {
			calls[i] = t.call.String()
		}
	}
	if _, err := b.tx.ExecContext(b.ctx, `INSERT INTO rider_statuses (business_id, order_id, n, status, at, rider_name, rider_phone, actor, call_id)
		SELECT business, id, n, status, to_timestamp(at / 1000.0), name, phone, actor, nullif(call, '')::uuid
		FROM unnest(?::bigint[], ?::bigint[], ?::integer[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[])
			AS t (business, id, n, status, at, name, phone, actor, call)`,
		array(businesses), array(orders), array(places), array(statuses), array(at), array(names), array(phones), array(actors), array(calls)); err != nil {
		return fmt.Errorf("storing statuses of riders: %w", err)
	}
	return nil
}
