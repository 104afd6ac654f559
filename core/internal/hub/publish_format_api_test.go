package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestAggregatorAmountsUseTheCurrencysMinorUnit(t *testing.T) {
	n := newPublishClient(t, "c")
	n.tenant = hubtest.BusinessIn(t, n.hub.db, "JPY")
	n.addPlatform(n.tenant, "p-c", "aggregator-c", "app", "")
	platforms := platformsdb.New(n.hub.db)
	require.NoError(t, platforms.Set(t.Context(), n.tenant.ID, core.Platform{Name: "p-c", ServedBy: "aggregator-c"},
		func(a *relay.Access) error {
			a.Secrets["shop_token"] = "shop"
			return nil
		}))
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"j1","name":"N","city":"C","excluded_platforms":[]}]}`)
	n.advanceUntil("the store is there", func() bool { return n.send("GET", storesRoute+"j1/", "").status == 200 })
	n.ok("POST", menuRoute+"j1/", `{"items":[{"ref_id":"dal","title":"Dal","price":900}]}`)
	n.advanceUntil("it is published", func() bool {
		all := n.aggregators.requests()
		return len(all) > 0 && strings.Contains(all[len(all)-1].body, `"code":"dal"`)
	})
	all := n.aggregators.requests()
	require.Contains(t, all[len(all)-1].body, `"price_minor":900,`)

	order := func(number string, minor int) apiResponse {
		return n.do(t, request{method: "POST",
			path:    fmt.Sprintf("/channel/api/v1/p-c/callback/message/?business=%d", n.tenant.ID),
			headers: map[string]string{"X-Shop-Token": "shop"},
			body: `{"type":"ORDER_NEW","data":{"no":"` + number +
				`","shop_ref":"j1","lines":[{"dish":"dal","n":2,"price_minor":` + fmt.Sprint(minor) +
				`}],"total_minor":` + fmt.Sprint(2*minor) + `,"recipient":{"name":"Ann"}}}`})
	}
	taken := func(number string, minor int) {
		t.Helper()
		response := order(number, minor)
		require.Equal(t, 200, response.status, response.text)
		read := n.ok("GET", fmt.Sprintf("%s%.0f/", ordersRoute, response.body["order_id"]), "").text
		require.Contains(t, read, `"payable_amount":1800`)
		require.NotContains(t, read, `"code":"differs"`)
	}
	taken("C-1", 900)

	console := pluginRegistry{n.hub.db, n.hub.config.Host}
	require.NoError(t, console.CheckSettings(t.Context(), "aggregator-c", n.tenant.ID, "p-c",
		[]byte(`{"minor_digits":0}`)))
	refused := console.CheckSettings(t.Context(), "aggregator-c", n.tenant.ID, "p-c", []byte(`{"minor_digits":2}`))
	require.ErrorContains(t, refused,
		`platform "p-c": settings.minor_digits is 2, and JPY has 0 digits after the point`)

	// Earlier settings keep their format.
	n.addPlatform(n.tenant, "p-c", "aggregator-c", "app", `{"minor_digits":2}`)
	require.NoError(t, platforms.Set(t.Context(), n.tenant.ID, core.Platform{Name: "p-c", ServedBy: "aggregator-c"},
		func(a *relay.Access) error {
			a.Secrets["shop_token"] = "shop"
			return nil
		}))
	taken("C-2", 90000)
}

func TestPublicationReportsWhatTheFormatOmits(t *testing.T) {
	n := newPublishClient(t, "a", "b", "c")
	n.settle()
	reported := len(n.callbacks.Arrivals())
	n.sendMenu("s1", `{"items":[{"ref_id":"dal","title":"Dal","price":9}],
		"option_groups":[{"ref_id":"size","title":"Size","item_ref_ids":["dal"]},{"ref_id":"heat","title":"Heat"}],
		"options":[{"ref_id":"large","title":"Large","price":1,"opt_grp_ref_ids":["size"],`+
		`"nested_opt_grps":["heat"]},{"ref_id":"hot","title":"Hot","price":0,"opt_grp_ref_ids":["heat"]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":2.5,`+
		`"applicable_on":"item.quantity"},"item_ref_ids":["dal"]}]}`)
	events := n.awaitEvents(reported + 3)
	codes := func(platform string) (list []string) {
		require.Equal(t, "success", events[platform]["status"])
		for _, problem := range events[platform]["errors"].([]any) {
			list = append(list, fmt.Sprintf("%s %s %s", hubtest.Lookup(problem, "entity"), hubtest.Lookup(problem,
				"ref_id"),
				hubtest.Lookup(problem, "code")))
		}
		return list
	}
	require.Empty(t, codes("p-a"))
	require.Equal(t, []string{"option large nested_option_groups", "charge PC_F charge_scope"}, codes("p-b"))
	require.Equal(t, []string{"option large nested_option_groups"}, codes("p-c"))
	shown := n.ok("GET", publicationsRoute+"?platform=p-c", "").body["publications"].([]any)[0]
	require.Equal(t, "nested_option_groups", hubtest.Lookup(shown.(map[string]any)["errors"].([]any)[0], "code"))
}
