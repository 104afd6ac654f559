package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// received is an accepted delivery of a new order.
var received = webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Delivered, Attempts: 1,
	FinishedAt: since}

// orderWith returns a delivered new order, after a change.
func orderWith(change func(*OrderFacts)) OrderFacts {
	o := OrderFacts{State: order.Placed, History: []order.Step{{State: order.Placed, At: since.UnixMilli()}},
		Deliveries: []webhook.DeliveryRecord{received}}
	change(&o)
	return o
}

// call adds a call to the platform of an order.
func call(kind, state, payload, message string) func(*OrderFacts) {
	return func(o *OrderFacts) {
		o.Calls = []console.Call{{Kind: kind, State: state, Platform: "tasty-eats", Payload: []byte(payload),
			Message: message}}
	}
}

// explained is the expected explanation of an order some time after it was placed.
type explained struct {
	order OrderFacts
	after time.Duration
	says  []string
	worst ui.State
}

func requireExplained(t *testing.T, rows map[string]explained) {
	t.Helper()
	for name, row := range rows {
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

func TestOrderStateIsExplained(t *testing.T) {
	requireExplained(t, map[string]explained{
		"placed": {orderWith(func(*OrderFacts) {}), 0, []string{"Placed on 21 Nov at 09:30 UTC."}, ui.Run},
		"no webhook": {orderWith(func(o *OrderFacts) { o.Deliveries, o.Unnotified = nil, true }), 0,
			[]string{"The POS has not received the order, because no active webhook"}, ui.Err},
		"deliveries expired": {orderWith(func(o *OrderFacts) { o.Deliveries = nil }), 0,
			[]string{"Its deliveries have expired."}, ui.Run},
		"not acknowledged": {orderWith(func(*OrderFacts) {}), 5 * time.Minute,
			[]string{"has not acknowledged it"}, ui.Warn},
		"acknowledged": {orderWith(func(o *OrderFacts) { o.State = order.Acknowledged }), time.Hour, nil, ui.Run},
		"warnings": {orderWith(func(o *OrderFacts) {
			o.Flags = []order.Flag{{Path: "items[0].price",
				Message: "the menu says 9.5"}}
		}), 0, []string{"with 1 warning.", "Item 1, price: the menu says 9.5."}, ui.Warn},
	})
}

func TestRiderOfAnOrderIsExplained(t *testing.T) {
	requireExplained(t, map[string]explained{
		"rider": {orderWith(func(o *OrderFacts) {
			o.Rides = order.RiderHistory{{Status: order.OutForDelivery, At: since.UnixMilli(),
				Rider: order.Rider{Name: "Asha"}}}
		}), 0, []string{"The rider Asha left for the customer on 21 Nov at 09:30 UTC."}, ui.Run},
		"rider without a name": {orderWith(func(o *OrderFacts) {
			o.Rides = order.RiderHistory{{Status: order.Delivered,
				At: since.UnixMilli()}}
		}), 0, []string{"The rider delivered the order on 21 Nov at"}, ui.Run},
		"no rider found": {orderWith(func(o *OrderFacts) {
			o.Rides = order.RiderHistory{{Status: order.NoRiderFound,
				At: since.UnixMilli()}}
		}), 0, []string{"No rider was found on 21 Nov at"}, ui.Run},
		"status of a later version": {orderWith(func(o *OrderFacts) {
			o.Rides = order.RiderHistory{{Status: "LOST",
				At: since.UnixMilli()}}
		}), 0, []string{"The rider: LOST on 21 Nov at"}, ui.Run},
	})
}

func TestDeliveryOfAnOrderIsExplained(t *testing.T) {
	requireExplained(t, map[string]explained{
		"delivery failed": {orderWith(func(o *OrderFacts) {
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example",
				State: webhook.Failed, Attempts: 6, LastError: "the server responded with 503"}
		}), 0, []string{"The POS has not received this order: https://a.example",
			"Failed after 6 attempts: the server responded with 503"}, ui.Err},
		"one of two deliveries failed": {orderWith(func(o *OrderFacts) {
			o.Deliveries = append(o.Deliveries,
				webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://b.example", State: webhook.Failed,
					Attempts: 6})
		}), 0, []string{"One of 2 servers has not confirmed the order: https://b.example"}, ui.Err},
		"delivery failed, but acknowledged": {orderWith(func(o *OrderFacts) {
			o.State, o.History = order.Completed,
				append(o.History, order.Step{State: order.Acknowledged}, order.Step{State: order.Completed})
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example",
				State: webhook.Failed, Attempts: 6}
		}), 0,
			[]string{"The order is Completed, so the POS probably has it. This server has not confirmed it: " +
				"https://a.example", "needs nothing more", "Failed after 6"}, ui.Warn},
		"delivery failed, but the kitchen works on it": {orderWith(func(o *OrderFacts) {
			o.State, o.History = order.Acknowledged, append(o.History, order.Step{State: order.Acknowledged})
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Failed, Attempts: 6}
		}), 0, []string{"so the POS probably has it", "no action is needed. Failed after 6"}, ui.Warn},
		"delivery failed, and cancelled": {orderWith(func(o *OrderFacts) {
			o.State, o.History = order.Cancelled, append(o.History, order.Step{State: order.Cancelled})
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, URL: "https://a.example",
				State: webhook.Failed, Attempts: 6}
		}), 0, []string{"The order is Cancelled. The POS has not received this order: https://a.example"}, ui.Warn},
		"second delivery accepted": {orderWith(func(o *OrderFacts) {
			o.Deliveries = []webhook.DeliveryRecord{{EventType: core.OrderPlaced, State: webhook.Failed}, received}
		}), 0, nil, ui.Run},
		"delivery pending": {orderWith(func(o *OrderFacts) {
			o.Deliveries[0] = webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Pending}
		}), time.Hour, nil, ui.Run},
	})
}

func TestSeveralServersWithoutTheOrderShareAHeading(t *testing.T) {
	failed := func(n int64) webhook.DeliveryRecord {
		return webhook.DeliveryRecord{EventType: core.OrderPlaced, WebhookID: n, URL: "https://pos.example",
			State: webhook.Failed, Attempts: 6, LastError: "no response"}
	}
	held := failed(3)
	held.State, held.HeldReason, held.LastError = webhook.Held, webhook.WebhookPaused, ""
	o := orderWith(func(o *OrderFacts) { o.Deliveries = append(o.Deliveries, failed(2), held) })
	causes := Order(o, since, time.UTC)
	require.Equal(t, []ui.Cause{
		{State: ui.Err, Text: "Servers that have confirmed the order: 1 of 3. Not confirmed: 2."},
		{State: ui.Err, Text: "Not confirmed by https://pos.example", Detail: "Failed after 6 attempts: no response."},
		{State: ui.Held, Text: "Not confirmed by https://pos.example",
			Detail: "Waiting: the webhook is paused. It is sent when the webhook is resumed."}}, causes[1:])

	o.State = order.Acknowledged
	heading := Order(o, since, time.UTC)[1]
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "The order is Acknowledged. Servers that have confirmed the " +
		"order: 1 of 3. Not confirmed: 2.",
		Detail: "Ask whether the kitchen has the order. If it has, no action is needed."},
		heading)
	o.ResendButton = func(webhook.DeliveryRecord) *ui.Button { return &ui.Button{} }
	require.Contains(t, Order(o, since, time.UTC)[1].Detail, "If not, resend it.")
	o.State = order.Cancelled
	causes = Order(o, since, time.UTC)
	require.Contains(t, causes[1].Detail, "needs nothing more")
	require.Nil(t, causes[2].Button)
}

func TestRepeatOfAnOrderIsExplained(t *testing.T) {
	failed := webhook.DeliveryRecord{EventType: core.OrderPlaced, State: webhook.Failed, Attempts: 6}
	status := webhook.DeliveryRecord{EventType: "order_status_update", State: webhook.Delivered}
	for name, row := range map[string]struct {
		state      order.State
		deliveries []webhook.DeliveryRecord
		colour     ui.State
		says       string
	}{
		"delivered":     {order.Placed, []webhook.DeliveryRecord{received}, ui.Warn, "The POS has the first one."},
		"to one of two": {order.Placed, []webhook.DeliveryRecord{failed, received}, ui.Warn, "The POS has"},
		"no webhook":    {order.Placed, nil, ui.Warn, "The hub kept the first one."},
		"failed":        {order.Placed, []webhook.DeliveryRecord{failed}, ui.Warn, "The hub kept the first"},
		"only a status": {order.Placed, []webhook.DeliveryRecord{status}, ui.Warn, "The hub kept the first"},
		"completed":     {order.Completed, []webhook.DeliveryRecord{received}, ui.Neutral, "The POS has"},
		"cancelled":     {order.Cancelled, []webhook.DeliveryRecord{failed}, ui.Neutral, "The hub kept"},
	} {
		t.Run(name, func(t *testing.T) {
			repeats := []console.OrderRepeat{{Last: since, Actor: "key:shop",
				Differences: "item dal: quantity 1, in the repeat 2"}}
			causes := Order(OrderFacts{State: row.state, Deliveries: row.deliveries, Repeats: repeats}, since, time.UTC)
			repeat := causes[len(causes)-1]
			require.Equal(t, row.colour, repeat.State)
			require.Contains(t, repeat.Text, row.says)
			require.Contains(t, repeat.Detail, "Differences: item dal: quantity 1")
		})
	}
}

func TestRepeatNamesWhoPlacedTheOrder(t *testing.T) {
	repeat := func(placedBy, actor string) ui.Cause {
		causes := Order(orderWith(func(o *OrderFacts) {
			o.History[0].Actor, o.Repeats = placedBy, []console.OrderRepeat{{Last: since, Actor: actor}}
		}), since, time.UTC)
		return causes[len(causes)-1]
	}
	own := repeat("key:shop", "key:shop")
	require.Contains(t, own.Text, `by the website or app (API key "shop")`)
	require.Contains(t, own.Detail, "Ask the developer of the website or app which one")
	aggregator := repeat("platform:tasty", "platform:tasty")
	require.Contains(t, aggregator.Text, "by the platform tasty")
	require.Contains(t, aggregator.Detail, "Ask the support of the platform which one")
}

func TestRejectedCallOfAnOrderIsExplained(t *testing.T) {
	requireExplained(t, map[string]explained{
		"rider status rejected": {orderWith(call("rider_status", "failed", `{"status":"AT-STORE"}`,
			"the aggregator responded with 400")), 0,
			[]string{"Rider status \"At the store\" to tasty-eats. Failed, and not retried: tasty-eats " +
				"responded with error 400"},
			ui.Err},
		"plugin down": {orderWith(call("rider_status", "waiting", `{"status":"AT-STORE"}`,
			"the plugin is not running")), 0, []string{"will be retried: the plugin is not running"}, ui.Warn},
		"plugin stopped": {orderWith(call("rider_status", "waiting", `{"status":"AT-STORE"}`,
			"planning the call failed: plugin tasty is unavailable: it is quarantined (plugin_unavailable)")), 0,
			[]string{"Failed, and will be retried: its plugin tasty is not running",
				"when the plugin runs again, for up to a day"}, ui.Warn},
		"action rejected": {orderWith(call("action", "failed", `{"action":"rider_with_mask"}`,
			"unknown order")), 0, []string{"Action rider_with_mask at tasty-eats. Failed, and not retried: unknown " +
			"order"},
			ui.Err},
		"order status rejected": {orderWith(call("order_status", "failed", `{"status":"Dispatched"}`, "no")), 0,
			[]string{"Order status \"Dispatched\" to tasty-eats. Failed, and not retried: no"}, ui.Err},
		"login rejected, in the words of the plugin": {orderWith(func(o *OrderFacts) {
			call("order_status", "failed", `{"status":"Dispatched"}`, "who are you?")(o)
			o.Calls[0].Attempts = []console.CallAttempt{{Attempt: relay.Attempt{Status: 401, Error: "who are you?"}}}
		}), 0, []string{"tasty-eats rejected the login (401: who are you?)", "the right login of the hub"}, ui.Err},
		"call of a later version": {orderWith(call("drone", "failed", ``, "no")), 0, []string{"drone to tasty-eats"},
			ui.Err},
		"skipped call is no problem": {orderWith(call("rider_status", "skipped", `{}`, "not needed")), 0, nil,
			ui.Run},
		"done call is no problem": {orderWith(call("rider_status", "done", `{}`, "")), 0, nil, ui.Run},
	})
}

func TestCallOfAStoppedPluginLinksThePlugin(t *testing.T) {
	o := orderWith(call("order_status", "waiting", `{}`, "plugin tasty is not running"))
	o.PluginLink = func(id string) ui.Link { return ui.Link{Href: "plugins/" + id} }
	require.Equal(t, "plugins/tasty", Order(o, since, time.UTC)[1].Link.Href)
}

func TestFailedOrderDeliveryOffersAResend(t *testing.T) {
	failed := webhook.DeliveryRecord{EventType: core.OrderPlaced, WebhookID: 7, State: webhook.Failed}
	o := OrderFacts{State: order.Placed, Deliveries: []webhook.DeliveryRecord{failed}}
	o.DeliveryLink = func(d webhook.DeliveryRecord) ui.Link { return ui.Link{Href: "page", Label: d.ID.String()} }
	require.Equal(t, "page", Order(o, since, time.UTC)[1].Link.Href)
	require.Nil(t, Order(o, since, time.UTC)[1].Button)
	o.ResendButton = func(webhook.DeliveryRecord) *ui.Button { return &ui.Button{Label: "resend"} }
	require.Equal(t, "resend", Order(o, since, time.UTC)[1].Button.Label)
	o.State = order.Cancelled
	require.Nil(t, Order(o, since, time.UTC)[1].Button)
}

func TestUndeliveredOrderOffersSendingWherePossible(t *testing.T) {
	o := OrderFacts{State: order.Placed, Unnotified: true}
	require.Contains(t, Order(o, since, time.UTC)[1].Detail, "Subscribe or resume a webhook")
	o.NotifyButton = &ui.Button{Label: "send"}
	cause := Order(o, since, time.UTC)[1]
	require.Equal(t, []string{"", "send"}, []string{cause.Detail, cause.Button.Label})
	o.State = order.Cancelled
	cause = Order(o, since, time.UTC)[1]
	require.Empty(t, cause.Detail)
	require.Nil(t, cause.Button)
}

func TestRiderLocationStateIsExplained(t *testing.T) {
	for state, words := range map[string]string{
		"done":    "the platform has this location",
		"failed":  "not accepted: it responded with 401",
		"skipped": "not sent: it responded with 401",
		"waiting": "waiting to be sent to the platform: it responded with 401",
	} {
		require.Equal(t, words, RiderLocationNote(console.RiderLocation{State: state,
			Message: "it responded with 401"}, "tasty", time.UTC))
	}
	causes := Order(OrderFacts{State: order.Acknowledged,
		Deliveries: []webhook.DeliveryRecord{{EventType: core.OrderPlaced, State: webhook.Delivered}},
		Calls: []console.Call{{Kind: "rider_location", State: "failed", Platform: "tasty-eats",
			Message: "it responded with 401"}}}, since, time.UTC)
	require.Equal(t, "Rider location to tasty-eats. Failed, and not retried: it responded with 401", causes[1].Text)
}

func TestPlatformMayCancelForTheCustomer(t *testing.T) {
	require.Equal(t, "the customer or the platform tasty (the hub does not know which)",
		StepActor(order.Step{State: order.Cancelled, Actor: "platform:tasty"}, ""))
	require.Equal(t, "the platform tasty", StepActor(order.Step{State: order.Placed, Actor: "platform:tasty"}, ""))
	require.Equal(t, `the POS (API key "pos")`, StepActor(order.Step{State: order.Cancelled, Actor: "key:pos"}, ""))
	require.Equal(t, `the customer, on the website or app (API key "shop")`,
		StepActor(order.Step{State: order.Cancelled, Actor: "key:shop"}, "key:shop"))
}

func TestReasonOfAStepIsInWords(t *testing.T) {
	o := orderWith(func(o *OrderFacts) {
		o.State = order.Cancelled
		o.History = append(o.History, order.Step{State: order.Cancelled, At: since.UnixMilli(), Actor: "key:pos",
			ReasonCode: "item_out_of_stock", Message: "No dal."})
	})
	cause := Order(o, since, time.UTC)[0]
	require.Equal(t, `Cancelled on 21 Nov at 09:30 UTC by the POS (API key "pos").`, cause.Text)
	require.Equal(t, "Reason: item out of stock. Message: “No dal”.", cause.Detail)
}

func TestFinishedOrderShowsNoRiderUnderWay(t *testing.T) {
	for _, row := range []struct {
		state order.State
		rider order.RiderStatus
		words string
	}{
		{order.Dispatched, order.OutForDelivery, "Out for delivery"}, {order.Dispatched, "LOST", "LOST"},
		{order.Completed, order.OutForDelivery, ""}, {order.Cancelled, order.AtStore, ""},
		{order.Completed, order.Delivered, "Delivered"},
	} {
		require.Equal(t, row.words, RiderStateLabel(row.state, row.rider))
	}
	for _, status := range order.RiderStatuses() {
		require.NotEqual(t, string(status), RiderLabel(status))
	}
}

func TestOldRiderLocationIsReported(t *testing.T) {
	location := console.RiderLocation{ReceivedAt: since}
	stale := func(state order.State, rider order.RiderStatus, after time.Duration) bool {
		return RiderLocationIsStale(order.APIOrder{State: state, Rider: &order.APIRider{Status: rider}}, location,
			since.Add(after))
	}
	require.True(t, stale(order.Dispatched, order.OutForDelivery, 5*time.Minute))
	require.False(t, stale(order.Dispatched, order.OutForDelivery, 4*time.Minute))
	require.False(t, stale(order.Dispatched, order.Delivered, time.Hour))
	require.False(t, stale(order.Completed, order.OutForDelivery, time.Hour))
}

func TestAmountsOfWarningsHaveACurrency(t *testing.T) {
	amount := func(text string) *core.Amount {
		parsed, err := core.ParseAmount(text)
		require.NoError(t, err)
		return &parsed
	}
	for path, words := range map[string]string{
		"items[0].price": "Item 1, price: the customer pays 10.25 EUR, as the platform sent it, but the menu " +
			"has 102.50 EUR.",
		"order_total": "Order total: the platform sent 10.25 EUR, but the hub calculates 102.50 EUR.",
	} {
		require.Equal(t, words, Flag(order.Flag{Path: path, Sent: amount("10.25"), Computed: amount("102.5")}, "EUR"))
	}
}

func TestRejectionNamesItsItems(t *testing.T) {
	items := []order.Item{{RefID: "dal", Title: "Dal", Options: []order.Option{{RefID: "ghee", Title: "Ghee"}}}}
	rejected := order.RejectedItems{OutOfStock: []order.ItemRef{{RefID: "dal"}, {RefID: "ghee"}},
		Invalid: []order.ItemRef{{RefID: "naan-7"}}}
	requireExplained(t, map[string]explained{
		"items": {orderWith(func(o *OrderFacts) {
			o.State, o.Titles = order.Cancelled, OrderTitles(items)
			o.History = append(o.History, order.Step{State: order.Cancelled, At: since.UnixMilli(), Message: "Sorry",
				RejectedItems: rejected})
		}), 0, []string{"Rejected: Dal is out of stock, Ghee is out of stock, naan-7 cannot be prepared. " +
			"Message: “Sorry”."}, ui.Run},
	})
	many := order.Step{RejectedItems: order.RejectedItems{Invalid: make([]order.ItemRef, 12)}}
	require.Regexp(t, `cannot be prepared, and 2 more\.$`, StepItems(many, nil))
	require.Empty(t, StepItems(order.Step{}, nil))
}
