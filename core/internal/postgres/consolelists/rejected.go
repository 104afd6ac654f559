package consolelists

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// RejectedOrders returns rejected orders, the latest first, and their total number.
func (c Store) RejectedOrders(ctx context.Context, business core.BusinessID,
	f console.RejectedFilter) (list []console.RejectedOrder, total int, err error) {
	var only postgres.Conditions
	only.Add(f.Platform != "", "rejected.platform = ?", f.Platform)
	only.Add(f.ID != "", "rejected.platform_order_id = ?", f.ID)
	only.Add(f.Store != "", "rejected.store = ?", f.Store)
	only.Add(!f.Since.IsZero(), "rejected.last_at >= ?", f.Since)
	only.Add(!f.Before.IsZero(), "rejected.last_at < ?", f.Before)
	only.Add(f.Missing, "orders.id IS NULL")
	only.Add(f.Fault != "", "rejected.hub_fault = ?", f.Fault == console.HubFault)
	list, err = postgres.Collect(ctx, c.db.Tenant(business), "reading rejected orders",
		func(r *console.RejectedOrder) []any {
			return []any{&r.Platform, &r.PlatformOrderID, &r.Store, &r.Reason, &r.HubFault, &r.Times, &r.First, &r.Last,
				&r.OrderID, &total}
		}, bun.SafeQuery(queries.With("rejected_orders_page", postgres.Args{
			"business": business, "only": only, "limit": f.Limit,
		})))
	return list, total, err
}

// OrderRepeats returns the repeats of an order with other content, the latest first.
func (c Store) OrderRepeats(ctx context.Context, business core.BusinessID, id int64) ([]console.OrderRepeat, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading repeats of an order",
		func(r *console.OrderRepeat) []any {
			return []any{&r.Differences, &r.Actor, &r.Times, &r.First, &r.Last}
		}, bun.SafeQuery(queries.With("order_repeats", postgres.Args{"business": business, "order": id})))
}

// OrderFollowUps returns what the platform of an order sent about it, the earliest first.
func (c Store) OrderFollowUps(ctx context.Context, business core.BusinessID,
	id int64) ([]console.OrderFollowUp, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading follow-ups of an order",
		func(f *console.OrderFollowUp) []any { return []any{&f.Kind, &f.Note, &f.Actor, &f.At} },
		bun.SafeQuery(queries.With("order_follow_ups", postgres.Args{"business": business, "order": id})))
}
