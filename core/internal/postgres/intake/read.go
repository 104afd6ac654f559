package intake

import (
	"database/sql"
	"fmt"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// contextKey identifies the context of an order.
type contextKey struct {
	business        core.BusinessID
	platform, store string
}

func contextKeyOf(a *order.PlaceRequest) contextKey {
	return contextKey{a.Business, a.Draft.Platform, string(a.Draft.StoreRefID)}
}

// storedContext is what orders of a store on a platform share, as stored.
type storedContext struct {
	order.PricingContext
	accept    relay.Accept // of the platform
	versions  menuVersions
	hours     storedHours
	customers customer.Index
}

// orderContext is the pricing context of an order, with the cached menu.
type orderContext struct {
	order.PricingContext
	snapshot   string // in which it was read
	menu       *cachedMenu
	loaded     map[entryName]bool       // looked up; false: not read, because the menu is too large
	accept     relay.Accept             // of the platform
	namedItems map[int64]map[int64]bool // items of the orders that a tax or charge names
	customers  customer.Index
}

// exists reports whether the business has the store and the platform.
func (s *orderContext) exists() bool { return s != nil && s.Store.ID != 0 && s.Platform.ServedBy != "" }

// add adds an item or option to the context.
func (s *orderContext) add(name entryName, d menuEntry) {
	s.loaded[name] = true
	switch {
	case d.option != nil:
		s.Options[name.ref] = d.option
	case d.item != nil:
		s.Items[name.ref] = d.item
		for _, id := range d.namedBy {
			if s.namedItems[id] == nil {
				s.namedItems[id] = map[int64]bool{}
			}
			s.namedItems[id][d.item.ID] = true
		}
	}
}

// knows reports whether the items and options of an order were looked up.
func (s *orderContext) knows(lines []order.Line) bool {
	for i := range lines {
		if !s.loaded[entryName{false, string(lines[i].RefID)}] {
			return false
		}
		for _, choice := range lines[i].Options {
			if !s.loaded[entryName{true, string(choice.RefID)}] {
				return false
			}
		}
	}
	return true
}

// read reads the contexts of the orders. The number of statements grows only with the items and options that are not
// cached, see entriesPerRead.
func (b *intakeBatch) read() error {
	b.contexts, b.entryBytes = map[contextKey]*orderContext{}, map[core.BusinessID]int{}
	for i := range b.requests {
		b.contexts[contextKeyOf(&b.requests[i])] = nil
	}
	if err := b.readContexts(); err != nil {
		return err
	}
	b.resolve()
	return b.readMenus()
}

// resolve replaces aliases of platforms in orders, because the platform's name identifies an order.
func (b *intakeBatch) resolve() {
	for i := range b.requests {
		a := &b.requests[i]
		s := b.contexts[contextKeyOf(a)]
		if s == nil || s.Platform.Name == "" {
			continue
		}
		a.Draft.Platform = s.Platform.Name
		if key := contextKeyOf(a); b.contexts[key] == nil {
			b.contexts[key] = s
		}
	}
}

// readContexts returns businesses, platforms and stores. It reads those that are not cached.
func (b *intakeBatch) readContexts() error {
	var businesses []int64
	var platforms, stores []string
	for key := range b.contexts {
		cached, known := b.settings.Get(key)
		if known && !b.stale[cache.Check{Business: key.business, Snapshot: cached.Snapshot}] {
			if err := b.setContext(key, cached); err != nil {
				return err
			}
			continue
		}
		businesses, platforms, stores = append(businesses, int64(key.business)), append(platforms, key.platform),
			append(stores, key.store)
	}
	if len(businesses) == 0 {
		return nil
	}
	rows, err := b.in.QueryContext(b.ctx, queries.With("intake_settings", postgres.Args{
		"businesses": postgres.Array(businesses), "platforms": postgres.Array(platforms),
		"stores": postgres.Array(stores),
	}))
	if err != nil {
		return fmt.Errorf("reading stores: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		key, read, err := b.scanContext(rows)
		if err != nil {
			return err
		}
		if err := b.setContext(key, read); err != nil {
			return err
		}
		if b.contexts[key].exists() {
			b.settings.Put(key, read)
		}
	}
	return rows.Err()
}

// setContext sets a context of the batch.
func (b *intakeBatch) setContext(key contextKey, stored cache.Entry[storedContext]) error {
	s := &orderContext{PricingContext: stored.Value.PricingContext, snapshot: stored.Snapshot,
		accept: stored.Value.accept, customers: stored.Value.customers, loaded: map[entryName]bool{},
		namedItems: map[int64]map[int64]bool{}}
	s.Items, s.Options = map[string]*order.MenuItem{}, map[string]*order.MenuOption{}
	if s.exists() {
		s.menu = b.cache.menu(cachedMenuKey{key.business, s.Store.ID, s.Platform}, stored.Value.versions)
		opening, err := s.menu.openingHours(stored.Value.hours)
		if err != nil {
			return fmt.Errorf("reading the hours of store %d: %w", s.Store.ID, err)
		}
		s.Store.Hours, s.Store.Zone = opening.hours, opening.zone
	}
	b.contexts[key] = s
	return nil
}

func (b *intakeBatch) scanContext(rows *sql.Rows) (key contextKey, read cache.Entry[storedContext], err error) {
	var listing store.Listing
	var least, latitude, longitude *string
	var sealed []byte
	s := &read.Value
	if err := rows.Scan(&key.business, &key.platform, &key.store, &s.Currency, &s.Platform.Name,
		&s.Platform.ServedBy, &s.Platform.EventAlias, &s.accept, &s.Store.ID, &s.Store.Name, &s.Store.Address,
		&s.Store.Active, &s.Store.OrderingEnabled, pgdialect.Array(&listing.Excluded),
		pgdialect.Array(&listing.Included),
		&s.Store.PlatformStoreID, &s.versions.catalogue, &s.versions.store, &s.hours.timings,
		&s.hours.special, &s.hours.timezone, &least, &s.Name, &latitude, &longitude,
		&s.customers.Country, &sealed, &read.Snapshot); err != nil {
		return key, read, fmt.Errorf("reading stores: %w", err)
	}
	// A key that cannot be opened fails no order: the customer is then not found.
	s.customers.Key, _ = b.db.Sealer().Open(customer.KeyAssociatedData(key.business), sealed)
	s.versions.epoch = read.Epoch()
	s.Business, s.Store.RefID, s.Store.Listed = key.business, key.store, listing.ListedOn(s.Platform.Name)
	return key, read, s.setNumbers(map[**core.Amount]*string{
		&s.Store.MinOrder: least, &s.Store.Latitude: latitude, &s.Store.Longitude: longitude,
	})
}

// setNumbers parses the numbers that the database has.
func (s *storedContext) setNumbers(fields map[**core.Amount]*string) error {
	for field, text := range fields {
		if text == nil {
			continue
		}
		amount, err := core.ParseAmount(*text)
		if err != nil {
			return fmt.Errorf("reading the numbers of store %d: %w", s.Store.ID, err)
		}
		*field = &amount
	}
	return nil
}

// entryKey identifies an item or option of a business at a store.
type entryKey struct {
	business core.BusinessID
	store    int64
	entryName
}

// readMenus adds the named items and options and the taxes and charges to the contexts. It reads
// uncached ones from the database.
func (b *intakeBatch) readMenus() error {
	missing := map[entryKey][]*orderContext{}
	serve := func(s *orderContext, name entryName) {
		if s.loaded[name] {
			return
		}
		if d, known := s.menu.get(name); known {
			s.add(name, d)
			return
		}
		s.loaded[name] = true
		key := entryKey{s.Business, s.Store.ID, name}
		missing[key] = append(missing[key], s)
	}
	for i := range b.requests {
		a := &b.requests[i]
		s := b.contexts[contextKeyOf(a)]
		if !s.exists() {
			continue
		}
		for j := range a.Draft.Items {
			serve(s, entryName{false, string(a.Draft.Items[j].RefID)})
			for k := range a.Draft.Items[j].Options {
				serve(s, entryName{true, string(a.Draft.Items[j].Options[k].RefID)})
			}
		}
	}
	if err := b.readEntries(missing); err != nil {
		return err
	}
	return b.addTaxesAndCharges()
}
