package postgres

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// menuLoader reads menus within a transaction.
type menuLoader struct {
	ctx      context.Context
	tx       bun.Conn
	business core.BusinessID
	store    int64 // 0: the master catalogue alone
}

// masterRow is a row of menu_masters, without its business and kind.
type masterRow struct {
	ref      menu.Ref
	parent   int64
	allItems bool
	record   []byte
}

// masters reads full records of a kind. The condition goes on from the kind's.
func (l *menuLoader) masters(kind menu.Kind, condition string, args ...any) ([]masterRow, error) {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT id, name, active, parent_id, all_items, record FROM menu_masters
		WHERE business_id = ? AND kind = ? AND `+condition+` ORDER BY id`, append([]any{l.business, int(kind)}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kind, err)
	}
	defer rows.Close()
	var list []masterRow
	for rows.Next() {
		var row masterRow
		if err := rows.Scan(&row.ref.ID, &row.ref.RefID, &row.ref.Active, &row.parent, &row.allItems, &row.record); err != nil {
			return nil, fmt.Errorf("reading %s: %w", kind, err)
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// decoded turns rows into records; settle puts in what stands beside the record.
func decoded[R any](rows []masterRow, settle func(*R, masterRow)) ([]R, error) {
	records, raws := make([]R, len(rows)), make([]jsontext.Value, len(rows))
	for i, row := range rows {
		raws[i] = row.record
	}
	failures := core.DecodeObjects(raws, func(i int) any { return &records[i] })
	for i, row := range rows {
		if failures[i] != nil {
			return nil, fmt.Errorf("the stored record %d cannot be read: %w", row.ref.ID, failures[i])
		}
		settle(&records[i], row)
	}
	return records, nil
}

func settleCategory(c *menu.Category, row masterRow)       { c.Ref, c.ParentID = row.ref, row.parent }
func settleItem(i *menu.Item, row masterRow)               { i.Ref = row.ref }
func settleOptionGroup(g *menu.OptionGroup, row masterRow) { g.Ref = row.ref }
func settleOption(o *menu.Option, row masterRow)           { o.Ref = row.ref }

func settleTax(t *menu.Tax, row masterRow) {
	t.Ref, t.AllItems = row.ref, row.allItems
	t.RefID = "" // taxes and charges go by what they say
}

func settleCharge(c *menu.Charge, row masterRow) {
	c.Ref, c.AllItems = row.ref, row.allItems
	c.RefID = ""
}

// load decodes what masters reads into the place for it.
func load[R any](l *menuLoader, into *[]R, kind menu.Kind, settle func(*R, masterRow), condition string, args ...any) error {
	rows, err := l.masters(kind, condition, args...)
	if err != nil {
		return err
	}
	records, err := decoded(rows, settle)
	*into = append(*into, records...)
	return err
}

// refs adds the identifiers of entities to those that are known already.
func (l *menuLoader) refs(known map[int64]bool, others *[]menu.Ref, kind menu.Kind, condition string, args ...any) error {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT id, name, active FROM menu_masters
		WHERE business_id = ? AND kind = ? AND `+condition+` ORDER BY id`, append([]any{l.business, int(kind)}, args...)...)
	if err != nil {
		return fmt.Errorf("reading %s: %w", kind, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref menu.Ref
		if err := rows.Scan(&ref.ID, &ref.RefID, &ref.Active); err != nil {
			return fmt.Errorf("reading %s: %w", kind, err)
		}
		if !known[ref.ID] {
			known[ref.ID] = true
			*others = append(*others, ref)
		}
	}
	return rows.Err()
}

// links reads associations of one relation. The condition goes on from the relation's.
func (l *menuLoader) links(into *[]menu.Link, relation menu.Relation, condition string, args ...any) error {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT from_id, to_id, position FROM menu_links
		WHERE business_id = ? AND relation = ? AND (`+condition+`) ORDER BY from_id, position, to_id`,
		append([]any{l.business, int(relation)}, args...)...)
	if err != nil {
		return fmt.Errorf("reading associations: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var link menu.Link
		if err := rows.Scan(&link.From, &link.To, &link.Position); err != nil {
			return fmt.Errorf("reading associations: %w", err)
		}
		*into = append(*into, link)
	}
	return rows.Err()
}

// atStore reads the store's references of one kind. The condition goes on.
func (l *menuLoader) atStore(kind menu.Kind, visit func(id int64, content []byte) error, condition string, args ...any) error {
	rows, err := l.tx.QueryContext(l.ctx, `SELECT id, content FROM menu_at_store
		WHERE business_id = ? AND store_id = ? AND kind = ? AND `+condition+` ORDER BY id`,
		append([]any{l.business, l.store, int(kind)}, args...)...)
	if err != nil {
		return fmt.Errorf("reading the store's %s: %w", kind, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var content []byte
		if err := rows.Scan(&id, &content); err != nil {
			return fmt.Errorf("reading the store's %s: %w", kind, err)
		}
		if err := visit(id, content); err != nil {
			return err
		}
	}
	return rows.Err()
}

// values decodes store values into the place for them.
func values[V any](into *[]menu.AtStore[V]) func(int64, []byte) error {
	return func(id int64, content []byte) error {
		at := menu.AtStore[V]{ID: id}
		err := json.Unmarshal(content, &at.Values)
		*into = append(*into, at)
		return err
	}
}

// storeValues reads the store's references; of items and options those that the
// conditions take in.
func (l *menuLoader) storeValues(into *menu.StoreValues, items, options func() (string, []any)) error {
	if l.store == 0 {
		return nil
	}
	collect := func(id int64, _ []byte) error {
		into.Categories = append(into.Categories, id)
		return nil
	}
	if err := l.atStore(menu.Categories, collect, "true"); err != nil {
		return err
	}
	condition, args := items()
	if err := l.atStore(menu.Items, values(&into.Items), condition, args...); err != nil {
		return err
	}
	condition, args = options()
	return l.atStore(menu.Options, values(&into.Options), condition, args...)
}

func everything() (string, []any) { return "true", nil }

// menu reads all there is.
func (l *menuLoader) menu() (m menu.Menu, err error) {
	steps := []func() error{
		func() error { return load(l, &m.Categories, menu.Categories, settleCategory, "true") },
		func() error { return load(l, &m.Items, menu.Items, settleItem, "true") },
		func() error { return load(l, &m.OptionGroups, menu.OptionGroups, settleOptionGroup, "true") },
		func() error { return load(l, &m.Options, menu.Options, settleOption, "true") },
		func() error { return load(l, &m.Taxes, menu.Taxes, settleTax, "true") },
		func() error { return load(l, &m.Charges, menu.Charges, settleCharge, "true") },
		func() error { return l.storeValues(&m.Store, everything, everything) },
	}
	for relation := range m.Links {
		steps = append(steps, func() error { return l.links(&m.Links[relation], menu.Relation(relation), "true") })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return m, err
		}
	}
	return m, nil
}

func idsOf[R any](records []R, ref func(*R) menu.Ref) []int64 {
	ids := make([]int64, len(records))
	for i := range records {
		ids[i] = ref(&records[i]).ID
	}
	return ids
}

func array[T any](list []T) any {
	if list == nil {
		list = []T{} // NULL would match nothing and compare to nothing
	}
	return pgdialect.Array(list)
}
