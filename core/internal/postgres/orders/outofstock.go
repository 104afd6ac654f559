package orders

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
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// SetReference stores the POS reference of an order. It returns NotFound for an unknown order.
func (o Store) SetReference(ctx context.Context, business core.BusinessID, id int64, reference string) error {
	result, err := o.db.Bun().ExecContext(ctx, `UPDATE orders SET reference = ? WHERE business_id = ? AND id = ?`,
		reference, business, id)
	if err != nil {
		return fmt.Errorf("storing the reference of an order: %w", err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return errNoOrder
	}
	return nil
}

// Report stores a report of out-of-stock items. It queues a call to the platform, or publishes the
// event for the merchant's own channels. It returns the id of the order and the reference of the
// report.
//
// If the same report is pending, or was the last and did not fail, Report returns its reference and
// stores nothing. It returns NotFound for an unknown order, and the errors of
// order.OutOfStockReport.Resolve.
func (o Store) Report(ctx context.Context, business core.BusinessID, reference core.ID,
	s order.OutOfStockReport) (id int64, known core.ID, err error) {
	err = outbox.RunKeyed(ctx, o.db, func(tx bun.Conn, box *outbox.Outbox) error {
		platform, servedBy, placed, err := o.matchReport(ctx, tx, business, &s)
		if err != nil {
			return err
		}
		id, known = s.OrderID, reference
		reports, err := o.outOfStockReports(ctx, tx, business, id)
		if err != nil {
			return err
		}
		for i, before := range reports {
			last := i == len(reports)-1 && before.State != string(relay.Failed)
			if (last || before.State == string(relay.Waiting)) && s.SameContent(before.Items, before.AllowEdit) {
				known = before.Reference
				return nil
			}
		}
		items, err := json.Marshal(s.Items)
		if err != nil {
			return err
		}
		now := o.db.Clock().Now()
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO out_of_stock_reports (business_id, order_id, reference, items, allow_edit, actor, at)
				VALUES (?, ?, ?, ?, ?, ?, ?)`,
			business, id, reference, string(items), s.AllowEdit, s.Actor, now); err != nil {
			return fmt.Errorf("storing a report of items out of stock: %w", err)
		}
		if servedBy == core.ServedByMerchant {
			event, err := outOfStockEvent(ctx, tx, now,
				calls.Ended{Business: business, ID: reference, Order: id, State: string(relay.Done),
					Message: order.ReadByChannel})
			if err != nil {
				return err
			}
			return box.Publish(ctx, tx, event)
		}
		message := relay.ItemsOOSPayload{AllowEdit: s.AllowEdit, At: now.UnixMilli()}
		message.RefIDs, message.OptionRefIDs = s.RefIDs(placed)
		payload, err := json.Marshal(message)
		if err != nil {
			return err
		}
		return box.QueueCalls(ctx, tx, []outbox.Call{{
			Business: business, ID: reference, Kind: relay.ItemsOOS, OrderingKey: relay.OrderKey(id),
			Platform: platform, Order: id, Payload: payload, Actor: s.Actor, At: now,
		}})
	})
	if err != nil {
		return 0, core.ID{}, err
	}
	return id, known, nil
}

// matchReport finds and locks the order of a report, and finds the reported items in it.
func (o Store) matchReport(ctx context.Context, tx bun.Conn, business core.BusinessID,
	s *order.OutOfStockReport) (platform, servedBy string, placed order.Relay, err error) {
	var named postgres.Conditions
	named.Add(s.OrderID != 0, "orders.id = ?", s.OrderID)
	named.Add(s.OrderID == 0, "orders.reference = ?", s.Reference)
	unknown := core.NoSuch("order_upipr_id", s.OrderID, "there is no order with this id")
	if s.OrderID == 0 {
		unknown = core.NoSuch("order_ref_id", s.Reference, "there is no order with this reference")
	}
	var state order.State
	var stored []byte
	// Two statements: one that waited for an update of the order would not find the new event.
	if err = tx.QueryRowContext(ctx, queries.With("lock_reported_order", postgres.Args{
		"business": business, "named": named,
	})).Scan(&s.OrderID); err == nil {
		err = tx.QueryRowContext(ctx, queries.With("reported_order", postgres.Args{
			"business": business, "order": s.OrderID,
		})).Scan(&state, &platform, &servedBy, &stored)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", placed, unknown
	case err != nil:
		return "", "", placed, err
	}
	body, err := o.db.Decompress(stored)
	if err != nil {
		return "", "", placed, err
	}
	if placed, err = order.ReadRelay(body); err != nil {
		return "", "", placed, err
	}
	return platform, servedBy, placed, s.Resolve(placed, state)
}

// outOfStockReports returns the reports of an order without their messages, the oldest first.
func (o Store) outOfStockReports(ctx context.Context, db bun.IDB, business core.BusinessID,
	id int64) (list []order.APIOutOfStockReport, err error) {
	rows, err := db.QueryContext(ctx, queries.With("out_of_stock_reports", postgres.Args{
		"business": business, "order": id, "done": relay.Done,
	}))
	if err != nil {
		return nil, fmt.Errorf("reading reports of items out of stock: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s order.APIOutOfStockReport
		var at time.Time
		var items string
		if err := rows.Scan(&s.Reference, &at, &items, &s.AllowEdit, &s.Actor, &s.State); err != nil {
			return nil, fmt.Errorf("reading reports of items out of stock: %w", err)
		}
		if err := json.Unmarshal([]byte(items), &s.Items); err != nil {
			return nil, fmt.Errorf("reading a stored report: %w", err)
		}
		s.At = at.UnixMilli()
		list = append(list, s)
	}
	return list, rows.Err()
}

// OutOfStockEnded returns a function that creates the events of ended out-of-stock calls.
func OutOfStockEnded(db *postgres.DB) calls.OnEnded {
	return func(ctx context.Context, tx bun.Conn, ended []calls.Ended) ([]core.Event, error) {
		return outOfStockEvents(ctx, tx, db.Clock().Now(), ended)
	}
}

func outOfStockEvents(ctx context.Context, tx bun.Conn, now time.Time,
	ended []calls.Ended) (events []core.Event, err error) {
	for _, c := range ended {
		if c.Kind != relay.ItemsOOS || c.State == string(relay.Pending) {
			continue
		}
		event, err := outOfStockEvent(ctx, tx, now.Add(time.Duration(len(events))*time.Microsecond), c)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// outOfStockEvent returns the event with the outcome of a report.
func outOfStockEvent(ctx context.Context, tx bun.Conn, now time.Time, c calls.Ended) (core.Event, error) {
	o := order.OutOfStockOutcome{Reference: c.ID, Success: c.State == string(relay.Done), Message: c.Message}
	o.Phone, o.Pin, _ = strings.Cut(c.Result, calls.PinSeparator)
	o.OrderID = c.Order
	err := tx.QueryRowContext(ctx,
		`SELECT o.platform, ?, o.platform_order_id, coalesce(o.reference, ''), s.id, s.ref_id, s.name
		FROM orders o JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id WHERE o.business_id = ?
			AND o.id = ?`, sentName, c.Business, c.Order).
		Scan(&o.Platform, &o.EventAlias, &o.PlatformOrderID, &o.OrderRef, &o.StoreID, &o.StoreRefID, &o.StoreName)
	if err != nil {
		return core.Event{}, fmt.Errorf("reading the order of a report: %w", err)
	}
	body, err := o.Event()
	if err != nil {
		return core.Event{}, fmt.Errorf("encoding the event: %w", err)
	}
	return core.Event{ID: core.NewID(now), Business: c.Business, Type: core.OrderItemsOOSProcessed, At: now, Body: body,
		Reference: c.ID.String(), OrderID: c.Order}, nil
}
