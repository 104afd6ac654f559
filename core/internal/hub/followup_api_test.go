package hub

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// delivered places an order with a delivery type.
func (m *mirrorClient) delivered(id, mode string) int64 {
	m.t.Helper()
	taken := m.event(fmt.Sprintf(`{"order":{"platform_order_id":%q,"store_ref_id":"s1","delivery_type":%q,`+
		`"items":[{"ref_id":"dal","quantity":"2","line_id":"L-1"}]}}`, id, mode))
	require.Equal(m.t, 200, taken.status, taken.text)
	var stored struct {
		ID int64 `json:"order_id"`
	}
	require.NoError(m.t, json.Unmarshal([]byte(taken.text), &stored))
	return stored.ID
}

// subscribe subscribes the webhook for orders to further events.
func (m *mirrorClient) subscribe(events ...string) {
	m.t.Helper()
	for _, event := range events {
		m.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, m.orders.URL))
	}
}

// orderPage returns the page of an order in the console.
func (m *mirrorClient) orderPage(id int64) string {
	m.t.Helper()
	return m.sam.get(m.t, shell.BusinessLink(m.tenant.ID, fmt.Sprintf("orders/%d/", id))).text
}

func TestCourierReportsReachThePOS(t *testing.T) {
	m := newMirrorClient(t)
	m.subscribe("rider_status_update")
	early := m.event(`{"courier":{"platform_order_id":"C-1","status":"ASSIGNED","name":"Asha","phone":"4155550100"}}`)
	require.Equal(t, 200, early.status, early.text)
	require.Contains(t, early.text, "is applied when it arrives")
	id := m.delivered("C-1", "partner")
	late := m.event(`{"courier":{"platform_order_id":"C-1","status":"AT-STORE",` +
		`"location":{"latitude":"37.80","longitude":"-122.27","at":"1795262400000"}}}`)
	require.Equal(t, 200, late.status, late.text)
	require.Contains(t, late.text, fmt.Sprint(id))
	events := m.awaitOrderEvents(3)
	require.Equal(t, []any{float64(id), "ASSIGNED", "partner", "Asha", "AT-STORE", "37.8"}, []any{
		hubtest.Lookup(events[0], "order.details.id"), hubtest.Lookup(events[1], "delivery_info.current_state"),
		hubtest.Lookup(events[1], "delivery_info.mode"),
		hubtest.Lookup(events[1], "delivery_info.delivery_person_details.name"),
		hubtest.Lookup(events[2], "delivery_info.current_state"),
		hubtest.Lookup(events[2], "delivery_info.delivery_person_details.location.latitude")})
	for _, arrival := range m.orderEvents()[1:3] {
		eventtest.Check(t, core.RiderStatusUpdate, arrival.Body)
	}

	moved := m.event(`{"courier":{"platform_order_id":"C-1","location":{"latitude":"37.81","longitude":"-122.27"}}}`)
	require.Equal(t, 200, moved.status, moved.text)
	order := m.ok("GET", oneOrder(id), "").body
	require.Equal(t, []any{"37.81", "platform:mirror", "Asha"}, []any{
		hubtest.Lookup(element(hubtest.Lookup(order, "rider.history"), 1), "location.latitude"),
		hubtest.Lookup(element(hubtest.Lookup(order, "rider.history"), 0), "actor"),
		hubtest.Lookup(order, "rider.name")})
	page := m.orderPage(id)
	for _, shown := range []string{"From mirror.", "Asha 4155550100", "37.81, -122.27; sent by mirror"} {
		require.Contains(t, page, shown)
	}
	refused := m.send("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"AT-STORE"}`, id))
	require.Equal(t, 400, refused.status, "the POS does not report the platform's courier")
	require.Empty(t, m.aggregator.Arrivals(), "nothing returns to the platform")

	wrong := m.event(`{"courier":{"platform_order_id":"C-1","status":"PARKED"}}`)
	require.Equal(t, 400, wrong.status)
	require.Contains(t, wrong.text, "must be one of")
	require.Len(t, m.orderEvents(), 3)
}

func TestCourierOfMerchantDeliveryIsShownAsIgnored(t *testing.T) {
	m := newMirrorClient(t)
	m.subscribe("rider_status_update")
	id := m.delivered("C-2", "self")
	ignored := m.event(`{"courier":{"platform_order_id":"C-2","status":"ASSIGNED"}}`)
	require.Equal(t, 200, ignored.status, ignored.text)
	require.Contains(t, ignored.text, "nothing to do: the merchant delivers the order")
	require.Contains(t, m.orderPage(id), "It changed nothing: the merchant delivers the order")
	m.awaitOrderEvents(1)
	require.Len(t, m.orderEvents(), 1)
}

func TestReleaseAndPreparingReachTheOtherSide(t *testing.T) {
	m := newMirrorClient(t)
	m.subscribe("order_released")
	id := m.delivered("R-1", "partner")
	released := m.event(`{"release":{"platform_order_id":"R-1"}}`)
	require.Equal(t, 200, released.status, released.text)
	require.Contains(t, released.text, "the order is released")
	m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	started := m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"preparing","extra":{"prep_time_mins":9}}`)
	require.Contains(t, started.text, "the order was Acknowledged and is Preparing")
	again := m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Preparing","extra":{"prep_time_mins":12}}`)
	require.Contains(t, again.text, "already Preparing, with a preparation time of 12 minutes")
	back := m.send("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	require.Equal(t, 409, back.status)
	require.Contains(t, back.text, "only Food Ready, Dispatched, Completed")
	events := m.awaitOrderEvents(5)
	require.Equal(t, []any{float64(id), "R-1", "Acknowledged", "Preparing", "Preparing"}, []any{
		events[1]["order_id"], hubtest.Lookup(events[1], "additional_info.external_channel.order_id"),
		events[2]["new_state"], events[3]["new_state"], events[4]["prev_state"]})
	eventtest.Check(t, core.OrderReleased, m.orderEvents()[1].Body)
	eventtest.Check(t, core.OrderStatusUpdate, m.orderEvents()[3].Body)
	for n, minutes := range []any{9.0, 12.0} {
		path, call := m.call(2 + n)
		require.Equal(t, []any{"/preparing", "Preparing", minutes}, []any{path, call["status"], call["prep_minutes"]})
	}
	order := m.ok("GET", oneOrder(id), "").body
	require.Equal(t, []any{"Preparing", "Food Ready"}, []any{order["state"], hubtest.Lookup(order, "order.next_state")})
	require.NotContains(t, fmt.Sprint(hubtest.Lookup(order, "order.next_states")), "Preparing")
	require.Contains(t, m.orderPage(id), "Released to the kitchen")
}

func TestPluginWithoutPreparingIsNotCalled(t *testing.T) {
	s := newSimulatorClient(t, "aggregator-a")
	id, _ := s.placeOrder("aggregator-a", 0, selfDelivery)
	s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Preparing"}`)
	s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Food Ready"}`)
	var calls []string
	s.waitAdvancing(t, "both calls", func() bool {
		rows, err := s.hub.db.Bun().QueryContext(t.Context(), `SELECT state || ': ' || message FROM calls
			WHERE kind = 'order_status' AND state <> 'waiting' ORDER BY sequence`)
		require.NoError(t, err)
		defer rows.Close()
		calls = nil
		for rows.Next() {
			var text string
			require.NoError(t, rows.Scan(&text))
			calls = append(calls, text)
		}
		return len(calls) == 2 && rows.Err() == nil
	})
	require.Equal(t, "skipped: the plugin does not report that the kitchen has started", calls[0])
	require.Contains(t, calls[1], "done")
}

// changed sends a change of an order that has these items now.
func (m *mirrorClient) changed(id, change, items string) apiResponse {
	m.t.Helper()
	return m.event(fmt.Sprintf(`{"order_update":{"platform_order_id":%[1]q,"change_id":%[2]q,"reason":"sold out",`+
		`"order":{"platform_order_id":%[1]q,"platform_store_id":"x","customer":{"name":"Zoe Ng"},"items":[%[3]s]}}}`,
		id, change, items))
}

func TestPlatformChangesAnOrder(t *testing.T) {
	m := newMirrorClient(t)
	m.subscribe("order_updated")
	early := m.changed("U-1", "c-1", `{"ref_id":"dal","quantity":"3","line_id":"L-1"}`)
	require.Contains(t, early.text, "is applied when it arrives")
	id := m.delivered("U-1", "partner")
	changed := m.changed("U-1", "c-2", `{"ref_id":"dal","quantity":"1","line_id":"L-1"},`+
		`{"ref_id":"tea","title":"Tea","price":"2","quantity":"1","line_id":"L-2"}`)
	require.Equal(t, 200, changed.status, changed.text)
	require.Contains(t, changed.text, "the order is changed")
	again := m.changed("U-1", "c-2", `{"ref_id":"dal","quantity":"9"}`)
	require.Contains(t, again.text, "known already, nothing changed")
	events := m.awaitOrderEvents(3)
	for _, arrival := range m.orderEvents()[1:3] {
		eventtest.Check(t, core.OrderUpdated, arrival.Body)
	}
	first, second := events[1], events[2]
	require.Equal(t, []any{"c-1", "quantity", 2.0, 3.0, 28.5}, []any{hubtest.Lookup(first, "update.change_id"),
		hubtest.Lookup(element(hubtest.Lookup(first, "update.items"), 0), "change"),
		hubtest.Lookup(element(hubtest.Lookup(first, "update.items"), 0), "prev_quantity"),
		hubtest.Lookup(element(hubtest.Lookup(first, "update.items"), 0), "quantity"),
		hubtest.Lookup(first, "order.details.order_subtotal")})
	require.Equal(t, []any{float64(id), "s1", "partner", "added", "Tea"}, []any{
		hubtest.Lookup(second, "order.details.id"), hubtest.Lookup(second, "order.store.merchant_ref_id"),
		hubtest.Lookup(element(hubtest.Lookup(second, "order.details.ext_platforms"), 0), "delivery_type"),
		hubtest.Lookup(element(hubtest.Lookup(second, "update.items"), 1), "change"),
		hubtest.Lookup(element(hubtest.Lookup(second, "update.items"), 1), "title")})

	order := m.ok("GET", oneOrder(id), "").body
	require.Len(t, hubtest.Lookup(order, "order.items"), 2)
	require.Equal(t, "Zoe Ng", hubtest.Lookup(order, "customer.name"))
	m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	_, call := m.call(1)
	require.Equal(t, "tea", hubtest.Lookup(element(hubtest.Lookup(call, "order.items"), 1), "ref_id"))
	page := m.orderPage(id)
	for _, shown := range []string{"Changed by the platform", "Dal: 3, now 1", "Tea added: 1", "sold out"} {
		require.Contains(t, page, shown)
	}
	diff := m.sam.get(t, shell.BusinessLink(m.tenant.ID, fmt.Sprintf("orders/%d/diff/", id))).text
	for _, shown := range []string{"Order as placed", "Order after the change c-1"} {
		require.Contains(t, diff, shown)
	}

	m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Completed"}`)
	late := m.changed("U-1", "c-3", `{"ref_id":"dal","quantity":"1"}`)
	require.Equal(t, 409, late.status, late.text)
	require.Contains(t, late.text, "the order is Completed, so it can no longer change")
	require.Contains(t, m.orderPage(id), "Change rejected")
	wrong := m.changed("U-1", "c-4", `{"ref_id":"dal","quantity":"0"}`)
	require.Equal(t, 400, wrong.status, wrong.text)
	m.awaitOrderEvents(5)
	var deliveries int
	m.waitAdvancing(t, "the records", func() bool {
		pgtest.Row(t, m.hub.db, &deliveries, `SELECT count(*) FROM deliveries WHERE business_id = ? AND url = ?`,
			m.tenant.ID, m.orders.URL)
		return deliveries >= 5
	})
	require.Equal(t, 5, deliveries, "a repeat makes no second event")
	require.Len(t, m.orderEvents(), 5)
}
