package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
)

func TestConsoleShowsAnItemsPlatformState(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	f.ok("POST", "/external/api/v1/stores/",
		`{"stores":[{"ref_id":"bare","name":"Bare","city":"Oakland","included_platforms":["web"]}]}`)
	records := consolemenus.New(f.hub.db)
	hubtest.WaitUntil(t, "the second store", func() bool {
		list, err := records.ListStores(t.Context(), f.tenant.ID, console.StoreFilter{Text: "bare", Limit: 9})
		return err == nil && len(list) == 1
	})
	items, err := records.ListItems(t.Context(), f.tenant.ID, console.ItemFilter{Text: "dal", Limit: 9})
	require.NoError(t, err)
	page := func(query string) string {
		r := sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("items/%d/%s", items[0].ID, query)))
		require.Equal(t, 200, r.status, r.text)
		return r.text
	}
	require.Contains(t, page(""), `title="9.50 USD"`)
	require.Contains(t, page("?platform=app"), `title="10.00 USD"`, "the platform's own price")
	require.NotContains(t, page("?platform=app"), ">Bare<", "without a store asked for, those that sell it")
	require.Contains(t, page("?platform=app&store=bare"), "The store does not sell it")
	require.Contains(t, page("?store=none"), "There is no store with this ref_id")

	stores, err := records.ListStores(t.Context(), f.tenant.ID, console.StoreFilter{Text: "bare", Limit: 9})
	require.NoError(t, err)
	shown := sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("stores/%d/", stores[0].ID))).text
	require.Contains(t, shown, "The POS has not selected this platform for the store")
	require.Contains(t, shown, "Not live on web. The store sells no items.")
	require.NotContains(t, shown, "Not live on a", "where it is not listed the plugin does not matter")
}
