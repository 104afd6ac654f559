package hub

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
)

func TestRejectedRiderLocationIsShownAsRejected(t *testing.T) {
	f, sam := newConsoleRelayClient(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "rider_location") {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", `{}`).status)
	require.Equal(t, 200, f.send("POST", riderLocationRoute,
		fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"12.9716","longitude":"77.5946"}}`, id)).status)
	var shown string
	f.waitAdvancing(t, "the refusal on the page", func() bool {
		shown = sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", id))).text
		return strings.Contains(shown, "12.9716, 77.5946; not accepted: b responded with error 400") &&
			strings.Count(shown, "Rider location to b") == 2 // at the top, and in the timeline
	})
	require.Contains(t, shown, "Failed, and not retried: b responded with error 400 Bad Request")
	require.NotContains(t, shown, "the platform has this location")
}

func TestConsoleShowsStoreClosuresEverywhere(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	s1, err := stores.New(f.hub.db).Get(t.Context(), f.tenant.ID, "s1")
	require.NoError(t, err)
	page := func(path string) string { return sam.get(t, shell.BusinessLink(f.tenant.ID, path)).text }
	store := fmt.Sprintf("stores/%d/", s1.ID)
	change := func(action, platforms string) {
		f.ok("POST", locationRoute,
			fmt.Sprintf(`{"location_ref_id":"s1","platforms":%s,"action":%q}`, platforms, action))
	}
	require.Contains(t, page("stores/"), "</svg>Open<")

	change("disable", "null")
	require.NotContains(t, page("stores/"), "</svg>Open<")
	require.Contains(t, page("stores/"), "Closed on every platform")
	shown := page(store)
	require.Contains(t, shown, "The store is closed on every platform")
	require.Regexp(t, `Closed on (\w+, )*\w+ and web by the POS \(API key \S+\) since \d+ \w+ \d\d:\d\d [A-Z]+\.`,
		shown)
	require.Contains(t, shown, "The POS then opens it on the platforms.")
	home := page("")
	require.Contains(t, home, "1 store is closed on a platform. Last closed:")
	require.Contains(t, home, store)

	change("enable", `["web"]`)
	require.Contains(t, page("stores/"), "Closed on ")
	require.NotContains(t, page("stores/"), "Closed on every platform")
	change("enable", "null")
	require.Contains(t, page("stores/"), "</svg>Open<")
	require.NotContains(t, page(store), "Closed on")
	require.NotContains(t, page(""), "closed on a platform")
}

func TestConsoleExplainsWhyAnItemIsHidden(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	items, err := consolemenus.New(f.hub.db).ListItems(t.Context(), f.tenant.ID,
		console.ItemFilter{Text: "dal", Limit: 1})
	require.NoError(t, err)
	page := func(query string) string {
		return sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("items/%d/%s", items[0].ID, query))).text
	}
	require.Contains(t, page("?platform=app"), "the store&#39;s price for this platform", "where the price is from")
	require.Contains(t, page("?platform=web"), `title="the store&#39;s price"`)

	f.ok("POST", locationRoute, `{"location_ref_id":"s1","platforms":["web"],"action":"disable"}`)
	require.Contains(t, page("?platform=web"), ">Closed on this platform by the POS (API key")
	require.NotContains(t, page("?platform=app"), ">closed on this platform", "in the row of the store")
	require.Regexp(t, `Customers can order the item on [\w, ]*\bapp\b[\w, ]*, but not on [\w, ]*\bweb\.`, page(""))
	f.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","active":false}]}`)
	f.awaitCallback(3)
	for _, query := range []string{"", "?platform=app"} {
		require.Contains(t, page(query), "The store is inactive, so no platform shows it.")
	}
	require.Contains(t, page(""), "Every store that sells the item is inactive.")

	f.ok("POST", menuRoute+"-1/",
		`{"categories":[{"ref_id":"top","name":"Top","active":false},{"ref_id":"sub","name":"Sub",`+
			`"parent_ref_id":"top"}],"items":[{"ref_id":"dal","title":"Dal","price":9.5,"category_ref_ids":["sub"]}]}`)
	f.awaitCallback(4)
	require.Contains(t, page(""), "category sub belongs to the inactive category top")
	require.Contains(t, page(""), "sub (top is inactive)")
}

func TestPartlyAppliedJobShowsItsWarnings(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	reference := f.ok("POST", menuRoute+"s1/",
		`{"flush_categories":true,"categories":[],"items":[{"ref_id":"dal","title":"Dal","price":9}]}`).
		body["reference"].(string)
	f.awaitCallback(3)
	shown := sam.get(t, shell.BusinessLink(f.tenant.ID, "jobs/"+reference+"/")).text
	require.Contains(t, shown, "Applied: 1 menu entry, with 1 warning.")
	require.Contains(t, shown, "flush_categories has no effect in a store request")
	require.Contains(t, sam.get(t, shell.BusinessLink(f.tenant.ID, "jobs/")).text, "Done, with warnings")
}
