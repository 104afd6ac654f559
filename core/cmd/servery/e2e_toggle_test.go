package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// toggleEvent identifies one event of a toggle.
type toggleEvent struct{ event, reference, platform, action string }

// toggleEvents counts the events, without duplicates of the same webhook-id.
func toggleEvents(t *testing.T, sink *hubtest.Sink) map[toggleEvent]int {
	t.Helper()
	events, known := map[toggleEvent]int{}, map[string]bool{}
	for _, arrival := range sink.Arrivals() {
		if id := arrival.Header.Get("webhook-id"); known[id] {
			continue
		} else {
			known[id] = true
		}
		var body struct {
			Reference string `json:"reference_id"`
			Platform  string
			Action    string
		}
		require.NoError(t, json.Unmarshal(arrival.Body, &body))
		events[toggleEvent{arrival.Header.Get("X-Event-Type"), body.Reference, body.Platform, body.Action}]++
	}
	return events
}

// post sends a request that must succeed and returns its reference.
func post(t *testing.T, url string, client apiClient, body string) string {
	t.Helper()
	response := hubtest.Call(t, "POST", url, client.authorization, body)
	require.Equal(t, 200, response.Status, "%s", response.Body)
	reference, _ := response.Object(t)["reference"].(string)
	return reference
}

// addToggleMenu subscribes to toggles, and adds the stores s1, which has a menu, and s2.
func addToggleMenu(t *testing.T, hub string, client apiClient, sinkURL string) {
	t.Helper()
	for _, event := range []string{"store_action", "item_state_toggle", "option_state_toggle"} {
		post(t, hub+webhooksPath, client, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, sinkURL))
	}
	post(t, hub+storesPath, client,
		`{"stores":[{"ref_id":"s1","name":"One","city":"C","active":true,"ordering_enabled":true,`+
			`"included_platforms":["web","app"]},{"ref_id":"s2","name":"Two","city":"C","active":true,`+
			`"ordering_enabled":true,"included_platforms":["web","app"]}]}`)
	eventually(t, waitTimeout, func() error {
		if status := hubtest.Call(t, "GET", hub+storesPath+"s2/", client.authorization, nil).Status; status != 200 {
			return fmt.Errorf("the store: %d", status)
		}
		return nil
	})
	post(t, hub+"/external/api/v1/inventory/locations/s1/", client,
		`{"items":[{"ref_id":"dal","title":"Dal","price":9.5},{"ref_id":"tea","title":"Tea","price":2}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]}],"options":[{"ref_id":"hot",`+
			`"title":"Hot","price":0.5,"opt_grp_ref_ids":["heat"]}]}`)
}

// A hub is killed while stores and items wait to be enabled. It is down when they are due, and is killed again while it
// processes them.
func TestTimersDueDuringAnOutageFireOnce(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env := onDatabase(database).With("SERVERY_PLUGIN_DIR", openDir(t), "SERVERY_LIMIT_MENU", "off",
		"SERVERY_LIMIT_OPERATIONS", "off", "SERVERY_LIMIT_SWITCHES", "off")
	hub, sink, db := startHub(t, env), hubtest.NewEventSink(t, nil), openTestDatabase(t, database)
	who := newAPIClient(t, env)
	shop := newKey(t, env, who.business, "channel")
	ask := func(path, body string) string { return post(t, hub.URL+path, who, body) }
	addToggleMenu(t, hub.URL, who, sink.URL)
	served := func() (open bool, items int) {
		t.Helper()
		response := hubtest.Call(t, "GET", hub.URL+"/channel/api/v1/stores/s1/menu/?platform=web", shop.authorization,
			nil)
		if response.Status != 200 {
			return false, 0
		}
		menu := response.Object(t)
		return menu["ordering_enabled"].(bool), len(menu["items"].([]any))
	}
	await := func(open bool, items int) {
		t.Helper()
		eventually(t, waitTimeout, func() error {
			if o, d := served(); o != open || d != items {
				return fmt.Errorf("open %t with %d items", o, d)
			}
			return nil
		})
	}
	await(true, 2)

	until := time.Now().Add(10 * time.Minute).UnixMilli()
	want := map[toggleEvent]int{}
	for _, one := range []struct{ path, body, event string }{
		{"/hub/api/v1/location/", `{"location_ref_id":"s1","action":"disable","turn_on_at":%d}`, "store_action"},
		{"/hub/api/v1/location/", `{"location_ref_id":"s2","action":"disable","turn_on_at":%d}`, "store_action"},
		{"/hub/api/v1/items/", `{"location_ref_id":"s1","item_ref_ids":["dal"],"action":"disable","turn_on_at":%d}`,
			"item_state_toggle"},
		{"/hub/api/v1/items/", `{"location_ref_id":"s1","option_ref_ids":["hot"],"action":"disable","turn_on_at":%d}`,
			"option_state_toggle"},
	} {
		reference := ask(one.path, fmt.Sprintf(one.body, until))
		for _, platform := range []string{"web", "app"} {
			want[toggleEvent{one.event, reference, platform, "disable"}] = 1
			want[toggleEvent{one.event, reference, platform, "enable"}] = 1
		}
	}
	await(false, 1)
	hub.Kill()

	require.EqualValues(t, 6,
		db.number(t,
			`WITH stores AS (UPDATE store_switches SET turn_on_at = turn_on_at - interval '1 hour'
				WHERE turn_on_at IS NOT NULL RETURNING 1),
		items AS (UPDATE item_timers SET turn_on_at = turn_on_at - interval '1 hour' RETURNING 1)
		SELECT (SELECT count(*) FROM stores) + (SELECT count(*) FROM items)`),
		"what waits for its time, which comes while no hub runs")
	for range 3 {
		hub = startHub(t, env)
		hub.Kill()
	}
	hub = startHub(t, env, "--roles=api,worker")
	second := startHub(t, env, "--roles=worker")
	await(true, 2)
	eventually(t, waitTimeout, func() error {
		if events := toggleEvents(t, sink); len(events) < len(want) {
			return fmt.Errorf("reported: %v", events)
		}
		return nil
	})
	require.Zero(t, second.Terminate(t))
	require.Zero(t, hub.Terminate(t), "no hub has anything in hand any more")
	require.Equal(t, want, toggleEvents(t, sink))
	require.EqualValues(t, len(want),
		db.number(t,
			`SELECT count(*) FROM events WHERE event_type IN ('store_action', 'item_state_toggle',
				'option_state_toggle')`))
	require.Zero(t, db.number(t,
		`SELECT (SELECT count(*) FROM store_switches WHERE turn_on_at IS NOT NULL OR NOT open) + (SELECT count(*)
			FROM item_timers)`))
}
