package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/order"
)

// maxRepeats is the number of repeats stored per order.
const maxRepeats = 20

// StoreOf returns the ref_id of the store of a platform's order, or "" if there is no such order.
func (o Store) StoreOf(ctx context.Context, business core.BusinessID, platform,
	platformOrderID string) (ref string, err error) {
	err = o.db.Tenant(business).QueryRowContext(ctx, queries.With("store_of", postgres.Args{
		"business": business, "platform": platform, "ref": platformOrderID,
	})).Scan(&ref)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("finding the store of an order: %w", err)
	}
	return ref, nil
}

// RecordRepeat stores a repeat of an order, if its content differs from the placed order and from the present one.
// Nothing of the new content is applied.
func (o Store) RecordRepeat(ctx context.Context, business core.BusinessID, id int64, actor string,
	again order.Draft) error {
	stored, err := o.Get(ctx, business, "", id)
	if err != nil {
		return fmt.Errorf("reading a repeated order: %w", err)
	}
	present, err := order.ReadRelay(stored.Relay)
	if err != nil {
		return err
	}
	differences := order.Differences(present, again)
	if differences == "" {
		return nil
	}
	if late, err := o.repeatsOriginal(ctx, business, id, again); late || err != nil {
		return err
	}
	err = o.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, queries.With("store_repeat", postgres.Args{
			"business": business, "order": id, "differences": differences, "actor": actor, "now": o.db.Clock().Now(),
		})); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, queries.With("drop_repeats", postgres.Args{
			"business": business, "order": id, "most": maxRepeats,
		}))
		return err
	})
	if err != nil {
		return fmt.Errorf("storing a repeated order: %w", err)
	}
	return nil
}

// repeatsOriginal reports whether an order was changed since, and a repeat has the content from before.
func (o Store) repeatsOriginal(ctx context.Context, business core.BusinessID, id int64,
	again order.Draft) (bool, error) {
	var stored []byte
	err := o.db.Tenant(business).QueryRowContext(ctx, queries.With("original", postgres.Args{
		"business": business, "order": id,
	})).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading a repeated order: %w", err)
	}
	body, err := o.db.Decompress(stored)
	if err != nil {
		return false, err
	}
	placed, err := order.ReadRelay(body)
	return err == nil && order.Differences(placed, again) == "", err
}
