package platforms

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/store"
)

// PlatformStoreID is the SQL of the platform store id of the row store on the row platform, "" without
// one.
const PlatformStoreID = `coalesce((SELECT data ->> 'platform_store_id'
	FROM jsonb_array_elements(store.platform_data) data
	WHERE data ->> 'name' = platform.name LIMIT 1), '')`

// PlatformStores selects the platform stores of a business with any of the given ids
// (store.PlatformStore).
func PlatformStores(business core.BusinessID, ids []string) bun.Safe {
	return bun.Safe(queries.With("platform_stores", postgres.Args{
		"business": business, "ids": postgres.Array(ids), "given_id": bun.Safe(PlatformStoreID),
		"listed_on": bun.Safe(publications.ListedOn),
	}))
}

// CheckPlatformStores returns Conflict if two stores have one id on a platform. Their menus would replace
// each other on the platform.
func CheckPlatformStores(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string) error {
	var id, one, other string
	err := tx.QueryRowContext(ctx, queries.With("shared_platform_store", postgres.Args{
		"business": business, "platform": platform, "given_id": bun.Safe(PlatformStoreID),
		"listed_on": bun.Safe(publications.ListedOn),
	})).Scan(&id, &one, &other)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the platform stores: %w", err)
	}
	return core.Errorf(core.Conflict, "the platform %q would know the stores %q and %q by %q: correct the "+
		"platform_store_id in their platform_data first", platform, one, other, id)
}

// LockPlatformStores serializes the transactions that change the platform stores of a business.
func LockPlatformStores(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	return postgres.Exec(ctx, tx, "locking platform stores",
		`SELECT pg_advisory_xact_lock(hashtextextended('servery outlets ' || ?, 0))`, int64(business))
}

// FindPlatformStores returns the ref_ids of stores with any of the platform store ids, except the given
// stores.
func FindPlatformStores(ctx context.Context, tx bun.IDB, business core.BusinessID, ids []string,
	except map[string]store.Existing) (map[store.PlatformStore]string, error) {
	if len(ids) == 0 {
		return map[store.PlatformStore]string{}, nil
	}
	type row struct {
		store.PlatformStore
		ref string
	}
	rows, err := postgres.Collect(ctx, tx, "reading platform stores", func(r *row) []any {
		return []any{&r.Platform, &r.ID, &r.ref}
	}, bun.SafeQuery(`SELECT platform, id, ref_id FROM (?) platform_store ORDER BY store_id`,
		PlatformStores(business, ids)))
	found := map[store.PlatformStore]string{}
	for _, r := range rows {
		if _, is := except[r.ref]; !is {
			found[r.PlatformStore] = r.ref
		}
	}
	return found, err
}
