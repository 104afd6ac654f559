package orders

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// maxKept bounds the menus and entries of the cache: some tens of megabytes.
const maxKept = 100_000

// pantry caches parts of menus while their versions are current. Callers read the versions in
// the transaction that uses the result, so that no entry is older than that transaction.
type pantry struct {
	mu      sync.Mutex
	shelves map[shelfKey]*shelf
	kept    int
}

// shelfKey identifies a store's menu on a platform.
type shelfKey struct {
	business core.BusinessID
	store    int64
	platform core.Platform
}

// menuVersions are the versions of the master catalogue and of the store's values.
type menuVersions struct{ catalogue, store int64 }

// shelf is the cached part of one menu.
type shelf struct {
	versions menuVersions
	pantry   *pantry
	dishes   map[dishName]dish
	levies   *levies // nil: not read yet
	opening  opening
}

// opening is the opening hours of a store, and the texts they were parsed from.
type opening struct {
	timings, timezone string
	hours             []core.DayHours
	zone              *time.Location
}

// dishName identifies an item or an option.
type dishName struct {
	option bool
	ref    string
}

// dish is an item or an option. Both are nil if the business has none of that name.
type dish struct {
	item   *order.MenuItem
	option *order.MenuOption
	naming []int64 // the taxes and charges that name the item
}

// levies are the active taxes and charges of a business with their ids. Their items are not
// set.
type levies struct {
	taxes     []order.MenuTax
	taxIDs    []int64
	charges   []order.MenuCharge
	chargeIDs []int64
}

// shelf returns the cached menu at the given versions.
func (p *pantry) shelf(key shelfKey, versions menuVersions) *shelf {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.shelves[key]
	if found == nil || found.versions != versions {
		if found != nil {
			p.kept -= 1 + len(found.dishes)
		}
		found = &shelf{versions: versions, pantry: p, dishes: map[dishName]dish{}}
		p.count()
		if p.shelves == nil {
			p.shelves = map[shelfKey]*shelf{}
		}
		p.shelves[key] = found
	}
	return found
}

// count counts one more entry and empties a full cache.
func (p *pantry) count() {
	if p.kept++; p.kept > maxKept {
		p.shelves, p.kept = nil, 1
	}
}

func (s *shelf) get(name dishName) (dish, bool) {
	s.pantry.mu.Lock()
	defer s.pantry.mu.Unlock()
	d, known := s.dishes[name]
	return d, known
}

func (s *shelf) put(name dishName, d dish) {
	s.pantry.mu.Lock()
	defer s.pantry.mu.Unlock()
	if _, known := s.dishes[name]; known {
		return
	}
	s.dishes[name] = d
	s.pantry.count()
}

// opens returns the opening hours of the store. It parses them only when they change.
func (s *shelf) opens(timings, timezone string) (opening, error) {
	s.pantry.mu.Lock()
	defer s.pantry.mu.Unlock()
	if o := s.opening; o.zone != nil && o.timings == timings && o.timezone == timezone {
		return o, nil
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return opening{}, err
	}
	o := opening{timings: timings, timezone: timezone, zone: zone}
	if err := decodeStored([]byte(timings), &o.hours); err != nil {
		return opening{}, err
	}
	s.opening = o
	return o, nil
}

// found returns the taxes and charges, nil if they were not read yet.
func (s *shelf) found() *levies {
	s.pantry.mu.Lock()
	defer s.pantry.mu.Unlock()
	return s.levies
}

func (s *shelf) keep(l *levies) {
	s.pantry.mu.Lock()
	defer s.pantry.mu.Unlock()
	s.levies = l
}
