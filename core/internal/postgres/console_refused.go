package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// arrived is the order o that was refused as r before it came all the same.
const arrived = `o.business_id = r.business_id AND o.platform = r.platform AND o.platform_order_id = r.platform_order_id`

// RefusedOrders reads orders that were not taken, the latest first, and how many
// there are in all.
func (c Console) RefusedOrders(ctx context.Context, business core.BusinessID, f console.RefusedFilter) (list []console.RefusedOrder, all int, err error) {
	var only conditions
	only.add(f.Platform != "", "r.platform = ?", f.Platform)
	only.add(f.ID != "", "r.platform_order_id = ?", f.ID)
	only.add(f.Store != "", "r.store = ?", f.Store)
	only.add(!f.Since.IsZero(), "r.last_at >= ?", f.Since)
	only.add(!f.Before.IsZero(), "r.last_at < ?", f.Before)
	only.add(f.Missing, "o.id IS NULL")
	rows, err := c.of(business).QueryContext(ctx, `SELECT r.platform, r.platform_order_id, r.store, r.reason, r.times, r.first_at, r.last_at, coalesce(o.id, 0), count(*) OVER ()
		FROM refused_orders r LEFT JOIN orders o ON `+arrived+`
		WHERE r.business_id = ?`+only.text+` ORDER BY r.last_at DESC LIMIT ?`, slices.Concat([]any{business}, only.args, []any{f.Limit})...)
	if err != nil {
		return nil, 0, fmt.Errorf("reading orders that were not taken: %w", err)
	}
	defer rows.Close()
	for list = []console.RefusedOrder{}; rows.Next(); {
		var r console.RefusedOrder
		if err := rows.Scan(&r.Platform, &r.PlatformOrderID, &r.Store, &r.Reason, &r.Times, &r.First, &r.Last, &r.OrderID, &all); err != nil {
			return nil, 0, fmt.Errorf("reading orders that were not taken: %w", err)
		}
		list = append(list, r)
	}
	return list, all, rows.Err()
}

// notTaken reads of businesses the orders that were refused of late and are still not here.
func (c Console) notTaken(ctx context.Context, businesses []core.BusinessID) (orders []console.NotTaken, err error) {
	since := c.clock.Now().Add(-console.Lately)
	if err := c.bun.NewRaw(`SELECT r.business_id AS business, count(*) AS count, max(r.last_at) AS at, (array_agg(r.reason ORDER BY r.last_at DESC))[1] AS reason
		FROM refused_orders r WHERE r.business_id = ANY (?) AND r.last_at >= ? AND NOT EXISTS (SELECT FROM orders o WHERE `+arrived+`)
		GROUP BY r.business_id ORDER BY 3 DESC LIMIT ?`, array(businesses), since, noticesShown).Scan(ctx, &orders); err != nil {
		return nil, fmt.Errorf("reading orders that were not taken: %w", err)
	}
	return orders, nil
}
