package hub

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/plugins/simulator"
)

const (
	locationRoute = "/hub/api/v1/location/"
	itemsRoute    = "/hub/api/v1/items/"
)

var simulatedAggregators = []string{"aggregator-a", "aggregator-b", "aggregator-c"}

// toggleClient is a simulatorClient whose POS receives the outcomes of toggles. Each event is checked against its
// schema.
type toggleClient struct {
	*simulatorClient
	callbacks *hubtest.Sink
}

func newToggleClient(t *testing.T) *toggleClient {
	t.Helper()
	s := &toggleClient{simulatorClient: newSimulatorClient(t), callbacks: hubtest.NewEventSink(t, nil)}
	for _, event := range []string{"store_action", "item_state_toggle", "option_state_toggle", "hub_menu_publish"} {
		s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, s.callbacks.URL))
	}
	s.settle()
	return s
}

// advanceUntil moves the clock until a condition is met.
func (s *toggleClient) advanceUntil(what string, condition func() bool) {
	s.t.Helper()
	hubtest.WaitUntil(s.t, what, func() bool {
		s.clock.advanceToWork(20 * time.Millisecond)
		return condition()
	})
}

// settle moves the clock until no publication is pending.
func (s *toggleClient) settle() {
	s.t.Helper()
	s.advanceUntil("nothing on the way", func() bool {
		list := s.ok("GET", publicationsRoute, "").body["publications"].([]any)
		return !slices.ContainsFunc(list, func(one any) bool { return one.(map[string]any)["due_at"] != nil })
	})
}

// postToggle sends a toggle request and returns its reference.
func (s *toggleClient) postToggle(route, body string) string {
	s.t.Helper()
	return s.ok("POST", route, body).body["reference"].(string)
}

// awaitOutcomes waits for n events of a type and reference, and returns them by platform.
func (s *toggleClient) awaitOutcomes(event, reference string, n int) map[string]map[string]any {
	s.t.Helper()
	var by map[string]map[string]any
	s.advanceUntil(fmt.Sprint(n, " of ", event), func() bool {
		by = map[string]map[string]any{}
		for _, arrival := range s.callbacks.Arrivals() {
			var body map[string]any
			require.NoError(s.t, json.Unmarshal(arrival.Body, &body))
			if arrival.Header.Get("X-Event-Type") == event && body["reference_id"] == reference {
				by[body["platform"].(string)] = body
			}
		}
		return len(by) >= n
	})
	require.Len(s.t, by, n)
	return by
}

func (s *toggleClient) countEvents(event string) (n int) {
	for _, arrival := range s.callbacks.Distinct(webhook.HeaderID) {
		if arrival.Header.Get("X-Event-Type") == event {
			n++
		}
	}
	return n
}

// aggregatorStore returns the state of s1 at an aggregator.
func (s *toggleClient) aggregatorStore(platform string) simulator.Store {
	s.t.Helper()
	stores, err := s.sim.Stores(s.t.Context(), s.space, platform)
	require.NoError(s.t, err)
	require.Len(s.t, stores, 1)
	return stores[0]
}

// itemsOnSale returns what customers of an aggregator can order at s1.
func (s *toggleClient) itemsOnSale(platform string) []string {
	s.t.Helper()
	shelf, _, err := s.sim.Menu(s.t.Context(), s.space, platform, "s1")
	require.NoError(s.t, err)
	dishes := []string{}
	for _, dish := range shelf.Items {
		if !dish.OutOfStock {
			dishes = append(dishes, dish.Ref)
		}
	}
	slices.Sort(dishes)
	return dishes
}

// visibleMenu returns what customers of a platform see in the hub.
func (s *toggleClient) visibleMenu(platform string) (dishes []string, takesOrders bool, tag string) {
	s.t.Helper()
	response := s.ok("GET", "/channel/api/v1/stores/s1/menu/?platform="+platform, "")
	dishes = []string{}
	for _, item := range response.body["items"].([]any) {
		dishes = append(dishes, hubtest.Lookup(item, "ref_id").(string))
	}
	slices.Sort(dishes)
	return dishes, response.body["ordering_enabled"].(bool), response.header.Get("ETag")
}

func TestStoreIsClosedAndOpenedOnPlatforms(t *testing.T) {
	s := newToggleClient(t)
	_, _, before := s.visibleMenu("web")
	for range 2 { // an unchanged state is reported too
		reference := s.postToggle(locationRoute,
			`{"location_ref_id":"s1","platforms":["aggregator-a","web"],"action":"disable",`+
				`"turn_on_at":null,"extra":1}`)
		for platform, reported := range s.awaitOutcomes("store_action", reference, 2) {
			require.Equal(t, []any{"disable", "s1", true, "api"},
				[]any{reported["action"], reported["location_ref_id"], reported["status"], reported["action_src"]},
				platform)
		}
	}
	require.Equal(t, []bool{false, true}, []bool{s.aggregatorStore("aggregator-a").Open,
		s.aggregatorStore("aggregator-b").Open})
	_, takes, after := s.visibleMenu("web")
	require.False(t, takes)
	require.NotEqual(t, before, after)
	for platform, open := range map[string]bool{"web": false, "app": true, "aggregator-a": false,
		"aggregator-c": true} {
		stores := s.ok("GET", "/channel/api/v1/stores/?platform="+platform, "").body["stores"].([]any)
		require.Equal(t, []any{open, []any{"aggregator-a", "web"}},
			[]any{hubtest.Lookup(stores[0], "ordering_enabled"), hubtest.Lookup(stores[0], "closed_on")}, platform)
	}
	placed := s.sendAsChannel("POST", "/channel/api/v1/orders/", orderOf("W-1", ""))
	require.Equal(t, 200, placed.status)
	require.Contains(t, fmt.Sprint(hubtest.Lookup(s.awaitOrderEvents(1)[0], "order.details.flags")),
		"ordering_disabled")

	s.settle() // an earlier menu may still be due
	menus := s.aggregatorStore("aggregator-a").Menus
	reference := s.postToggle(locationRoute, `{"location_ref_id":"s1","platforms":["aggregator-a"],"action":"publish"}`)
	require.Equal(t, "success", s.awaitOutcomes("hub_menu_publish", reference, 1)["aggregator-a"]["status"])
	standing := s.ok("GET", "/hub/api/v1/switches/"+reference+"/", "").body
	require.Equal(t, []any{"hub_menu_publish", "aggregator-a", []any{}},
		[]any{hubtest.Lookup(standing["outcomes"].([]any)[0], "event_type"),
			hubtest.Lookup(standing["outcomes"].([]any)[0], "body.platform"),
			standing["waiting"]})
	requireEnvelope(t, s.send("GET", "/hub/api/v1/switches/nothing/", ""), 404,
		`reference "nothing": there is no availability change with this reference`)
	require.Equal(t, simulator.Store{Open: false, Menus: menus + 1},
		simulator.Store{Open: s.aggregatorStore("aggregator-a").Open,
			Menus: s.aggregatorStore("aggregator-a").Menus}, "a menu does not open it")

	s.awaitOutcomes("store_action", s.postToggle(locationRoute, `{"location_ref_id":"s1","action":"enable"}`), 5)
	_, takes, _ = s.visibleMenu("web")
	require.True(t, takes && s.aggregatorStore("aggregator-a").Open)
}

func TestEnablingLeavesAStoreWithoutOrderingClosed(t *testing.T) {
	s := newToggleClient(t)
	ordering := func(enabled bool) {
		s.ok("POST", storesRoute, fmt.Sprintf(`{"stores":[{"ref_id":"s1","ordering_enabled":%t}]}`, enabled))
		s.advanceUntil("the store is written", func() bool {
			_, takes, _ := s.visibleMenu("web")
			return takes == enabled
		})
		s.settle()
		require.Equal(t, enabled, s.aggregatorStore("aggregator-a").Open)
	}
	ordering(false)
	reference := s.postToggle(locationRoute, `{"location_ref_id":"s1","platforms":["aggregator-a"],"action":"enable"}`)
	reported := s.awaitOutcomes("store_action", reference, 1)["aggregator-a"]
	require.Equal(t, []any{"enable", true}, []any{reported["action"], reported["status"]})
	require.False(t, s.aggregatorStore("aggregator-a").Open)
	ordering(true)
}

func TestMenuClosesAStoreThePlatformRejected(t *testing.T) {
	s := newToggleClient(t)
	s.setFault(simulator.Fault{Kind: simulator.FaultRefuse, Call: simulator.CallStoreState, Times: 3})
	reported := s.awaitOutcomes("store_action", s.postToggle(locationRoute,
		`{"location_ref_id":"s1","action":"disable"}`), 5)
	for _, platform := range simulatedAggregators {
		require.Equal(t, []any{false, "configured to reject"},
			[]any{reported[platform]["status"], reported[platform]["message"]}, platform)
	}
	require.Equal(t, true, reported["web"]["status"])
	s.settle()
	for _, platform := range simulatedAggregators {
		require.False(t, s.aggregatorStore(platform).Open, platform)
	}
}

func TestItemsAndOptionsAreSwitchedOnEveryPlatform(t *testing.T) {
	s := newToggleClient(t)
	menus := s.aggregatorStore("aggregator-c").Menus
	// a repetition changes nothing
	for n, action := range []string{"disable", "enable", "disable", "disable", "enable", "enable"} {
		if n == 4 { // a new menu omits it
			s.settle()
			require.Greater(t, s.aggregatorStore("aggregator-c").Menus, menus)
		}
		reference := s.postToggle(itemsRoute,
			fmt.Sprintf(`{"location_ref_id":"s1","item_ref_ids":["dal","nothing","dal"],"option_ref_ids":["hot"],`+
				`"action":%q}`, action))
		dishes, _, _ := s.visibleMenu("web")
		require.Equal(t, action == "enable", slices.Contains(dishes, "dal"), "at once")
		for platform, reported := range s.awaitOutcomes("item_state_toggle", reference, 5) {
			store := reported["status"].([]any)[0]
			items := hubtest.Lookup(store, "items").([]any)
			require.Equal(t, []any{true, 0.0},
				[]any{hubtest.Lookup(items[0], "id").(float64) > 0, hubtest.Lookup(items[1], "id")}, platform)
			require.Equal(t, []any{action, "s1", "dal", "success", "nothing", "error",
				"there is no item with this ref_id"}, []any{reported["action"],
				hubtest.Lookup(store, "location.ref_id"),
				hubtest.Lookup(items[0], "ref_id"), hubtest.Lookup(items[0], "status"), hubtest.Lookup(items[1],
					"ref_id"),
				hubtest.Lookup(items[1], "status"),
				hubtest.Lookup(items[1], "message")}, platform)
		}
		for platform, reported := range s.awaitOutcomes("option_state_toggle", reference, 5) {
			require.Equal(t, true, hubtest.Lookup(reported["options"].([]any)[0], "success"), platform)
		}
		for _, platform := range simulatedAggregators {
			// A menu from before may be under way; the next one has the switch.
			s.advanceUntil(action+" at "+platform, func() bool {
				return slices.Contains(s.itemsOnSale(platform), "dal") == (action == "enable")
			})
		}
	}
	wrong := s.send("POST", itemsRoute, `{"location_ref_id":"nowhere","item_ref_ids":["dal"],"action":"enable"}`)
	requireEnvelope(t, wrong, 404, `location_ref_id "nowhere": there is no location with this ref_id`)
	require.Equal(t, "location_ref_id", hubtest.Lookup(wrong.body["errors"].([]any)[0], "path"))
	wrong = s.send("POST", locationRoute, `{"location_ref_id":"s1","platforms":["web","moon"],"action":"enable"}`)
	requireEnvelope(t, wrong, 404, `platforms[1] "moon": there is no such platform`)
	require.Equal(t, "platforms[1]", hubtest.Lookup(wrong.body["errors"].([]any)[0], "path"))
	requireEnvelope(t, s.send("POST", locationRoute,
		`{"location_ref_id":"s1","platforms":["aggregator-a","web"],"action":"publish"}`), 400,
		`platforms[1] "web" is your own`)
	for body, callbacks := range map[string]string{
		`"item_ref_ids":["dal"],"option_ref_ids":["hot"]`: "as item_state_toggle and option_state_toggle callbacks",
		`"item_ref_ids":["dal"],"option_ref_ids":[null]`:  "as item_state_toggle callbacks",
		`"option_ref_ids":["hot"]`:                        "as option_state_toggle callbacks",
	} {
		require.Contains(t, s.ok("POST", itemsRoute, `{"location_ref_id":"s1","action":"enable",`+body+`}`).message(),
			callbacks)
	}
	requireEnvelope(t, s.send("POST", itemsRoute, `{"location_ref_id":"s1","action":"enable"}`), 400,
		"item_ref_ids or option_ref_ids must have at least one")
}

// Toggles and menus arrive in random order, and calls fail. In the end, each aggregator must have the state of the hub.
func TestRacingSwitchesAndMenusReachTheLatestState(t *testing.T) {
	s := newToggleClient(t)
	s.ok("POST", menuRoute+"s1/",
		`{"items":[{"ref_id":"soup","title":"Soup","price":4},{"ref_id":"pie","title":"Pie","price":7},`+
			`{"ref_id":"tea","title":"Tea","price":2}]}`)
	s.settle()
	for _, fault := range []simulator.Fault{
		{Kind: simulator.FaultFail, Call: simulator.CallItemState, Status: 503, Times: 5},
		{Kind: simulator.FaultRefuse, Call: simulator.CallItemState, Times: 3},
		{Kind: simulator.FaultFail, Call: simulator.CallMenu, Status: 500, Times: 3},
	} {
		s.setFault(fault)
	}
	dishes, lot := []string{"dal", "soup", "pie", "tea"}, rand.New(rand.NewPCG(7, 11))
	for range 12 {
		var asking sync.WaitGroup
		dish, other, on := dishes[lot.IntN(4)], dishes[lot.IntN(4)], lot.IntN(2) == 0
		asking.Go(func() {
			s.send("POST", itemsRoute,
				fmt.Sprintf(`{"location_ref_id":"s1","item_ref_ids":[%q],"action":%q}`, dish,
					map[bool]string{true: "enable", false: "disable"}[on]))
		})
		asking.Go(func() {
			s.send("POST", menuRoute+"s1/",
				fmt.Sprintf(`{"items":[{"ref_id":%q,"price":5,"available":%t}]}`, other, !on))
		})
		asking.Wait()
		s.clock.Advance(time.Duration(lot.IntN(1500)) * time.Millisecond)
	}
	s.advanceUntil("the end of every toggle and menu request",
		func() bool {
			return s.countEvents("item_state_toggle") == 12*5 && len(s.sink.Distinct(webhook.HeaderID)) == 3+12
		})
	s.settle()
	for _, platform := range simulatedAggregators {
		wanted, _, _ := s.visibleMenu(platform)
		require.Equal(t, wanted, s.itemsOnSale(platform), platform)
	}
}

func TestTimedClosureReopensOnce(t *testing.T) {
	s := newToggleClient(t)
	until := s.clock.Now().Add(10 * time.Minute).UnixMilli()
	store := s.postToggle(locationRoute, fmt.Sprintf(`{"location_ref_id":"s1","action":"disable","turn_on_at":%d}`,
		until))
	items := s.postToggle(itemsRoute,
		fmt.Sprintf(`{"location_ref_id":"s1","item_ref_ids":["dal"],"action":"disable","turn_on_at":%d}`, until))
	replaced := s.postToggle(locationRoute,
		fmt.Sprintf(`{"location_ref_id":"s1","platforms":["app"],"action":"disable","turn_on_at":%d}`, until+3_600_000))
	s.awaitOutcomes("store_action", store, 5)
	s.awaitOutcomes("item_state_toggle", items, 5)
	s.awaitOutcomes("store_action", replaced, 1)
	s.clock.Advance(10 * time.Minute)
	opened := func(reference string) (n int) {
		for _, arrival := range s.callbacks.Arrivals() {
			var body map[string]any
			require.NoError(t, json.Unmarshal(arrival.Body, &body))
			if body["reference_id"] == reference && body["action"] == "enable" {
				n++
			}
		}
		return n
	}
	s.advanceUntil("all but one open", func() bool { return opened(store) >= 4 && opened(items) >= 5 })
	s.settle()
	require.Equal(t, []int{4, 5, 0}, []int{opened(store), opened(items), opened(replaced)})
	_, web, _ := s.visibleMenu("web")
	_, app, _ := s.visibleMenu("app")
	require.Equal(t, []bool{true, false, true}, []bool{web, app, s.aggregatorStore("aggregator-b").Open})
	require.Contains(t, s.itemsOnSale("aggregator-b"), "dal")
}

func TestSwitchOfAnUnlistedStoreReportsMissingTargets(t *testing.T) {
	d := newMenuClient(t, unlimited)
	d.ok("POST", storesRoute, `{"stores":[{"ref_id":"S-9","name":"N","city":"C"}]}`)
	hubtest.WaitUntil(t, "the store", func() bool { return d.send("GET", storesRoute+"S-9/", "").status == 200 })
	stranger := hubtest.Business(t, d.hub.db)
	for body, says := range map[string]string{
		`{"location_ref_id":"S-9","item_ref_ids":["ghost","spectre"],"action":"disable"}`: `is listed on no ` +
			`platform; "ghost": there is no item with this ref_id (and 1 more)`,
		`{"location_ref_id":"S-9","action":"disable"}`: "is listed on no platform",
		`{"location_ref_id":"S-9","action":"publish"}`: "no platform that receives menus",
	} {
		route := locationRoute
		if strings.Contains(body, "item_ref_ids") {
			route = itemsRoute
		}
		taken := d.ok("POST", route, body)
		require.Contains(t, taken.body["message"], says)
		standing := "/hub/api/v1/switches/" + taken.body["reference"].(string) + "/"
		require.Equal(t, map[string]any{"reference": taken.body["reference"], "outcomes": []any{}, "waiting": []any{}},
			d.ok("GET", standing, "").body)
		requireEnvelope(t, d.do(t, request{method: "GET", path: standing, authorization: stranger.Authorization}), 404,
			"no availability change")
	}
}
