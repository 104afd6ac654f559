package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/store"
)

func TestClosedStoreShowsWhoClosedItUntilWhen(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := store.Stored{Object: store.Object{ExcludedPlatforms: []string{}}, ClosedOn: []store.PlatformClosure{
		{Platform: "app", Actor: "hub", Source: "presence", Reason: "silent since noon", Since: noon.UnixMilli()},
		{Platform: "web", Actor: "key:pos", Since: noon.UnixMilli(), TurnOnAt: noon.Add(time.Hour).UnixMilli()},
	}}
	for platform, why := range map[string]string{
		"app": "Closed on this platform by the hub since 23 Nov 12:00 UTC, because the POS does not contact the hub",
		"web": "Closed on this platform by the POS (API key \"pos\") since 23 Nov 12:00 UTC. It opens " +
			"automatically on 23 Nov at 13:00 UTC",
		"tasty": "",
	} {
		require.Equal(t, why, StoreVisibility(s, ownPlatform(platform), noon, time.UTC).Why)
	}
	require.Equal(t, ui.Warn, Store(s, []string{"app", "tasty", "web"}, nil, "", noon).State)
	require.Contains(t, Store(s, []string{"app", "tasty", "web"}, nil, "", noon).Text, "on tasty.")
	require.Equal(t, ui.Err, Store(s, []string{"app", "web"}, nil, "", noon).State)
}

func TestEveryStoreClosureShowsWhatReopensIt(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := store.Stored{Object: store.Object{IncludedPlatforms: []string{"app", "tasty", "web"}},
		ClosedOn: []store.PlatformClosure{
			{Platform: "app", Actor: "key:pos", Since: noon.UnixMilli()},
			{Platform: "gone", Actor: "key:pos", Since: noon.UnixMilli()},
			{Platform: "tasty", Actor: "hub", Source: "presence", Reason: "the POS is silent", Since: noon.UnixMilli()},
			{Platform: "web", Actor: "key:pos", Since: noon.UnixMilli()},
		}}
	causes := StoreClosures(s, time.FixedZone("CET", 3600))
	require.Len(t, causes, 2, "one per action; unlisted platforms are left out")
	require.Equal(t, "Closed on app and web by the POS (API key \"pos\") since 23 Nov 13:00 CET.", causes[0].Text)
	require.Contains(t, causes[0].Detail, "Open the store in the POS.")
	require.Equal(t, "Closed on tasty by the hub since 23 Nov 13:00 CET, because the POS does not contact "+
		"the hub.", causes[1].Text)
	require.Contains(t, causes[1].Detail, "opens automatically")
	require.Empty(t, StoreClosures(store.Stored{Object: s.Object}, time.UTC))
	require.Equal(t,
		"3 stores are closed on a platform. Last closed: Market Street on web, by the POS (API key \"pos\") "+
			"on 23 Nov at "+
			"12:00 UTC.",
		ClosedStores(console.ClosedStores{Count: 3, Store: "Market Street", Platform: "web", Actor: "key:pos",
			Since: noon},
			time.UTC).Text)
}

func TestTimedClosureSaysHowToOpenEarlier(t *testing.T) {
	causes := StoreClosures(store.Stored{Object: store.Object{IncludedPlatforms: []string{"web"}},
		ClosedOn: []store.PlatformClosure{{Platform: "web", Actor: "key:pos", Since: 1, TurnOnAt: 2}}}, time.UTC)
	require.Equal(t, "To open it earlier, open it in the POS.", causes[0].Detail)
}

func TestStoreClosedByThePlatformShowsWhy(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := store.Stored{Object: store.Object{ExcludedPlatforms: []string{"gone"}},
		PlatformStatus: []store.PlatformStatus{
			{Platform: "app", State: store.PausedThere, Reason: "late orders", Since: noon.UnixMilli(),
				Until: noon.Add(time.Hour).UnixMilli()},
			{Platform: "gone", State: store.ClosedThere, Since: noon.UnixMilli()},
			{Platform: "web", State: store.OpenThere, Since: noon.UnixMilli()}}}
	const why = "since 23 Nov 13:00 CET (late orders). It opens automatically on 23 Nov at 14:00 CET"
	zone := time.FixedZone("CET", 3600) // not that of the business
	require.Equal(t, Visibility{State: ui.Err, Label: "Closed", Why: "The platform reports the store as paused " + why},
		StoreVisibility(s, ownPlatform("app"), noon, zone))
	causes := ClosuresByPlatforms(s, noon, zone)
	require.Len(t, causes, 1)
	require.Equal(t, "app reports the store as paused "+why+".", causes[0].Text)
	require.Contains(t, Store(s, []string{"app", "gone", "web"}, nil, "", noon).Text, "on web.")
	require.Equal(t, ui.OK, StoreVisibility(s, ownPlatform("app"), noon.Add(time.Hour), zone).State,
		"the platform has opened it")
	require.Empty(t, ClosuresByPlatforms(s, noon.Add(time.Hour), zone))
}
