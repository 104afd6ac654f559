package menu

import "slices"

// Reason is why an item cannot be ordered at a store on a platform.
type Reason string

// The reasons, in the order in which they are examined.
const (
	Orderable        Reason = ""                  // it can be ordered
	NotSold          Reason = "not_sold"          // the store does not sell it
	NotListed        Reason = "not_listed"        // it is not listed on the platform
	BreaksRule       Reason = "breaks_rule"       // a rule of the platform rejects it
	Inactive         Reason = "inactive"          // its active flag is off
	CategoryInactive Reason = "category_inactive" // a category of it, or the parent of one, is inactive
	Unavailable      Reason = "unavailable"       // the store has it as not available
	OutOfStock       Reason = "out_of_stock"
	OptionsMissing   Reason = "options_missing" // an option group requires more options than can be ordered
)

// Offer is an item at a store on a platform, with the conditions that decide whether it can be ordered.
type Offer struct {
	Item             *Item
	AtStore          *ItemValues // the store's values; nil: the store does not sell it
	Platform         string
	BreaksRule       bool
	CategoryInactive bool // inactive categories make their items inactive
	OptionsMissing   bool
}

// Orderability returns the first reason why an item cannot be ordered, or Orderable.
func Orderability(o Offer) Reason {
	switch {
	case o.AtStore == nil:
		return NotSold
	case !o.Item.ListedOn(o.Platform):
		return NotListed
	case o.BreaksRule:
		return BreaksRule
	case !o.Item.Active:
		return Inactive
	case o.CategoryInactive:
		return CategoryInactive
	case !o.AtStore.Available:
		return Unavailable
	case o.AtStore.CurrentStock == 0:
		return OutOfStock
	case o.OptionsMissing:
		return OptionsMissing
	default:
		return Orderable
	}
}

// OptionOrderability returns the first reason why an option cannot be ordered, or Orderable. The values are nil if the
// store does not sell it.
func OptionOrderability(option *Option, here *OptionValues) Reason {
	switch {
	case here == nil:
		return NotSold
	case !option.Active:
		return Inactive
	case !here.Available:
		return Unavailable
	default:
		return Orderable
	}
}

// ListedOn reports whether an item is listed on a platform by its own list. Without a list it is listed on all.
func (i *Item) ListedOn(platform string) bool {
	return i.IncludedPlatforms == nil || slices.Contains(decodeDocument[[]string](i.IncludedPlatforms), platform)
}

// MissingOptions returns how many options a group lacks to meet its minimum at a store. The store sells the given
// number of its options, and some of these can be ordered. A group without sold options is not part of the menu and
// lacks none. An option that can be chosen several times meets every minimum.
func (g *OptionGroup) MissingOptions(sold, orderable int64) int64 {
	if !g.Active || sold == 0 || g.MultiOptionsEnabled && orderable > 0 {
		return 0
	}
	return max(g.MinSelectable-orderable, 0)
}
