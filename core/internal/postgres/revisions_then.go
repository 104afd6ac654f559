package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// asOf is a query of the rows of a table as they were at the moment ?1, an id of
// which those that came later are: what was not changed since, and what was, as it
// was before. The condition narrows the rows, here called x.
func (t keptTable) asOf(condition string) string {
	later := t.undone("p.revision_id >= ?1::uuid")
	return `WITH undone AS MATERIALIZED (` + later + `)
		SELECT x.* FROM ` + t.present() + ` x WHERE x.business_id = ?0 AND ` + condition + `
			AND NOT EXISTS (SELECT 1 FROM undone u WHERE (` + qualified("u", t.keys) + `) = (` + qualified("x", t.keys) + `))
		UNION ALL SELECT x.* FROM undone u CROSS JOIN LATERAL json_populate_record(NULL::` + t.row() + `, u.row) AS x
			WHERE NOT u.made AND ` + condition
}

// ItemThen tells what an item at a store was like on a platform at a moment, as
// far back as revisions are kept. NotFound where the business has no such platform
// or never had such an item. What platforms have against items is not looked at.
func (m Menus) ItemThen(ctx context.Context, business core.BusinessID, scope menu.Scope, platform, refID string, at time.Time) (then menu.ItemThen, err error) {
	on := core.Platform{Name: platform}
	err = m.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT served_by FROM platforms WHERE business_id = ? AND name = ?`, business, platform).Scan(&on.ServedBy); err != nil {
			return notFound(err, "there is no platform %q", platform)
		}
		before := past{ctx, tx, business, core.FirstID(at.Add(time.Millisecond))}
		whole, err := before.menuThen(scope.StoreID, refID)
		if err != nil {
			return err
		}
		timings, zone, err := readTimings(ctx, tx, business, `(`+keptTimings.asOf("true")+`)`, before.after)
		if err != nil {
			return err
		}
		timings.Now(at.In(zone))
		whole.Timings = timings
		then = menu.Then(scope, whole, on, refID, at)
		return nil
	})
	return then, err
}

// past reads rows as they were before the revisions from after on.
type past struct {
	ctx      context.Context
	tx       bun.Conn
	business core.BusinessID
	after    core.ID
}

func (p past) masters(condition string, args ...any) ([]masterRow, error) {
	return listOf(p.ctx, p.tx, "reading what was", func(row *masterRow) []any {
		return []any{&row.ref.ID, &row.ref.RefID, &row.ref.Active, &row.parent, &row.allItems, &row.record}
	}, `SELECT id, name, active, parent_id, all_items, record FROM (`+keptMasters.asOf(condition)+`) x ORDER BY id`,
		append([]any{p.business, p.after}, args...)...)
}

// links reads the links of a relation from or to these records.
func (p past) links(relation menu.Relation, end string, ids ...int64) ([]menu.Link, error) {
	return listOf(p.ctx, p.tx, "reading what was", func(link *menu.Link) []any {
		return []any{&link.From, &link.To, &link.Position}
	}, `SELECT from_id, to_id, position FROM (`+keptLinks.asOf("x.relation = ?2 AND x."+end+" = ANY (?3::bigint[])")+`) x
		ORDER BY position, to_id`, p.business, p.after, int(relation), array(ids))
}

// valuesThen reads what a store had of these records.
func valuesThen[V any](p past, store int64, kind menu.Kind, ids ...int64) (list []menu.AtStore[V], err error) {
	rows, err := p.tx.QueryContext(p.ctx, `SELECT id, content::text FROM (`+keptAtStore.asOf("x.kind = ?2 AND x.store_id = ?3 AND x.id = ANY (?4::bigint[])")+`) x ORDER BY id`,
		p.business, p.after, int(kind), store, array(ids))
	if err != nil {
		return nil, fmt.Errorf("reading what was: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var here menu.AtStore[V]
		var content string
		if err := rows.Scan(&here.ID, &content); err != nil {
			return nil, fmt.Errorf("reading what was: %w", err)
		}
		if err := menu.Unpack(content, &here.Values); err != nil {
			return nil, err
		}
		list = append(list, here)
	}
	return list, rows.Err()
}

// menuThen reads of a menu what concerns one item.
func (p past) menuThen(store int64, refID string) (then menu.Menu, err error) {
	items, err := p.masters("x.kind = 1 AND x.name = ?2", refID)
	if err != nil || len(items) == 0 {
		return then, err
	}
	if then.Items, err = decoded(items, settleItem); err != nil {
		return then, err
	}
	categories, err := p.masters("x.kind = 0")
	if err != nil {
		return then, err
	}
	if then.Categories, err = decoded(categories, settleCategory); err != nil {
		return then, err
	}
	item := then.Items[0].ID
	if then.Links[menu.ItemCategory], err = p.links(menu.ItemCategory, "from_id", item); err != nil {
		return then, err
	}
	if then.Store.Items, err = valuesThen[menu.ItemValues](p, store, menu.Items, item); err != nil {
		return then, err
	}
	return then, p.groupsThen(store, item, &then)
}

// groupsThen reads the option groups of the item, and the options in them.
func (p past) groupsThen(store, item int64, then *menu.Menu) (err error) {
	if then.Links[menu.GroupItem], err = p.links(menu.GroupItem, "to_id", item); err != nil || len(then.Links[menu.GroupItem]) == 0 {
		return err
	}
	var groups, options []int64
	for _, link := range then.Links[menu.GroupItem] {
		groups = append(groups, link.From)
	}
	if then.Links[menu.OptionInGroup], err = p.links(menu.OptionInGroup, "to_id", groups...); err != nil {
		return err
	}
	for _, link := range then.Links[menu.OptionInGroup] {
		options = append(options, link.From)
	}
	rows, err := p.masters("x.kind = 2 AND x.id = ANY (?2::bigint[])", array(groups))
	if err != nil {
		return err
	}
	if then.OptionGroups, err = decoded(rows, settleOptionGroup); err != nil {
		return err
	}
	if rows, err = p.masters("x.kind = 3 AND x.id = ANY (?2::bigint[])", array(options)); err != nil {
		return err
	}
	if then.Options, err = decoded(rows, settleOption); err != nil {
		return err
	}
	then.Store.Options, err = valuesThen[menu.OptionValues](p, store, menu.Options, options...)
	return err
}
