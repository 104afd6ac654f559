package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// NameStores tells by which ids of its own a platform knows stores, named by
// their ref_ids; an empty id takes one away. It is the platform_store_id of the
// stores' platform_data, as the POS may send it too. NotFound where the business
// has no such store or platform, Conflict where it knows another store by the id, Invalid
// where that is none.
func (p Platforms) NameStores(ctx context.Context, business core.BusinessID, platform string, ids map[string]string) error {
	return p.inTx(ctx, func(tx bun.Conn) error {
		if _, _, err := p.read(ctx, tx, business, platform, ""); err != nil {
			return err
		}
		if err := lockOutlets(ctx, tx, business); err != nil {
			return err
		}
		return p.nameStores(ctx, tx, business, platform, ids)
	})
}

// nameStores holds the lock of the outlets.
func (p Platforms) nameStores(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string, ids map[string]string) error {
	for _, ref := range slices.Sorted(maps.Keys(ids)) {
		if err := p.nameStore(ctx, tx, business, platform, ref, ids[ref]); err != nil {
			return err
		}
	}
	entry := byCommand(business, "platform.name_stores")
	entry.Object, entry.After = "platform/"+platform, map[string]any{"stores": ids}
	return p.record(ctx, tx, entry)
}

func (p Platforms) nameStore(ctx context.Context, tx bun.Conn, business core.BusinessID, platform, ref, id string) error {
	var storeID int64
	var stored []byte
	if err := tx.QueryRowContext(ctx, `SELECT id, coalesce(platform_data, '[]') FROM stores WHERE business_id = ? AND ref_id = ? FOR UPDATE`, business, ref).
		Scan(&storeID, &stored); err != nil {
		return notFound(err, "business %d has no store %q", business, ref)
	}
	if wrong := store.CheckID(id); wrong != "" {
		return core.Errorf(core.Invalid, "store %q: the id that a platform has for it %s", ref, wrong)
	}
	outlet := store.Outlet{Platform: platform, ID: cmp.Or(id, ref)}
	taken, err := outletsBy(ctx, tx, business, []string{outlet.ID}, map[string]store.Present{ref: {}})
	if err != nil {
		return err
	}
	if other, is := taken[outlet]; is {
		return core.Errorf(core.Conflict, "store %q: the platform %s knows store %q by %q already", ref, platform, other, outlet.ID)
	}
	var data []store.PlatformData
	if err := json.Unmarshal(stored, &data); err != nil {
		return fmt.Errorf("reading store %q: %w", ref, err)
	}
	at := slices.IndexFunc(data, func(d store.PlatformData) bool { return d.Name == platform })
	if at < 0 {
		at, data = len(data), append(data, store.PlatformData{Name: platform})
	}
	data[at].PlatformStoreID = id
	written, err := json.Marshal(data)
	if err != nil {
		return err
	}
	now := p.clock.Now()
	if _, err := tx.ExecContext(ctx, `UPDATE stores SET platform_data = ?::jsonb, updated_at = ? WHERE business_id = ? AND id = ?`,
		string(written), now, business, storeID); err != nil {
		return fmt.Errorf("storing store %q: %w", ref, err)
	}
	_, err = p.publishDue(ctx, tx, due{
		reference: core.NewID(now), condition: publishedOn + ` AND s.business_id = ? AND s.id = ? AND f.name = ?`, args: []any{business, storeID, platform},
	})
	return err
}
