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

// PublishedOn selects the platforms with a plugin that list a store, or have listed it before. A menu in the queue may
// list it: its state is that of the last outcome.
const PublishedOn = `(platform.served_by <> 'own' AND ` + ListedOn +
	` OR publication.state NOT IN ('unlisted', 'skipped') OR publication.available_at < 'infinity')`

// StoreUnnotified stores the reference of a request that produces no event, because it
// affects 0 platforms.
func StoreUnnotified(ctx context.Context, tx bun.Conn, business core.BusinessID, reference core.ID,
	platforms int) error {
	if platforms > 0 {
		return nil
	}
	return postgres.Exec(ctx, tx, "storing the reference of an availability change",
		`INSERT INTO unnotified_switches (business_id, reference) VALUES (?, ?)`, business, reference)
}

// StoreID returns the id of a store by its ref_id.
func StoreID(ctx context.Context, tx bun.Conn, business core.BusinessID, ref string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, business, ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.NoSuch("location_ref_id", strconv.Quote(ref), "there is no location with this ref_id")
	}
	return id, err
}

// ListingPlatforms returns the platforms that list a store, sorted by name.
func ListingPlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID,
	store int64) (names []string, err error) {
	err = tx.NewRaw(`SELECT platform.name FROM stores store JOIN platforms platform
			ON platform.business_id = store.business_id
		WHERE store.business_id = ? AND store.id = ? AND ? ORDER BY platform.name`, business, store,
		bun.Safe(ListedOn)).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	return names, nil
}

// ResolvePlatforms returns the platforms of names and aliases. It returns NotFound for an unknown
// name.
func ResolvePlatforms(ctx context.Context, tx bun.Conn, business core.BusinessID,
	names []string) (platforms []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	platforms, err = postgres.Collect(ctx, tx, "reading platforms", func(platform *string) []any {
		return []any{platform}
	}, bun.SafeQuery(queries.With("resolve_platforms", postgres.Args{
		"business": business, "names": postgres.Array(names),
	})))
	if i := slices.Index(platforms, ""); i >= 0 {
		return nil, core.NoSuch(fmt.Sprintf("platforms[%d]", i), strconv.Quote(names[i]), "there is no such platform")
	}
	return platforms, err
}
