// Package orders stores orders, their states, riders and feature actions. It batches new
// orders and rider updates.
package orders

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/rejections"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files, outbox.Parts())

// Store stores orders. The embedded one stores rejected orders.
type Store struct {
	rejections.Store
	db *postgres.DB
}

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{rejections.New(db), db} }

var errNoOrder = core.Errorf(core.NotFound, "there is no order with this id")

// unknownOrder returns the error for an unknown order id in a request body.
func unknownOrder(id int64) error { return core.NoSuch("order_id", id, errNoOrder.Message) }

// sentName is the platform's name in events, for the row o of orders.
var sentName = outbox.SentNameOf("o.business_id", "o.platform")

// Get returns an order with its history. If platform is set, only its orders are found. It
// returns NotFound if there is no such order.
func (o Store) Get(ctx context.Context, business core.BusinessID, platform string, id int64) (order.Record, error) {
	var r order.Record
	var placed time.Time
	var actor string
	var stored, history, riders, reports []byte
	var escalated sql.NullTime
	err := o.db.Tenant(business).QueryRowContext(ctx, queries.With("read_order", postgres.Args{
		"business": business, "order": id, "platform": platform, "done": relay.Done, "read": order.ReadByChannel,
	})).Scan(&r.State, &r.Platform, &placed, &actor, &r.Reference, &escalated, &r.Unnotified, &stored, &history,
		&riders, &reports)
	if err != nil {
		return r, orNotFound(err)
	}
	if r.Relay, err = o.db.Decompress(stored); err != nil {
		return r, err
	}
	if escalated.Valid {
		r.Escalated = escalated.Time.UnixMilli()
	}
	var steps []order.Step
	if err := errors.Join(UnmarshalStored(history, &steps), UnmarshalStored(riders, &r.RiderHistory),
		UnmarshalStored(reports, &r.OutOfStockReports)); err != nil {
		return r, fmt.Errorf("reading the order's history: %w", err)
	}
	r.History = append([]order.Step{{State: order.Placed, At: placed.UnixMilli(), Actor: actor}}, steps...)
	return r, nil
}

func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNoOrder
	}
	return err
}

// List returns a page of orders, the newest first, and the cursor of the next page.
func (o Store) List(ctx context.Context, business core.BusinessID,
	f order.Filter) (list []order.Summary, next order.Cursor, err error) {
	var only postgres.Conditions
	only.Add(f.State != "", "orders.state = ?", f.State)
	only.Add(f.Platform != "", "orders.platform = ?", f.Platform)
	only.Add(f.StoreRefID != "", "store.ref_id = ?", f.StoreRefID)
	only.Add(f.Reference != "", "orders.reference = ?", f.Reference)
	only.Add(f.Escalated, "orders.escalated_at IS NOT NULL")
	only.Add(!f.From.IsZero(), "orders.created_at >= ?", f.From)
	only.Add(!f.To.IsZero(), "orders.created_at < ?", f.To)
	only.Add(f.After.ID != 0, "(orders.created_at, orders.id) < (?, ?)",
		time.UnixMicro(f.After.Placed).UTC(), f.After.ID)
	rows, err := o.db.Tenant(business).QueryContext(ctx, queries.With("list", postgres.Args{
		"business": business, "only": only, "limit": f.Limit + 1,
	}))
	if err != nil {
		return nil, next, fmt.Errorf("reading orders: %w", err)
	}
	defer rows.Close()
	last := next
	for list = []order.Summary{}; rows.Next(); {
		var s order.Summary
		var created, updated time.Time
		var escalated sql.NullTime
		if err := rows.Scan(&s.OrderID, &s.Platform, &s.PlatformOrderID, &s.StoreRefID, &s.State, &s.DeliveryMode,
			&s.Bulk, &s.Flags, &s.Reference, &created, &updated, &escalated); err != nil {
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

// deleteBatch is the number of orders that one statement deletes.
const deleteBatch = 1000

// DropOld deletes orders past the retention, which starts on the scheduled day for orders of
// a later day. It works in short transactions, and several replicas may run it at once.
func (o Store) DropOld(ctx context.Context, retention time.Duration) error {
	before := o.db.Clock().Now().Add(-retention)
	var businesses []int64
	if err := o.db.Bun().NewRaw(`SELECT id FROM businesses ORDER BY id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("deleting old orders: %w", err)
	}
	for _, business := range businesses {
		for deleted := int64(deleteBatch); deleted == deleteBatch; {
			err := o.db.Bun().QueryRowContext(ctx, queries.With("drop_old", postgres.Args{
				"business": business, "before": before, "limit": deleteBatch,
			})).Scan(&deleted)
			if err != nil {
				return fmt.Errorf("deleting old orders: %w", err)
			}
		}
		for _, statement := range []string{
			`DELETE FROM calls WHERE business_id = ?0 AND order_id = 0 AND state <> 'waiting' AND created_at < ?1`,
			`DELETE FROM pending_cancellations WHERE business_id = ?0 AND at < ?1`,
			`DELETE FROM rejected_orders WHERE business_id = ?0 AND last_at < ?1`,
			`DELETE FROM unnotified_switches WHERE business_id = ?0 AND reference < ?2`,
		} {
			if _, err := o.db.Bun().ExecContext(ctx, statement, business, before, core.FirstID(before)); err != nil {
				return fmt.Errorf("deleting old records of orders: %w", err)
			}
		}
	}
	return nil
}

// UnmarshalStored reads stored JSON. An empty value leaves into unchanged.
func UnmarshalStored(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}
