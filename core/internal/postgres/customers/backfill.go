package customers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// backfillBatch is the number of orders whose hashes one transaction stores.
const backfillBatch = 200

// Backfill stores the hashes of orders that were placed while the customer key of their business could not be opened.
// It skips businesses whose key still cannot be opened. Any replica may call it, and the next call continues.
func (s Store) Backfill(ctx context.Context) error {
	var business core.BusinessID
	for started := time.Now(); time.Since(started) < workTime; {
		err := s.db.Bun().QueryRowContext(ctx, `SELECT business_id FROM orders WHERE customer_hashes IS NULL
			AND business_id > ? ORDER BY business_id LIMIT 1`, business).Scan(&business)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading orders without customer hashes: %w", err)
		}
		x, err := s.index(ctx, business)
		if err != nil { // the start of the hub reports keys that cannot be opened
			continue
		}
		for n := backfillBatch; n == backfillBatch && time.Since(started) < workTime; {
			if n, err = s.backfillSome(ctx, business, x); err != nil {
				return fmt.Errorf("storing customer hashes of business %d: %w", business, err)
			}
		}
	}
	return nil
}

// backfillSome stores the hashes of a batch of orders, and returns their number.
func (s Store) backfillSome(ctx context.Context, business core.BusinessID, x customer.Index) (n int, err error) {
	err = s.db.InTx(ctx, func(tx bun.Conn) error {
		var found []struct {
			ID   int64  `bun:"id"`
			Body []byte `bun:"body"`
		}
		if err := tx.NewRaw(queries.With("orders_without_hashes", postgres.Args{
			"business": business, "limit": backfillBatch,
		})).Scan(ctx, &found); err != nil {
			return fmt.Errorf("reading orders without customer hashes: %w", err)
		}
		ids, hashes := make([]int64, len(found)), make([]string, len(found))
		for i, o := range found {
			body, err := s.db.Decompress(o.Body)
			if err != nil {
				return err
			}
			ids[i], hashes[i] = o.ID, x.ArrayOfOrder(body)
		}
		if n = len(ids); n == 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, `UPDATE orders SET customer_hashes = hashed.hashes::bigint[]
			FROM unnest(?::bigint[], ?::text[]) AS hashed (id, hashes)
			WHERE orders.business_id = ? AND orders.id = hashed.id`,
			postgres.Array(ids), postgres.Array(hashes), business)
		return err
	})
	return n, err
}
