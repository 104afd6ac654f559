package postgres

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
)

// dishesRead reads items and options of the business at a store. An item in a category
// that is closed, by itself or by its parent, is not available. Of groups it reads those
// of an item, or underneath an option, then those that an option is in.
const dishesRead = `SELECT m.business_id, q.store, m.kind = 3, m.name, m.id, m.record, a.content,
		m.active AND NOT EXISTS (SELECT 1 FROM menu_links l
			JOIN menu_masters c ON c.business_id = l.business_id AND c.kind = 0 AND c.id = l.to_id
			LEFT JOIN menu_masters p ON p.business_id = c.business_id AND p.kind = 0 AND p.id = c.parent_id
			WHERE l.business_id = m.business_id AND l.relation = 0 AND l.from_id = m.id AND NOT (c.active AND coalesce(p.active, true))),
		ARRAY(SELECT l.from_id FROM menu_links l WHERE m.kind = 1 AND l.business_id = m.business_id AND l.relation IN (4, 5) AND l.to_id = m.id),
		ARRAY(SELECT f.platform FROM platform_findings f WHERE m.kind = 1 AND f.business_id = m.business_id AND f.item_id = m.id),
		(SELECT json_agg(json_build_object('ID', g.id, 'Title', g.record ->> 'title', 'Active', g.active, 'Max', (g.record ->> 'max_selectable')::bigint,
			'Min', CASE WHEN m.kind = 1 AND EXISTS (SELECT 1 FROM menu_links i
				JOIN menu_at_store o ON o.business_id = i.business_id AND o.store_id = q.store AND o.kind = 3 AND o.id = i.from_id
				WHERE i.business_id = g.business_id AND i.relation = 2 AND i.to_id = g.id) THEN (g.record ->> 'min_selectable')::bigint ELSE 0 END) ORDER BY g.id)
			FROM (SELECT from_id AS id FROM menu_links WHERE m.kind = 1 AND business_id = m.business_id AND relation = 1 AND to_id = m.id
				UNION ALL SELECT to_id FROM menu_links WHERE m.kind = 3 AND business_id = m.business_id AND relation = 3 AND from_id = m.id) l
			JOIN menu_masters g ON g.business_id = m.business_id AND g.kind = 2 AND g.id = l.id),
		ARRAY(SELECT l.to_id FROM menu_links l WHERE m.kind = 3 AND l.business_id = m.business_id AND l.relation = 2 AND l.from_id = m.id)
	FROM unnest(?::bigint[], ?::bigint[], ?::smallint[], ?::text[]) AS q (business, store, kind, ref)
	JOIN menu_masters m ON m.business_id = q.business AND m.kind = q.kind AND m.name = q.ref
	LEFT JOIN menu_at_store a ON a.business_id = q.business AND a.store_id = q.store AND a.kind = q.kind AND a.id = m.id`

// readDishes reads items and options for the settings in which they are named.
func (b *intakeBatch) readDishes(named map[dishKey][]*setting) error {
	if len(named) == 0 {
		return nil
	}
	var businesses, stores, kinds []int64
	var refs []string
	for key := range named {
		kind := menu.Items
		if key.option {
			kind = menu.Options
		}
		businesses, stores, kinds, refs = append(businesses, int64(key.business)), append(stores, key.store), append(kinds, int64(kind)), append(refs, key.ref)
	}
	rows, err := b.tx.QueryContext(b.ctx, dishesRead, array(businesses), array(stores), array(kinds), array(refs))
	if err != nil {
		return fmt.Errorf("reading menus: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key dishKey
		var stored storedDish
		if err := rows.Scan(&key.business, &key.store, &key.option, &key.ref, &stored.id, &stored.record, &stored.content, &stored.open,
			pgdialect.Array(&stored.naming), pgdialect.Array(&stored.blocked), &stored.groups, pgdialect.Array(&stored.within)); err != nil {
			return fmt.Errorf("reading menus: %w", err)
		}
		for _, s := range named[key] {
			d, err := stored.on(s.Platform, key.option)
			if err != nil {
				return fmt.Errorf("the stored record %d cannot be read: %w", stored.id, err)
			}
			s.shelf.put(key.dishName, d)
			s.serve(key.dishName, d)
		}
		delete(named, key)
	}
	for key, settings := range named { // what there is none of is worth knowing too
		for _, s := range settings {
			s.shelf.put(key.dishName, dish{})
		}
	}
	return rows.Err()
}

// storedDish is an item or option as stored.
type storedDish struct {
	id      int64
	record  []byte
	content []byte // the store's values; nil where the store does not sell it
	open    bool   // active, and in no closed category
	naming  []int64
	blocked []string // platforms whose rules refuse the item
	groups  []byte   // of the item, or underneath the option; nil: none
	within  []int64  // the groups that the option is in
}

// on is the dish as it stands on a platform.
func (d storedDish) on(platform core.Platform, option bool) (dish, error) {
	var groups []order.MenuGroup
	if err := decodeStored(d.groups, &groups); err != nil {
		return dish{}, err
	}
	if option {
		var master menu.Option
		var here menu.OptionValues
		err := d.decode(&master, &here)
		return dish{option: &order.MenuOption{
			ID: d.id, Title: master.Title, Sold: d.content != nil, Price: here.Price, Available: d.open && here.Available,
			Groups: d.within, Nested: groups,
		}}, err
	}
	var master menu.Item
	var here menu.ItemValues
	if err := d.decode(&master, &here); err != nil {
		return dish{}, err
	}
	var platforms []string
	if err := decodeStored(master.IncludedPlatforms, &platforms); err != nil {
		return dish{}, err
	}
	return dish{naming: d.naming, item: &order.MenuItem{
		ID: d.id, Title: master.Title, FoodType: string(master.FoodType), Sold: d.content != nil,
		Price: menu.ResolvePrice(&master, &here, platform), Available: d.open && here.Available,
		Stock: here.CurrentStock, Listed: (master.IncludedPlatforms == nil || slices.Contains(platforms, platform.Name)) && !slices.Contains(d.blocked, platform.Name),
		Groups: groups,
	}}, nil
}

func (d storedDish) decode(master, here any) error {
	if err := json.Unmarshal(d.record, master); err != nil {
		return err
	}
	return decodeStored(d.content, here)
}

// decodeStored reads stored JSON; what is absent leaves the value as it is.
func decodeStored(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// serveLevies puts the taxes and charges into the settings.
func (b *intakeBatch) serveLevies() error {
	missing := map[core.BusinessID]*levies{}
	for _, s := range b.settings {
		if s.exists() && s.shelf.found() == nil {
			missing[s.Business] = &levies{}
		}
	}
	if err := b.readLevies(missing); err != nil {
		return err
	}
	for _, s := range b.settings {
		if !s.exists() {
			continue
		}
		found := s.shelf.found()
		if found == nil {
			found = missing[s.Business]
			s.shelf.keep(found)
		}
		s.Taxes, s.Charges = slices.Clone(found.taxes), slices.Clone(found.charges)
		for i, id := range found.taxIDs {
			s.Taxes[i].Items = s.naming[id]
		}
		for i, id := range found.chargeIDs {
			s.Charges[i].Items = s.naming[id]
		}
	}
	return nil
}

// readLevies reads the active taxes and charges of businesses.
func (b *intakeBatch) readLevies(of map[core.BusinessID]*levies) error {
	if len(of) == 0 {
		return nil
	}
	rows, err := b.tx.QueryContext(b.ctx, `SELECT m.business_id, m.kind = 4, m.id, m.all_items, m.record, m.kind = 5 AND EXISTS (
				SELECT 1 FROM menu_links l WHERE l.business_id = m.business_id AND l.relation = 5 AND l.from_id = m.id)
		FROM menu_masters m WHERE m.business_id IN (?) AND m.kind IN (4, 5) AND m.active ORDER BY m.business_id, m.kind, m.name`,
		bun.List(slices.Collect(maps.Keys(of))))
	if err != nil {
		return fmt.Errorf("reading taxes and charges: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var business core.BusinessID
		var id int64
		var tax, all, naming bool
		var record []byte
		if err := rows.Scan(&business, &tax, &id, &all, &record, &naming); err != nil {
			return fmt.Errorf("reading taxes and charges: %w", err)
		}
		if tax {
			err = of[business].addTax(id, record, all)
		} else {
			err = of[business].addCharge(id, record, all, naming)
		}
		if err != nil {
			return fmt.Errorf("the stored record %d cannot be read: %w", id, err)
		}
	}
	return rows.Err()
}

func (l *levies) addTax(id int64, record []byte, all bool) error {
	var master menu.Tax
	if err := json.Unmarshal(record, &master); err != nil {
		return err
	}
	l.taxIDs = append(l.taxIDs, id)
	l.taxes = append(l.taxes, order.MenuTax{Code: master.Code, Title: master.Title, Percent: *master.Structure.Value, All: all})
	return nil
}

func (l *levies) addCharge(id int64, record []byte, all, naming bool) error {
	var master menu.Charge
	if err := json.Unmarshal(record, &master); err != nil {
		return err
	}
	charge := order.MenuCharge{
		Title: master.Title, Basis: order.Basis(master.Structure.ApplicableOn), Value: *master.Structure.Value, All: all, Naming: naming,
	}
	if err := errors.Join(decodeStored(master.FulfillmentModes, &charge.Kinds), decodeStored(master.ExcludedPlatforms, &charge.Excluded)); err != nil {
		return err
	}
	if len(charge.Kinds) == 0 && strings.HasPrefix(master.Code, "DC_") { // a delivery charge
		charge.Kinds = []string{string(order.ForDelivery)}
	}
	l.chargeIDs = append(l.chargeIDs, id)
	l.charges = append(l.charges, charge)
	return nil
}
