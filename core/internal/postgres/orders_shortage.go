package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// Refer stores what the POS calls an order; NotFound where the business has no
// such order.
func (o Orders) Refer(ctx context.Context, business core.BusinessID, id int64, reference string) error {
	result, err := o.bun.ExecContext(ctx, `UPDATE orders SET reference = ? WHERE business_id = ? AND id = ?`, reference, business, id)
	if err != nil {
		return fmt.Errorf("storing the reference of an order: %w", err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return errNoOrder
	}
	return nil
}

// Report stores a report that items of an order are out of stock, and with it
// what passes it on: a call to the platform, or, for the merchant's own channels,
// the event. NotFound where the business has no such order, else as
// order.Shortage.Of. It returns the id of the order, and the reference of the
// report: where one that says the same waits, or was the last and did not fail,
// that one's, and nothing more is done.
func (o Orders) Report(ctx context.Context, business core.BusinessID, reference core.ID, s order.Shortage) (id int64, known core.ID, err error) {
	err = o.tell(ctx, func(tx bun.Conn, box *outbox) error {
		platform, servedBy, placed, err := o.match(ctx, tx, business, &s)
		if err != nil {
			return err
		}
		id, known = s.OrderID, reference
		said, err := o.shortages(ctx, tx, business, id)
		if err != nil {
			return err
		}
		for i, before := range said {
			last := i == len(said)-1 && before.State != string(relay.Failed)
			if (last || before.State == string(relay.Waiting)) && s.Same(before.Items, before.AllowEdit) {
				known = before.Reference
				return nil
			}
		}
		items, err := json.Marshal(s.Items)
		if err != nil {
			return err
		}
		now := o.clock.Now()
		if _, err := tx.ExecContext(ctx, `INSERT INTO order_shortages (business_id, order_id, reference, items, allow_edit, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			business, id, reference, string(items), s.AllowEdit, s.Actor, now); err != nil {
			return fmt.Errorf("storing a report of items out of stock: %w", err)
		}
		if servedBy == core.ServedByOwn {
			event, err := shortageEvent(ctx, tx, now, endedCall{business: business, id: reference, order: id, state: string(relay.Done), message: order.ReadByChannel})
			if err != nil {
				return err
			}
			return box.publish(ctx, tx, event)
		}
		told := relay.ItemsOOSPayload{AllowEdit: s.AllowEdit, At: now.UnixMilli()}
		told.RefIDs, told.OptionRefIDs = s.Told(placed)
		payload, err := json.Marshal(told)
		if err != nil {
			return err
		}
		return box.call(ctx, tx, []newCall{{
			business: business, id: reference, kind: relay.ItemsOOS, line: relay.OrderLine(id),
			platform: platform, order: id, payload: payload, actor: s.Actor, at: now,
		}})
	})
	if err != nil {
		return 0, core.ID{}, err
	}
	return id, known, nil
}

// match finds the order that a report is about, locks it, and finds its items in it.
func (o Orders) match(ctx context.Context, tx bun.Conn, business core.BusinessID, s *order.Shortage) (platform, servedBy string, placed order.Relay, err error) {
	condition, value, unknown := "o.id = ?1", any(s.OrderID), core.NoSuch("order_upipr_id", s.OrderID, "there is no order with this id")
	if s.OrderID == 0 {
		condition, value, unknown = "o.reference = ?1", s.Reference, core.NoSuch("order_ref_id", s.Reference, "there is no order with this reference")
	}
	var state order.State
	var stored []byte
	err = tx.QueryRowContext(ctx, `SELECT o.id, o.state, o.platform, coalesce(p.served_by, 'own'), e.body FROM orders o
		JOIN events e ON e.id = o.placed_event AND e.business_id = o.business_id
		LEFT JOIN platforms p ON p.business_id = o.business_id AND p.name = o.platform
		WHERE o.business_id = ?0 AND `+condition+` ORDER BY o.created_at DESC, o.id DESC LIMIT 1 FOR UPDATE OF o`, business, value).
		Scan(&s.OrderID, &state, &platform, &servedBy, &stored)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", placed, unknown
	case err != nil:
		return "", "", placed, err
	}
	body, err := o.packer.unpack(stored)
	if err != nil {
		return "", "", placed, err
	}
	if placed, err = order.ReadRelay(body); err != nil {
		return "", "", placed, err
	}
	return platform, servedBy, placed, s.Of(placed, state)
}

// shortages reads the reports of an order, the oldest first.
func (o Orders) shortages(ctx context.Context, db bun.IDB, business core.BusinessID, id int64) (list []order.ShortageReading, err error) {
	rows, err := db.QueryContext(ctx, `SELECT s.reference, s.at, s.items, s.allow_edit, s.actor, coalesce(c.state, ?0),
			CASE WHEN c.id IS NULL THEN ?1 WHEN c.state = 'waiting' THEN coalesce(l.note, '') ELSE c.message END
		FROM order_shortages s
		LEFT JOIN calls c ON c.business_id = s.business_id AND c.id = s.reference
		LEFT JOIN call_lines l ON l.business_id = c.business_id AND l.line = c.line
		WHERE s.business_id = ?2 AND s.order_id = ?3 ORDER BY s.reference`, relay.Done, order.ReadByChannel, business, id)
	if err != nil {
		return nil, fmt.Errorf("reading reports of items out of stock: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s order.ShortageReading
		var at time.Time
		var items string
		if err := rows.Scan(&s.Reference, &at, &items, &s.AllowEdit, &s.Actor, &s.State, &s.Message); err != nil {
			return nil, fmt.Errorf("reading reports of items out of stock: %w", err)
		}
		if err := json.Unmarshal([]byte(items), &s.Items); err != nil {
			return nil, fmt.Errorf("a stored report cannot be read: %w", err)
		}
		s.At = at.UnixMilli()
		list = append(list, s)
	}
	return list, rows.Err()
}

// shortageEvents are the events of ended calls that told of items out of stock.
func shortageEvents(ctx context.Context, tx bun.Conn, now time.Time, ended []endedCall) (events []core.Event, err error) {
	for _, c := range ended {
		if c.kind != relay.ItemsOOS || c.state == string(relay.Pending) {
			continue
		}
		event, err := shortageEvent(ctx, tx, now.Add(time.Duration(len(events))*time.Microsecond), c)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// shortageEvent tells what became of a report.
func shortageEvent(ctx context.Context, tx bun.Conn, now time.Time, c endedCall) (core.Event, error) {
	o := order.ShortageOutcome{Reference: c.id, Success: c.state == string(relay.Done), Message: c.message}
	o.Phone, o.Pin, _ = strings.Cut(c.result, pinOf)
	o.OrderID = c.order
	err := tx.QueryRowContext(ctx, `SELECT o.platform, o.platform_order_id, coalesce(o.reference, ''), s.id, s.ref_id, s.name
		FROM orders o JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id WHERE o.business_id = ? AND o.id = ?`, c.business, c.order).
		Scan(&o.Platform, &o.PlatformOrderID, &o.OrderRef, &o.StoreID, &o.StoreRefID, &o.StoreName)
	if err != nil {
		return core.Event{}, fmt.Errorf("reading the order of a report: %w", err)
	}
	body, err := o.Event()
	if err != nil {
		return core.Event{}, fmt.Errorf("writing the event: %w", err)
	}
	return core.Event{ID: core.NewID(now), Business: c.business, Type: core.OrderItemsOOSProcessed, At: now, Body: body, Reference: c.id.String(), Order: c.order}, nil
}
