package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// menuLoader reads menus within a transaction.
type menuLoader struct {
	ctx      context.Context
	tx       bun.Conn
	business core.BusinessID
	store    int64 // 0: the master catalogue alone
	preview  bool  // it is to be told what a request would do
	// meanwhile, where it is set, decodes what has been read while the database
	// sends what comes next.
	meanwhile *errgroup.Group
}

// then does the work at once, or meanwhile.
func (l *menuLoader) then(work func() error) error {
	if l.meanwhile == nil {
		return work()
	}
	l.meanwhile.Go(func() (err error) {
		defer func() { // on a goroutine of its own nobody else would catch it
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return work()
	})
	return nil
}

// masterRow is a row of menu_masters, without its business and kind.
type masterRow struct {
	ref      menu.Ref
	parent   int64
	allItems bool
	record   string
}

// rows reads what a query yields, by COPY: a menu is tens of thousands of rows,
// and the driver's own way costs several times as much for each of them.
func (l *menuLoader) rows(what, query string, args []any, visit func(row copiedRow)) error {
	if err := copyOut(l.ctx, l.tx, query, args, visit); err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	return nil
}

// masters reads full records of a kind. The condition goes on from the kind's.
func (l *menuLoader) masters(kind menu.Kind, condition string, args ...any) (list []masterRow, err error) {
	err = l.rows(kind.String(), `SELECT id, name, active, parent_id, all_items, record FROM menu_masters
		WHERE business_id = ? AND kind = ? AND `+condition, append([]any{l.business, int(kind)}, args...),
		func(row copiedRow) {
			list = append(list, masterRow{
				ref:    menu.Ref{ID: row.int(0), RefID: row.text(1), Active: row.bool(2)},
				parent: row.int(3), allItems: row.bool(4), record: row.text(5),
			})
		})
	// Sorted here: there the records would be sorted along, on disk.
	slices.SortFunc(list, func(a, b masterRow) int { return cmp.Compare(a.ref.ID, b.ref.ID) })
	return list, err
}

// decoded turns rows into records; settle puts in what stands beside the record.
func decoded[R any](rows []masterRow, settle func(*R, masterRow)) ([]R, error) {
	records := make([]R, len(rows))
	for i, row := range rows {
		if err := menu.Unpack(row.record, &records[i]); err != nil {
			return nil, fmt.Errorf("the stored record %d cannot be read: %w", row.ref.ID, err)
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
	return l.then(func() error {
		records, err := decoded(rows, settle)
		*into = records
		return err
	})
}

// refs adds the identifiers of entities to those that are known already.
func (l *menuLoader) refs(known map[int64]bool, others *[]menu.Ref, kind menu.Kind, condition string, args ...any) error {
	return l.rows(kind.String(), `SELECT id, name, active FROM menu_masters
		WHERE business_id = ? AND kind = ? AND `+condition+` ORDER BY id`, append([]any{l.business, int(kind)}, args...),
		func(row copiedRow) {
			ref := menu.Ref{ID: row.int(0), RefID: row.text(1), Active: row.bool(2)}
			if !known[ref.ID] {
				known[ref.ID] = true
				*others = append(*others, ref)
			}
		})
}

// links reads associations of one relation. The condition goes on from the relation's.
func (l *menuLoader) links(into *[]menu.Link, relation menu.Relation, condition string, args ...any) error {
	return l.rows("associations", `SELECT from_id, to_id, position FROM menu_links
		WHERE business_id = ? AND relation = ? AND (`+condition+`) ORDER BY from_id, position, to_id`,
		append([]any{l.business, int(relation)}, args...), func(row copiedRow) {
			*into = append(*into, menu.Link{From: row.int(0), To: row.int(1), Position: int32(row.int(2))})
		})
}

// allLinks reads every association.
func (l *menuLoader) allLinks(into *menu.PerRelation[[]menu.Link]) error {
	if err := l.rows("associations", `SELECT relation, from_id, to_id, position FROM menu_links WHERE business_id = ?`,
		[]any{l.business}, func(row copiedRow) {
			relation := row.int(0)
			into[relation] = append(into[relation], menu.Link{From: row.int(1), To: row.int(2), Position: int32(row.int(3))})
		}); err != nil {
		return err
	}
	return l.then(func() error {
		for _, links := range into {
			slices.SortFunc(links, menu.Link.Compare)
		}
		return nil
	})
}

// atStore reads the store's references of one kind. The condition goes on.
func (l *menuLoader) atStore(kind menu.Kind, condition string, args ...any) (ids []int64, contents []string, err error) {
	err = l.rows("the store's "+kind.String(), `SELECT id, content FROM menu_at_store
		WHERE business_id = ? AND store_id = ? AND kind = ? AND `+condition+` ORDER BY id`,
		append([]any{l.business, l.store, int(kind)}, args...), func(row copiedRow) {
			ids, contents = append(ids, row.int(0)), append(contents, row.text(1))
		})
	return ids, contents, err
}

// values reads store values of one kind.
func values[V any](l *menuLoader, into *[]menu.AtStore[V], kind menu.Kind, condition string, args ...any) error {
	ids, contents, err := l.atStore(kind, condition, args...)
	if err != nil {
		return err
	}
	return l.then(func() error {
		list := make([]menu.AtStore[V], len(ids))
		for i, content := range contents {
			list[i].ID = ids[i]
			if err := menu.Unpack(content, &list[i].Values); err != nil {
				return fmt.Errorf("the stored values of %s %d cannot be read: %w", kind, ids[i], err)
			}
		}
		*into = list
		return nil
	})
}

// storeValues reads the store's references; of items and options those that the
// conditions take in.
func (l *menuLoader) storeValues(into *menu.StoreValues, items, options func() (string, []any)) (err error) {
	if l.store == 0 {
		return nil
	}
	if into.Categories, _, err = l.atStore(menu.Categories, "true"); err != nil {
		return err
	}
	condition, args := items()
	if err := values(l, &into.Items, menu.Items, condition, args...); err != nil {
		return err
	}
	condition, args = options()
	return values(l, &into.Options, menu.Options, condition, args...)
}

func everything() (string, []any) { return "true", nil }

// menu reads all there is, and first what takes longest to decode.
func (l *menuLoader) menu() (m menu.Menu, err error) {
	steps := []func() error{
		func() error { return load(l, &m.Options, menu.Options, settleOption, "true") },
		func() error { return load(l, &m.Items, menu.Items, settleItem, "true") },
		func() error { return l.storeValues(&m.Store, everything, everything) },
		func() error { return load(l, &m.OptionGroups, menu.OptionGroups, settleOptionGroup, "true") },
		func() error { return l.allLinks(&m.Links) },
		func() error { return load(l, &m.Categories, menu.Categories, settleCategory, "true") },
		func() error { return load(l, &m.Taxes, menu.Taxes, settleTax, "true") },
		func() error { return load(l, &m.Charges, menu.Charges, settleCharge, "true") },
	}
	l.meanwhile = new(errgroup.Group)
	for _, step := range steps {
		if err = step(); err != nil {
			break
		}
	}
	err = errors.Join(err, l.meanwhile.Wait()) // before m is returned: it is being filled
	if err == nil {
		m.Blocked, err = l.blocked()
	}
	return m, err
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
