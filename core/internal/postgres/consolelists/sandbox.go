package consolelists

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// ScenarioDeliveries returns the results of the order_placed webhooks of orders placed since from.
// Older orders are counted as known.
func (c Store) ScenarioDeliveries(ctx context.Context, business core.BusinessID, ids []int64,
	from time.Time) (a console.ScenarioDeliveries, err error) {
	if len(ids) == 0 {
		return a, nil
	}
	var p50, p99 float64
	err = c.db.Tenant(business).QueryRowContext(ctx, queries.With("arrivals", postgres.Args{
		"business": business, "orders": postgres.Array(ids), "from": from,
		"first": core.FirstID(from.Add(-time.Second)), "event_type": core.OrderPlaced,
	})).
		Scan(&a.NewOrders, &a.Delivered, &a.Failed, &a.Waiting, &a.Retried, &p50, &p99)
	if err != nil {
		return a, fmt.Errorf("counting arrivals: %w", err)
	}
	a.KnownOrders = len(ids) - a.NewOrders
	a.P50, a.P99 = time.Duration(p50*float64(time.Second)), time.Duration(p99*float64(time.Second))
	return a, nil
}
