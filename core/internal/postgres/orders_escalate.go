package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// escalateBack is how long ago orders may have been placed that are looked at:
// those of a time in which no hub ran are not worth a call any more.
const escalateBack = 24 * time.Hour

// Escalate marks the orders that have waited for their acknowledgement for at
// least the given time, and counts them. Every order is looked at once, when it
// reaches that age; of replicas that look at the same time one does. The time
// must be longer than an order takes from its placing to its commit.
func (o Orders) Escalate(ctx context.Context, within time.Duration) (n int, err error) {
	now := o.clock.Now()
	to := now.Add(-within)
	err = o.watch(ctx, "orders", func(tx bun.Conn, from time.Time) (time.Time, error) {
		if !from.Before(to) {
			return from, nil
		}
		if earliest := now.Add(-escalateBack - within); from.Before(earliest) {
			from = earliest
		}
		var businesses, ids []int64
		rows, err := tx.QueryContext(ctx, `SELECT o.business_id, o.id FROM businesses b CROSS JOIN LATERAL (
				SELECT business_id, id, state FROM orders WHERE business_id = b.id AND created_at > ? AND created_at <= ?) o
			WHERE o.state = ?`, from, to, order.Placed)
		if err != nil {
			return from, fmt.Errorf("looking for orders that wait: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var business, id int64
			if err := rows.Scan(&business, &id); err != nil {
				return from, fmt.Errorf("looking for orders that wait: %w", err)
			}
			businesses, ids = append(businesses, business), append(ids, id)
		}
		if err := rows.Err(); err != nil || len(ids) == 0 {
			return to, err
		}
		// Locked in the order of their keys, as everywhere, and asked again.
		result, err := tx.ExecContext(ctx, `UPDATE orders o SET escalated_at = ?0 FROM (
				SELECT business_id, id FROM orders WHERE (business_id, id) IN (SELECT * FROM unnest(?1::bigint[], ?2::bigint[])) AND state = ?3
				ORDER BY business_id, id FOR UPDATE) w
			WHERE o.business_id = w.business_id AND o.id = w.id`, now, array(businesses), array(ids), order.Placed)
		if err != nil {
			return from, fmt.Errorf("escalating orders: %w", err)
		}
		marked, err := result.RowsAffected()
		n = int(marked)
		return to, err
	})
	return n, err
}

// watch has one replica at a time look, from where the look before it ended to
// where look says that it ended; the others leave it at that.
func (db *DB) watch(ctx context.Context, name string, look func(tx bun.Conn, from time.Time) (to time.Time, err error)) error {
	return db.inTx(ctx, func(tx bun.Conn) error {
		var from time.Time
		err := tx.QueryRowContext(ctx, `SELECT seen_to FROM watches WHERE name = ? FOR UPDATE SKIP LOCKED`, name).Scan(&from)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading how far the look at %s has gone: %w", name, err)
		}
		to, err := look(tx, from)
		if err != nil || to.Equal(from) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE watches SET seen_to = ? WHERE name = ?`, to, name); err != nil {
			return fmt.Errorf("keeping how far the look at %s has gone: %w", name, err)
		}
		return nil
	})
}

// Waiting reads the orders that waited too long for their acknowledgement and
// still do, of one business or with 0 of all, the newest first and at most limit.
func (o Orders) Waiting(ctx context.Context, business core.BusinessID, limit int) ([]order.Unacknowledged, error) {
	rows, err := o.bun.QueryContext(ctx, `SELECT o.business_id, o.id, o.platform, s.ref_id, s.name, o.created_at, o.escalated_at
		FROM orders o JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
		WHERE o.escalated_at IS NOT NULL AND o.state = ?0 AND (?1 = 0 OR o.business_id = ?1) AND o.created_at > ?2
		ORDER BY o.created_at DESC, o.id DESC LIMIT ?3`, order.Placed, business, o.clock.Now().Add(-escalateBack), limit)
	if err != nil {
		return nil, fmt.Errorf("reading orders that wait: %w", err)
	}
	defer rows.Close()
	list := []order.Unacknowledged{}
	for rows.Next() {
		var w order.Unacknowledged
		if err := rows.Scan(&w.Business, &w.OrderID, &w.Platform, &w.StoreRefID, &w.StoreName, &w.Placed, &w.Escalated); err != nil {
			return nil, fmt.Errorf("reading orders that wait: %w", err)
		}
		list = append(list, w)
	}
	return list, rows.Err()
}
