package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/retry"
)

func TestChangedMenuIsPublishedToEveryAggregatorOnce(t *testing.T) {
	n := newPublishClient(t, "a", "b", "c")
	n.settle() // the store itself, with an empty menu
	before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
	reference := n.sendMenu("s1", soup)
	events := n.awaitEvents(reported + 3)
	for _, platform := range []string{"p-a", "p-b", "p-c"} {
		require.Equal(t, []any{reference, "s1", "success", []any{}},
			[]any{events[platform]["reference_id"], events[platform]["location_ref_id"], events[platform]["status"],
				events[platform]["errors"]})
	}
	paths := map[string]receivedRequest{}
	for _, one := range n.aggregators.requests()[before:] {
		require.Contains(t, one.body, "soup")
		paths[one.path] = one
	}
	require.Len(t, paths, 3)
	require.Equal(t, "s3cret-a", paths["PUT /v2/outlets/s1/menu"].secret)
	list := n.settle()
	require.Len(t, list, 3)
	for _, one := range list {
		require.Equal(t, []any{"published", reference}, []any{hubtest.Lookup(one, "status"), hubtest.Lookup(one,
			"reference")})
	}

	n.sendMenu("-1", `{"items":[{"ref_id":"soup","price":9,"ref_title":"only for the dashboard"}]}`)
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":6}]}`)
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":5}]}`)
	n.settle()
	require.Len(t, n.aggregators.requests(), before+3, "what the platforms hold is not sent again")
	require.Len(t, n.callbacks.Arrivals(), reported+3)

	asked := core.NewID(n.clock.Now())
	count, err := publications.New(n.hub.db).Request(t.Context(), n.tenant.ID, "s1", []string{"p-b"}, asked)
	require.NoError(t, err)
	require.Equal(t, 1, count)
	require.Equal(t, asked.String(), n.awaitEvents(reported + 4)["p-b"]["reference_id"], "who asks is answered")
	require.Len(t, n.aggregators.requests(), before+4)

	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","excluded_platforms":["p-c"]}]}`)
	n.seenCallbacks++
	n.awaitCallback(n.seenCallbacks)
	n.settle()
	require.Equal(t, "unlisted",
		hubtest.Lookup(n.ok("GET", publicationsRoute+"?status=unlisted&platform=p-c&location_ref_id=s1",
			"").body["publications"].([]any)[0], "status"))
	requireEnvelope(t, n.send("GET", publicationsRoute+"?status=gone&after=x", ""), 400, "status must be")
	first := n.ok("GET", publicationsRoute+"?limit=2", "").body
	rest := n.ok("GET", publicationsRoute+"?limit=2&after="+hubtest.Lookup(first, "meta.next").(string), "").body
	require.Equal(t, []any{2, 1, nil},
		[]any{len(first["publications"].([]any)), len(rest["publications"].([]any)), hubtest.Lookup(rest, "meta.next")})
}

func TestTimingChangeIsPublishedToEveryAggregator(t *testing.T) {
	n := newPublishClient(t, "a", "b", "c")
	n.sendMenu("s1",
		`{"categories":[{"ref_id":"lunch","name":"Lunch"}],"items":[{"ref_id":"soup","title":"Soup","price":5,`+
			`"category_ref_ids":["lunch"]}]}`)
	n.settle()
	set := func(groups string) (reference string, sent []receivedRequest) {
		before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
		reference = n.ok("POST", timingsRoute, `{"timing_groups":`+groups+`}`).body["reference_id"].(string)
		for _, event := range n.awaitEvents(reported + 3) {
			require.Equal(t, reference, event["reference_id"])
		}
		n.settle()
		return reference, n.aggregators.requests()[before:]
	}
	const noon = `[{"title":"noon","category_ref_ids":["lunch"],"day_slots":[{"day":"monday",` +
		`"slots":[{"start_time":"11:00","end_time":"15:00"}]}]}]`
	_, sent := set(noon)
	require.Len(t, sent, 3)
	for _, one := range sent {
		require.Contains(t, one.body, map[string]string{
			"PUT /v2/outlets/s1/menu": `"hours":[{"day":"monday","from":"11:00:00","to":"15:00:00"}]`,
			"POST /api/restaurants/s1/catalogue": `"served":[{"weekday":"MONDAY","from":"11:00:00",` +
				`"until":"15:00:00"}]`,
			"POST /gw/menu.replace": `"sale":{"1":["11:00:00-15:00:00"]}`,
		}[one.path])
		require.Contains(t, one.body, `one":"America/New_York"`, "the time zone that they are in")
	}
	before := len(n.aggregators.requests())
	again := n.ok("POST", timingsRoute, `{"timing_groups":`+noon+`}`).body["reference"].(string)
	n.advanceUntil("the same has been sent again", func() bool {
		return n.ok("GET", "/external/api/v1/jobs/"+again+"/", "").body["state"] == "done"
	})
	n.settle()
	noonThere := n.clock.Now().Truncate(24 * time.Hour).Add(17 * time.Hour)
	for noonThere.Weekday() != time.Monday {
		noonThere = noonThere.Add(24 * time.Hour)
	}
	n.clock.Advance(noonThere.Sub(n.clock.Now())) // the current state of a timed category is not part of the menu
	n.settle()
	require.Len(t, n.aggregators.requests(), before, "what the platforms hold is not sent again")
	_, sent = set(`[{"title":"noon","category_ref_ids":[]}]`)
	require.Len(t, sent, 3)
	for _, one := range sent {
		require.NotContains(t, one.body, "11:00:00", "the group is taken away")
	}
}

func TestFailedPublicationIsRetriedThenReported(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
	attempts := retry.Default(time.Second).Attempts
	n.aggregators.respondWith(func(int, receivedRequest) (int, string) { return 503, "" })
	n.sendMenu("s1", soup)
	require.Equal(t, "error", n.awaitEvents(reported + 1)["p-a"]["status"])
	require.Len(t, n.aggregators.requests(), before+attempts)
	problem := n.awaitEvents(reported + 1)["p-a"]["errors"].([]any)[0]
	require.Equal(t, []any{"not_published", "menu"}, []any{hubtest.Lookup(problem, "code"), hubtest.Lookup(problem,
		"entity")})
	require.Contains(t, hubtest.Lookup(problem, "message"), "503")
	require.Equal(t, "failed", hubtest.Lookup(n.settle()[0], "status"))

	n.aggregators.respondWith(func(int, receivedRequest) (int, string) {
		return 422,
			`{"accepted":false,"message":"bad menu","problems":[{"kind":"product","id":"soup","code":"E7",` +
				`"detail":"no picture"}]}`
	})
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":6}]}`)
	refused := n.awaitEvents(reported + 2)["p-a"]
	require.Equal(t, []any{map[string]any{"entity": "item", "ref_id": "soup", "code": "E7", "message": "no picture"}},
		refused["errors"])
	require.Len(t, n.aggregators.requests(), before+attempts+1, "what is refused for good is not repeated")

	n.aggregators.respondWith(func(int, receivedRequest) (int, string) {
		return 401, `{"accepted":false,"message":"who are you"}`
	})
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":8}]}`)
	require.Equal(t, "the aggregator responded with 401: who are you",
		hubtest.Lookup(n.awaitEvents(reported + 3)["p-a"]["errors"].([]any)[0], "message"))

	n.aggregators.respondWith(nil)
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":7}]}`)
	require.Equal(t, "success", n.awaitEvents(reported + 4)["p-a"]["status"])
}

func TestMenuWithoutAnAddressFailsAtOnce(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
	lose := func(what func(*relay.Access)) map[string]any {
		require.NoError(t, platforms.New(n.hub.db).Set(t.Context(), n.tenant.ID,
			core.Platform{Name: "p-a", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
				what(a)
				return nil
			}))
		n.ok("POST", "/hub/api/v1/location/", `{"location_ref_id":"s1","action":"publish"}`)
		reported++
		n.advanceUntil("the event", func() bool {
			one := n.ok("GET", publicationsRoute, "").body["publications"].([]any)[0]
			require.Equal(t, 0.0, hubtest.Lookup(one, "attempts"), "no attempt is followed by a retry")
			return len(n.callbacks.Arrivals()) >= reported
		})
		event := n.awaitEvents(reported)["p-a"]
		require.Equal(t, "error", event["status"])
		return event["errors"].([]any)[0].(map[string]any)
	}
	problem := lose(func(a *relay.Access) { delete(a.BaseURLs, "partner_api") })
	require.Equal(t, "not_published", problem["code"])
	require.Equal(t, `nothing can be sent to platform "p-a": the platform has no URL for the endpoint `+
		`"partner_api" of its plugin`, problem["message"])
	one := n.settle()[0]
	require.Equal(t, []any{"failed", problem["message"]}, []any{hubtest.Lookup(one, "status"), hubtest.Lookup(one,
		"message")})
	require.Len(t, n.callbacks.Arrivals(), reported, "it is reported once")
	require.Contains(t, lose(func(a *relay.Access) {
		a.BaseURLs["partner_api"] = n.aggregators.URL
		a.Secrets = nil
	})["message"], `platform "p-a": the platform has no secret "api_key"`)
	require.Len(t, n.aggregators.requests(), before)

	n.addPlatform(n.tenant, "p-a", "aggregator-a", "s3cret-a", "")
	require.Equal(t, "success", n.awaitEvents(reported + 1)["p-a"]["status"], "it is published again")
	require.Len(t, n.aggregators.requests(), before+1)
	require.Equal(t, "published", hubtest.Lookup(n.settle()[0], "status"))
}

func TestRejectedItemsAreOmittedFromThePublishedMenu(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	reported := len(n.callbacks.Arrivals())
	n.sendMenu("s1", soupMenu(lacking))
	event := n.awaitEvents(reported + 1)["p-a"]
	require.Equal(t, "success", event["status"])
	require.Equal(t, []any{"soup", "nutrition_energy"},
		[]any{hubtest.Lookup(event["errors"].([]any)[0], "ref_id"), hubtest.Lookup(event["errors"].([]any)[0], "code")})
	last := func() string { all := n.aggregators.requests(); return all[len(all)-1].body }
	require.NotContains(t, last(), `"soup"`)
	require.Contains(t, last(), `"tea"`)

	// Stored items are checked against the stricter settings.
	n.addPlatform(n.tenant, "p-a", "aggregator-a", "s3cret-a", `{"nutrition":"required"}`)
	n.advanceUntil("tea is left out too", func() bool { return !strings.Contains(last(), `"tea"`) })
	event = n.awaitEvents(reported + 2)["p-a"]
	require.Len(t, event["errors"], 5)

	// Without the plugin, its rules do not apply.
	n.addPlatform(n.tenant, "p-a", core.ServedByMerchant, "", "")
	n.advanceUntil("its findings are gone", func() bool { refs, _ := n.visibleItems("p-a"); return len(refs) == 2 })
	require.Equal(t, "skipped", hubtest.Lookup(n.settle()[0], "status"))
}

func TestPublicationWaitsForItsPlugin(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before := len(n.aggregators.requests())
	n.hub.config.Host.Stop("aggregator-a")
	n.sendMenu("s1", soup)
	n.advanceUntil("it says why it waits", func() bool {
		one := n.ok("GET", publicationsRoute, "").body["publications"].([]any)[0]
		return strings.Contains(fmt.Sprint(hubtest.Lookup(one, "waits_because")), "plugin aggregator-a is not running")
	})
	require.Len(t, n.aggregators.requests(), before)
	n.hub.config.Host.Start("aggregator-a")
	hubtest.WaitUntil(t, "the plugin runs", n.hub.config.Host.Plugin("aggregator-a").Serves)
	n.advanceUntil("it is published", func() bool { return len(n.aggregators.requests()) == before+1 })
	require.Contains(t, n.aggregators.requests()[before].body, "soup")
}

func TestItemsAreCheckedOncePluginReturns(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	n.hub.config.Host.Stop("aggregator-a")
	n.sendMenu("s1", soupMenu(lacking))
	refs, _ := n.visibleItems("p-a")
	require.Len(t, refs, 2, "nobody could be asked")
	n.hub.config.Host.Start("aggregator-a")
	// The timeout of a plugin start uses the same clock.
	hubtest.WaitUntil(t, "the plugin runs", n.hub.config.Host.Plugin("aggregator-a").Serves)
	n.advanceUntil("the rules are applied", func() bool { // a call to a plugin that is down is retried
		refs, _ := n.visibleItems("p-a")
		return len(refs) == 1
	})
	n.advanceUntil("the platform sells what they allow", func() bool {
		all := n.aggregators.requests()
		last := all[len(all)-1].body
		return strings.Contains(last, `"tea"`) && !strings.Contains(last, `"soup"`)
	})
}

func TestUnrenderableMenuFailsAndIsReported(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before, reported := len(n.aggregators.requests()), len(n.callbacks.Arrivals())
	set := func(id string) any {
		return n.ok("POST", storesRoute,
			fmt.Sprintf(`{"stores":[{"ref_id":"s1","platform_data":[{"name":"p-a","platform_store_id":%q}]}]}`,
				id)).body["reference"]
	}
	reference := set("R/..")
	event := n.awaitEvents(reported + 1)["p-a"]
	require.Equal(t, []any{reference, "error"}, []any{event["reference_id"], event["status"]})
	require.Equal(t, "plugin aggregator-a returned an invalid result (plugin_invalid_result)",
		hubtest.Lookup(event["errors"].([]any)[0], "message"))
	require.Contains(t, n.hub.config.Host.Status()[0].Faults[0].Text, "'..'", "the operator reads the detail")
	require.Len(t, n.aggregators.requests(), before)
	reference = set("R-1")
	require.Equal(t, []any{reference, "success"},
		[]any{n.awaitEvents(reported + 2)["p-a"]["reference_id"], n.awaitEvents(reported + 2)["p-a"]["status"]})
}

func TestRollbackPublicationCarriesTheRollbackReference(t *testing.T) {
	n := newPublishClient(t, "a", "b")
	n.sendMenu("s1", soup)
	n.settle()
	revision := hubtest.Lookup(n.ok("GET", revisionsRoute+"?limit=1", "").body["revisions"].([]any)[0], "id").(string)
	n.sendMenu("s1", `{"items":[{"ref_id":"soup","price":6}]}`)
	n.settle()
	reported := len(n.callbacks.Arrivals())
	reference := n.ok("POST", revisionsRoute+revision+"/rollback/", "").body["reference"]
	for _, event := range n.awaitEvents(reported + 2) {
		require.Equal(t, []any{reference, "success"}, []any{event["reference_id"], event["status"]})
	}
}

func TestPlatformSettingsStayWithinTheirBusiness(t *testing.T) {
	n := newPublishClient(t, "a")
	other := hubtest.Business(t, n.hub.db)
	n.addPlatform(n.tenant, "p-a", "aggregator-a", "mine", `{"brand":"brand-mine"}`)
	n.addPlatform(other, "p-a", "aggregator-a", "theirs", `{"brand":"brand-theirs"}`)
	for _, tenant := range []hubtest.Tenant{n.tenant, other} {
		for _, ref := range []string{"x1", "x2", "x3"} {
			r := n.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization,
				body: fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"store of %d","city":"C","excluded_platforms":[]}]}`,
					ref, tenant.ID)})
			require.Equal(t, 200, r.status, r.text)
		}
	}
	n.advanceUntil("both are published", func() bool {
		whose := map[string]int{}
		for _, one := range n.aggregators.requests() {
			whose[one.secret]++
		}
		return whose["mine"] >= 4 && whose["theirs"] >= 3
	})
	for _, one := range n.aggregators.requests() {
		if one.secret == "s3cret-a" { // before the change
			continue
		}
		require.Contains(t, one.body, map[string]string{"mine": `"brand-mine"`, "theirs": `"brand-theirs"`}[one.secret])
		require.Equal(t, one.secret == "theirs", strings.Contains(one.body, fmt.Sprintf("store of %d", other.ID)))
	}
}

func TestAggregatorReceivesAcknowledgementAndStatusUpdates(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before := len(n.aggregators.requests())
	n.aggregators.respondWith(func(_ int, r receivedRequest) (int, string) { return 200, `{"accepted":true}` })
	n.sendMenu("s1", soup)
	n.settle()
	key, err := relay.Callers{Keys: platforms.NewCallers(n.hub.db), Clock: n.clock}.CreateKey(t.Context(), n.tenant.ID,
		"p-a")
	require.NoError(t, err)
	post := func(id, outlet string) apiResponse {
		return n.do(t, request{method: "POST", path: "/channel/api/v1/p-a/callback/order/",
			headers: map[string]string{"X-Platform-Secret": key}, body: fmt.Sprintf(
				`{"event":"order.created","order":{"id":%q,"outlet_id":%q,"lines":[{"sku":"soup","name":"Soup",`+
					`"qty":1,"unit_price":5}]}}`, id, outlet)})
	}
	paths := func() (list []string) {
		for _, one := range n.aggregators.requests()[before+1:] {
			list = append(list, one.path)
		}
		return list
	}
	requireEnvelope(t, post("A-1", "R-7"), 404, `platform_store_id "R-7"`)
	n.advanceUntil("the rejection is reported", func() bool { return len(paths()) == 1 })
	require.Equal(t, "POST /v2/orders/A-1/reject", paths()[0])
	require.Contains(t, n.aggregators.requests()[before+1].body, "R-7")

	require.NoError(t, pgtest.SetPlatformStoreIDs(t.Context(), n.hub.db, n.tenant.ID, "p-a",
		map[string]string{"s1": "R-7"}))
	n.advanceUntil("the menu goes to the outlet", func() bool { return len(paths()) == 3 })
	require.Equal(t, []string{"PUT /v2/outlets/R-7/menu", "PUT /v2/outlets/s1/listing"}, paths()[1:])
	taken := post("A-2", "R-7")
	require.Equal(t, 200, taken.status, taken.text)
	for _, state := range []string{"Acknowledged", "Food Ready", "Completed"} {
		n.ok("PUT", fmt.Sprintf("/external/api/v1/orders/%v/status/", taken.body["order_id"]),
			fmt.Sprintf(`{"new_status":%q}`, state))
	}
	n.advanceUntil("the states are reported", func() bool { return len(paths()) == 6 })
	require.Equal(t, []string{"POST /v2/orders/A-2/accept", "POST /v2/orders/A-2/status", "POST /v2/orders/A-2/status"},
		paths()[3:])
	all := n.aggregators.requests()
	require.Contains(t, all[len(all)-2].body, `"ready"`)
	require.Contains(t, all[len(all)-1].body, `"completed"`)
}
