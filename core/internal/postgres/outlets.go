package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// givenID is the id that a platform f has for a store s; empty where it was
// given none.
const givenID = `coalesce((SELECT d ->> 'platform_store_id' FROM jsonb_array_elements(s.platform_data) d WHERE d ->> 'name' = f.name LIMIT 1), '')`

// outlets are the stores of a business that platforms know by any of some ids
// (store.Outlet). The rows of stores that have none of them are left out first.
const outlets = `(SELECT * FROM (
		SELECT s.id AS store_id, s.ref_id, f.name AS platform, o.listed, coalesce(nullif(o.given, ''), CASE WHEN o.listed THEN s.ref_id END) AS id
		FROM stores s JOIN platforms f ON f.business_id = s.business_id AND f.served_by <> 'own'
		CROSS JOIN LATERAL (SELECT ` + givenID + ` AS given, ` + listedOn + ` AS listed) o
		WHERE s.business_id = ?0 AND (s.ref_id = ANY (?1::text[])
			OR EXISTS (SELECT 1 FROM jsonb_array_elements(s.platform_data) d WHERE d ->> 'platform_store_id' = ANY (?1::text[])))) known
	WHERE id = ANY (?1::text[]))`

// lockOutlets has one transaction at a time give a business's stores other outlets.
func lockOutlets(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('servery outlets ' || ?, 0))`, int64(business)); err != nil {
		return fmt.Errorf("locking the outlets of stores: %w", err)
	}
	return nil
}

// outletsBy finds the stores, other than some, that platforms know by any of the ids.
func outletsBy(ctx context.Context, tx bun.IDB, business core.BusinessID, ids []string, except map[string]store.Present) (map[store.Outlet]string, error) {
	found := map[store.Outlet]string{}
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT platform, id, ref_id FROM `+outlets+` o ORDER BY store_id`, business, array(ids))
	if err != nil {
		return nil, fmt.Errorf("reading the outlets of stores: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var outlet store.Outlet
		var ref string
		if err := rows.Scan(&outlet.Platform, &outlet.ID, &ref); err != nil {
			return nil, fmt.Errorf("reading the outlets of stores: %w", err)
		}
		if _, is := except[ref]; !is {
			found[outlet] = ref
		}
	}
	return found, rows.Err()
}
