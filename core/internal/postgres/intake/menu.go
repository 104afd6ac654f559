package intake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
)

// One statement reads a bounded number of items and options. The orders of a business in one batch read a bounded
// number of bytes. So an order of a huge menu does not delay or fail those of other businesses.
const (
	entriesPerRead = 500
	maxEntryBytes  = 32 << 20
)

// readEntries reads items and options for the contexts that need them.
func (b *intakeBatch) readEntries(named map[entryKey][]*orderContext) error {
	keys := slices.SortedFunc(maps.Keys(named), func(a, b entryKey) int {
		return cmp.Compare(a.business, b.business)
	})
	for part := range slices.Chunk(keys, entriesPerRead) {
		part = slices.DeleteFunc(part, func(key entryKey) bool { return b.tooLarge(key.business) })
		if len(part) == 0 {
			continue
		}
		if err := b.readSome(part, named); err != nil {
			return err
		}
	}
	for key, settings := range named {
		for _, s := range settings {
			if b.tooLarge(key.business) {
				s.loaded[key.entryName] = false
			} else {
				s.menu.put(key.entryName, menuEntry{}, 0) // also cache missing entities
			}
		}
	}
	return nil
}

// tooLarge reports whether the items and options of a business's orders exceed their bound.
func (b *intakeBatch) tooLarge(business core.BusinessID) bool {
	return b.entryBytes[business] > maxEntryBytes
}

// readSome reads items and options, and removes those that exist from named.
func (b *intakeBatch) readSome(keys []entryKey, named map[entryKey][]*orderContext) error {
	var businesses, stores, kinds []int64
	var refs []string
	for _, key := range keys {
		kind := menu.Items
		if key.option {
			kind = menu.Options
		}
		businesses, stores, kinds, refs = append(businesses, int64(key.business)), append(stores, key.store),
			append(kinds, int64(kind)), append(refs, key.ref)
	}
	rows, err := b.in.QueryContext(b.ctx, queries.With("read_menu_entries", postgres.Args{
		"businesses": postgres.Array(businesses), "stores": postgres.Array(stores), "kinds": postgres.Array(kinds),
		"refs": postgres.Array(refs),
	}))
	if err != nil {
		return fmt.Errorf("reading menus: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key entryKey
		var stored storedEntry
		if err := rows.Scan(&key.business, &key.store, &key.option, &key.ref, &stored.id, &stored.active,
			&stored.record, &stored.content, &stored.categoryInactive,
			pgdialect.Array(&stored.namedBy), pgdialect.Array(&stored.blocked), &stored.groups,
			pgdialect.Array(&stored.inGroups)); err != nil {
			return fmt.Errorf("reading menus: %w", err)
		}
		if b.entryBytes[key.business] += stored.size(); b.tooLarge(key.business) {
			continue
		}
		for _, s := range named[key] {
			d, err := stored.onPlatform(s.Platform, key.option)
			if err != nil {
				return fmt.Errorf("reading stored record %d: %w", stored.id, err)
			}
			s.menu.put(key.entryName, d, stored.kept())
			s.add(key.entryName, d)
		}
		delete(named, key)
	}
	return rows.Err()
}

// storedEntry is a stored item or option.
type storedEntry struct {
	id               int64
	active           bool
	record           []byte // its active flag is not current
	content          []byte // the store's values; nil if the store does not sell it
	categoryInactive bool   // in an inactive category
	namedBy          []int64
	blocked          []string // platforms with findings against the item
	groups           []byte   // of the item, or nested under the option; nil: none
	inGroups         []int64  // the groups that contain the option
}

// size returns the bytes that were read.
func (d storedEntry) size() int { return len(d.record) + len(d.content) + d.kept() }

// kept returns the bytes of those parts that grow with the menu and stay in a menuEntry.
func (d storedEntry) kept() int { return len(d.groups) + 8*(len(d.namedBy)+len(d.inGroups)) }

// onPlatform returns the item or option with the values of a platform.
func (d storedEntry) onPlatform(platform core.Platform, option bool) (menuEntry, error) {
	var groups []order.MenuGroup
	if err := orders.UnmarshalStored(d.groups, &groups); err != nil {
		return menuEntry{}, err
	}
	if option {
		var master menu.Option
		var override *menu.OptionValues
		if err := d.decode(&master, &override); err != nil {
			return menuEntry{}, err
		}
		master.Active = d.active
		known := &order.MenuOption{ID: d.id, Title: master.Title, Reason: menu.OptionOrderability(&master, override),
			Groups: d.inGroups, Nested: groups}
		if override != nil {
			known.Price = override.Price
		}
		return menuEntry{option: known}, nil
	}
	var master menu.Item
	var override *menu.ItemValues
	if err := d.decode(&master, &override); err != nil {
		return menuEntry{}, err
	}
	master.Active = d.active
	offer := menu.Offer{Item: &master, AtStore: override, Platform: platform.Name, CategoryInactive: d.categoryInactive,
		BreaksRule: slices.Contains(d.blocked, platform.Name)}
	known := &order.MenuItem{
		ID: d.id, Title: master.Title, FoodType: string(master.FoodType), Tags: master.TagsOn(platform.Name),
		Reason: menu.Orderability(offer), Groups: groups,
	}
	if override != nil {
		known.Price, known.Stock = menu.ResolvePrice(&master, override, platform), override.CurrentStock
	}
	return menuEntry{namedBy: d.namedBy, item: known}, nil
}

func (d storedEntry) decode(master, override any) error {
	if err := json.Unmarshal(d.record, master); err != nil {
		return err
	}
	return orders.UnmarshalStored(d.content, override)
}

// addTaxesAndCharges adds the taxes and charges to the contexts.
func (b *intakeBatch) addTaxesAndCharges() error {
	missing := map[core.BusinessID]*taxesAndCharges{}
	for _, s := range b.contexts {
		if s.exists() && s.menu.getTaxesAndCharges() == nil {
			missing[s.Business] = &taxesAndCharges{}
		}
	}
	if err := b.readTaxesAndCharges(missing); err != nil {
		return err
	}
	for _, s := range b.contexts {
		if !s.exists() {
			continue
		}
		found := s.menu.getTaxesAndCharges()
		if found == nil {
			found = missing[s.Business]
			s.menu.putTaxesAndCharges(found)
		}
		s.Taxes, s.Charges = slices.Clone(found.taxes), slices.Clone(found.charges)
		for i, id := range found.taxIDs {
			s.Taxes[i].Items = s.namedItems[id]
		}
		for i, id := range found.chargeIDs {
			s.Charges[i].Items = s.namedItems[id]
		}
	}
	return nil
}

// readTaxesAndCharges reads the active taxes and charges of businesses.
func (b *intakeBatch) readTaxesAndCharges(of map[core.BusinessID]*taxesAndCharges) error {
	if len(of) == 0 {
		return nil
	}
	rows, err := b.in.QueryContext(b.ctx, queries.With("read_taxes_and_charges", postgres.Args{
		"businesses": bun.List(slices.Collect(maps.Keys(of))),
	}))
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
			return fmt.Errorf("reading stored record %d: %w", id, err)
		}
	}
	return rows.Err()
}

func (l *taxesAndCharges) addTax(id int64, record []byte, all bool) error {
	var master menu.Tax
	if err := json.Unmarshal(record, &master); err != nil {
		return err
	}
	l.taxIDs = append(l.taxIDs, id)
	l.taxes = append(l.taxes,
		order.MenuTax{Code: master.Code, Title: master.Title, Percent: *master.Structure.Value, All: all})
	return nil
}

func (l *taxesAndCharges) addCharge(id int64, record []byte, all, naming bool) error {
	var master menu.Charge
	if err := json.Unmarshal(record, &master); err != nil {
		return err
	}
	charge := order.MenuCharge{
		Title: master.Title, Basis: order.Basis(master.Structure.ApplicableOn), Value: *master.Structure.Value,
		All: all, HasItemList: naming || master.Cleared,
	}
	if err := errors.Join(orders.UnmarshalStored(master.FulfillmentModes, &charge.Kinds),
		orders.UnmarshalStored(master.ExcludedPlatforms, &charge.Excluded)); err != nil {
		return err
	}
	charge.Key = master.ExclusionKey()
	if len(charge.Kinds) == 0 && strings.HasPrefix(master.Code, "DC_") { // a delivery charge
		charge.Kinds = []string{string(order.ForDelivery)}
	}
	l.chargeIDs = append(l.chargeIDs, id)
	l.charges = append(l.charges, charge)
	return nil
}
