package stores

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/store"
)

// DefaultListing returns where a business lists new stores without platform lists. It returns
// NotFound if there is no such business.
func (s Store) DefaultListing(ctx context.Context, business core.BusinessID) (store.DefaultListing, error) {
	return defaultListing(ctx, s.db.Tenant(business), business, "")
}

func defaultListing(ctx context.Context, in bun.IDB, business core.BusinessID,
	lock string) (listing store.DefaultListing, err error) {
	err = in.QueryRowContext(ctx, `SELECT list_stores FROM businesses WHERE id = ?`+lock, business).Scan(&listing)
	return listing, postgres.NotFound(err, "there is no business %d", business)
}

// SetDefaultListing stores where a business lists new stores without platform lists. It returns
// Conflict unless from is "" or the current value.
func (s Store) SetDefaultListing(ctx context.Context, business core.BusinessID, from, to store.DefaultListing,
	change access.Change) error {
	return s.db.InTx(ctx, func(tx bun.Conn) error {
		before, err := defaultListing(ctx, tx, business, " FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		if from != "" && from != before {
			return core.Errorf(core.Conflict, "list-stores was changed meanwhile, and nothing was stored")
		}
		if before == to {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE businesses SET list_stores = ? WHERE id = ?`, to,
			business); err != nil {
			return fmt.Errorf("storing where stores are listed: %w", err)
		}
		change.Object = fmt.Sprintf("business/%d", business)
		change.Before, change.After = map[string]any{"list-stores": before}, map[string]any{"list-stores": to}
		return audit.Record(ctx, s.db, tx, change)
	})
}
