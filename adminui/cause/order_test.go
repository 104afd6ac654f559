package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

func TestCauseOfAnOrder(t *testing.T) {
	placed := []order.Step{{State: order.Placed, At: since.UnixMilli()}}
	told := webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Delivered, Attempts: 1, FinishedAt: since}
	with := func(change func(*Ordered)) Ordered {
		o := Ordered{State: order.Placed, History: placed, Deliveries: []webhook.DeliveryRecord{told}}
		change(&o)
		return o
	}
	call := func(kind, state, payload, message string) func(*Ordered) {
		return func(o *Ordered) {
			o.Calls = []console.Call{{Kind: kind, State: state, Platform: "tasty-eats", Payload: []byte(payload), Message: message}}
		}
	}
	for name, row := range map[string]struct {
		order Ordered
		after time.Duration
		says  []string
		worst ui.State
	}{
		"placed": {with(func(*Ordered) {}), 0, []string{"Placed since 21 Nov 09:30 UTC."}, ui.Run},
		"its rider": {with(func(o *Ordered) {
			o.Rides = order.Rides{{Status: order.OutForDelivery, At: since.UnixMilli(), Rider: order.Rider{Name: "Asha"}}}
		}), 0, []string{"The rider Asha is on the way to the customer since 21 Nov 09:30 UTC."}, ui.Run},
		"a rider without a name":      {with(func(o *Ordered) { o.Rides = order.Rides{{Status: order.Delivered, At: since.UnixMilli()}} }), 0, []string{"The rider delivered it at 21 Nov"}, ui.Run},
		"no rider found":              {with(func(o *Ordered) { o.Rides = order.Rides{{Status: order.NoRiderFound, At: since.UnixMilli()}} }), 0, []string{"No rider was found at 21 Nov"}, ui.Run},
		"a status of a later version": {with(func(o *Ordered) { o.Rides = order.Rides{{Status: "LOST", At: since.UnixMilli()}} }), 0, []string{"The rider: LOST, 21 Nov"}, ui.Run},
		"nobody is told":              {with(func(o *Ordered) { o.Deliveries = nil }), 0, []string{"no webhook that is switched on was subscribed"}, ui.Err},
		"the merchant refuses it": {with(func(o *Ordered) {
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example", State: webhook.Failed, Attempts: 6, LastError: "the endpoint answered 503"}
		}), 0, []string{"The merchant has not accepted the order: https://a.example", "Given up after 6 attempts: the endpoint answered 503"}, ui.Err},
		"one of two refuses it": {with(func(o *Ordered) {
			o.Deliveries = append(o.Deliveries, webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://b.example", State: webhook.Failed, Attempts: 6})
		}), 0, []string{"One of 2 endpoints has not accepted the order: https://b.example"}, ui.Err},
		"it was acknowledged all the same": {with(func(o *Ordered) {
			o.State, o.History = order.Completed, append(placed, order.Step{State: order.Acknowledged}, order.Step{State: order.Completed})
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example", State: webhook.Failed, Attempts: 6}
		}), 0, []string{"The merchant knows the order, which is Completed; one endpoint has not accepted it: https://a.example", "Given up after 6"}, ui.Warn},
		"it was cancelled meanwhile": {with(func(o *Ordered) {
			o.State, o.History = order.Cancelled, append(placed, order.Step{State: order.Cancelled})
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example", State: webhook.Failed, Attempts: 6}
		}), 0, []string{"The order is Cancelled; one endpoint has not accepted it: https://a.example"}, ui.Warn},
		"it took it the second time": {with(func(o *Ordered) {
			o.Deliveries = []webhook.DeliveryRecord{{EventType: core.OrderPlaced, State: webhook.Failed}, told}
		}), 0, nil, ui.Run},
		"it is on its way": {with(func(o *Ordered) {
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Pending}
		}), time.Hour, nil, ui.Run},
		"not acknowledged":                {with(func(*Ordered) {}), 5 * time.Minute, []string{"has not acknowledged it"}, ui.Warn},
		"acknowledged":                    {with(func(o *Ordered) { o.State = order.Acknowledged }), time.Hour, nil, ui.Run},
		"doubts":                          {with(func(o *Ordered) { o.Flags = []order.Flag{{Path: "items[0].price", Message: "the menu says 9.5"}} }), 0, []string{"against the menu: 1"}, ui.Warn},
		"a rider's status is refused":     {with(call("rider_status", "failed", `{"status":"AT-STORE"}`, "the aggregator answered 400")), 0, []string{"Rider status AT-STORE to tasty-eats: Refused for good: the aggregator answered 400"}, ui.Err},
		"the plugin is down":              {with(call("rider_status", "waiting", `{"status":"AT-STORE"}`, "the plugin is not running")), 0, []string{"tried again: the plugin is not running"}, ui.Warn},
		"an action is refused":            {with(call("action", "failed", `{"action":"rider_with_mask"}`, "unknown order")), 0, []string{"Action rider_with_mask at tasty-eats: Refused for good: unknown order"}, ui.Err},
		"its state is refused":            {with(call("order_status", "failed", `{"status":"Dispatched"}`, "no")), 0, []string{"Order state Dispatched to tasty-eats: Refused for good: no"}, ui.Err},
		"a call of a later version":       {with(call("drone", "failed", ``, "no")), 0, []string{"drone to tasty-eats"}, ui.Err},
		"what was left out is no trouble": {with(call("rider_status", "skipped", `{}`, "not told")), 0, nil, ui.Run},
		"what is done is no trouble":      {with(call("rider_status", "done", `{}`, "")), 0, nil, ui.Run},
	} {
		t.Run(name, func(t *testing.T) {
			causes := Order(row.order, since.Add(row.after), time.UTC)
			all, worst := "", ui.Run
			for _, c := range causes {
				all += c.Text + "\n" + c.Detail
				if c.State == ui.Err || c.State == ui.Warn && worst != ui.Err {
					worst = c.State
				}
			}
			for _, part := range row.says {
				require.Contains(t, all, part)
			}
			require.Equal(t, row.worst, worst, all)
		})
	}
}

func TestAnOrderThatAnEndpointHasNotIsSentAgain(t *testing.T) {
	failed := webhook.DeliveryRecord{EventType: core.OrderPlaced, WebhookID: 7, State: webhook.Failed}
	o := Ordered{State: order.Placed, Deliveries: []webhook.DeliveryRecord{failed}}
	o.Page = func(d webhook.DeliveryRecord) ui.Link { return ui.Link{Href: "page", Label: d.ID.String()} }
	require.Equal(t, "page", Order(o, since, time.UTC)[1].Link.Href)
	require.Nil(t, Order(o, since, time.UTC)[1].Button)
	o.Again = func(webhook.DeliveryRecord) *ui.Button { return &ui.Button{Label: "again"} }
	require.Equal(t, "again", Order(o, since, time.UTC)[1].Button.Label)
	o.State = order.Cancelled
	require.Nil(t, Order(o, since, time.UTC)[1].Button)
}

func TestAnOrderThatNobodyWasToldOfIsSentWhereThatCanBe(t *testing.T) {
	o := Ordered{State: order.Placed}
	require.Contains(t, Order(o, since, time.UTC)[1].Detail, "Subscribe or resume one")
	o.Tell = &ui.Button{Label: "send"}
	told := Order(o, since, time.UTC)[1]
	require.Equal(t, []string{"", "send"}, []string{told.Detail, told.Button.Label})
	o.State = order.Cancelled
	told = Order(o, since, time.UTC)[1]
	require.Empty(t, told.Detail)
	require.Nil(t, told.Button)
}

func TestWhetherAnAggregatorKnowsWhereARiderIs(t *testing.T) {
	for state, words := range map[string]string{
		"done":    "the aggregator has it",
		"failed":  "refused: it answered 401",
		"skipped": "not sent: it answered 401",
		"waiting": "the aggregator is still to be told",
	} {
		require.Equal(t, words, RiderPlace(console.RiderPlace{State: state, Message: "it answered 401"}))
	}
	refused := Order(Ordered{State: order.Acknowledged, Deliveries: []webhook.DeliveryRecord{{EventType: core.OrderPlaced, State: webhook.Delivered}},
		Calls: []console.Call{{Kind: "rider_location", State: "failed", Platform: "tasty-eats", Message: "it answered 401"}}}, since, time.UTC)
	require.Equal(t, "Place of the rider to tasty-eats: Refused for good: it answered 401", refused[1].Text)
}
