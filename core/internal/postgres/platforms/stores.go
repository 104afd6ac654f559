package platforms

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/store"
)

// setPlatformStoreIDs sets the platform store ids of stores, by their ref_ids. An empty id removes
// one. It writes the platform_store_id in platform_data, which the POS may send too. The caller
// holds the locks of LockPlatformStores and LockShared.
//
// It returns NotFound for an unknown store. It returns Conflict if another store has the id, and
// Invalid for a malformed id.
func (p Store) setPlatformStoreIDs(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string,
	ids map[string]string) error {
	for _, ref := range slices.Sorted(maps.Keys(ids)) {
		if err := p.setPlatformStoreID(ctx, tx, business, ref,
			store.PlatformStore{Platform: platform, ID: ids[ref]}); err != nil {
			return err
		}
	}
	entry := access.CommandLineChange(business, "platform.name_stores")
	entry.Object, entry.After = "platform/"+platform, map[string]any{"stores": ids}
	return audit.Record(ctx, p.db, tx, entry)
}

func (p Store) setPlatformStoreID(ctx context.Context, tx bun.Conn, business core.BusinessID, ref string,
	to store.PlatformStore) error {
	platform, id := to.Platform, to.ID
	var storeID int64
	var stored []byte
	if err := tx.QueryRowContext(ctx,
		`SELECT id, coalesce(platform_data, '[]') FROM stores WHERE business_id = ? AND ref_id = ? FOR UPDATE`,
		business, ref).
		Scan(&storeID, &stored); err != nil {
		return postgres.NotFound(err, "business %d has no store %q", business, ref)
	}
	if problem := store.CheckID(id); problem != "" {
		return core.Errorf(core.Invalid, "store %q: platform_store_id %s", ref, problem)
	}
	platformStore := store.PlatformStore{Platform: platform, ID: cmp.Or(id, ref)}
	taken, err := FindPlatformStores(ctx, tx, business, []string{platformStore.ID}, map[string]store.Existing{ref: {}})
	if err != nil {
		return err
	}
	if other, is := taken[platformStore]; is {
		return core.Errorf(core.Conflict, "store %q: platform %s already has store %q under the id %q", ref, platform,
			other, platformStore.ID)
	}
	var data []store.PlatformData
	if err := json.Unmarshal(stored, &data); err != nil {
		return fmt.Errorf("reading store %q: %w", ref, err)
	}
	at := slices.IndexFunc(data, func(d store.PlatformData) bool { return d.Name == platform })
	if at < 0 {
		at, data = len(data), append(data, store.PlatformData{Name: platform})
	}
	if data[at].PlatformStoreID != id {
		elsewhere, err := TakenElsewhere(ctx, tx, business, []string{id})
		if err != nil {
			return err
		}
		if elsewhere[platformStore] {
			return core.Errorf(core.Conflict, "store %q: the platform_store_id %q of platform %q %s", ref, id, platform,
				store.BelongsElsewhere)
		}
	}
	data[at].PlatformStoreID = id
	written, err := json.Marshal(data)
	if err != nil {
		return err
	}
	now := p.db.Clock().Now()
	if _, err := tx.ExecContext(ctx,
		`UPDATE stores SET platform_data = ?::jsonb, updated_at = ? WHERE business_id = ? AND id = ?`,
		string(written), now, business, storeID); err != nil {
		return fmt.Errorf("storing store %q: %w", ref, err)
	}
	_, err = publications.MarkDue(ctx, p.db, tx, publications.Selector{
		Reference: core.NewID(now),
		Condition: publications.PublishedOn + ` AND store.business_id = ? AND store.id = ? AND platform.name = ?`,
		Args:      []any{business, storeID, platform},
	})
	return err
}
