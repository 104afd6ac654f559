package menus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// ItemAsOf returns the past state of an item at a store on a platform, within the retention of
// revisions. It ignores platform findings. It returns NotFound if the platform is unknown or the
// item never existed.
func (m Store) ItemAsOf(ctx context.Context, business core.BusinessID,
	past menu.PastItem) (result menu.ItemAsOf, err error) {
	at, on := past.At, core.Platform{Name: past.Platform}
	err = m.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT served_by FROM platforms WHERE business_id = ? AND name = ?`,
			business, on.Name).Scan(&on.ServedBy); err != nil {
			return postgres.NotFound(err, "there is no platform %q", on.Name)
		}
		before := snapshot{ctx, tx, business, core.FirstID(at.Add(time.Millisecond))}
		full, err := before.menu(past.Scope.StoreID, past.RefID)
		if err != nil {
			return err
		}
		timings, zone, err := ReadTimings(ctx, tx, business, `(`+revisions.TimingsTable.AsOf("true")+`)`, before.after)
		if err != nil {
			return err
		}
		timings.UpdateOpen(at.In(zone))
		full.Timings = timings
		result = menu.AsOf(past.Scope, full, on, past.RefID, at)
		return nil
	})
	return result, err
}

// snapshot reads rows as they were before the revision with the id after.
type snapshot struct {
	ctx      context.Context
	tx       bun.Conn
	business core.BusinessID
	after    core.ID
}

func (p snapshot) entities(condition string, args ...any) ([]entityRow, error) {
	return postgres.Collect(p.ctx, p.tx, "reading what was", func(row *entityRow) []any {
		return []any{&row.ref.ID, &row.ref.RefID, &row.ref.Active, &row.parent, &row.allItems, &row.record}
	}, bun.SafeQuery(`SELECT id, name, active, parent_id, all_items, record
		FROM (`+revisions.EntitiesTable.AsOf(condition)+`) x ORDER BY id`,
		append([]any{p.business, p.after}, args...)...))
}

// links reads the associations of a relation at one end of these records.
func (p snapshot) links(relation menu.Relation, end string, ids ...int64) ([]menu.Link, error) {
	return postgres.Collect(p.ctx, p.tx, "reading what was", func(link *menu.Link) []any {
		return []any{&link.From, &link.To, &link.Position}
	}, bun.SafeQuery(`SELECT from_id, to_id, position FROM (`+revisions.LinksTable.AsOf("x.relation = ?2 AND x."+end+
		" = ANY (?3::bigint[])")+`) x
		ORDER BY position, to_id`, p.business, p.after, int(relation), postgres.Array(ids)))
}

// pastValues reads a store's past values of these records.
func pastValues[V any](p snapshot, store int64, kind menu.Kind, ids ...int64) (list []menu.AtStore[V], err error) {
	rows, err := p.tx.QueryContext(p.ctx,
		`SELECT id, content::text FROM (`+
			revisions.OverridesTable.AsOf("x.kind = ?2 AND x.store_id = ?3 AND x.id = ANY (?4::bigint[])")+
			`) x ORDER BY id`,
		p.business, p.after, int(kind), store, postgres.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("reading a snapshot: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var override menu.AtStore[V]
		var content string
		if err := rows.Scan(&override.ID, &content); err != nil {
			return nil, fmt.Errorf("reading a snapshot: %w", err)
		}
		if err := menu.DecodeStored(content, &override.Values); err != nil {
			return nil, err
		}
		list = append(list, override)
	}
	return list, rows.Err()
}

// menu reads the part of a past menu that concerns one item.
func (p snapshot) menu(store int64, refID string) (result menu.Menu, err error) {
	items, err := p.entities("x.kind = 1 AND x.name = ?2", refID)
	if err != nil || len(items) == 0 {
		return result, err
	}
	if result.Items, err = decodeRows(items, fillItem); err != nil {
		return result, err
	}
	categories, err := p.entities("x.kind = 0")
	if err != nil {
		return result, err
	}
	if result.Categories, err = decodeRows(categories, fillCategory); err != nil {
		return result, err
	}
	item := result.Items[0].ID
	if result.Links[menu.ItemCategory], err = p.links(menu.ItemCategory, "from_id", item); err != nil {
		return result, err
	}
	if result.Store.Items, err = pastValues[menu.ItemValues](p, store, menu.Items, item); err != nil {
		return result, err
	}
	return result, p.optionGroups(store, item, &result)
}

// optionGroups reads the option groups of the item and their options, with the groups nested under these.
func (p snapshot) optionGroups(store, item int64, result *menu.Menu) (err error) {
	if result.Links[menu.GroupItem], err = p.links(menu.GroupItem, "to_id", item); err != nil ||
		len(result.Links[menu.GroupItem]) == 0 {
		return err
	}
	var next []int64
	for _, link := range result.Links[menu.GroupItem] {
		next = append(next, link.From)
	}
	groups, options := map[int64]bool{}, map[int64]bool{}
	for next = addNew(groups, next); len(next) > 0; next = addNew(groups, next) {
		inGroups, err := p.links(menu.OptionInGroup, "to_id", next...)
		if err != nil {
			return err
		}
		var found []int64
		for _, link := range inGroups {
			found = append(found, link.From)
		}
		nested, err := p.links(menu.NestedGroup, "from_id", addNew(options, found)...)
		if err != nil {
			return err
		}
		next = nil
		for _, link := range nested {
			next = append(next, link.To)
		}
		result.Links[menu.OptionInGroup] = append(result.Links[menu.OptionInGroup], inGroups...)
		result.Links[menu.NestedGroup] = append(result.Links[menu.NestedGroup], nested...)
	}
	return p.groupRecords(store, slices.Sorted(maps.Keys(groups)), slices.Sorted(maps.Keys(options)), result)
}

// addNew adds ids to a set, and returns those that were not in it.
func addNew(set map[int64]bool, ids []int64) (added []int64) {
	for _, id := range ids {
		if !set[id] {
			set[id] = true
			added = append(added, id)
		}
	}
	return added
}

// groupRecords reads the records of option groups and options.
func (p snapshot) groupRecords(store int64, groups, options []int64, result *menu.Menu) error {
	rows, err := p.entities("x.kind = 2 AND x.id = ANY (?2::bigint[])", postgres.Array(groups))
	if err != nil {
		return err
	}
	if result.OptionGroups, err = decodeRows(rows, fillOptionGroup); err != nil {
		return err
	}
	if rows, err = p.entities("x.kind = 3 AND x.id = ANY (?2::bigint[])", postgres.Array(options)); err != nil {
		return err
	}
	if result.Options, err = decodeRows(rows, fillOption); err != nil {
		return err
	}
	result.Store.Options, err = pastValues[menu.OptionValues](p, store, menu.Options, options...)
	return err
}
