package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// scenarioHub is a complete installation of processes: the hub with plugins, simulated aggregators, and a business in
// test mode with its POS.
type scenarioHub struct {
	t         *testing.T
	env       environment
	hub       *hubtest.Hub
	client    apiClient
	rejecting atomic.Bool // the POS rejects orders
	events    *hubtest.Sink
	orders    map[string]int64 // by platform
}

func newScenarioHub(t *testing.T) *scenarioHub {
	t.Helper()
	plugins := t.TempDir()
	for _, id := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		installtest.Plugin(t, plugins, id, "../../../plugins/"+strings.ReplaceAll(id, "-", ""))
	}
	installtest.Plugin(t, plugins, "market", "../../pluginhost/testdata/market")
	w := &scenarioHub{t: t, orders: map[string]int64{}}
	w.env = onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_DATA_DIR", openDir(t), "SERVERY_PLUGIN_DIR", plugins,
		"SERVERY_PUBLISH_QUIET", "100ms",
		"SERVERY_LIMIT_MENU", "off", "SERVERY_LIMIT_RIDER", "off", "SERVERY_LIMIT_OPERATIONS", "off")
	w.hub = startHub(t, w.env)
	w.env = w.env.With("SERVERY_BASE_URL", w.hub.URL, "SERVERY_SIMULATOR",
		fmt.Sprint("http://127.0.0.1:", hubtest.Port(t)))
	w.startSimulator()
	w.events = hubtest.NewEventSink(t, func(_ int, response http.ResponseWriter, r *http.Request) {
		if w.rejecting.Load() && r.Header.Get("X-Event-Type") == string(core.OrderPlaced) {
			response.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	var created struct {
		ID int64 `json:"id"`
	}
	noon := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // a time zone in which the day does not end soon
	serveryJSON(t, w.env, &created, "business", "create", "--name", "Test Kitchen", "--country", "US", "--timezone",
		noon,
		"--currency", "USD", "--sandbox")
	w.client = newKey(t, w.env, created.ID, "pos")
	return w
}

// startSimulator runs the simulated aggregators until the test ends.
func (w *scenarioHub) startSimulator() {
	w.t.Helper()
	simulator := hubtest.NewProcess(builtBinary(w.t), w.env, "simulator", "--callback-after", "10ms")
	simulator.Start(w.t)
	simulator.AwaitOutput(w.t, regexp.MustCompile(`(?m)^(simulating aggregators A, B and C)`))
}

// callHub calls the hub as the POS. The response must be a success.
func (w *scenarioHub) callHub(method, path string, body any) map[string]any {
	w.t.Helper()
	response := hubtest.Call(w.t, method, w.hub.URL+path, w.client.authorization, body)
	require.Equal(w.t, http.StatusOK, response.Status, "%s %s: %s", method, path, response.Body)
	return response.Object(w.t)
}

// itsOrder returns the platform's id of its last order.
func (w *scenarioHub) itsOrder(platform string) any {
	w.t.Helper()
	stored := w.callHub("GET", fmt.Sprintf("/external/api/v1/orders/%d/", w.orders[platform]), nil)
	return hubtest.Lookup(hubtest.Lookup(stored, "order.details.ext_platforms").([]any)[0], "id")
}

// message has the simulated platform send a message about its orders.
func (w *scenarioHub) message(platform string, body fields) {
	w.t.Helper()
	sent := hubtest.Call(w.t, "POST", fmt.Sprintf("%s/admin/%d/%s/messages/orders", w.env["SERVERY_SIMULATOR"],
		w.client.business, platform), "", body)
	require.Equal(w.t, http.StatusOK, sent.Status, string(sent.Body))
	require.Equal(w.t, float64(http.StatusOK), sent.Object(w.t)["status"], string(sent.Body))
}

// runScenario runs `servery simulate` for the store.
func (w *scenarioHub) runScenario(scenario, platform string, flags ...string) int64 {
	w.t.Helper()
	var played simulateReport
	serveryJSON(w.t, w.env, &played,
		append([]string{"simulate", scenario, "--business", strconv.FormatInt(w.client.business, 10), "--store", "S-1",
			"--platform", platform}, flags...)...)
	require.Len(w.t, played.Orders, 1)
	w.orders[platform] = played.Orders[0].OrderID
	return w.orders[platform]
}

// awaitEvent waits for an event whose fields, by path, have these values.
func (w *scenarioHub) awaitEvent(event core.EventType, fields map[string]any) {
	w.t.Helper()
	want, err := json.Marshal(fields)
	require.NoError(w.t, err)
	eventually(w.t, waitTimeout, func() error {
		var others []string
		for _, arrival := range w.events.Arrivals() {
			if arrival.Header.Get("X-Event-Type") != string(event) {
				continue
			}
			var body map[string]any
			if err := json.Unmarshal(arrival.Body, &body); err != nil {
				return err
			}
			has := map[string]any{}
			for path := range fields {
				has[path] = hubtest.Lookup(body, path)
			}
			if found, _ := json.Marshal(has); string(found) == string(want) {
				return nil
			}
			others = append(others, string(arrival.Body))
		}
		return fmt.Errorf("no %s with %s but %s", event, want, others)
	})
}

// eventTriggers returns the trigger of each event type in the order of a first day, with the fields that identify the
// event.
func (w *scenarioHub) eventTriggers() []eventTrigger {
	return append(w.menuTriggers(), w.orderTriggers()...)
}

type fields = map[string]any

func (w *scenarioHub) menuTriggers() []eventTrigger {
	const menu = `{"categories":[{"ref_id":"mains","name":"Mains"}],
		"items":[{"ref_id":"dal","title":"Dal","price":9.5,"category_ref_ids":["mains"]},{"ref_id":"tea",` +
		`"title":"Tea","price":2.25}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]}],"options":[{"ref_id":"hot",` +
		`"title":"Hot","price":0.5,"opt_grp_ref_ids":["heat"]}]}`
	var toggled any
	return []eventTrigger{
		{core.StoreCreation, func() fields {
			stored := w.callHub("POST", storesPath,
				`{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","excluded_platforms":[]}]}`)
			return fields{"reference": stored["reference"], "stats.created": 1}
		}},
		{core.InventoryUpdate, func() fields {
			stored := w.callHub("POST", "/external/api/v1/inventory/locations/S-1/", menu)
			return fields{"reference": stored["reference"],
				"stats.items": fields{"created": 2, "deleted": 0, "errors": 0, "updated": 0}}
		}},
		{core.HubMenuPublish, func() fields {
			published := w.callHub("POST", "/hub/api/v1/location/",
				`{"location_ref_id":"S-1","action":"publish"}`)
			return fields{"reference_id": published["reference_id"], "platform": "aggregator-b",
				"location_ref_id": "S-1", "status": "success"}
		}},
		{core.CatalogueTimingGroup, func() fields {
			timed := w.callHub("POST", "/external/api/v1/inventory/categories/timing-groups/",
				`{"timing_groups":[{"title":"Breakfast","category_ref_ids":["mains"],"day_slots":[{"day":"sunday",`+
					`"slots":[{"start_time":"08:00:00","end_time":"11:00:00"}]}]}]}`)
			return fields{"reference_id": timed["reference_id"]}
		}},
		{core.ItemStateToggle, func() fields {
			switched := w.callHub("POST", "/hub/api/v1/items/",
				`{"location_ref_id":"S-1","item_ref_ids":["tea"],"option_ref_ids":["hot"],"action":"disable",`+
					`"turn_on_at":null}`)
			toggled = switched["reference_id"]
			return fields{"reference_id": toggled, "platform": "aggregator-b", "action": "disable"}
		}},
		{core.OptionStateToggle,
			func() fields { return fields{"reference_id": toggled, "platform": "aggregator-b", "action": "disable"} }},
		{core.StoreAction, func() fields {
			closed := w.callHub("POST", "/hub/api/v1/location/",
				`{"location_ref_id":"S-1","platforms":["aggregator-c"],"action":"disable","turn_on_at":null}`)
			return fields{"reference_id": closed["reference_id"], "platform": "aggregator-c", "action": "disable",
				"status": true, "location_ref_id": "S-1"}
		}},
		{core.StorePlatformStatus, func() fields {
			set := servery(w.t, w.env, "platform", "set", "bazaar", "--business", fmt.Sprint(w.client.business),
				"--plugin", "market", "--secret", "signing_key=unused", "--secret", "feed_key=feedkeyvalue")
			require.Zero(w.t, set.status, set.stderr)
			w.callHub("POST", fmt.Sprintf("/channel/api/v1/bazaar/callback/feed/?business=%d&key=feedkeyvalue&"+
				"store=S-1&state=paused", w.client.business), fields{})
			return fields{"location_ref_id": "S-1", "platform": "bazaar", "state": "paused"}
		}},
	}
}

func (w *scenarioHub) orderTriggers() []eventTrigger {
	order := func(platform, suffix string) string {
		return fmt.Sprintf("/external/api/v1/orders/%d/%s", w.orders[platform], suffix)
	}
	return []eventTrigger{
		{core.OrderPlaced, func() fields {
			return fields{"order.details.id": w.runScenario("order", "aggregator-a"),
				"order.details.channel": "aggregator-a"}
		}},
		{core.OrderStatusUpdate, func() fields {
			w.callHub("PUT", order("aggregator-a", "status/"),
				`{"new_status":"Acknowledged","extra":{"prep_time_mins":15}}`)
			return fields{"order_id": w.orders["aggregator-a"], "new_state": "Acknowledged"}
		}},
		{core.OrderReleased, func() fields {
			w.message("aggregator-a", fields{"event": "order.released",
				"order": fields{"id": w.itsOrder("aggregator-a")}})
			return fields{"order_id": w.orders["aggregator-a"]}
		}},
		{core.OrderUpdated, func() fields {
			w.message("aggregator-a", fields{"event": "order.updated", "change_id": "c-1", "reason": "sold out",
				"order": fields{"id": w.itsOrder("aggregator-a"), "outlet_reference": "S-1",
					"lines": []any{fields{"sku": "dal", "name": "Dal", "qty": 7, "unit_price": 9.5}}}})
			return fields{"order.details.id": w.orders["aggregator-a"], "update.change_id": "c-1"}
		}},
		{core.OrderItemsOOSProcessed, func() fields {
			about := hubtest.Call(w.t, "GET", w.hub.URL+order("aggregator-a", ""), w.client.authorization,
				nil).Object(w.t)
			item := hubtest.Lookup(hubtest.Lookup(about, "order.items").([]any)[0], "merchant_id")
			reported := w.callHub("POST", "/hub/api/v1/orders/items-oos/",
				fields{"order_upipr_id": w.orders["aggregator-a"], "items_oos": []any{fields{"ref_id": item}}})
			return fields{"reference_id": reported["reference_id"], "platform": "aggregator-a", "success": true,
				"data.message": "the customer was informed"}
		}},
		{core.FeatureAction, func() fields {
			action := w.callHub("POST", "/external/api/v1/aggregator/aggregator-a/feature-action/",
				fields{"action": "fetch_customer_data", "order_id": fmt.Sprint(w.orders["aggregator-a"])})
			return fields{"reference": action["reference"], "action": "fetch_customer_data"}
		}},
		{core.RiderStatusUpdate, func() fields {
			return fields{"order_id": w.runScenario("rider", "aggregator-b", "--step", "0s", "--places", "1"),
				"delivery_info.current_state": "DELIVERED"}
		}},
		{core.WebhookRetry, func() fields {
			w.rejecting.Store(true)
			missed := w.runScenario("order", "web")
			w.awaitEvent(core.OrderPlaced, fields{"order.details.id": missed})
			eventually(w.t, waitTimeout, func() error { // running deliveries are not resent
				waiting := w.callHub("GET", "/external/api/v1/deliveries/?event_type=order_placed&state=pending",
					nil)["deliveries"].([]any)
				if len(waiting) != 1 || hubtest.Lookup(waiting[0], "attempts") != 1.0 {
					return fmt.Errorf("it is not on record that the order was refused: %v", waiting)
				}
				return nil
			})
			w.rejecting.Store(false)
			now := time.Now().UnixMilli()
			retried := w.callHub("POST", "/external/api/v1/webhooks/retry/",
				fields{"event_type": 18, "start_time": now - 600_000, "end_time": now + 600_000})
			return fields{"reference_id": retried["reference_id"], "num_webhooks_retried": 1,
				"num_webhooks_retry_failed": 0}
		}},
	}
}

// eventTrigger is an action that leads to an event.
type eventTrigger struct {
	event   core.EventType
	trigger func() map[string]any
}

// TestEveryEventTypeCanBeTriggered triggers each event of the catalogue. The sink checks each body against its schema.
func TestEveryEventTypeCanBeTriggered(t *testing.T) {
	w := newScenarioHub(t)
	for _, event := range core.EventTypes() {
		w.callHub("POST", webhooksPath, map[string]any{"event_type": event, "url": w.events.URL})
	}
	caused := map[core.EventType]bool{}
	for _, c := range w.eventTriggers() {
		w.awaitEvent(c.event, c.trigger())
		caused[c.event] = true
	}
	require.ElementsMatch(t, core.EventTypes(), slices.Collect(maps.Keys(caused)))
	require.Zero(t, w.hub.Terminate(t))
}
