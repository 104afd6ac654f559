package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// placeLabels are the short names of reasons in counts and filters.
var placeLabels = map[console.PlaceReason]string{
	console.PlaceUnlisted: text.ReasonUnlisted, console.PlaceInactive: text.ReasonInactive,
	console.PlaceNoOrders: text.ReasonNoOrders, console.PlaceClosed: text.ReasonClosed,
	console.PlaceClosedThere: text.ReasonClosedThere,
	console.PlaceNoItems:     text.ReasonNoItems, console.PlacePluginDown: text.ReasonPluginDown,
	console.PlaceMenuFailed: text.ReasonMenuFailed, console.PlaceHidden: text.ReasonHidden,
	console.PlaceShut: text.ReasonShut, console.PlaceNoMenu: text.ReasonNoMenu,
	console.PlaceFirstMenu: text.ReasonFirstMenu, console.PlaceOldMenu: text.ReasonOldMenu,
	console.PlaceMenuWaits: text.ReasonMenuWaits, console.PlaceIncomplete: text.ReasonIncomplete,
	console.PlaceUpdating: text.ReasonUpdating, console.ItemRejected: text.ReasonItemRejected,
	console.PlaceNotLive:      text.NotLive,
	console.PlaceMenuRejected: text.MenuRejected, console.Shown: text.ReasonShown, console.PlaceLive: text.ReasonShown,
}

// itemLabels are the short names of the reasons of items.
var itemLabels = map[menu.Reason]string{menu.NotSold: text.ReasonNotSold, menu.NotListed: text.ReasonNotListed,
	menu.BreaksRule: text.ReasonBreaksRule, menu.Inactive: text.ReasonItemInactive,
	menu.CategoryInactive: text.ReasonCategory, menu.Unavailable: text.ReasonUnavailable,
	menu.OutOfStock: text.ReasonOutOfStock, menu.OptionsMissing: text.ReasonOptionsMissing}

// PlaceLabel returns the short name of the reason of a store on a platform.
func PlaceLabel(reason console.PlaceReason) string { return placeLabels[reason] }

// ItemPlaceLabel returns the short name of the reason of an item at a store on a platform.
func ItemPlaceLabel(reason console.PlaceReason) string {
	switch reason {
	case console.PlaceUnlisted:
		return text.ReasonStoreUnlisted
	case console.PlaceInactive:
		return text.ReasonStoreInactive
	case console.PlaceOldMenu:
		return text.ReasonItemOldMenu
	case console.PlaceMenuWaits:
		return text.ReasonItemWaits
	}
	if label := itemLabels[menu.Reason(reason)]; label != "" {
		return label
	}
	return placeLabels[reason]
}

// NoItems explains why customers can order no item of a store on a platform. It returns "" if they can order one.
func NoItems(offers map[menu.Reason]int) string {
	if offers[menu.Orderable] > 0 {
		return ""
	}
	total := 0
	var parts []string
	for _, reason := range console.ItemReasons() {
		if n := offers[menu.Reason(reason)]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf(text.ReasonOf, ItemPlaceLabel(reason), ui.Number(n)))
		}
	}
	if total == 0 {
		return text.NoItemsAtStore
	}
	return fmt.Sprintf(text.NoItemsOrderable, ui.Count(total, text.OneItem, text.Items_), strings.Join(parts, ", "))
}

// WorkingPlugins returns the ids of the plugins that can serve their platforms.
func WorkingPlugins(plugins []console.Plugin, zone *time.Location) []string {
	ids := []string{}
	for _, plugin := range plugins {
		if PluginWorks(plugin, zone) {
			ids = append(ids, plugin.ID)
		}
	}
	return ids
}

// itemPlatform is where customers can order an item on a platform.
type itemPlatform struct {
	name           string
	shown, stores  int // stores that the platform lists
	uncertain      int // stores whose earlier menu may lack it
	parts          []string
	soft, unlisted bool // all reasons end automatically; the store lists none
	down           bool // the only reason is its plugin
}

// softReasons pass without an action of the merchant.
var softReasons = []console.PlaceReason{console.PlaceFirstMenu, console.PlaceShut}

// itemPlatforms groups counts by platform, in their order of the list.
func itemPlatforms(platforms []string, counts []console.ItemPlaceCount) []itemPlatform {
	list := make([]itemPlatform, len(platforms))
	for i, name := range platforms {
		p := itemPlatform{name: name, soft: true, down: true}
		for _, reason := range append([]console.PlaceReason{console.PlaceLive}, console.ItemReasons()...) {
			for _, c := range counts {
				if c.Platform != name || c.Reason != reason || reason == console.PlaceReason(menu.NotSold) {
					continue
				}
				if reason == console.PlaceUnlisted {
					p.unlisted = true
					continue
				}
				p.stores += c.Stores
				if reason.Orderable() {
					p.shown += c.Stores
					continue
				}
				if reason.Uncertain() {
					p.uncertain += c.Stores
				}
				p.soft = p.soft && slices.Contains(softReasons, reason)
				p.down = p.down && reason == console.PlacePluginDown
				p.parts = append(p.parts, fmt.Sprintf(text.ReasonOf, ItemPlaceLabel(reason),
					ui.Count(c.Stores, text.OneStore, text.Stores_)))
			}
		}
		list[i] = p
	}
	return list
}

// ItemOnPlatform explains at how many stores customers can order an item on a platform, and why not at the others.
func ItemOnPlatform(i console.ItemDetail, platform string, counts []console.ItemPlaceCount) (ui.State, string, string) {
	if state, why := catalogueReason(i, platform); state != ui.OK {
		return state, text.NotShown, why
	}
	p := itemPlatforms([]string{platform}, counts)[0]
	if p.stores == 0 {
		return ui.Neutral, text.NotShown, text.ItemAtNoStore
	}
	words := fmt.Sprintf(text.ItemOnPlatform, ui.Number(p.shown), ui.Count(p.stores, text.OneStore, text.Stores_))
	why := strings.Join(p.parts, ", ")
	switch {
	case p.shown == p.stores:
		return ui.OK, words, why
	case p.down:
		return ui.Err, text.PlatformAway, text.ItemPlatformAway
	case p.shown == 0 && p.uncertain > 0:
		return ui.Warn, text.UncertainLabel, why
	case p.shown > 0 || p.soft:
		return ui.Warn, words, why
	default:
		return ui.Err, words, why
	}
}
