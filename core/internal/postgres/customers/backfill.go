package customers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
		ids, hashes, err := s.missingHashes(ctx, tx, business, x)
		if err != nil {
			return fmt.Errorf("reading orders without customer hashes: %w", err)
		}
		if n = len(slices.Compact(slices.Clone(ids))); n == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, queries.With("store_hashes", postgres.Args{
			"business": business, "orders": postgres.Array(ids), "hashes": postgres.Array(hashes),
		}))
		return err
	})
	return n, err
}

// missingHashes locks a batch of orders, and returns their ids with the hashes of their contents, sorted by id. An
// order that was changed has several contents.
func (s Store) missingHashes(ctx context.Context, tx bun.Conn, business core.BusinessID,
	x customer.Index) (ids []int64, hashes []string, err error) {
	rows, err := tx.QueryContext(ctx, queries.With("orders_without_hashes", postgres.Args{
		"business": business, "limit": backfillBatch,
	}))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var stored []byte
		if err := rows.Scan(&id, &stored); err != nil {
			return nil, nil, err
		}
		body, err := s.db.Decompress(stored)
		if err != nil {
			return nil, nil, err
		}
		ids, hashes = append(ids, id), append(hashes, x.ArrayOfOrder(body))
	}
	return ids, hashes, rows.Err()
}
