package menus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

// MenuLoader reads menus in a transaction.
type MenuLoader struct {
	Ctx      context.Context
	Tx       bun.Conn
	Business core.BusinessID
	Store    int64 // 0: the master catalogue only
	preview  bool  // for a dry run, which reports what a request would do
	// decoding, if set, decodes rows while the database sends the next ones.
	decoding *errgroup.Group
	bound    *menuBound // of a whole menu
}

// decodeLater runs work in the group decoding, or at once if that is nil.
func (l *MenuLoader) decodeLater(work func() error) error {
	if l.decoding == nil {
		return work()
	}
	l.decoding.Go(func() (err error) {
		defer func() { // nothing else recovers a panic in this goroutine
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return work()
	})
	return nil
}

// entityRow is a row of catalogue_entities without business and kind.
type entityRow struct {
	ref      menu.Ref
	parent   int64
	allItems bool
	record   string
}

// rows reads the result of a query by COPY. A menu is tens of thousands of rows, and the driver's own protocol costs
// several times as much per row. Above the bound, it drops the rest of the result, and returns the error of the bound.
func (l *MenuLoader) rows(what, query string, args []any, visit func(row postgres.CopyRow)) error {
	bounded := visit
	if l.bound != nil {
		bounded = func(row postgres.CopyRow) {
			if l.bound.admit(row) {
				visit(row)
			}
		}
	}
	err := postgres.CopyOut(l.Ctx, l.Tx, query, args, bounded)
	if err == nil && l.bound != nil {
		err = l.bound.err()
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	return nil
}

// entities reads full records of a kind that match the condition.
func (l *MenuLoader) entities(kind menu.Kind, condition string, args ...any) (list []entityRow, err error) {
	err = l.rows(kind.String(), `SELECT id, name, active, parent_id, all_items, record FROM catalogue_entities
		WHERE business_id = ? AND kind = ? AND `+condition, append([]any{l.Business, int(kind)}, args...),
		func(row postgres.CopyRow) {
			list = append(list, entityRow{
				ref:    menu.Ref{ID: row.Int(0), RefID: row.Text(1), Active: row.Bool(2)},
				parent: row.Int(3), allItems: row.Bool(4), record: row.Text(5),
			})
		})
	// Sorted here, because the server would sort the large records too, on disk.
	slices.SortFunc(list, func(a, b entityRow) int { return cmp.Compare(a.ref.ID, b.ref.ID) })
	return list, err
}

// decodeRows decodes rows into records. fill adds the values of other columns.
func decodeRows[R any](rows []entityRow, fill func(*R, entityRow)) ([]R, error) {
	records := make([]R, len(rows))
	for i, row := range rows {
		if err := menu.DecodeStored(row.record, &records[i]); err != nil {
			return nil, fmt.Errorf("reading stored record %d: %w", row.ref.ID, err)
		}
		fill(&records[i], row)
	}
	return records, nil
}

func fillCategory(c *menu.Category, row entityRow)       { c.Ref, c.ParentID = row.ref, row.parent }
func fillItem(i *menu.Item, row entityRow)               { i.Ref = row.ref }
func fillOptionGroup(g *menu.OptionGroup, row entityRow) { g.Ref = row.ref }
func fillOption(o *menu.Option, row entityRow)           { o.Ref = row.ref }

func fillTax(t *menu.Tax, row entityRow) {
	t.Ref, t.AllItems = row.ref, row.allItems
	t.RefID = "" // taxes and charges are identified by their content
}

func fillCharge(c *menu.Charge, row entityRow) {
	c.Ref, c.AllItems = row.ref, row.allItems
	c.RefID = ""
}

// recordsOf is a kind of record. fill adds the values of columns other than the record.
type recordsOf[R any] struct {
	kind menu.Kind
	fill func(*R, entityRow)
}

var (
	categoryRecords    = recordsOf[menu.Category]{menu.Categories, fillCategory}
	itemRecords        = recordsOf[menu.Item]{menu.Items, fillItem}
	optionGroupRecords = recordsOf[menu.OptionGroup]{menu.OptionGroups, fillOptionGroup}
	optionRecords      = recordsOf[menu.Option]{menu.Options, fillOption}
	taxRecords         = recordsOf[menu.Tax]{menu.Taxes, fillTax}
	chargeRecords      = recordsOf[menu.Charge]{menu.Charges, fillCharge}
)

// load reads and decodes records of a kind into a slice.
func load[R any](l *MenuLoader, into *[]R, of recordsOf[R], condition string, args ...any) error {
	rows, err := l.entities(of.kind, condition, args...)
	if err != nil {
		return err
	}
	return l.decodeLater(func() error {
		records, err := decodeRows(rows, of.fill)
		*into = records
		return err
	})
}

// refs adds the references of entities that are not yet known.
func (l *MenuLoader) refs(known map[int64]bool, others *[]menu.Ref, kind menu.Kind, condition string,
	args ...any) error {
	return l.rows(kind.String(), `SELECT id, name, active FROM catalogue_entities
		WHERE business_id = ? AND kind = ? AND `+condition+` ORDER BY id`,
		append([]any{l.Business, int(kind)}, args...),
		func(row postgres.CopyRow) {
			ref := menu.Ref{ID: row.Int(0), RefID: row.Text(1), Active: row.Bool(2)}
			if !known[ref.ID] {
				known[ref.ID] = true
				*others = append(*others, ref)
			}
		})
}

// links reads the associations of one relation that match the condition.
func (l *MenuLoader) links(into *[]menu.Link, relation menu.Relation, condition string, args ...any) error {
	return l.rows("associations", `SELECT from_id, to_id, position FROM menu_links
		WHERE business_id = ? AND relation = ? AND (`+condition+`) ORDER BY from_id, position, to_id`,
		append([]any{l.Business, int(relation)}, args...), func(row postgres.CopyRow) {
			*into = append(*into, menu.Link{From: row.Int(0), To: row.Int(1), Position: int32(row.Int(2))})
		})
}

// allLinks reads all associations.
func (l *MenuLoader) allLinks(into *menu.PerRelation[[]menu.Link]) error {
	if err := l.rows("associations", `SELECT relation, from_id, to_id, position FROM menu_links WHERE business_id = ?`,
		[]any{l.Business}, func(row postgres.CopyRow) {
			relation := row.Int(0)
			into[relation] = append(into[relation],
				menu.Link{From: row.Int(1), To: row.Int(2), Position: int32(row.Int(3))})
		}); err != nil {
		return err
	}
	return l.decodeLater(func() error {
		for _, links := range into {
			slices.SortFunc(links, menu.Link.Compare)
		}
		return nil
	})
}

// overrides reads the store's values of one kind that match the condition.
func (l *MenuLoader) overrides(kind menu.Kind, condition string,
	args ...any) (ids []int64, contents []string, err error) {
	err = l.rows("the store's "+kind.String(), `SELECT id, content FROM store_overrides
		WHERE business_id = ? AND store_id = ? AND kind = ? AND `+condition+` ORDER BY id`,
		append([]any{l.Business, l.Store, int(kind)}, args...), func(row postgres.CopyRow) {
			ids, contents = append(ids, row.Int(0)), append(contents, row.Text(1))
		})
	return ids, contents, err
}

// values reads and decodes the store's values of one kind.
func values[V any](l *MenuLoader, into *[]menu.AtStore[V], kind menu.Kind, condition string, args ...any) error {
	ids, contents, err := l.overrides(kind, condition, args...)
	if err != nil {
		return err
	}
	return l.decodeLater(func() error {
		list := make([]menu.AtStore[V], len(ids))
		for i, content := range contents {
			list[i].ID = ids[i]
			if err := menu.DecodeStored(content, &list[i].Values); err != nil {
				return fmt.Errorf("reading stored values of %s %d: %w", kind, ids[i], err)
			}
		}
		*into = list
		return nil
	})
}

// storeValues reads the store's values. The conditions select items and options.
func (l *MenuLoader) storeValues(into *menu.StoreValues, items, options func() (string, []any)) (err error) {
	if l.Store == 0 {
		return nil
	}
	if into.Categories, _, err = l.overrides(menu.Categories, "true"); err != nil {
		return err
	}
	condition, args := items()
	if err := values(l, &into.Items, menu.Items, condition, args...); err != nil {
		return err
	}
	condition, args = options()
	return values(l, &into.Options, menu.Options, condition, args...)
}

func allRows() (string, []any) { return "true", nil }

// menu reads a whole menu of at most maxBytes, starting with the records that take longest to decode. It returns
// errLarge if the menu is larger, or an Invalid FinalError if maxBytes is maxMenu. large learns which it was.
func (l *MenuLoader) menu(large *largeMenus, maxBytes int) (m menu.Menu, err error) {
	steps := []func() error{
		func() error { return load(l, &m.Options, optionRecords, "true") },
		func() error { return load(l, &m.Items, itemRecords, "true") },
		func() error { return l.storeValues(&m.Store, allRows, allRows) },
		func() error { return load(l, &m.OptionGroups, optionGroupRecords, "true") },
		func() error { return l.allLinks(&m.Links) },
		func() error { return load(l, &m.Categories, categoryRecords, "true") },
		func() error { return load(l, &m.Taxes, taxRecords, "true") },
		func() error { return load(l, &m.Charges, chargeRecords, "true") },
	}
	l.decoding, l.bound = new(errgroup.Group), &menuBound{max: maxBytes}
	for _, step := range steps {
		if err = step(); err != nil {
			break
		}
	}
	err = errors.Join(err, l.decoding.Wait()) // before m is returned, because the goroutines fill it
	large.learn(l.Business, l.bound.bytes, err == nil)
	if err == nil {
		m.Blocked, err = l.blocked()
	}
	return m, err
}
