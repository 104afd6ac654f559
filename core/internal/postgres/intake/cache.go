package intake

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/order"
)

// maxCacheBytes bounds the cache. Each menu, entry, tax and charge takes entryBytes beside its stored content.
const (
	maxCacheBytes = 64 << 20
	entryBytes    = 512
)

// menuCache caches parts of menus by their versions. Both may be out of date: the versions come from cached settings,
// and an entry is read later, without a transaction. Only the check in the statement place makes their use safe.
type menuCache struct {
	mu    sync.Mutex
	menus map[cachedMenuKey]*cachedMenu
	bytes int
}

// cachedMenuKey identifies a store's menu on a platform.
type cachedMenuKey struct {
	business core.BusinessID
	store    int64
	platform core.Platform
}

// menuVersions are the versions of the master catalogue and of the store's values, and the epoch that counts them.
type menuVersions struct {
	epoch            string
	catalogue, store int64
}

// cachedMenu is the cached part of a menu.
type cachedMenu struct {
	versions        menuVersions
	cache           *menuCache
	bytes           int
	entries         map[entryName]menuEntry
	taxesAndCharges *taxesAndCharges // nil: not read yet
	hours           parsedHours
}

// parsedHours is the opening hours of a store, and the texts they were parsed from.
type parsedHours struct {
	storedHours
	hours core.OpeningHours
	zone  *time.Location
}

// storedHours is the opening hours of a store, as stored.
type storedHours struct{ timings, special, timezone string }

// entryName identifies an item or an option.
type entryName struct {
	option bool
	ref    string
}

// menuEntry is an item or an option. Both are nil if the business has none of that name.
type menuEntry struct {
	item    *order.MenuItem
	option  *order.MenuOption
	namedBy []int64 // the taxes and charges that name the item
}

// taxesAndCharges are the active taxes and charges of a business with their ids, without their
// items.
type taxesAndCharges struct {
	taxes     []order.MenuTax
	taxIDs    []int64
	charges   []order.MenuCharge
	chargeIDs []int64
}

// menu returns the cached menu at the given versions.
func (p *menuCache) menu(key cachedMenuKey, versions menuVersions) *cachedMenu {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.menus[key]
	if found == nil || found.versions != versions {
		if found != nil {
			p.bytes -= found.bytes
		}
		found = &cachedMenu{versions: versions, cache: p, entries: map[entryName]menuEntry{}}
		p.grow(found, entryBytes)
		if p.menus == nil {
			p.menus = map[cachedMenuKey]*cachedMenu{}
		}
		p.menus[key] = found
	}
	return found
}

// grow counts more bytes of a menu. It first empties a full cache.
func (p *menuCache) grow(menu *cachedMenu, bytes int) {
	if p.bytes+bytes > maxCacheBytes {
		p.menus, p.bytes = nil, 0
	}
	menu.bytes += bytes
	p.bytes += bytes
}

func (s *cachedMenu) get(name entryName) (menuEntry, bool) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	d, known := s.entries[name]
	return d, known
}

// put adds an entry that takes about so many bytes.
func (s *cachedMenu) put(name entryName, d menuEntry, bytes int) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if _, known := s.entries[name]; known {
		return
	}
	s.entries[name] = d
	s.cache.grow(s, entryBytes+bytes)
}

// openingHours returns the opening hours of the store. It parses them only when they change.
func (s *cachedMenu) openingHours(stored storedHours) (parsedHours, error) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if o := s.hours; o.zone != nil && o.storedHours == stored {
		return o, nil
	}
	zone, err := time.LoadLocation(stored.timezone)
	if err != nil {
		return parsedHours{}, err
	}
	o := parsedHours{storedHours: stored, zone: zone}
	if err := orders.UnmarshalStored([]byte(stored.timings), &o.hours.Week); err != nil {
		return parsedHours{}, err
	}
	if err := orders.UnmarshalStored([]byte(stored.special), &o.hours.Dates); err != nil {
		return parsedHours{}, err
	}
	s.hours = o
	return o, nil
}

// getTaxesAndCharges returns the taxes and charges, nil if they were not read yet.
func (s *cachedMenu) getTaxesAndCharges() *taxesAndCharges {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.taxesAndCharges
}

func (s *cachedMenu) putTaxesAndCharges(l *taxesAndCharges) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.taxesAndCharges = l
	s.cache.grow(s, entryBytes*(len(l.taxes)+len(l.charges)))
}
