package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/order"
)

// escalateBack is how long ago orders may have been placed that are looked at:
// those of a time in which no hub ran are not worth a call any more.
const escalateBack = 24 * time.Hour

// Escalate marks the orders that have waited for their acknowledgement for as long
// as their business, or where it does not say, as within allows, and counts them; 0
// allows for ever. Every order is looked at once, when it reaches that age; of
// replicas that look at the same time one does. The time must be longer than an
// order takes from its placing to its commit.
func (o Orders) Escalate(ctx context.Context, within time.Duration) (n int, err error) {
	err = o.watch(ctx, "orders", func(tx bun.Conn, from time.Time) (to time.Time, err error) {
		now := o.clock.Now()
		if to = now.Add(-within); within == 0 || to.Before(from) {
			to = from
		}
		if n, err = o.escalate(ctx, tx, now, from, within); err != nil {
			return from, err
		}
		_, err = tx.ExecContext(ctx, `UPDATE presence_rules r SET orders_seen_to = ?0::timestamptz - w.within FROM (
				SELECT business_id, coalesce(ack_within_s, ?1) * interval '1 second' AS within FROM presence_rules ORDER BY business_id FOR UPDATE) w
			WHERE w.business_id = r.business_id AND w.within > '0' AND (orders_seen_to < ?0::timestamptz - w.within OR orders_seen_to IS NULL)`, now, int(within/time.Second))
		if err != nil {
			return from, fmt.Errorf("keeping which orders were looked at: %w", err)
		}
		return to, nil
	})
	return n, err
}

// escalate looks at the orders that have reached their age since the look before,
// by the time of which those that were placed up to from had.
func (o Orders) escalate(ctx context.Context, tx bun.Conn, now, from time.Time, within time.Duration) (int, error) {
	rows, err := tx.QueryContext(ctx, `SELECT o.business_id, o.id FROM businesses b LEFT JOIN presence_rules r ON r.business_id = b.id
			CROSS JOIN LATERAL (SELECT coalesce(r.ack_within_s, ?2) * interval '1 second') AS w (within)
			CROSS JOIN LATERAL (SELECT business_id, id, state FROM orders WHERE business_id = b.id
				AND created_at > greatest(coalesce(r.orders_seen_to, ?1::timestamptz), ?0::timestamptz - w.within - ?3 * interval '1 second') AND created_at <= ?0::timestamptz - w.within) o
		WHERE w.within > '0' AND o.state = ?4`, now, from, int(within/time.Second), int(escalateBack/time.Second), order.Placed)
	if err != nil {
		return 0, fmt.Errorf("looking for orders that wait: %w", err)
	}
	defer rows.Close()
	var businesses, ids []int64
	for rows.Next() {
		var business, id int64
		if err := rows.Scan(&business, &id); err != nil {
			return 0, fmt.Errorf("looking for orders that wait: %w", err)
		}
		businesses, ids = append(businesses, business), append(ids, id)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return 0, err
	}
	// Locked in the order of their keys, as everywhere, and asked again.
	result, err := tx.ExecContext(ctx, `UPDATE orders o SET escalated_at = ?0 FROM (
			SELECT business_id, id FROM orders WHERE (business_id, id) IN (SELECT * FROM unnest(?1::bigint[], ?2::bigint[]))
				AND state = ?3 AND escalated_at IS NULL ORDER BY business_id, id FOR UPDATE) w
		WHERE o.business_id = w.business_id AND o.id = w.id`, now, array(businesses), array(ids), order.Placed)
	if err != nil {
		return 0, fmt.Errorf("escalating orders: %w", err)
	}
	marked, err := result.RowsAffected()
	return int(marked), err
}
