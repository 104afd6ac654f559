package menus

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// TryLockMenu does what lockMenu does without waiting. It returns ErrMenuLocked if another
// transaction holds the lock.
func TryLockMenu(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	var free bool
	if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(`+menuLock+`)`,
		int64(business)).Scan(&free); err != nil {
		return fmt.Errorf("locking the menu: %w", err)
	}
	if !free {
		return ErrMenuLocked
	}
	return nil
}

// menuLock is the key of the menu lock of a business.
const menuLock = `hashtextextended('servery menu ' || ?, 0)`

// lockMenu serializes the transactions that change the menu of a business, because their changes
// depend on the menu that they read.
func lockMenu(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	return postgres.Exec(ctx, tx, "locking the menu", `SELECT pg_advisory_xact_lock(`+menuLock+`)`, int64(business))
}

// ByKind returns items and options as two columns: kinds and ref_ids.
func ByKind(items, options []string) (kinds []int64, names []string) {
	for range items {
		kinds = append(kinds, int64(menu.Items))
	}
	for range options {
		kinds = append(kinds, int64(menu.Options))
	}
	return kinds, slices.Concat(items, options)
}

// StoreEntities are items and options of a store, by their ref_ids.
type StoreEntities struct {
	Store          int64
	Items, Options []string
}

// DeleteTimers deletes the timers of items and options.
func DeleteTimers(ctx context.Context, tx bun.IDB, business core.BusinessID, entities StoreEntities) error {
	kinds, names := ByKind(entities.Items, entities.Options)
	if len(names) == 0 {
		return nil
	}
	return postgres.Exec(ctx, tx, "deleting timed availability changes",
		`DELETE FROM item_timers t USING unnest(?::smallint[], ?::text[]) AS n (kind, name)
		WHERE t.business_id = ? AND t.store_id = ? AND t.kind = n.kind AND t.name = n.name`, postgres.Array(kinds),
		postgres.Array(names), business, entities.Store)
}
