package cause

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// sold is an item at a store that sells it.
var sold = console.ItemStore{Store: console.GridStore{RefID: "S-1", Active: true, Ordering: true,
	Included: []string{"tasty", "web"}}, Sold: true, Available: true, Stock: -1}

// item returns an item sold at a store, after a change.
func item(change func(*console.ItemDetail)) console.ItemDetail {
	i := console.ItemDetail{Item: console.Item{RefID: "dal", Active: true}, Stores: []console.ItemStore{sold}}
	if change != nil {
		change(&i)
	}
	return i
}

func itemStore(change func(*console.ItemStore)) console.ItemStore {
	p := sold
	change(&p)
	return p
}

func tasty(plugin *console.Plugin, published *publish.Publication) Platform {
	return Platform{core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, plugin, published}
}

// shownOn is a case for an item at a store on a platform with a working plugin.
type shownOn struct {
	item      console.ItemDetail
	store     console.ItemStore
	published *publish.Publication
	state     ui.State
	says      string
}

func requireShownOn(t *testing.T, rows map[string]shownOn) {
	t.Helper()
	ready := pluginIn("ready", true)
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			visibility := ItemVisibilityOn(row.item, row.store, tasty(&ready, row.published), since)
			require.Equal(t, row.state, visibility.State)
			require.Contains(t, visibility.Label+": "+visibility.Why, row.says)
		})
	}
}

func TestItemAbsenceOnAPlatformIsExplained(t *testing.T) {
	requireShownOn(t, map[string]shownOn{
		"shown": {item(nil), sold, nil, ui.OK, "Shown"},
		"inactive": {item(func(i *console.ItemDetail) { i.Active = false }), sold, nil, ui.Err,
			"inactive in the master catalogue"},
		"category inactive": {item(func(i *console.ItemDetail) {
			i.Categories =
				[]console.ItemCategory{{RefID: "mains"}}
		}), sold, nil, ui.Err, "category mains is inactive"},
		"not listed": {item(func(i *console.ItemDetail) { i.Platforms = []string{"web"} }), sold, nil, ui.Neutral,
			"has not selected this platform"},
		"rule violated": {item(func(i *console.ItemDetail) {
			i.Findings = []console.ItemFinding{{Platform: "tasty", Rule: "nutrition_energy",
				Message: "calorie_kcal is missing"}}
		}), sold, nil, ui.Err, "rule nutrition_energy is not met: calorie_kcal is missing"},
		"rule violated on another platform": {item(func(i *console.ItemDetail) {
			i.Findings =
				[]console.ItemFinding{{Platform: "other", Rule: "r"}}
		}), sold, nil, ui.OK, "Shown"},
		"outside sale hours": {item(func(i *console.ItemDetail) {
			i.Categories = []console.ItemCategory{{Active: true, RefID: "b",
				SaleHours: []core.DayHours{{Day: "monday",
					Slots: []core.HoursSlot{{StartTime: "08:00:00", EndTime: "11:30:00"}}}}}}
		}), sold, &publish.Publication{State: publish.Published}, ui.Warn,
			"Not on sale now: Not on sale now. Sale hours by category: b (Mon 08:00–11:30)."},
	})
}

func TestItemAbsenceAtAStoreIsExplained(t *testing.T) {
	requireShownOn(t, map[string]shownOn{
		"not sold at the store": {item(nil), itemStore(func(p *console.ItemStore) { p.Sold = false }), nil, ui.Neutral,
			"does not sell it"},
		"unavailable": {item(nil), itemStore(func(p *console.ItemStore) { p.Available = false }), nil, ui.Warn,
			"available is false"},
		"out of stock": {item(nil), itemStore(func(p *console.ItemStore) { p.Stock = 0 }), nil, ui.Warn,
			"Out of stock"},
		"store not listed": {item(nil), itemStore(func(p *console.ItemStore) { p.Store.Included = []string{"web"} }),
			nil, ui.Neutral, "The store is not listed on this platform"},
		"store inactive": {item(nil), itemStore(func(p *console.ItemStore) { p.Store.Active = false }), nil,
			ui.Warn, "Not shown: The store is inactive"},
		"store hidden": {item(nil), itemStore(func(p *console.ItemStore) { p.Store.Hidden = true }), nil, ui.Warn,
			"Hidden: The store is hidden"},
		"store closed on the platform": {item(nil), itemStore(func(p *console.ItemStore) {
			p.Store.ClosedOn = []byte(`[{"platform":"tasty","actor":"key:pos","since":0}]`)
		}), nil, ui.Err, "Not shown: Closed on this platform by the API key \"pos\""},
		"store closed by its hours": {item(nil), itemStore(func(p *console.ItemStore) {
			p.Store.Timings = []core.DayHours{{Day: "sunday",
				Slots: []core.HoursSlot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
		}), nil, ui.Warn, "Closed now: The store is closed now"},
	})
}

func TestItemAbsenceFromAMenuIsExplained(t *testing.T) {
	requireShownOn(t, map[string]shownOn{
		"item rejected": {item(nil), sold,
			&publish.Publication{State: publish.Published,
				Errors: []publish.Problem{{Entity: "item", RefID: "dal", Message: "no image"}}},
			ui.Err, "Rejected by the platform: no image"},
		"menu rejected": {item(nil), sold,
			&publish.Publication{State: publish.Failed, Message: "it answered 422"}, ui.Err,
			"not published: it answered 422"},
		"change rejected": {item(nil), sold,
			&publish.Publication{State: publish.Failed, PublishedAt: since, Message: "it answered 422",
				Errors: []publish.Problem{{Entity: "item", RefID: "dal"}}},
			ui.Warn,
			"Old menu: The platform shows the menu of 21 Nov 09:30 UTC. A newer change failed: it answered 422"},
		"menu published": {item(nil), sold, &publish.Publication{State: publish.Published}, ui.OK, "Shown"},
		"another item rejected": {item(nil), sold,
			&publish.Publication{State: publish.Published, Errors: []publish.Problem{{Entity: "item", RefID: "naan"}}},
			ui.OK, "Shown"},
		"change waiting": {item(nil), sold,
			&publish.Publication{State: publish.Published, PublishedAt: since, DueAt: since,
				Note: "the plugin is not running"}, ui.Warn,
			"Menu waiting: The platform shows the menu of 21 Nov 09:30 UTC. A newer change is waiting: the plugin is " +
				"not running"},
		"change being published": {item(nil), sold,
			&publish.Publication{State: publish.Published, PublishedAt: since, DueAt: since}, ui.Run,
			"Publishing: The platform shows the menu of 21 Nov 09:30 UTC. A newer change is being published."},
		"listed again, menu waiting": {item(nil), sold,
			&publish.Publication{State: publish.Unlisted, Message: "it is not listed", DueAt: since,
				Note: "the plugin is not running"}, ui.Warn,
			"Menu waiting: The menu is waiting to be published: the plugin is not running"},
	})
}

func TestItemRejectedByAPlatformIsExplained(t *testing.T) {
	ready, down := pluginIn("ready", true), pluginIn("quarantined", true, "no memory")
	causes := ItemFindings(console.ItemDetail{Findings: []console.ItemFinding{{Platform: "a", Rule: "r1", Message: "m"},
		{Platform: "a", Rule: "r2"}, {Platform: "b", Rule: "r1"}}})
	require.Len(t, causes, 2, "one for each platform")
	require.Contains(t, causes[0].Text, "is not listed on a: m")
	rejected := console.ItemDetail{Item: console.Item{Active: true},
		Rejections: []console.ItemRejection{{Platform: "tasty", Message: "photo required", Stores: 2}}}
	causes = ItemFindings(rejected)
	require.Contains(t, causes[0].Text, "tasty rejected this item at 2 stores: photo required")
	state, why := ItemOnPlatform(rejected, "tasty")
	require.Equal(t, ui.Err, state)
	require.Contains(t, why, "Rejected by the platform at 2 stores: photo required")
	require.Equal(t, Visibility{State: ui.OK, Label: "Shown"},
		ItemVisibilityOn(rejected, sold, tasty(&ready, &publish.Publication{State: publish.Published}), since),
		"at a store where the platform has it")
	require.Contains(t, ItemVisibilityOn(rejected, sold, tasty(&down, nil), since).Why, "failed too often")
	old := publish.Publication{State: publish.Published, PublishedAt: since, DueAt: since,
		Note: "the plugin is not running"}
	require.Equal(t, Visibility{State: ui.Err, Label: "Not live",
		Why:    "The platform shows the menu of 21 Nov 09:30 UTC. A newer change is waiting: the plugin is not running",
		Remedy: AtPlugin},
		ItemVisibilityOn(rejected, sold, tasty(&down, &old), since))
}

func TestItemNamesThePlatformsOfCustomers(t *testing.T) {
	ready := pluginIn("ready", true)
	published := publish.Publication{State: publish.Published, PublishedAt: since}
	const some, none = "Customers can order the item on web, but not on tasty.",
		"Customers cannot order the item on any platform."
	for name, row := range map[string]struct {
		item      console.ItemDetail
		published publish.Publication
		want      ui.Cause
	}{
		"on all": {item(nil), published, ui.Cause{State: ui.OK,
			Text: "Customers can order the item at the only store that sells it."}},
		"not selected": {item(func(i *console.ItemDetail) { i.Platforms = []string{"web"} }), published,
			ui.Cause{State: ui.Warn, Text: some, Detail: "tasty: The POS has not selected this platform " +
				"for the item (included_platforms)"}},
		"no menu": {item(nil), publish.Publication{State: publish.Waiting, Note: "the plugin is down"},
			ui.Cause{State: ui.Warn, Text: some,
				Detail: "tasty: The menu is waiting to be published: the plugin is down"}},
		"first menu under way": {item(nil), publish.Publication{State: publish.Waiting},
			ui.Cause{State: ui.Warn, Text: some, Detail: "tasty: The menu is being published."}},
		"menus not sent": {item(nil), publish.Publication{State: publish.Skipped},
			ui.Cause{State: ui.Warn, Text: some}},
		"at further stores at most": {item(func(i *console.ItemDetail) {
			i.MoreStores = true
			i.Stores = []console.ItemStore{itemStore(func(s *console.ItemStore) { s.Store.Hidden = true })}
		}), published, ui.Cause{State: ui.Warn,
			Text: "Customers cannot order the item at the first 1 store that sell it."}},
		"rejected by the platform": {item(nil), publish.Publication{State: publish.Published, PublishedAt: since,
			Errors: []publish.Problem{{Entity: "item", RefID: "dal", Message: "no image"}}},
			ui.Cause{State: ui.Warn, Text: some, Detail: "tasty: Rejected by the platform: no image"}},
		"selected for another": {item(func(i *console.ItemDetail) { i.Platforms = []string{"app"} }), published,
			ui.Cause{State: ui.Err, Text: none}},
		"hidden store": {item(func(i *console.ItemDetail) {
			i.Stores = []console.ItemStore{itemStore(func(s *console.ItemStore) { s.Store.Hidden = true })}
		}), published, ui.Cause{State: ui.Err, Text: none}},
		"further stores": {item(func(i *console.ItemDetail) { i.MoreStores = true }),
			publish.Publication{State: publish.Waiting},
			ui.Cause{State: ui.OK, Text: "Customers can order the item at 1 of 1 store."}},
		"out of stock": {item(func(i *console.ItemDetail) {
			i.Stores = []console.ItemStore{itemStore(func(s *console.ItemStore) { s.Stock = 0 })}
		}), published, ui.Cause{State: ui.Warn, Text: "The item is out of stock at all stores.",
			Detail: "Set the stock of the item in the POS."}},
	} {
		t.Run(name, func(t *testing.T) {
			found := Item(row.item, []PlatformMenus{
				{Platform: core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, Plugin: &ready,
					Published: map[string]*publish.Publication{"S-1": &row.published}},
				{Platform: core.Platform{Name: "web", ServedBy: core.ServedByMerchant}}}, since)
			if row.want.State == ui.Err {
				require.NotEmpty(t, found.Detail)
				found.Detail = ""
			}
			require.Equal(t, row.want, found)
		})
	}
}

func TestReasonWithItsOwnCauseIsNotRepeated(t *testing.T) {
	menus := []PlatformMenus{{Platform: core.Platform{Name: "tasty", ServedBy: core.ServedByMerchant}},
		{Platform: core.Platform{Name: "web", ServedBy: core.ServedByMerchant}}}
	rejected := item(func(i *console.ItemDetail) {
		i.Findings = []console.ItemFinding{{Platform: "tasty", Rule: "r", Message: "m"}}
	})
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "Customers can order the item on web, but not on tasty."},
		Item(rejected, menus, since))
	require.Len(t, ItemFindings(rejected), 1)
}

func TestItemAtAllItsStoresSaysSo(t *testing.T) {
	sold := item(func(i *console.ItemDetail) {
		i.Stores = append(i.Stores, itemStore(func(s *console.ItemStore) { s.Store.RefID = "S-2" }))
	})
	require.Equal(t, "Customers can order the item at all 2 stores that sell it.", Item(sold, nil, since).Text)
}
