package platforms

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/store"
)

// TakenElsewhere returns which platform store ids belong to other businesses, at plugins with a shared URL. Such a URL
// finds the business by the id. The caller holds the lock of LockShared if it stores the ids.
func TakenElsewhere(ctx context.Context, tx bun.IDB, business core.BusinessID,
	ids []string) (map[store.PlatformStore]bool, error) {
	taken := map[store.PlatformStore]bool{}
	if len(ids) == 0 {
		return taken, nil
	}
	list, err := postgres.Collect(ctx, tx, "reading platform stores of other businesses",
		func(s *store.PlatformStore) []any { return []any{&s.Platform, &s.ID} },
		bun.SafeQuery(queries.With("taken_elsewhere", postgres.Args{"business": business, "ids": postgres.Array(ids),
			"given_id": bun.Safe(PlatformStoreID)})))
	for _, s := range list {
		taken[s] = true
	}
	return taken, err
}

// LockShared serializes the transactions that add platform store ids at the same shared URL. It covers the plugins of
// the platforms of a business that were set up, and plugin, which may be "".
func LockShared(ctx context.Context, tx bun.IDB, business core.BusinessID, plugin string) error {
	return postgres.Exec(ctx, tx, "locking shared URLs", queries.With("lock_shared",
		postgres.Args{"business": business, "plugin": plugin}))
}

// RejectTaken returns Conflict if an active store of a business has a platform store id that belongs to another
// business. The caller holds the lock of LockShared.
func RejectTaken(ctx context.Context, tx bun.IDB, business core.BusinessID, platform string) error {
	ids, err := postgres.Collect(ctx, tx, "reading platform store ids", func(id *string) []any { return []any{id} },
		bun.SafeQuery(queries.With("given_ids", postgres.Args{"business": business, "platform": platform,
			"given_id": bun.Safe(PlatformStoreID)})))
	if err != nil {
		return err
	}
	taken, err := TakenElsewhere(ctx, tx, business, ids)
	for _, id := range ids {
		if taken[store.PlatformStore{Platform: platform, ID: id}] {
			return core.Errorf(core.Conflict, "the platform_store_id %q of platform %q %s", id, platform,
				store.BelongsElsewhere)
		}
	}
	return err
}

// setUp calls set, which sets a platform. It returns Conflict if that was not set up at the plugin before, and
// RejectTaken does. Later changes pass, because ids are checked when they are stored.
func setUp(ctx context.Context, tx bun.IDB, business core.BusinessID, platform core.Platform, set func() error) error {
	if err := LockShared(ctx, tx, business, platform.ServedBy); err != nil {
		return err
	}
	var before bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM platforms WHERE business_id = ? AND name = ?
		AND served_by = ? AND secrets IS NOT NULL)`, business, platform.Name, platform.ServedBy).
		Scan(&before); err != nil {
		return fmt.Errorf("reading the platform: %w", err)
	}
	if err := set(); err != nil || before {
		return err
	}
	return RejectTaken(ctx, tx, business, platform.Name)
}
