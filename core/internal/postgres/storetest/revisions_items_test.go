package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/menu"
)

func TestItemHistoryShowsPastOptionGroups(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	var moments []time.Time
	for _, c := range []struct{ location, body string }{
		{"-1", `{"items":[{"ref_id":"dal","title":"Dal","price":5},{"ref_id":"soup","title":"Soup","price":5}],
			"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]},{"ref_id":"size",` +
			`"title":"Size","item_ref_ids":["dal","soup"]}],
			"options":[{"ref_id":"hot","title":"Hot","price":1,"opt_grp_ref_ids":["heat"]}]}`},
		{"s1", `{"items":[{"ref_id":"dal","price":6}],"options":[{"ref_id":"hot","price":1}]}`},
		{"s1", `{"options":[{"ref_id":"hot","price":1,"available":false}]}`},
		{"-1", `{"option_groups":[{"ref_id":"heat","clear_item_ref_ids":true}]}`},
	} {
		k.send(c.location, c.body)
		moments = append(moments, clock.Now())
		clock.Advance(time.Hour)
	}
	_, scope, err := menus.New(k.db).ResolveLocation(context.Background(), k.business, "s1")
	require.NoError(t, err)
	then := func(at time.Time) (record, seen []string) {
		was, err := menus.New(k.db).ItemAsOf(context.Background(), k.business,
			menu.PastItem{Scope: scope, Platform: "web", RefID: "dal", At: at})
		require.NoError(t, err)
		if was.Item != nil {
			seen = was.Item.OptionGroupRefIDs
		}
		return was.Record.OptionGroupRefIDs, seen
	}
	for n, groups := range [][2][]string{{{"heat", "size"}, nil}, {{"heat", "size"}, {"heat"}}, {{"heat", "size"}, {}},
		{{"size"}, {}}} {
		record, seen := then(moments[n])
		require.Equal(t, groups, [2][]string{record, seen}, "moment %d", n)
	}
}

func TestPastItemFollowsNestedOptionGroups(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	_, scope, err := menus.New(k.db).ResolveLocation(context.Background(), k.business, "s1")
	require.NoError(t, err)
	send := func(location, body string) time.Time {
		k.send(location, body)
		defer clock.Advance(time.Hour)
		return clock.Now()
	}
	send("-1", `{"items":[{"ref_id":"dal","title":"Dal","price":5}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]},
			{"ref_id":"oil","title":"Oil","min_selectable":1,"max_selectable":1}],
		"options":[{"ref_id":"hot","title":"Hot","price":1,"opt_grp_ref_ids":["heat"],"nested_opt_grps":["oil"]},
			{"ref_id":"ghee","title":"Ghee","price":1,"opt_grp_ref_ids":["oil"]}]}`)
	offered := send("s1", `{"items":[{"ref_id":"dal","price":6}],"options":[{"ref_id":"hot","price":1},
		{"ref_id":"ghee","price":1}]}`)
	without := send("s1", `{"options":[{"ref_id":"ghee","price":1,"available":false}]}`)
	for at, want := range map[time.Time][]string{offered: {"heat"}, without: {}} {
		was, err := menus.New(k.db).ItemAsOf(context.Background(), k.business,
			menu.PastItem{Scope: scope, Platform: "web", RefID: "dal", At: at})
		require.NoError(t, err)
		require.Equal(t, want, was.Item.OptionGroupRefIDs, "an option needs one of its nested group")
	}
}

func TestItemHistoryShowsPastStates(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	var moments []time.Time
	for _, c := range []struct{ location, body string }{
		{"-1",
			`{"categories":[{"ref_id":"mains","name":"Mains"}],"items":[{"ref_id":"dal","title":"Dal","price":5,` +
				`"category_ref_ids":["mains"]}]}`},
		{"s1", `{"items":[{"ref_id":"dal","price":6}]}`},
		{"-1",
			`{"items":[{"ref_id":"dal","title":"Black Dal","price":5,"platform_pricing":[{"platform":"app",` +
				`"price":9}]}]}`},
		{"-1", `{"categories":[{"ref_id":"mains","active":false}]}`},
		{"-1", `{"flush_items":true,"items":[]}`},
	} {
		k.send(c.location, c.body)
		moments = append(moments, clock.Now())
		clock.Advance(time.Hour)
	}
	_, scope, err := menus.New(k.db).ResolveLocation(context.Background(), k.business, "s1")
	require.NoError(t, err)
	then := func(at time.Time, platform string) string {
		was, err := menus.New(k.db).ItemAsOf(context.Background(), k.business,
			menu.PastItem{Scope: scope, Platform: platform, RefID: "dal", At: at})
		require.NoError(t, err)
		description := fmt.Sprint("sold ", was.Sold, ", shown ", was.Shown)
		if was.Record != nil {
			description += fmt.Sprint(", ", was.Record.Title, " ", was.Record.CategoryRefIDs)
		}
		if was.Item != nil {
			description += fmt.Sprint(", at ", was.Item.Price)
		}
		return description
	}
	require.Equal(t, "sold false, shown false", then(moments[0].Add(-time.Minute), "web"), "before the first menu")
	require.Equal(t, "sold false, shown false, Dal [mains]", then(moments[0], "web"))
	require.Equal(t, "sold true, shown true, Dal [mains], at 6", then(moments[1], "web"))
	require.Equal(t, "sold true, shown true, Black Dal [mains], at 6", then(moments[2], "web"))
	require.Equal(t, "sold true, shown true, Black Dal [mains], at 9", then(moments[2], "app"))
	require.Equal(t, "sold true, shown false, Black Dal [mains]", then(moments[3], "web"))
	require.Equal(t, "sold false, shown false, Black Dal [mains]", then(clock.Now(), "web"))
	_, err = menus.New(k.db).ItemAsOf(context.Background(), k.business,
		menu.PastItem{Scope: scope, Platform: "mars", RefID: "dal", At: clock.Now()})
	require.Equal(t, core.NotFound, core.CodeOf(err))
}
