package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/menu"
)

func TestConsoleNamesTheOptionGroupHidingAnItem(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.store("s2")
	k.send("-1", dinner)
	read, menus := consolemenus.New(k.db), menusdb.New(k.db)
	id, err := read.ItemID(t.Context(), k.business, "curry")
	require.NoError(t, err)
	for _, c := range []struct{ name, location, body, unmet string }{
		{"the store sells no option of the group", "s1", `{"items":[{"ref_id":"curry","price":1}]}`, ""},
		{"it has one", "s1", `{"options":[{"ref_id":"big","price":1}]}`, ""},
		{"another store has no such request", "s2", `{"options":[{"ref_id":"big","price":1,"available":false}]}`, ""},
		{"it is switched off", "s1", `{"options":[{"ref_id":"big","price":1,"available":false}]}`, "size"},
		{"the group demands nothing", "-1", `{"option_groups":[{"ref_id":"size","min_selectable":0}]}`, ""},
		{"it demands two of one", "s1",
			`{"option_groups":[{"ref_id":"size","min_selectable":2,"max_selectable":2}],"options":[{"ref_id":"big",` +
				`"price":1,"available":true}]}`, "size"},
		{"the same request twice", "-1", `{"option_groups":[{"ref_id":"size","multi_options_enabled":true}]}`, ""},
		{"none of these", "s1", `{"options":[{"ref_id":"big","price":1,"available":false}]}`, "size"},
		{"the group is inactive", "-1", `{"option_groups":[{"ref_id":"size","active":false}]}`, ""},
	} {
		k.send(c.location, c.body)
		places, _, err := read.ItemPlaces(t.Context(), k.business, console.Item{ID: id, RefID: "curry"},
			console.ItemPlaceFilter{Store: "s1", Platform: "web", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, c.unmet, places[0].UnmetGroup, c.name)
		_, scope, err := menus.ResolveLocation(t.Context(), k.business, "s1")
		require.NoError(t, err)
		full, err := menus.Menu(t.Context(), k.business, scope.StoreID)
		require.NoError(t, err)
		seen := menu.Effective("s1", full, core.Platform{Name: "web", ServedBy: core.ServedByMerchant}, nil)
		require.Equal(t, c.unmet == "", len(seen.Items) == 1, "%s: as customers see it", c.name)
	}
}

func TestConsoleShowsItemCategoryTimings(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.send("-1",
		`{"categories":[{"ref_id":"day","name":"Day"},{"ref_id":"early","name":"Early","parent_ref_id":"day"}],`+
			`"items":[{"ref_id":"roll","title":"Roll","price":1,"category_ref_ids":["early"]}]}`)
	read := consolemenus.New(k.db)
	id, err := read.ItemID(t.Context(), k.business, "roll")
	require.NoError(t, err)
	onSale := func() []core.DayHours {
		item, err := read.Item(t.Context(), k.business, id)
		require.NoError(t, err)
		return item.Categories[0].SaleHours
	}
	require.Nil(t, onSale(), "without timings it always is")
	k.set(`[{"title":"Breakfast","category_ref_ids":["early"],"day_slots":[{"day":"monday",` +
		`"slots":[{"start_time":"08:00","end_time":"11:30"}]}]},
		{"title":"Daytime","category_ref_ids":["day"],"day_slots":[{"day":"monday","slots":[{"start_time":"10:00",` +
		`"end_time":"18:00"}]}]}]`)
	require.Equal(t, []core.DayHours{{Day: "monday",
		Slots: []core.HoursSlot{{StartTime: "10:00:00", EndTime: "11:30:00"}}}}, onSale(),
		"its own hours within those of its parent")
}
