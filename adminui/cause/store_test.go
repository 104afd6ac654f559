package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

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
				Platform{Platform: core.Platform{Name: row.platform, ServedBy: servedBy}, Plugin: row.plugin,
					Published: row.published}, since, time.UTC)
			require.Contains(t, visibility.Why, row.says)
			visibility.Why = ""
			require.Equal(t, Visibility{State: row.state, Label: row.label, Remedy: row.remedy}, visibility)
		})
	}
}

// ownPlatform returns a platform that the merchant serves.
func ownPlatform(name string) Platform {
	return Platform{Platform: core.Platform{Name: name, ServedBy: core.ServedByMerchant}}
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
			ui.Neutral, "Not listed", "The POS has not selected this platform for the store", AtStore},
		"closed by its hours": {openStore(func(s *store.Stored) {
			s.Timings = []store.Timing{{Day: "sunday",
				Slots: []core.HoursSlot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
		}), "tasty", &ready, nil, ui.Warn, "Closed now", "closed now", AtStore},
		"closed, and menu rejected": {openStore(func(s *store.Stored) {
			s.Timings = []store.Timing{{Day: "sunday",
				Slots: []core.HoursSlot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
		}), "tasty", &ready, &publish.Publication{State: publish.Failed, Message: "no"}, ui.Err, "Not live",
			"not published",
			AtSettings},
		"plugin down": {open, "tasty", &down, nil, ui.Err, "Not live",
			"because it failed too often", AtPlugin},
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
				Note: "the plugin is down"}, ui.Warn, "Live, newer menu waiting",
			"shows the menu of 21 Nov 09:30 UTC. A newer change is waiting: the plugin is down", AtSettings},
		"publication waiting": {open, "tasty", &ready,
			&publish.Publication{State: publish.Waiting, Note: "the plugin is down"}, ui.Warn, "Not live, menu waiting",
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
	cause := Store(s, []string{"tasty", "web"}, []string{"tasty"}, "", since)
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "The store accepts orders on web."}, cause)
	both := []string{"tasty", "web"}
	require.Equal(t, ui.Err, Store(s, both, both, "", since).State)
	starting := Store(s, both, both, text.StoreFirstMenu, since)
	require.Equal(t, ui.Warn, starting.State, "the first publishing is no error")
	require.Contains(t, starting.Text, "being published for the first time")
}

func TestHoursOfADateExplainAClosedStore(t *testing.T) {
	now := time.Date(2026, 12, 25, 20, 0, 0, 0, time.UTC)
	for want, date := range map[string]core.DateHours{
		"Opening hours on Fri 25 Dec 2026 (Christmas): closed.": {Date: "2026-12-25", Closed: true,
			Reason: "Christmas"},
		"Opening hours on Fri 25 Dec 2026: 10:00–14:00.": {Date: "2026-12-25",
			Slots: []core.HoursSlot{{StartTime: "10:00:00", EndTime: "14:00:00"}}},
		"Opening hours: Sun 01:00–02:00.": {Date: "2026-12-24", Closed: true},
	} {
		closed := openStore(func(s *store.Stored) {
			s.Timings = []store.Timing{{Day: "sunday",
				Slots: []core.HoursSlot{{StartTime: "01:00:00", EndTime: "02:00:00"}}}}
			s.SpecialTimings = []core.DateHours{date}
		})
		cause := Store(closed, []string{"tasty"}, nil, "", now)
		require.Equal(t, ui.Warn, cause.State)
		require.Equal(t, want, cause.Detail)
	}
}

func TestBusyStoreIsExplainedByPlatforms(t *testing.T) {
	at := since.UnixMilli()
	s := openStore(func(s *store.Stored) {
		s.IncludedPlatforms = []string{"tasty", "web", "app"}
		s.BusyOn = []store.PlatformBusy{
			{Platform: "app", PrepMinutes: 40, Actor: "key:100%s", Since: at, Until: at + 3_600_000},
			{Platform: "elsewhere", Actor: "key:pos", Since: at}, {Platform: "tasty", Actor: "key:pos", Since: at},
			{Platform: "web", Actor: "key:pos", Since: at}}
	})
	var texts []string
	for _, c := range StoreBusy(s, time.UTC) {
		require.Equal(t, ui.Warn, c.State)
		texts = append(texts, c.Text)
	}
	require.Len(t, texts, 2)
	require.Contains(t, texts[0], "busy on app, set by")
	require.Contains(t, texts[0], "100%s")
	require.Contains(t, texts[0], "New orders take 40 minutes. This ends automatically on 21 Nov at 10:30 UTC.")
	require.Contains(t, texts[1], "busy on tasty and web, set by")
}
