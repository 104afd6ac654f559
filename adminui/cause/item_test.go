package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

// sold is an item at a store that sells it, on the platform tasty.
var sold = console.ItemPlace{Platform: "tasty", ItemStore: console.ItemStore{Sold: true,
	Store: console.GridStore{RefID: "S-1", Active: true, Ordering: true, Included: []string{"tasty", "web"}}}}

// item returns an active item, after a change.
func item(change func(*console.ItemDetail)) console.ItemDetail {
	i := console.ItemDetail{Item: console.Item{RefID: "dal", Active: true}}
	if change != nil {
		change(&i)
	}
	return i
}

func tasty(plugin *console.Plugin, published *publish.Publication) Platform {
	return Platform{Platform: core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, Plugin: plugin,
		Published: published}
}

func TestItemAbsenceAtAPlaceIsExplained(t *testing.T) {
	ready := pluginIn("ready", true)
	inactive := item(func(i *console.ItemDetail) { i.Active = false })
	broken := item(func(i *console.ItemDetail) {
		i.Findings = []console.ItemFinding{{Platform: "other", Rule: "r"}, {Platform: "tasty", Rule: "nutrition",
			Message: "no calories"}, {Platform: "tasty", Rule: "photo", Message: "no image"}}
	})
	early := item(func(i *console.ItemDetail) {
		i.Categories = []console.ItemCategory{{Active: true, RefID: "b", SaleHours: []core.DayHours{{Day: "monday",
			Slots: []core.HoursSlot{{StartTime: "08:00:00", EndTime: "11:30:00"}}}}}}
	})
	for _, row := range []struct {
		item      console.ItemDetail
		reason    console.PlaceReason
		change    func(*console.ItemPlace)
		published *publish.Publication
		state     ui.State
		says      string
	}{
		{item: item(nil), state: ui.OK, says: "Shown: "},
		{item: early, state: ui.Warn, says: "Not on sale now: Not on sale now. Sale hours by category: b"},
		{item: inactive, reason: console.PlaceReason(menu.Inactive), state: ui.Err, says: "inactive in the master"},
		{item: broken, reason: console.PlaceReason(menu.BreaksRule), state: ui.Err,
			says: "no calories (rule nutrition); The platform does not accept the item: no image (rule photo)"},
		{item: item(nil), reason: console.PlaceReason(menu.NotSold), state: ui.Neutral, says: "does not sell it"},
		{item: item(nil), reason: console.PlaceReason(menu.Unavailable), state: ui.Warn,
			says: "Not available at this store"},
		{item: item(nil), reason: console.PlaceReason(menu.OutOfStock), state: ui.Warn, says: "Out of stock"},
		{item: item(nil), reason: console.PlaceReason(menu.OptionsMissing), state: ui.Warn, says: "group size requires",
			change: func(p *console.ItemPlace) { p.UnmetGroup = "size" }},
		{item: item(nil), reason: console.PlaceHidden, state: ui.Warn, says: "Hidden: The store is hidden",
			change: func(p *console.ItemPlace) { p.Store.Hidden = true }},
		{item: item(nil), reason: console.PlaceInactive, state: ui.Err, says: "Inactive: The store is inactive",
			change: func(p *console.ItemPlace) { p.Store.Active = false }},
		{item: item(nil), reason: console.ItemRejected, state: ui.Err, says: "Rejected by the platform: no image",
			published: &publish.Publication{State: publish.Published,
				Errors: []publish.Problem{{Entity: "item", RefID: "dal", Message: "no image"}}}},
		{item: item(nil), state: ui.OK, says: "Shown: ", published: &publish.Publication{State: publish.Published,
			Errors: []publish.Problem{{Entity: "item", RefID: "naan"}}}},
		{item: item(nil), reason: console.PlaceOldMenu, state: ui.Warn,
			says:      "Old menu: The menu there may lack the item or its last changes. The platform shows the menu of",
			published: &publish.Publication{State: publish.Failed, PublishedAt: since, Message: "it answered 422"}},
		{item: item(nil), reason: console.PlaceMenuWaits, state: ui.Warn,
			says: "Live, newer menu waiting: The menu there may lack the item",
			published: &publish.Publication{State: publish.Published, PublishedAt: since, DueAt: since,
				Note: "it answered 429"}},
		{item: item(nil), reason: console.PlaceMenuFailed, state: ui.Err, says: "Not shown: The menu was not published",
			published: &publish.Publication{State: publish.Failed, Message: "it answered 422"}},
	} {
		t.Run(row.says, func(t *testing.T) {
			place := sold
			place.Reason, place.Menu = row.reason, row.published
			if row.change != nil {
				row.change(&place)
			}
			visibility := ItemVisibility(row.item, place, tasty(&ready, row.published), since, time.UTC)
			require.Equal(t, row.state, visibility.State)
			require.Contains(t, visibility.Label+": "+visibility.Why, row.says)
		})
	}
}

func TestEachFindingOfAnItemIsShown(t *testing.T) {
	causes := ItemFindings(console.ItemDetail{Findings: []console.ItemFinding{{Platform: "a", Rule: "r1", Message: "m"},
		{Platform: "a", Rule: "r2", Message: "n"}, {Platform: "b", Rule: "r1"}},
		Rejections: []console.ItemRejection{{Platform: "tasty", Message: "photo required", Stores: 2}}})
	require.Len(t, causes, 4)
	require.Contains(t, causes[0].Text, "a does not accept the item: m")
	require.Contains(t, causes[1].Text, "a does not accept the item: n")
	require.Contains(t, causes[3].Text, "tasty rejected this item at 2 stores: photo required")
}

func TestWarningKeepsNoItemOffItsPlatform(t *testing.T) {
	warned := item(func(i *console.ItemDetail) {
		i.Findings = []console.ItemFinding{{Platform: "web", Rule: "photo", Message: "no photo", Warning: true}}
	})
	counts := []console.ItemPlaceCount{{Platform: "web", Stores: 3}}
	state, label, _ := ItemOnPlatform(warned, "web", counts)
	require.Equal(t, []any{ui.OK, "Customers can order it at 3 of 3 stores"}, []any{state, label})
	warned.Findings[0].Warning = false
	state, label, _ = ItemOnPlatform(warned, "web", counts)
	require.Equal(t, []any{ui.Err, "Not shown"}, []any{state, label})
}

func TestItemWithoutPlacesIsNeverShownAsListed(t *testing.T) {
	at := func(reason console.PlaceReason, stores int) []console.ItemPlaceCount {
		return []console.ItemPlaceCount{{Platform: "web", Reason: reason, Stores: stores}}
	}
	for _, row := range []struct {
		counts    []console.ItemPlaceCount
		state     ui.State
		label     string
		why, says string
	}{
		{at("", 3), ui.OK, "Customers can order it at 3 of 3 stores", "",
			"Customers can order the item at all 3 stores that sell it."},
		{at(console.PlaceReason(menu.OutOfStock), 3), ui.Err, "Customers can order it at 0 of 3 stores",
			"out of stock: 3 stores",
			"The item is out of stock at every store that sells it."},
		{at(console.PlaceReason(menu.Unavailable), 1), ui.Err, "Customers can order it at 0 of 1 store",
			"not available: 1 store", "The item is not available at any store"},
		{nil, ui.Neutral, "Not shown", "No store on this platform sells it", "No store sells this item."},
		{at(console.PlaceUnlisted, 2), ui.Neutral, "Not shown", "No store on this platform sells it",
			"Customers cannot order the item on any platform."},
		{at(console.PlaceFirstMenu, 2), ui.Warn, "Customers can order it at 0 of 2 stores",
			"waiting for a first menu there: 2 stores",
			"Customers cannot order the item yet, because the first menus are being published."},
		{append(at("", 1), at(console.PlaceNoOrders, 2)...), ui.Warn, "Customers can order it at 1 of 3 stores",
			"not taking orders: 2 stores", "Customers can order the item on all platforms, but not at all stores."},
	} {
		state, label, why := ItemOnPlatform(item(nil), "web", row.counts)
		require.Equal(t, []any{row.state, row.label, row.why}, []any{state, label, why})
		found := Item(item(nil), []string{"web"}, row.counts, since)
		require.Contains(t, found.Text, row.says)
		require.Equal(t, row.state == ui.OK, found.State == ui.OK)
	}
	some := Item(item(func(i *console.ItemDetail) { i.Platforms = []string{"web"} }), []string{"tasty", "web"},
		append(at("", 2), console.ItemPlaceCount{Platform: "tasty", Reason: console.PlaceReason(menu.NotListed),
			Stores: 2}), since)
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "Customers can order the item on web, but not on tasty.",
		Detail: "tasty: The POS has not selected this platform for the item. To sell it there, select the " +
			"platform in the POS (field included_platforms)."}, some)
}

func TestEarlierMenuLeavesAnItemUncertain(t *testing.T) {
	at := func(platform string, reason console.PlaceReason) console.ItemPlaceCount {
		return console.ItemPlaceCount{Platform: platform, Reason: reason, Stores: 2}
	}
	for _, reason := range []console.PlaceReason{console.PlaceOldMenu, console.PlaceMenuWaits} {
		counts := []console.ItemPlaceCount{at("tasty", reason)}
		state, label, why := ItemOnPlatform(item(nil), "tasty", counts)
		require.Equal(t, []any{ui.Warn, "Uncertain"}, []any{state, label})
		require.Equal(t, ItemPlaceLabel(reason)+": 2 stores", why)
		found := Item(item(nil), []string{"tasty", "web"}, counts, since)
		require.Equal(t, ui.Cause{State: ui.Warn, Text: "It is uncertain whether customers can order the item on " +
			"tasty, where an earlier menu is shown.", Detail: "tasty: " + why}, found)

		counts = append(counts, at("web", ""))
		found = Item(item(nil), []string{"tasty", "web"}, counts, since)
		require.Equal(t, "Customers can order the item on web. It is uncertain on tasty, where an earlier menu is "+
			"shown.", found.Text)
		_, label, _ = ItemOnPlatform(item(nil), "tasty", append(counts, at("tasty", "")))
		require.Equal(t, "Customers can order it at 2 of 4 stores", label)
	}
}

func TestStoreWithoutItemsIsNotLive(t *testing.T) {
	require.Empty(t, NoItems(map[menu.Reason]int{menu.Orderable: 1, menu.OutOfStock: 2}))
	require.Contains(t, NoItems(nil), "The store sells no items.")
	why := NoItems(map[menu.Reason]int{menu.Unavailable: 10, menu.OutOfStock: 2})
	require.Equal(t, "Customers can order none of its 12 items (not available: 10, out of stock: 2).", why)
	for _, servedBy := range []string{core.ServedByMerchant, "aggregator-a"} {
		require.Equal(t, Visibility{ui.Err, "No item to order", why, AtItems}, StoreVisibility(openStore(nil),
			Platform{Platform: core.Platform{Name: "web", ServedBy: servedBy}, NoItems: why}, since, time.UTC))
	}
}

func TestLabelsOfReasonsAreComplete(t *testing.T) {
	for _, reason := range console.ItemReasons() {
		require.NotEmpty(t, ItemPlaceLabel(reason), reason)
	}
	for _, reason := range console.PlaceReasons() {
		require.NotEmpty(t, PlaceLabel(reason), reason)
	}
}

func TestReasonWithItsOwnCauseIsNotRepeated(t *testing.T) {
	broken := item(func(i *console.ItemDetail) {
		i.Findings = []console.ItemFinding{{Platform: "tasty", Rule: "r", Message: "no image"}}
	})
	found := Item(broken, []string{"tasty", "web"}, []console.ItemPlaceCount{{Platform: "web", Stores: 2},
		{Platform: "tasty", Reason: console.PlaceReason(menu.BreaksRule), Stores: 2}}, since)
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "Customers can order the item on web, but not on tasty."}, found)
}
