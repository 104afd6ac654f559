package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
)

func TestConsoleFollowsEachMenuChange(t *testing.T) {
	k := newFeast(t)
	read := consolemenus.New(k.db)
	tea, err := read.ItemID(t.Context(), k.business, "tea")
	require.NoError(t, err)
	const others = `{"ref_id":"curry","price":12,"available":false},{"ref_id":"rice","price":3,"available":false}`
	for _, step := range []struct {
		location, items string
		sells           bool
		tea             menu.Reason
	}{
		{"s2", `{"ref_id":"tea","price":2,"available":false},` + others, true, menu.Orderable},
		{"s1", others, true, menu.Orderable},
		{"s1", `{"ref_id":"tea","price":2,"available":false}`, false, menu.Unavailable},
		{"s1", `{"ref_id":"tea","price":2,"available":true,"current_stock":0}`, false, menu.OutOfStock},
		{"s1", `{"ref_id":"tea","price":2,"current_stock":3}`, true, menu.Orderable},
		{"-1", `{"ref_id":"tea","price":2,"included_platforms":["app"]}`, false, menu.NotListed},
		{"-1", `{"ref_id":"tea","price":2,"included_platforms":["web"]}`, true, menu.Orderable},
	} {
		k.send(step.location, `{"items":[`+step.items+`]}`)
		grid, err := read.Grid(t.Context(), k.business,
			console.GridFilter{Text: "s1", Local: noon, Limit: 1, After: console.ParseGridCursor("")})
		require.NoError(t, err)
		require.Equal(t, step.sells, grid.Stores[0].Reasons["web"] != console.PlaceNoItems, step)
		places, _, err := read.ItemPlaces(t.Context(), k.business, console.Item{ID: tea, RefID: "tea"},
			console.ItemPlaceFilter{Store: "s1", Platform: "web", Local: noon, Limit: 1})
		require.NoError(t, err)
		if step.tea == menu.Orderable {
			require.NotContains(t, []menu.Reason{menu.Unavailable, menu.OutOfStock, menu.NotListed},
				menu.Reason(places[0].Reason), step)
		} else {
			require.Equal(t, step.tea, menu.Reason(places[0].Reason), step)
		}
	}
	pgtest.Exec(t, k.db, `DELETE FROM stores WHERE business_id = ?`, k.business)
	grid, err := read.Grid(t.Context(), k.business, console.GridFilter{Local: noon, Limit: 1})
	require.NoError(t, err)
	require.Empty(t, grid.Stores)
}
