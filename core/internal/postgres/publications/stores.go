package publications

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// ListedOn is the condition that the row store is listed on the row platform (store.Listing).
const ListedOn = `CASE WHEN store.excluded_platforms IS NOT NULL THEN platform.name <> ALL (store.excluded_platforms)
	ELSE platform.name = ANY (coalesce(store.included_platforms, '{}')) END`

// PublishedOn selects the platforms with a plugin that list a store, or have listed it before.
const PublishedOn = `(platform.served_by <> 'own' AND ` + ListedOn +
	` OR publication.state NOT IN ('unlisted', 'skipped'))`

// KeepUnnotified stores the reference of a request that produces no event, because it
// affects 0 platforms.
func KeepUnnotified(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID, reference core.ID,
	platforms int) error {
	if platforms > 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO untold_switches (business_id, reference) VALUES (?, ?)`, business,
		reference); err != nil {
		return fmt.Errorf("storing the reference of an availability change: %w", err)
	}
	return nil
}

// StoreID returns the id of a store by its ref_id.
func StoreID(ctx context.Context, tx bun.Conn, business core.BusinessID, ref string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, business, ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.NoSuch("location_ref_id", strconv.Quote(ref), "there is no location with this ref_id")
	}
	return id, err
}

// KnownPlatforms returns an Invalid error if the business lacks one of the platforms.
func KnownPlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID, names []string) error {
	var unknown []string
	if err :=
		tx.NewRaw(`SELECT n FROM unnest(?::text[]) n
			WHERE NOT EXISTS (SELECT 1 FROM platforms WHERE business_id = ? AND name = n)`,
			postgres.Array(names), business).Scan(ctx, &unknown); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	if len(unknown) > 0 {
		return core.NoSuch(fmt.Sprintf("platforms[%d]", slices.Index(names, unknown[0])), strconv.Quote(unknown[0]),
			"there is no such platform")
	}
	return nil
}
