package postgres

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// maxKept bounds the dishes and shelves of a pantry: some tens of megabytes.
const maxKept = 100_000

// pantry keeps what has been read of menus for as long as their versions stand.
// Whoever asks has read the versions before, in the transaction that uses what
// is found, so nothing is older than the menu that the transaction sees.
type pantry struct {
	mu      sync.Mutex
	shelves map[shelfKey]*shelf
	kept    int
}

// shelfKey is a store's menu on a platform.
type shelfKey struct {
	business core.BusinessID
	store    int64
	platform core.Platform
}

// menuVersions are those of the master catalogue and of the store's values.
type menuVersions struct{ catalogue, store int64 }

// shelf is what has been read of one menu.
type shelf struct {
	versions menuVersions
	pantry   *pantry
	dishes   map[dishName]dish
	levies   *levies // nil: not read yet
	opening  opening
}

// opening is when a store is open, and the texts from which that was read.
type opening struct {
	timings, timezone string
	hours             []core.DayHours
	zone              *time.Location
}

// dishName is an item or an option.
type dishName struct {
	option bool
	ref    string
}

// dish is an item or an option; neither where the business has none of the name.
type dish struct {
	item   *order.MenuItem
	option *order.MenuOption
	naming []int64 // the taxes and charges that name the item
}

// levies are the active taxes and charges of a business with their ids, their
// items left open.
type levies struct {
	taxes     []order.MenuTax
	taxIDs    []int64
	charges   []order.MenuCharge
	chargeIDs []int64
}

// shelf finds what has been read of a menu at its versions.
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

// count counts one more; a pantry that is full is emptied.
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

// opens reads when the store is open, once for as long as that stays as it is.
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

// found is the taxes and charges, nil where they were not read yet.
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
