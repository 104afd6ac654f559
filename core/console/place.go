package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

// PlaceReason is why customers cannot order at a store on a platform, or cannot order everything. It is also why they
// cannot order an item there: then it may be a menu.Reason too.
type PlaceReason string

// The reasons, in the order in which they are examined.
const (
	PlaceLive        PlaceReason = ""
	PlaceUnlisted    PlaceReason = "store_unlisted"
	PlaceInactive    PlaceReason = "store_inactive"
	PlaceNoOrders    PlaceReason = "no_orders"
	PlaceClosed      PlaceReason = "closed"       // on the platform, by a user, the POS or a timer
	PlaceClosedThere PlaceReason = "closed_there" // by the platform itself
	PlaceNoItems     PlaceReason = "no_items"     // no item of the store can be ordered there
	PlacePluginDown  PlaceReason = "plugin_down"  // the platform's plugin does not work
	PlaceMenuFailed  PlaceReason = "menu_failed"  // the platform has accepted no menu, and rejected the last
	PlaceHidden      PlaceReason = "hidden"       // from customers
	PlaceShut        PlaceReason = "shut"         // by its opening hours
	PlaceNoMenu      PlaceReason = "no_menu"      // the platform receives no menu of the store
	PlaceFirstMenu   PlaceReason = "first_menu"   // the first menu is being published
	PlaceOldMenu     PlaceReason = "old_menu"     // the last change failed: the platform shows an earlier menu
	PlaceMenuWaits   PlaceReason = "menu_waits"   // a change cannot be published now
	PlaceIncomplete  PlaceReason = "incomplete"   // the platform lacks a part of the menu
	PlaceUpdating    PlaceReason = "updating"     // a change is being published
	ItemRejected     PlaceReason = "item_refused" // of an item only: the platform rejected it
)

// Place is a store on a platform, with the conditions that decide whether customers can order there.
type Place struct {
	Listed      bool
	Active      bool
	Ordering    bool
	Closed      bool // on the platform
	ClosedThere bool // by the platform itself
	NoItems     bool // no item of the store can be ordered there
	PluginDown  bool
	Hidden      bool
	Open        bool                 // by its opening hours
	Menu        *publish.Publication // nil: the platform receives none, or it is unknown
}

// Reason returns the first reason why customers cannot order everything there, or PlaceLive.
func (p Place) Reason() PlaceReason {
	failed := p.Menu != nil && p.Menu.State == publish.Failed
	switch {
	case !p.Listed:
		return PlaceUnlisted
	case !p.Active:
		return PlaceInactive
	case !p.Ordering:
		return PlaceNoOrders
	case p.Closed:
		return PlaceClosed
	case p.ClosedThere:
		return PlaceClosedThere
	case p.NoItems:
		return PlaceNoItems
	case p.PluginDown:
		return PlacePluginDown
	case failed && p.Menu.PublishedAt.IsZero():
		return PlaceMenuFailed
	case p.Hidden:
		return PlaceHidden
	case !p.Open:
		return PlaceShut
	case p.Menu == nil:
		return PlaceLive
	default:
		return menuReason(*p.Menu)
	}
}

// menuReason returns the reason that the menu on the platform gives. A failed one has an earlier menu there.
func menuReason(p publish.Publication) PlaceReason {
	changes := !p.DueAt.IsZero() // since the last result
	switch {
	case p.State == publish.Failed:
		return PlaceOldMenu
	case p.State == publish.Skipped || p.State == publish.Unlisted && !changes:
		return PlaceNoMenu
	case p.State != publish.Published:
		return PlaceFirstMenu
	case changes && p.Note != "":
		return PlaceMenuWaits
	case len(p.Errors) > 0:
		return PlaceIncomplete
	case changes:
		return PlaceUpdating
	default:
		return PlaceLive
	}
}

// Filters for several reasons. A place is not live if its plugin does not work or the platform has accepted no menu. A
// rejected menu may leave an earlier one on the platform. The grid finds it at closed stores too.
const (
	PlaceNotLive      PlaceReason = "not_live"
	PlaceMenuRejected PlaceReason = "menu_refused"
)

// Reasons returns the reasons that a filter selects.
func (r PlaceReason) Reasons() []PlaceReason {
	switch r {
	case PlaceNotLive:
		return []PlaceReason{PlacePluginDown, PlaceMenuFailed}
	case PlaceMenuRejected:
		return []PlaceReason{PlaceMenuFailed, PlaceOldMenu}
	default:
		return []PlaceReason{r}
	}
}

// PlaceReasons returns all reasons but PlaceLive, in the order in which they are examined.
func PlaceReasons() []PlaceReason {
	return []PlaceReason{PlaceUnlisted, PlaceInactive, PlaceNoOrders, PlaceClosed, PlaceClosedThere, PlaceNoItems,
		PlacePluginDown, PlaceMenuFailed, PlaceHidden, PlaceShut, PlaceNoMenu, PlaceFirstMenu, PlaceOldMenu,
		PlaceMenuWaits, PlaceIncomplete, PlaceUpdating}
}

// Problem reports whether no customer can order there for a reason that is not usual.
func (r PlaceReason) Problem() bool {
	switch r {
	case PlaceInactive, PlaceNoOrders, PlaceClosed, PlaceClosedThere, PlaceNoItems, PlacePluginDown, PlaceMenuFailed:
		return true
	}
	return false
}

// Warning reports whether customers can order only in part, from an old menu, or soon.
func (r PlaceReason) Warning() bool {
	switch r {
	case PlaceHidden, PlaceFirstMenu, PlaceOldMenu, PlaceMenuWaits, PlaceIncomplete:
		return true
	}
	return false
}

// Orderable reports whether customers can order an item there.
func (r PlaceReason) Orderable() bool {
	switch r {
	case PlaceLive, PlaceIncomplete, PlaceUpdating:
		return true
	}
	return false
}

// Uncertain reports whether the platform shows an earlier menu, which may lack an item.
func (r PlaceReason) Uncertain() bool { return r == PlaceOldMenu || r == PlaceMenuWaits }

// GridSort is an order of the stores in the grid.
type GridSort string

// The orders of the grid.
const (
	SortProblems GridSort = ""      // those with problems first
	SortRef      GridSort = "ref"   // by ref_id
	SortOpening  GridSort = "opens" // the next to open first
)

// GridFilter selects stores of the grid. A zero field matches all.
type GridFilter struct {
	Text           string // part of the name, the city or the ref_id
	Platform       string
	Reason         PlaceReason // on that platform, or on any
	Sort           GridSort
	WorkingPlugins []string
	Local          time.Time // the current time in the zone of the business
	After          GridCursor
	Limit          int
}

// PlaceCount is the number of stores with a reason on at least one of the selected platforms.
type PlaceCount struct {
	Reason PlaceReason
	Stores int
}

// Grid is a page of stores, and the counts of all stores that match the text and the platform.
type Grid struct {
	Stores []GridStore
	Counts []PlaceCount // by the order of PlaceReasons
	Total  int          // stores
}

// GridCursor is a position in the grid: after the store with that sort key and ref_id.
type GridCursor struct {
	Key   int64
	RefID string
}

// String returns the form that ParseGridCursor parses.
func (p GridCursor) String() string { return fmt.Sprintf("%d-%s", p.Key, p.RefID) }

// ParseGridCursor parses the form of String. Any other text is the start.
func ParseGridCursor(s string) GridCursor {
	key, ref, found := strings.Cut(s, "-")
	number, err := strconv.ParseInt(key, 10, 64)
	if !found || err != nil || number < 0 {
		return GridCursor{Key: -1}
	}
	return GridCursor{number, ref}
}

// ItemPlaceFilter selects the stores and platforms of an item. A zero field matches all.
type ItemPlaceFilter struct {
	Store          string // ref_id: only that store, even if it does not sell the item
	Platform       string
	Reason         PlaceReason // Shown: no reason
	WorkingPlugins []string
	Local          time.Time
	After          ItemPlaceCursor
	Limit          int
}

// Shown is a filter for places where customers can order the item.
const Shown PlaceReason = "shown"

// ItemPlaceCursor is a position in the places of an item: after this store and platform.
type ItemPlaceCursor struct{ StoreRef, Platform string }

// ItemPlace is an item at a store on a platform.
type ItemPlace struct {
	ItemStore
	Platform string
	Reason   PlaceReason // or a menu.Reason
	Menu     *publish.Publication
}

// ItemPlaceCount is the number of an item's stores on a platform that share a reason.
type ItemPlaceCount struct {
	Platform string
	Reason   PlaceReason // or a menu.Reason
	Stores   int
}

// ItemReasons returns the reasons of an item at a store on a platform, in the order in which they are examined.
func ItemReasons() []PlaceReason {
	list := []PlaceReason{}
	for _, reason := range []menu.Reason{menu.NotSold, menu.NotListed, menu.BreaksRule, menu.Inactive,
		menu.CategoryInactive, menu.Unavailable, menu.OutOfStock, menu.OptionsMissing} {
		list = append(list, PlaceReason(reason))
	}
	return append(append(list, PlaceReasons()...), ItemRejected)
}
