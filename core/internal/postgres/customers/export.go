package customers

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// ExportCustomer records an export of a customer in the audit trail. It returns the orders to read with ExportOrder,
// the newest first: at most customer.MaxExported. It returns Invalid for a name.
func (s Store) ExportCustomer(ctx context.Context, business core.BusinessID, subject customer.Subject,
	change access.Change) (orders []int64, err error) {
	if !subject.IsOnePerson() {
		return nil, core.Errorf(core.Invalid, "several people may have the same name: search by phone or email address")
	}
	found, err := s.OrdersOfCustomer(ctx, business, subject, console.OrderCursor{}, customer.MaxExported)
	if err != nil {
		return nil, err
	}
	for _, o := range found {
		orders = append(orders, o.ID)
	}
	change.Object, change.After = subject.Object(), map[string]any{"orders": len(orders)}
	return orders, s.db.InTx(ctx, func(tx bun.Conn) error { return audit.Record(ctx, s.db, tx, change) })
}

// ExportOrder returns what is stored about an order. It returns NotFound if there is no such order.
func (s Store) ExportOrder(ctx context.Context, business core.BusinessID, id int64) (customer.Export, error) {
	e := customer.Export{Events: []customer.ExportedEvent{}}
	in := s.db.Tenant(business)
	err := in.QueryRowContext(ctx, queries.With("exported_order", postgres.Args{"business": business, "order": id})).
		Scan(&e.OrderID, &e.Platform, &e.PlatformOrderID, &e.Store, &e.State, &e.PlacedAt, &e.ErasedAt,
			(*[]byte)(&e.States), (*[]byte)(&e.Riders), (*[]byte)(&e.Calls), (*[]byte)(&e.RiderLocations))
	if err != nil {
		return e, postgres.NotFound(err, "there is no order with this id")
	}
	var only postgres.Conditions
	only.Add(true, "orders.id = ?", id)
	var ids []core.ID
	if err := in.NewRaw(queries.With("events_of_customer", postgres.Args{
		"business": business, "only": only, "most": 1,
	})).Scan(ctx, &ids); err != nil {
		return e, fmt.Errorf("reading the events of an order: %w", err)
	}
	deliveries, err := deliveriesOf(ctx, in, business, ids)
	if err != nil {
		return e, err
	}
	e.Events, err = postgres.Collect(ctx, in, "reading the events of an order", func(v *customer.ExportedEvent) []any {
		return []any{&v.ID, &v.Type, (*[]byte)(&v.Body), (*[]byte)(&v.SentTo)}
	}, bun.SafeQuery(queries.With("exported_events", postgres.Args{
		"business": business, "order": id, "deliveries": postgres.Array(deliveries),
	})))
	for i := range e.Events {
		if e.Events[i].Body, err = s.db.Decompress(e.Events[i].Body); err != nil {
			return e, err
		}
	}
	return e, err
}
