package pgtest

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// SetPlatformStoreIDs sets the platform store ids of stores at a platform that exists, by their ref_ids.
func SetPlatformStoreIDs(ctx context.Context, db *postgres.DB, business core.BusinessID, platform string,
	ids map[string]string) error {
	store := platforms.New(db)
	plugin, _, err := store.Read(ctx, db.Bun(), business, platform, "")
	if err != nil {
		return err
	}
	return store.SetWithStores(ctx, business, core.Platform{Name: platform, ServedBy: plugin},
		func(*relay.Access) error { return nil }, ids)
}
