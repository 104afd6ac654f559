package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// Arrivals tells how the order_placed webhooks of orders fared that were placed
// from a moment on; those that are older count as known before.
func (c Console) Arrivals(ctx context.Context, business core.BusinessID, ids []int64, from time.Time) (a console.Arrivals, err error) {
	if len(ids) == 0 {
		return a, nil
	}
	var p50, p99 float64
	// Deliveries are made with their event, whose id is of the order's moment: what is older is not read.
	err = c.of(business).QueryRowContext(ctx, `WITH placed AS MATERIALIZED (
			SELECT placed_event AS event, created_at AS at FROM orders WHERE business_id = ?0 AND id = ANY (?1::bigint[]) AND created_at >= ?2),
		ended AS MATERIALIZED (
			SELECT d.state, extract(epoch FROM (SELECT min(a.started_at + a.total_us * interval '1 microsecond') FROM attempts a
				WHERE a.business_id = ?0 AND a.delivery_id = d.id AND a.delivery_id >= ?3 AND a.status BETWEEN 200 AND 299) - p.at) AS took
			FROM deliveries d JOIN placed p ON p.event = d.event_id WHERE d.business_id = ?0 AND d.id >= ?3 AND d.event_type = ?4),
		under_way AS MATERIALIZED (
			SELECT q.attempts FROM delivery_queue q JOIN placed p ON p.event = q.event_id WHERE q.business_id = ?0 AND q.id >= ?3 AND q.event_type = ?4)
		SELECT (SELECT count(*) FROM placed), count(*) FILTER (WHERE state = 'delivered'), count(*) FILTER (WHERE state = 'failed'),
			(SELECT count(*) FROM under_way), (SELECT count(*) FROM under_way WHERE attempts > 0),
			coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY took) FILTER (WHERE state = 'delivered'), 0),
			coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY took) FILTER (WHERE state = 'delivered'), 0)
		FROM ended`, business, array(ids), from, core.FirstID(from.Add(-time.Second)), core.OrderPlaced).
		Scan(&a.Orders, &a.Arrived, &a.Failed, &a.Waiting, &a.Retried, &p50, &p99)
	if err != nil {
		return a, fmt.Errorf("counting what arrived: %w", err)
	}
	a.Known = len(ids) - a.Orders
	a.P50, a.P99 = time.Duration(p50*float64(time.Second)), time.Duration(p99*float64(time.Second))
	return a, nil
}
