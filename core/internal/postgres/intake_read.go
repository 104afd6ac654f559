package postgres

import (
	"fmt"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// settingKey is what the setting of an order depends on.
type settingKey struct {
	business        core.BusinessID
	platform, store string
}

func settingOf(a *order.Arrival) settingKey {
	return settingKey{a.Business, a.Draft.Platform, a.Draft.StoreRefID}
}

// setting is what an order meets, and where of its menu is kept what was read.
type setting struct {
	order.Setting
	shelf  *shelf
	served map[dishName]bool
	accept relay.Accept             // of the platform
	naming map[int64]map[int64]bool // which of the items named here a tax or charge names
}

// exists tells whether the business has the store and the platform.
func (s *setting) exists() bool { return s != nil && s.Store.ID != 0 && s.Platform.ServedBy != "" }

// serve puts a dish into the setting.
func (s *setting) serve(name dishName, d dish) {
	s.served[name] = true
	switch {
	case d.option != nil:
		s.Options[name.ref] = d.option
	case d.item != nil:
		s.Items[name.ref] = d.item
		for _, id := range d.naming {
			if s.naming[id] == nil {
				s.naming[id] = map[int64]bool{}
			}
			s.naming[id][d.item.ID] = true
		}
	}
}

// read reads all that the orders meet: what is named, by a fixed number of
// statements, however many orders there are.
func (b *intakeBatch) read() error {
	b.settings = map[settingKey]*setting{}
	for i := range b.arrivals {
		b.settings[settingOf(&b.arrivals[i])] = nil
	}
	if err := b.readSettings(); err != nil {
		return err
	}
	return b.readMenus()
}

// intakeSettings reads businesses, platforms and stores, and the versions of the menus.
var intakeSettings = planned{
	name: "intake_settings", types: "bigint[], text[], text[]",
	query: `SELECT q.business, q.platform, q.store, b.currency, coalesce(p.served_by, ''), coalesce(p.accept, ''), coalesce(s.id, 0), coalesce(s.name, ''),
			coalesce(s.address, ''), coalesce(s.active, false), coalesce(s.ordering_enabled, false) AND NOT EXISTS (
				SELECT 1 FROM store_switches w WHERE w.business_id = q.business AND w.store_id = s.id AND w.platform = q.platform AND NOT w.open), s.excluded_platforms, s.included_platforms,
			coalesce((SELECT d ->> 'platform_store_id' FROM jsonb_array_elements(s.platform_data) d WHERE d ->> 'name' = q.platform LIMIT 1), ''),
			coalesce((SELECT version FROM menu_versions WHERE business_id = q.business AND store_id = 0), 0),
			coalesce((SELECT version FROM menu_versions WHERE business_id = q.business AND store_id = s.id), 0),
			coalesce(s.timings::text, ''), b.timezone, s.min_order_value::text
		FROM unnest($1, $2, $3) AS q (business, platform, store)
		JOIN businesses b ON b.id = q.business
		LEFT JOIN platforms p ON p.business_id = q.business AND p.name = q.platform
		LEFT JOIN stores s ON s.business_id = q.business AND s.ref_id = q.store`,
}

// readSettings reads businesses, platforms and stores.
func (b *intakeBatch) readSettings() error {
	var businesses []int64
	var platforms, stores []string
	for key := range b.settings {
		businesses, platforms, stores = append(businesses, int64(key.business)), append(platforms, key.platform), append(stores, key.store)
	}
	query, err := b.db.prepared.ready(b.ctx, b.tx, &intakeSettings, array(businesses), array(platforms), array(stores))
	if err != nil {
		return err
	}
	rows, err := b.tx.QueryContext(b.ctx, query)
	if err != nil {
		return fmt.Errorf("reading stores: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key settingKey
		var listing store.Listing
		var versions menuVersions
		var timings, timezone string
		var least *string
		s := &setting{
			Setting: order.Setting{Items: map[string]*order.MenuItem{}, Options: map[string]*order.MenuOption{}},
			served:  map[dishName]bool{}, naming: map[int64]map[int64]bool{},
		}
		if err := rows.Scan(&key.business, &key.platform, &key.store, &s.Currency, &s.Platform.ServedBy, &s.accept, &s.Store.ID, &s.Store.Name, &s.Store.Address,
			&s.Store.Active, &s.Store.OrderingEnabled, pgdialect.Array(&listing.Excluded), pgdialect.Array(&listing.Included),
			&s.Store.PlatformStoreID, &versions.catalogue, &versions.store, &timings, &timezone, &least); err != nil {
			return fmt.Errorf("reading stores: %w", err)
		}
		s.Business, s.Platform.Name, s.Store.RefID, s.Store.Listed = key.business, key.platform, key.store, listing.On(key.platform)
		if s.exists() {
			s.shelf = b.pantry.shelf(shelfKey{key.business, s.Store.ID, s.Platform}, versions)
			opening, err := s.shelf.opens(timings, timezone)
			if err != nil {
				return fmt.Errorf("reading the hours of store %d: %w", s.Store.ID, err)
			}
			s.Store.Hours, s.Store.Zone = opening.hours, opening.zone
		}
		if least != nil {
			amount, err := core.ParseAmount(*least)
			if err != nil {
				return fmt.Errorf("reading the least order of store %d: %w", s.Store.ID, err)
			}
			s.Store.MinOrder = &amount
		}
		b.settings[key] = s
	}
	return rows.Err()
}

// dishKey is an item or option of a business at a store.
type dishKey struct {
	business core.BusinessID
	store    int64
	dishName
}

// readMenus serves what the orders name of the stores' menus, and the taxes and
// charges: from the pantry, else from the database.
func (b *intakeBatch) readMenus() error {
	missing := map[dishKey][]*setting{}
	serve := func(s *setting, name dishName) {
		if s.served[name] {
			return
		}
		if d, known := s.shelf.get(name); known {
			s.serve(name, d)
			return
		}
		s.served[name] = true
		key := dishKey{s.Business, s.Store.ID, name}
		missing[key] = append(missing[key], s)
	}
	for i := range b.arrivals {
		a := &b.arrivals[i]
		s := b.settings[settingOf(a)]
		if !s.exists() {
			continue
		}
		for j := range a.Draft.Items {
			serve(s, dishName{false, a.Draft.Items[j].RefID})
			for k := range a.Draft.Items[j].Options {
				serve(s, dishName{true, a.Draft.Items[j].Options[k].RefID})
			}
		}
	}
	if err := b.readDishes(missing); err != nil {
		return err
	}
	return b.serveLevies()
}
