package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/order"
)

// refusedKept is how many orders that were not taken are kept of a business.
const refusedKept = 500

// Bounds of keeping them: at a time, in one transaction, waiting.
const (
	refusedBeside  = 1
	refusedSize    = 128
	refusedWaiting = 1024
)

// KeepRefused keeps that an order was not taken; it is durable when it returns. What is
// refused again is counted where it stands. Of each business the latest are kept.
// Unavailable where more come at once than are kept: then this one is not.
func (o Orders) KeepRefused(ctx context.Context, refused order.Refused) error {
	_, err := o.refused.put(ctx, refused)
	return err
}

// keepRefused is a round. One hub at a time holds one: what they change overlaps.
func (db *DB) keepRefused(ctx context.Context, refusals []order.Refused) []verdict[struct{}] {
	places := map[orderKey]int{}
	var keys []orderKey
	var stores, reasons, at []string
	var times []int64
	now := db.clock.Now().UTC().Truncate(time.Microsecond)
	for _, r := range refusals {
		key := orderKey{r.Business, r.Platform, r.PlatformOrderID}
		i, known := places[key]
		if !known {
			i, places[key] = len(keys), len(keys)
			keys, stores, reasons, times = append(keys, key), append(stores, ""), append(reasons, ""), append(times, 0)
			at = append(at, now.Add(time.Duration(i)*time.Microsecond).Format(time.RFC3339Nano)) // pages of the list end between two
		}
		stores[i], reasons[i], times[i] = r.Store, r.Reason, times[i]+1
	}
	businesses, platforms, refs := columnsOf(keys)
	err := db.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('refused_orders'))`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO refused_orders AS r (business_id, platform, platform_order_id, store, reason, times, first_at, last_at)
			SELECT business, platform, ref, store, reason, times, at, at
			FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::timestamptz[]) AS t (business, platform, ref, store, reason, times, at)
			ON CONFLICT (business_id, platform, platform_order_id) DO UPDATE SET
				store = excluded.store, reason = excluded.reason, times = r.times + excluded.times, last_at = excluded.last_at`,
			array(businesses), array(platforms), array(refs), array(stores), array(reasons), array(times), array(at)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM refused_orders r USING unnest(?::bigint[]) AS b (id)
			WHERE r.business_id = b.id AND r.last_at <= (SELECT last_at FROM refused_orders WHERE business_id = b.id ORDER BY last_at DESC OFFSET ? LIMIT 1)`,
			array(businesses), refusedKept)
		return err
	})
	if err != nil {
		err = fmt.Errorf("keeping %d orders that were not taken: %w", len(refusals), err)
	}
	return failed[struct{}](len(refusals), err)
}
