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
		SELECT x.* FROM ` + t.name + ` x WHERE x.business_id = ?0 AND ` + condition + `
			AND NOT EXISTS (SELECT 1 FROM undone u WHERE (` + qualified("u", t.keys) + `) = (` + qualified("x", t.keys) + `))
		UNION ALL SELECT x.* FROM undone u CROSS JOIN LATERAL json_populate_record(NULL::` + t.name + `, u.row) AS x
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
		whole, err := m.menuThen(ctx, tx, business, scope.StoreID, refID, core.FirstID(at.Add(time.Millisecond)))
		then = menu.Then(scope, whole, on, refID, at)
		return err
	})
	return then, err
}

// menuThen reads of a menu what concerns one item.
func (m Menus) menuThen(ctx context.Context, tx bun.Conn, business core.BusinessID, store int64, refID string, after core.ID) (then menu.Menu, err error) {
	masters := func(condition string, args ...any) (list []masterRow, err error) {
		rows, err := tx.QueryContext(ctx, `SELECT id, name, active, parent_id, all_items, record FROM (`+keptMasters.asOf(condition)+`) x ORDER BY id`,
			append([]any{business, after}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("reading what was: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var row masterRow
			if err := rows.Scan(&row.ref.ID, &row.ref.RefID, &row.ref.Active, &row.parent, &row.allItems, &row.record); err != nil {
				return nil, fmt.Errorf("reading what was: %w", err)
			}
			list = append(list, row)
		}
		return list, rows.Err()
	}
	items, err := masters("x.kind = 1 AND x.name = ?2", refID)
	if err != nil || len(items) == 0 {
		return then, err
	}
	if then.Items, err = decoded(items, settleItem); err != nil {
		return then, err
	}
	categories, err := masters("x.kind = 0")
	if err != nil {
		return then, err
	}
	if then.Categories, err = decoded(categories, settleCategory); err != nil {
		return then, err
	}
	item := then.Items[0].ID
	rows, err := tx.QueryContext(ctx, `SELECT from_id, to_id, position FROM (`+keptLinks.asOf("x.relation = 0 AND x.from_id = ?2")+`) x ORDER BY position, to_id`, business, after, item)
	if err != nil {
		return then, fmt.Errorf("reading what was: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var link menu.Link
		if err := rows.Scan(&link.From, &link.To, &link.Position); err != nil {
			return then, fmt.Errorf("reading what was: %w", err)
		}
		then.Links[menu.ItemCategory] = append(then.Links[menu.ItemCategory], link)
	}
	if err := rows.Err(); err != nil {
		return then, fmt.Errorf("reading what was: %w", err)
	}
	var contents []string
	if err := tx.NewRaw(`SELECT content::text FROM (`+keptAtStore.asOf("x.kind = 1 AND x.store_id = ?2 AND x.id = ?3")+`) x`, business, after, store, item).Scan(ctx, &contents); err != nil {
		return then, fmt.Errorf("reading what was: %w", err)
	}
	for _, content := range contents {
		here := menu.AtStore[menu.ItemValues]{ID: item}
		if err := menu.Unpack(content, &here.Values); err != nil {
			return then, err
		}
		then.Store.Items = append(then.Store.Items, here)
	}
	return then, nil
}
