package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

const itemsOOSRoute = "/hub/api/v1/orders/items-oos/"

func oneOrder(id int64) string { return fmt.Sprintf("%s%d/", ordersRoute, id) }

func TestOrderIsFoundByItsPOSReference(t *testing.T) {
	s := newOrderClient(t, nil)
	take := func(id string) int64 {
		return int64(s.sendAsChannel("POST", channelOrdersRoute, orderOf(id, "")).body["order_id"].(float64))
	}
	first := take("1")
	s.clock.Advance(time.Second)
	second := take("2")
	require.Equal(t, map[string]any{"status": "success", "message": "the order has the reference P-1",
		"order_id": float64(first)},
		s.ok("PUT", oneOrder(first), `{"reference_id":"P-1"}`).body)
	s.ok("PUT", strings.TrimSuffix(oneOrder(second), "/"), `{"reference_id":7,"extra":null}`)
	require.Equal(t, "P-1", s.ok("GET", oneOrder(first), "").body["reference_id"])
	found := s.ok("GET", ordersRoute+"?order_ref_id=7", "").body["orders"].([]any)
	require.Len(t, found, 1)
	require.Equal(t, []any{float64(second), "7"},
		[]any{hubtest.Lookup(found[0], "order_id"), hubtest.Lookup(found[0], "reference_id")})
	require.Empty(t, s.ok("GET", ordersRoute+"?order_ref_id=P-2", "").body["orders"])

	s.ok("PUT", oneOrder(second), `{"reference_id":"P-1"}`) // the latest of several
	require.Equal(t, 200, s.send("POST", itemsOOSRoute, `{"order_ref_id":"P-1","items_oos":[{"ref_id":"dal"}]}`).status)
	require.Len(t, s.ok("GET", oneOrder(second), "").body["items_oos"], 1)

	requireEnvelope(t, s.send("PUT", oneOrder(first), `{}`), 400, "reference_id is required")
	requireEnvelope(t, s.send("PUT", oneOrder(99), `{"reference_id":"P"}`), 404, `id "99": there is no order`)
	stranger := hubtest.Business(t, s.hub.db)
	requireEnvelope(t, s.do(t,
		request{method: "PUT", path: oneOrder(first), authorization: stranger.Authorization,
			body: `{"reference_id":"P"}`}), 404, "no order")
	requireEnvelope(t, s.sendAsChannel("PUT", oneOrder(first), `{"reference_id":"P"}`), 403, "requires pos")
}

// subscribeToStockReports subscribes to the results of out-of-stock reports. The returned function waits for the first
// n.
func (s *orderClient) subscribeToStockReports() func(n int) []map[string]any {
	sink := hubtest.NewEventSink(s.t, nil)
	s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_items_oos_processed","url":%q}`, sink.URL))
	return func(n int) (events []map[string]any) {
		s.waitAdvancing(s.t, "answers to reports", func() bool { return len(sink.Arrivals()) >= n })
		for _, arrival := range sink.Arrivals() {
			var event map[string]any
			require.NoError(s.t, json.Unmarshal(arrival.Body, &event))
			events = append(events, event)
		}
		return events
	}
}

func TestOrderShowsItsOutOfStockReport(t *testing.T) {
	s := newOrderClient(t, nil)
	events := s.subscribeToStockReports()
	id := int64(s.sendAsChannel("POST", channelOrdersRoute, orderOf("W-1", "")).body["order_id"].(float64))
	s.ok("PUT", oneOrder(id), `{"reference_id":"P-1"}`)
	var references []any
	for n, method := range []string{"POST", "PUT"} {
		body :=
			fmt.Sprintf(`{"order_upipr_id":%d,"order_ref_id":null,"allow_edit":null,"items_oos":[{"upipr_id":null,`+
				`"ref_id":%q}],"note":1}`, id, []string{"hot", "dal"}[n])
		response := s.send(method, itemsOOSRoute, body)
		require.Equal(t, 200, response.status, response.text)
		require.Equal(t, response.body, s.send(method, itemsOOSRoute, body).body, "the same again is the same report")
		require.Equal(t, response.body["reference"], response.body["reference_id"])
		references = append(references, response.body["reference"])
		event := events(n + 1)[n]
		require.Equal(t, []any{true, references[n], "web", float64(id), "P-1", "W-1"},
			[]any{event["success"], event["reference_id"], event["platform"],
				event["upipr_order_id"], event["ref_order_id"], event["platform_order_id"]})
	}
	found := s.ok("GET", fmt.Sprintf("%s?event_type=order_items_oos_processed&order_id=%d", deliveriesRoute, id),
		"").body["deliveries"].([]any)
	require.Len(t, found, 2)
	require.Equal(t, float64(id), hubtest.Lookup(found[0], "order_id"))
	for _, read := range []apiResponse{s.ok("GET", oneOrder(id), ""),
		s.sendAsChannel("GET", fmt.Sprintf("%s%d/", channelOrdersRoute, id), "")} {
		reports := read.body["items_oos"].([]any)
		require.Len(t, reports, 2)
		require.Equal(t, []any{references[0], "done", false, "hot", "key:pos"},
			[]any{hubtest.Lookup(reports[0], "reference_id"), hubtest.Lookup(reports[0], "state"),
				hubtest.Lookup(reports[0], "allow_edit"),
				hubtest.Lookup(hubtest.Lookup(reports[0], "items_oos").([]any)[0], "ref_id"), hubtest.Lookup(
					reports[0], "actor")})
	}
	report := func(body string) apiResponse { return s.send("POST", itemsOOSRoute, body) }
	requireEnvelope(t, report(`{"order_upipr_id":99,"items_oos":[{"ref_id":"dal"}]}`), 404,
		"order_upipr_id 99: there is no order")
	requireEnvelope(t, report(`{"order_ref_id":"P-9","items_oos":[{"ref_id":"dal"}]}`), 404,
		"order_ref_id P-9: there is no order")
	requireEnvelope(t, report(fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"naan"}]}`, id)), 400,
		`items_oos[0] (ref_id "naan"): the order has no such item`)
	requireEnvelope(t, report(`{"items_oos":[]}`), 400, "is required")
	stranger := hubtest.Business(t, s.hub.db)
	requireEnvelope(t, s.do(t, request{method: "POST", path: itemsOOSRoute, authorization: stranger.Authorization,
		body: fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id)}), 404, "no order")
	s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Completed"}`)
	requireEnvelope(t, report(fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id)), 409,
		"the order is Completed")
	require.Len(t, events(2), 2)
}

func TestPOSUpdatesReachThePlatformInOrder(t *testing.T) {
	f := newRelayClient(t, nil)
	f.agent.orders = true
	events := f.subscribeToStockReports()
	report := func(id int64) any {
		response := f.send("POST", itemsOOSRoute,
			fmt.Sprintf(`{"order_upipr_id":"%d","allow_edit":true,"items_oos":[{"ref_id":"dal"},{"ref_id":"hot"}]}`,
				id))
		require.Equal(t, 200, response.status, response.text)
		return response.body["reference"]
	}
	f.agent.mu.Lock()
	f.agent.orders = true
	f.agent.mu.Unlock()
	placed := f.clock.Now().UnixMilli()
	id := f.order("a", "A-1", "")
	moved := f.clock.Now().UnixMilli()
	f.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged","message":"soon"}`)
	reported := f.clock.Now().UnixMilli()
	accepted := report(id)
	require.JSONEq(t, fmt.Sprintf(`{"accepted":true,"at":%d}`, placed), string(f.awaitAggregatorRequest(1).Body))
	require.JSONEq(t, fmt.Sprintf(`{"status":"Acknowledged","message":"soon","at":%d}`, moved),
		string(f.awaitAggregatorRequest(2).Body))
	require.JSONEq(t, fmt.Sprintf(`{"ref_ids":["dal"],"option_ref_ids":["hot"],"allow_edit":true,"at":%d}`, reported),
		string(f.awaitAggregatorRequest(3).Body))
	event := events(1)[0]
	require.Equal(t, []any{accepted, true, "a", "A-1", ""},
		[]any{event["reference_id"], event["success"], event["platform"], event["platform_order_id"],
			event["ref_order_id"]})

	refused := f.order("c", "C-1", "")
	reference := report(refused)
	event = events(2)[1]
	require.Equal(t, []any{reference, false, "c"}, []any{event["reference_id"], event["success"], event["platform"]})
	require.NotEmpty(t, hubtest.Lookup(event, "data.message"))
	read := f.ok("GET", oneOrder(refused), "").body["items_oos"].([]any)[0]
	require.Equal(t, []any{"skipped", hubtest.Lookup(event, "data.message")},
		[]any{hubtest.Lookup(read, "state"), hubtest.Lookup(read, "message")})
}

// metricValue returns the value of a metric without labels.
func (s *orderClient) metricValue(name string) string {
	for line := range strings.Lines(s.do(s.t, request{method: "GET", path: "/metrics"}).text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestUnacknowledgedOrderIsEscalatedOnce(t *testing.T) {
	s := newOrderClient(t, func(c *Config) { c.AckWithin = 5 * time.Minute })
	look := func() {
		var looking sync.WaitGroup // as on several replicas
		for range 3 {
			looking.Go(func() { require.NoError(t, s.hub.monitor.checkOrders(context.Background())) })
		}
		looking.Wait()
	}
	escalated := func() string { return s.metricValue("servery_orders_escalated_total") }
	var ids []int64
	for n := range 3 {
		ids = append(ids, int64(s.sendAsChannel("POST", channelOrdersRoute,
			orderOf(fmt.Sprint(n), "")).body["order_id"].(float64)))
	}
	s.ok("PUT", oneOrder(ids[0])+"status/", `{"new_status":"Acknowledged"}`)
	s.clock.Advance(5*time.Minute - time.Second)
	late := int64(s.sendAsChannel("POST", channelOrdersRoute, orderOf("late", "")).body["order_id"].(float64))
	look()
	require.Equal(t, "0", escalated())
	s.clock.Advance(time.Second)
	look()
	require.Equal(t, "2", escalated())
	s.clock.Advance(time.Minute)
	look()
	require.Equal(t, "2", escalated(), "an order is escalated once")

	list := func() (found []float64) {
		for _, order := range s.ok("GET", ordersRoute+"?escalated=true", "").body["orders"].([]any) {
			require.NotZero(t, hubtest.Lookup(order, "escalated"))
			found = append(found, hubtest.Lookup(order, "order_id").(float64))
		}
		return found
	}
	require.ElementsMatch(t, []float64{float64(ids[1]), float64(ids[2])}, list())
	requireEnvelope(t, s.send("GET", ordersRoute+"?escalated=yes", ""), 400, "must be one of: true, false")
	stillWaiting := func() []any {
		return s.ok("GET", ordersRoute+"?escalated=true&state=Placed", "").body["orders"].([]any)
	}
	require.Len(t, stillWaiting(), 2)
	require.Equal(t, "2", s.metricValue("servery_orders_unacknowledged"))

	s.ok("PUT", oneOrder(ids[1])+"status/", `{"new_status":"Cancelled"}`)
	require.Len(t, list(), 2)
	require.Len(t, stillWaiting(), 1)
	require.NotContains(t, s.ok("GET", oneOrder(ids[0]), "").body, "escalated")
	require.NotZero(t, s.ok("GET", oneOrder(ids[1]), "").body["escalated"], "that it waited stays on record")
	s.clock.Advance(5 * time.Minute)
	look()
	require.Equal(t, "3", escalated())
	require.NotZero(t, s.ok("GET", oneOrder(late), "").body["escalated"])
}

func TestPOSHeartbeatComesFromDeliveriesAndCalls(t *testing.T) {
	s := newOrderClient(t, func(c *Config) { c.SilentAfter = 30 * time.Minute })
	s.ok("POST", storesRoute,
		`{"stores":[{"ref_id":"s2","name":"Two","city":"C","included_platforms":["web"]},{"ref_id":"s3",`+
			`"name":"Three","city":"C"}]}`)
	s.awaitCallback(3)
	ctx := context.Background()
	look := func() []string {
		require.NoError(t, s.hub.monitor.presence.Flush(ctx))
		require.NoError(t, s.hub.monitor.checkStores(ctx))
		return pgtest.SilentStores(t, s.hub.db, s.tenant.ID)
	}
	// and recorded: the result arrives after the response, and an expired lease would repeat the call
	delivered := func(event string, n int) {
		s.waitAdvancing(t, "the delivery to be recorded", func() bool {
			return len(s.ok("GET", "/external/api/v1/deliveries/?state=delivered&event_type="+event,
				"").body["deliveries"].([]any)) == n
		})
	}
	id := int64(s.sendAsChannel("POST", channelOrdersRoute, orderOf("1", "")).body["order_id"].(float64)) // of s1
	delivered("order_placed", 1)
	s.ok("GET", storesRoute+"s2/", "")
	require.Empty(t, look())
	s.clock.Advance(20 * time.Minute)
	s.ok("GET", menuRoute+"s2/", "")
	require.Empty(t, look())
	s.clock.Advance(11 * time.Minute)
	require.Equal(t, []string{"s1"}, look(), "of s3 nothing was ever heard")
	require.Equal(t, []string{"s1"}, look())
	require.Equal(t, "1", s.metricValue("servery_pos_silence_detected_total"))
	require.Equal(t, "1", s.metricValue("servery_pos_silent"))
	s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	require.Empty(t, look(), "a call about an order of the store")
	delivered("order_status_update", 1) // and before the hour has passed
	s.sendAsChannel("GET", channelStoresRoute, "")
	s.clock.Advance(time.Hour)
	require.Equal(t, []string{"s1", "s2"},
		func() []string { list := look(); return []string{min(list[0], list[1]), max(list[0], list[1])} }())
	require.Empty(t, pgtest.SilentStores(t, s.hub.db, core.BusinessID(int64(s.tenant.ID)+1)))
	s.sendAsChannel("POST", channelOrdersRoute, orderOf("2", ""))
	delivered("order_placed", 2)
	require.Equal(t, []string{"s2"}, look(), "an accepted delivery")
}
