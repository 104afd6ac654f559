package menus

import (
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/menu"
)

// State reads the part of the menu that a request depends on (menu.ReadSet).
func (l *MenuLoader) State(needs menu.ReadSet) (menu.State, error) {
	var s menu.State
	var err error
	if s.Names, err = platforms.NamesOf(l.Ctx, l.Tx, l.Business); err != nil {
		return s, err
	}
	for _, step := range []func(menu.ReadSet, *menu.State) error{l.readNamed, l.readLinks, l.readOthers, l.readValues,
		l.countStores} {
		if err := step(needs, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// readNamed reads the full records of the named entities.
func (l *MenuLoader) readNamed(needs menu.ReadSet, s *menu.State) error {
	e := needs.Entities
	if names := append(append([]string{}, e[menu.Categories].Named...),
		e[menu.Categories].Referred...); len(names) > 0 {
		// Includes the sub-categories of all these.
		if err := load(l, &s.Categories, categoryRecords,
			`(name = ANY (?) OR parent_id <> 0 AND parent_id IN (
				SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = 0 AND name = ANY (?)))`,
			postgres.Array(names), l.Business, postgres.Array(names)); err != nil {
			return err
		}
	}
	if err := load(l, &s.Items, itemRecords, "name = ANY (?)",
		postgres.Array(e[menu.Items].Named)); err != nil {
		return err
	}
	if err := load(l, &s.OptionGroups, optionGroupRecords, "name = ANY (?)",
		postgres.Array(e[menu.OptionGroups].Named)); err != nil {
		return err
	}
	if err := load(l, &s.Options, optionRecords, "name = ANY (?)",
		postgres.Array(e[menu.Options].Named)); err != nil {
		return err
	}
	if e[menu.Taxes].Active {
		if err := load(l, &s.Taxes, taxRecords, "true"); err != nil {
			return err
		}
	}
	if e[menu.Charges].Active {
		return load(l, &s.Charges, chargeRecords, "true")
	}
	return nil
}

// ItemRef returns the reference of an item.
func ItemRef(i *menu.Item) menu.Ref         { return i.Ref }
func groupRef(g *menu.OptionGroup) menu.Ref { return g.Ref }
func optionRef(o *menu.Option) menu.Ref     { return o.Ref }

// readLinks reads the associations that the request needs.
func (l *MenuLoader) readLinks(needs menu.ReadSet, s *menu.State) error {
	const toNamed = `to_id IN (SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = ? AND name = ANY (?))`
	items, groups, options := IDsOf(s.Items, ItemRef), IDsOf(s.OptionGroups, groupRef), IDsOf(s.Options, optionRef)
	if err := l.links(&s.Links[menu.ItemCategory], menu.ItemCategory, "from_id = ANY (?)",
		postgres.Array(items)); err != nil {
		return err
	}
	if err := l.links(&s.Links[menu.GroupItem], menu.GroupItem, "from_id = ANY (?) OR "+toNamed,
		postgres.Array(groups), l.Business, int(menu.Items), postgres.Array(needs.ClearedItems)); err != nil {
		return err
	}
	nests := "false"
	if needs.Nesting {
		nests = fmt.Sprintf("from_id IN (SELECT from_id FROM menu_links WHERE business_id = %d AND relation = %d)",
			l.Business, menu.NestedGroup)
		if err := l.links(&s.Links[menu.NestedGroup], menu.NestedGroup, "true"); err != nil {
			return err
		}
	}
	if err := l.links(&s.Links[menu.OptionInGroup], menu.OptionInGroup, "from_id = ANY (?) OR "+nests+" OR "+toNamed,
		postgres.Array(options), l.Business, int(menu.OptionGroups), postgres.Array(needs.ClearedGroups)); err != nil {
		return err
	}
	if needs.Entities[menu.Taxes].Active {
		if err := l.links(&s.Links[menu.TaxItem], menu.TaxItem, "true"); err != nil {
			return err
		}
	}
	if needs.Entities[menu.Charges].Active {
		return l.links(&s.Links[menu.ChargeItem], menu.ChargeItem, "true")
	}
	return nil
}

// readOthers reads the references of entities whose records are not needed.
func (l *MenuLoader) readOthers(needs menu.ReadSet, s *menu.State) error {
	known := menu.PerKind[map[int64]bool]{}
	for kind := range known {
		known[kind] = map[int64]bool{}
	}
	for i := range s.Categories {
		known[menu.Categories][s.Categories[i].ID] = true
	}
	for kind, ids := range map[menu.Kind][]int64{
		menu.Items: IDsOf(s.Items, ItemRef), menu.OptionGroups: IDsOf(s.OptionGroups, groupRef),
		menu.Options: IDsOf(s.Options, optionRef),
	} {
		for _, id := range ids {
			known[kind][id] = true
		}
	}
	for _, kind := range []menu.Kind{menu.Categories, menu.Items, menu.OptionGroups, menu.Options} {
		wanted := needs.Entities[kind]
		condition, args := "name = ANY (?)", []any{postgres.Array(wanted.Referred)}
		if wanted.Active {
			condition = "(" + condition + " OR active)"
		}
		if err := l.refs(known[kind], &s.Others[kind], kind, condition, args...); err != nil {
			return err
		}
		if wanted.AtStore {
			if err := l.refs(known[kind], &s.Others[kind], kind,
				`id IN (SELECT id FROM store_overrides WHERE business_id = ? AND store_id = ? AND kind = ?)`,
				l.Business, l.Store, int(kind)); err != nil {
				return err
			}
		}
	}
	if needs.Nesting {
		ends, options := []int64{}, []int64{}
		for _, link := range s.Links[menu.NestedGroup] {
			ends, options = append(ends, link.To), append(options, link.From)
		}
		for _, link := range s.Links[menu.OptionInGroup] {
			ends = append(ends, link.To)
		}
		if err := l.refs(known[menu.Options], &s.Others[menu.Options], menu.Options, "id = ANY (?)",
			postgres.Array(options)); err != nil {
			return err
		}
		return l.refs(known[menu.OptionGroups], &s.Others[menu.OptionGroups], menu.OptionGroups, "id = ANY (?)",
			postgres.Array(ends))
	}
	return nil
}

// readValues reads the values of the addressed store.
func (l *MenuLoader) readValues(needs menu.ReadSet, s *menu.State) error {
	part := func(kind menu.Kind, ids []int64) func() (string, []any) {
		return func() (string, []any) {
			if needs.Entities[kind].AtStore {
				return allRows()
			}
			return "id = ANY (?)", []any{postgres.Array(ids)}
		}
	}
	return l.storeValues(&s.Store, part(menu.Items, IDsOf(s.Items, ItemRef)),
		part(menu.Options, IDsOf(s.Options, optionRef)))
}

// readSwitches reads the availability switches at the store since a time.
func (l *MenuLoader) readSwitches(since time.Time, s *menu.State) error {
	if l.Store == 0 {
		return nil
	}
	rows, err := l.Tx.QueryContext(l.Ctx,
		`SELECT kind, name, available FROM item_switches WHERE business_id = ? AND store_id = ? AND at > ?`,
		l.Business, l.Store, since)
	if err != nil {
		return fmt.Errorf("reading availability changes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind menu.Kind
		var name string
		var available bool
		if err := rows.Scan(&kind, &name, &available); err != nil {
			return fmt.Errorf("reading availability changes: %w", err)
		}
		if s.LaterAvailability[kind] == nil {
			s.LaterAvailability[kind] = map[string]bool{}
		}
		s.LaterAvailability[kind][name] = available
	}
	return rows.Err()
}

// countStores counts the stores that reference the entities a master flush removes. Categories are
// counted only for a dry run, which reports them. It reads every reference of the kind, like the
// removal.
func (l *MenuLoader) countStores(needs menu.ReadSet, s *menu.State) error {
	for _, kind := range []menu.Kind{menu.Categories, menu.Items, menu.Options} {
		if !needs.Entities[kind].Active || kind == menu.Categories && !l.preview {
			continue
		}
		var err error
		if s.StoreCounts[kind], err = postgres.Collect(l.Ctx, l.Tx, "counting store references",
			func(count *menu.Disassociation) []any { return []any{&count.RefID, &count.Stores} },
			bun.SafeQuery(`SELECT m.name, a.stores FROM (SELECT id, count(*) AS stores FROM store_overrides
				WHERE business_id = ?0 AND kind = ?1 GROUP BY id) a
			JOIN catalogue_entities m ON m.business_id = ?0 AND m.kind = ?1 AND m.id = a.id ORDER BY m.name`,
				l.Business, int(kind))); err != nil {
			return err
		}
	}
	return nil
}

// IDsOf returns the ids of records.
func IDsOf[R any](records []R, ref func(*R) menu.Ref) []int64 {
	ids := make([]int64, len(records))
	for i := range records {
		ids[i] = ref(&records[i]).ID
	}
	return ids
}
