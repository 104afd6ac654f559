package stores

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/store"
)

// Rename replaces an alias in the lists and data of stores by its platform, and returns the number
// of stores. The caller holds the locks of platforms.LockPlatformStores and LockShared. It returns
// Conflict if the platform would know two stores by one id, or if an id belongs to another business.
func Rename(ctx context.Context, db *postgres.DB, tx bun.Conn, business core.BusinessID,
	alias core.PlatformAlias) (int, error) {
	list, err := existing(ctx, tx, bun.SafeQuery(queries.With("naming",
		postgres.Args{"business": business, "name": alias.Alias})))
	if err != nil || len(list) == 0 {
		return 0, err
	}
	type row struct {
		ID       int64                `json:"id"`
		Excluded []string             `json:"excluded"`
		Included []string             `json:"included"`
		Data     []store.PlatformData `json:"data"`
	}
	rows := make([]row, len(list))
	rename := core.NewPlatformNames([]string{alias.Platform}, alias).Resolve
	for i := range list {
		list[i].RenamePlatforms(rename)
		rows[i] = row{list[i].ID, list[i].Excluded, list[i].Included, list[i].PlatformData}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, queries.With("rename", postgres.Args{
		"business": business, "rows": string(encoded), "now": db.Clock().Now(),
	})); err != nil {
		return 0, fmt.Errorf("resolving an alias in stores: %w", err)
	}
	if err := platforms.CheckPlatformStores(ctx, tx, business, alias.Platform); err != nil {
		return 0, err
	}
	return len(list), platforms.RejectTaken(ctx, tx, business, alias.Platform)
}
