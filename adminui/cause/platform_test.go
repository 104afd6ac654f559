package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

func pluginIn(state string, enabled bool, faults ...string) console.Plugin {
	p := console.Plugin{ID: "aggregator-a", Enabled: enabled, State: state, Since: since,
		Hubs: []console.PluginHub{{State: state}}}
	for _, text := range faults {
		p.Faults = append(p.Faults, console.PluginFault{At: since, Text: text, Ended: true})
	}
	return p
}

func TestPluginStateIsExplained(t *testing.T) {
	missing := pluginIn("ready", true)
	missing.Hubs = nil
	degraded := pluginIn("degraded", true)
	degraded.Health = "it says that it is degraded: the cache is cold"
	partly := pluginIn("ready", true)
	partly.Hubs = append(partly.Hubs, console.PluginHub{State: "quarantined"})
	for name, row := range map[string]struct {
		plugin console.Plugin
		state  ui.State
		says   string
	}{
		"disabled":          {pluginIn("stopped", false), ui.Held, "An operator has disabled plugin aggregator-a"},
		"never started":     {console.Plugin{ID: "x", Enabled: true}, ui.Warn, "No hub has run plugin x yet"},
		"in no running hub": {missing, ui.Err, "No running hub has plugin aggregator-a"},
		"quarantined": {pluginIn("quarantined", true, "its process ended"), ui.Err,
			"failed too often and has been stopped since 21 Nov 09:30 UTC: its process ended"},
		"quarantined in one of two": {partly, ui.Err, "failed too often"},
		"quarantined without a reason": {pluginIn("quarantined", true), ui.Err,
			"has been stopped since 21 Nov 09:30 UTC."},
		"restarting": {pluginIn("backoff", true, "no memory"), ui.Err,
			"restarts in a moment: no memory"},
		"degraded": {pluginIn("degraded", true), ui.Warn, "has reported a problem since 21 Nov 09:30 UTC."},
		"degraded with a reason": {degraded, ui.Warn,
			"has reported a problem since 21 Nov 09:30 UTC: it says that it is degraded: the cache is cold"},
		"starting":            {pluginIn("starting", true), ui.Run, "is starting"},
		"ready":               {pluginIn("ready", true), ui.OK, "has worked since 21 Nov 09:30 UTC"},
		"ready after a fault": {pluginIn("ready", true, "once"), ui.OK, "has worked since"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Plugin(row.plugin, time.UTC)
			require.Equal(t, row.state, c.State)
			require.Contains(t, c.Text, row.says)
		})
	}
}

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

// explainedStore is a store on a platform and its expected visibility.
type explainedStore struct {
	store     store.Stored
	platform  string
	plugin    *console.Plugin
	published *publish.Publication
	state     ui.State
	label     string
	says      string
	remedy    Remedy
}

func requireExplainedStores(t *testing.T, rows map[string]explainedStore) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			servedBy := "aggregator-a"
			if row.platform == "web" {
				servedBy = core.ServedByMerchant
			}
			visibility := StoreVisibility(row.store,
				Platform{core.Platform{Name: row.platform, ServedBy: servedBy}, row.plugin, row.published}, since)
			require.Contains(t, visibility.Why, row.says)
			visibility.Why = ""
			require.Equal(t, Visibility{State: row.state, Label: row.label, Remedy: row.remedy}, visibility)
		})
	}
}

// openStore returns an active store listed on tasty and web, after a change.
func openStore(change func(*store.Stored)) store.Stored {
	yes, no := true, false
	s := store.Stored{Object: store.Object{IncludedPlatforms: []string{"tasty", "web"}, Active: &yes,
		OrderingEnabled: &yes, HideFromUI: &no}}
	if change != nil {
		change(&s)
	}
	return s
}

func TestStoreAbsenceOnAPlatformIsExplained(t *testing.T) {
	open := openStore(nil)
	ready, degraded, down := pluginIn("ready", true), pluginIn("degraded", true),
		pluginIn("quarantined", true, "no memory")
	requireExplainedStores(t, map[string]explainedStore{
		"live":                    {open, "tasty", &ready, nil, ui.OK, "Live", "", AtStore},
		"live on an own platform": {open, "web", nil, nil, ui.OK, "Live", "", AtStore},
		"no platform list": {openStore(func(s *store.Stored) { s.IncludedPlatforms = nil }), "tasty", &ready, nil,
			ui.Neutral, "Not listed", "The store is not listed on this platform", AtStore},
		"closed by its hours": {openStore(func(s *store.Stored) {
			s.Timings = []store.Timing{{Day: "sunday",
				Slots: []store.Slot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
		}), "tasty", &ready, nil, ui.Warn, "Closed now", "closed now", AtStore},
		"closed, and menu rejected": {openStore(func(s *store.Stored) {
			s.Timings = []store.Timing{{Day: "sunday",
				Slots: []store.Slot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
		}), "tasty", &ready, &publish.Publication{State: publish.Failed, Message: "no"}, ui.Err, "Not live",
			"not published",
			AtSettings},
		"plugin down": {open, "tasty", &down, nil, ui.Err, "Not live",
			"failed too often and has been stopped", AtPlugin},
		"plugin degraded": {open, "tasty", &degraded, nil, ui.OK, "Live", "", AtStore},
		"plugin unknown": {open, "tasty", nil, nil, ui.Err, "Not live",
			"The platform needs plugin aggregator-a",
			AtSettings},
	})
}

func TestPlatformWithoutAMenuIsKnown(t *testing.T) {
	for name, row := range map[string]struct {
		published *publish.Publication
		lacks     bool
	}{
		"unknown":      {nil, false},
		"published":    {&publish.Publication{State: publish.Published}, false},
		"first waits":  {&publish.Publication{State: publish.Waiting}, true},
		"first failed": {&publish.Publication{State: publish.Failed}, true},
		"newer failed": {&publish.Publication{State: publish.Failed, PublishedAt: since}, false},
		"unlisted":     {&publish.Publication{State: publish.Unlisted, PublishedAt: since}, true},
		"none sent":    {&publish.Publication{State: publish.Skipped}, true},
	} {
		require.Equal(t, row.lacks, tasty(nil, row.published).LacksMenu(), name)
	}
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

func TestStoreMenuStateIsExplained(t *testing.T) {
	open, ready := openStore(nil), pluginIn("ready", true)
	requireExplainedStores(t, map[string]explainedStore{
		"publishing failed": {open, "tasty", &ready,
			&publish.Publication{State: publish.Failed, Message: "it answered 401"}, ui.Err, "Not live",
			"not published: it answered 401", AtSettings},
		"change rejected": {open, "tasty", &ready,
			&publish.Publication{State: publish.Failed, PublishedAt: since, Message: "it answered 401"}, ui.Warn,
			"Old menu", "shows the menu of 21 Nov 09:30 UTC. A newer change failed: it answered 401",
			AtSettings},
		"change waiting": {open, "tasty", &ready,
			&publish.Publication{State: publish.Published, PublishedAt: since, DueAt: since,
				Note: "the plugin is down"}, ui.Warn, "Menu waiting",
			"shows the menu of 21 Nov 09:30 UTC. A newer change is waiting: the plugin is down", AtSettings},
		"publication waiting": {open, "tasty", &ready,
			&publish.Publication{State: publish.Waiting, Note: "the plugin is down"}, ui.Warn, "Menu waiting",
			"is waiting to be published: the plugin is down", AtSettings},
		"being published": {open, "tasty", &ready, &publish.Publication{State: publish.Waiting}, ui.Run, "Publishing",
			"being published", AtStore},
		"item missing": {open, "tasty", &ready,
			&publish.Publication{State: publish.Published,
				Errors: []publish.Problem{{Entity: "item", RefID: "dal", Message: "no image"},
					{Entity: "item", RefID: "dal", Message: "no name"}}},
			ui.Warn, "Live, 1 item missing", "Published without 1 item (dal): no image", AtItem},
		"objects of several kinds missing": {open, "tasty", &ready,
			&publish.Publication{State: publish.Published,
				Errors: []publish.Problem{{Entity: "option", RefID: "hot", Message: "no"},
					{Entity: "item", RefID: "dal"}}},
			ui.Warn, "Live, 2 objects missing", "Published without 2 objects (hot, …): no", AtItem},
		"menus not sent": {open, "tasty", &ready,
			&publish.Publication{State: publish.Skipped, Message: "it takes none"}, ui.Neutral, "Not listed",
			"it takes none", AtStore},
	})
}

func TestOnlyLivePlatformsTakeOrders(t *testing.T) {
	yes := true
	s := store.Stored{Object: store.Object{IncludedPlatforms: []string{"tasty", "web"}, Active: &yes,
		OrderingEnabled: &yes}}
	cause := Store(s, []string{"tasty", "web"}, []string{"tasty"}, since)
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "The store accepts orders on web."}, cause)
	require.Equal(t, ui.Err, Store(s, []string{"tasty", "web"}, []string{"tasty", "web"}, since).State)
}

func TestRejectionSuggestsARemedy(t *testing.T) {
	about := console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}},
		Endpoints: []console.PluginEndpoint{{Name: "api"}}}
	for message, want := range map[string]string{
		"the aggregator responded with 401 Unauthorized": "Check the secret api_key in the settings of the platform.",
		"unknown partner key":                            "Check the secret api_key in the settings of the platform.",
		"the server name api.example.com was not found on the public internet": "Check the URL api in the settings of " +
			"the platform.",
		`the platform has no URL for the endpoint "api" of its plugin`: "Check the URL api in the settings of the " +
			"platform.",
		"the aggregator responded with 503 Service Unavailable": "",
		"products[0].categories must be an array":               "",
		`the category "mains" does not exist`:                   "",
	} {
		require.Equal(t, want, SettingsRemedy(about, message), message)
	}
	require.Empty(t, SettingsRemedy(console.PluginAbout{}, "unknown partner key"))
	cause := RejectedMenus(console.RejectedMenus{Platform: "tasty", Count: 12, Message: "unknown partner key"},
		&console.Plugin{About: about})
	require.Contains(t, cause.Text, "tasty rejects the menu of 12 stores: unknown partner key")
	require.Contains(t, cause.Detail, "the secret api_key")
	require.Empty(t, RejectedMenus(console.RejectedMenus{}, nil).Detail)
}

func TestStatusOfAPlatformIsExplained(t *testing.T) {
	for message, want := range map[string]string{
		"the aggregator responded with 401: unknown key":        "tasty rejected the login (401: unknown key)",
		"the aggregator responded with 422":                     "tasty rejected the menu (422)",
		"the aggregator responded with 503 Service Unavailable": "tasty is unavailable (503 Service Unavailable)",
		"the aggregator responded with 400 Bad Request":         "tasty responded with error 400 Bad Request",
		"plugin aggregator-a is not running":                    "the plugin of tasty (aggregator-a) is not running",
		"photo required":                                        "photo required",
	} {
		require.Equal(t, want, menuMessage("tasty", message))
	}
	require.Equal(t, "tasty rejected the content (422: no outlet 17)",
		PlatformMessage("tasty", "the aggregator responded with 422: no outlet 17"))
	for message, want := range map[string]string{
		"the aggregator responded with 422: no outlet 17": "content rejected (422: no outlet 17)",
		"the aggregator responded with 418 I'm a teapot":  "418 I'm a teapot",
		"photo required": "photo required",
	} {
		require.Equal(t, "tasty rejects the menu of 1 store: "+want,
			RejectedMenus(console.RejectedMenus{Platform: "tasty", Count: 1, Message: message}, nil).Text)
	}
}

func TestPlatformNamesWhatServesIt(t *testing.T) {
	require.Equal(t, "the merchant itself", ServedBy(core.Platform{ServedBy: core.ServedByMerchant}))
	require.Equal(t, "plugin aggregator-a", ServedBy(core.Platform{ServedBy: "aggregator-a"}))
}

func TestFailedPluginNamesItsPlatforms(t *testing.T) {
	down := pluginIn("quarantined", true, "no memory")
	require.NotContains(t, Plugin(down, time.UTC).Detail, "connects")
	for _, platform := range []string{"a", "b", "a", "c", "d"} {
		down.Serves = append(down.Serves, console.Served{Platform: platform})
	}
	require.Contains(t, Plugin(down, time.UTC).Detail, "The plugin connects the hub to a, b, c, ….")
}
