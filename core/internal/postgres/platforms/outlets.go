package platforms

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/store"
)

// Outlets selects the platform stores of a business with any of the given ids (store.Outlet).
func Outlets(business core.BusinessID, ids []string) bun.Safe {
	return bun.Safe(queries.With("outlets", postgres.Args{
		"business": business, "ids": postgres.Array(ids), "given_id": bun.Safe(postgres.GivenID),
		"listed_on": bun.Safe(publications.ListedOn),
	}))
}

// LockOutlets serializes the transactions that change the platform stores of a business.
func LockOutlets(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('servery outlets ' || ?, 0))`,
		int64(business)); err != nil {
		return fmt.Errorf("locking platform stores: %w", err)
	}
	return nil
}

// OutletsBy returns the stores that platforms know by any of the ids, except the given stores.
func OutletsBy(ctx context.Context, tx bun.IDB, business core.BusinessID, ids []string,
	except map[string]store.Present) (map[store.Outlet]string, error) {
	found := map[store.Outlet]string{}
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT platform, id, ref_id FROM (?) outlet ORDER BY store_id`,
		Outlets(business, ids))
	if err != nil {
		return nil, fmt.Errorf("reading platform stores: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var outlet store.Outlet
		var ref string
		if err := rows.Scan(&outlet.Platform, &outlet.ID, &ref); err != nil {
			return nil, fmt.Errorf("reading platform stores: %w", err)
		}
		if _, is := except[ref]; !is {
			found[outlet] = ref
		}
	}
	return found, rows.Err()
}
