package cause

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

var since = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// explainedWebhook is a webhook and parts of its expected explanation.
type explainedWebhook struct {
	endpoint console.Endpoint
	state    ui.State
	text     string
	detail   string
}

func requireExplainedWebhooks(t *testing.T, rows map[string]explainedWebhook) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			cause := Webhook(row.endpoint, since.Add(time.Hour), time.UTC)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			require.Contains(t, cause.Detail, row.detail)
		})
	}
}

func TestWebhookFailureIsExplained(t *testing.T) {
	failing := func(class webhook.ErrorClass, status int) console.Endpoint {
		return console.Endpoint{ID: 7, EventType: "order_placed", Active: true, Waiting: 3,
			Health: console.Health{FailingSince: since, Class: string(class), Status: status}}
	}
	requireExplainedWebhooks(t, map[string]explainedWebhook{
		"probed": {console.Endpoint{Active: true, CircuitOpenedAt: since, ProbeInterval: 30 * time.Second, Waiting: 3,
			Health: console.Health{FailingSince: since, Class: "status", Status: 503}}, ui.Err,
			"error 503 (not available)",
			"Pending: 3 event deliveries. Every 30s the hub tests the server with one of them."},
		"probed, with deliveries waiting": {console.Endpoint{Active: true, CircuitOpenedAt: since,
			ProbeInterval: time.Second,
			Waiting:       1, Held: 3, Health: console.Health{FailingSince: since, FailedAt: since, Class: "status",
				Status: 503}}, ui.Err,
			"error 503",
			"Pending: 1 event delivery. Waiting: 3 event deliveries. Every 1s the hub tests"},
		"status": {failing(webhook.Status, 503), ui.Err,
			"order_placed webhook 7: the server has responded with error 503 (not available) since 21 Nov 09:30 " +
				"UTC.", "Pending: 3 event deliveries"},
		"address not public": {failing(webhook.AddressRefused, 0), ui.Err, "not on the public internet",
			"SERVERY_WEBHOOK_ALLOW"},
		"unauthorized": {failing(webhook.Status, 401), ui.Err, "error 401 (login rejected)",
			"signing secret"},
		"unauthorized, without headers": {failing(webhook.Status, 403), ui.Err, "error 403",
			"The hub sends no login,"},
		"unauthorized, with headers": {console.Endpoint{Active: true, HeaderNames: []string{"Authorization", "X-Key"},
			CreatedAt: since.Add(-24 * time.Hour),
			Health:    console.Health{FailingSince: since, Class: "status", Status: 401}}, ui.Err, "error 401",
			"The hub sends the login in Authorization: ••••••, X-Key: ••••••, unchanged since 20 Nov 09:30 UTC."},
		"unauthorized, with changed headers": {console.Endpoint{Active: true, HeaderNames: []string{"X-Key"},
			HeadersChangedAt: since.Add(-time.Hour), CreatedAt: since.Add(-24 * time.Hour),
			Health: console.Health{FailingSince: since, Class: "status", Status: 401}}, ui.Err, "error 401",
			"The hub sends the login in X-Key: ••••••, unchanged since 21 Nov 08:30 UTC."},
		"certificate": {console.Endpoint{Active: true, Health: console.Health{FailingSince: since, Class: "tls",
			Error: "the server's certificate is not valid: it expired on 20 Nov 2026, 12:00 UTC"}}, ui.Err,
			"secure connection", "Details: the server's certificate is not valid, it expired on 20 Nov 2026"},
		"unknown path": {failing(webhook.Status, 404), ui.Err, "error 404 (not found)",
			"path in the URL"},
		"a rare status": {failing(webhook.Status, 418), ui.Err, "error 418 since", "The operator"},
		"dns":           {failing(webhook.DNS, 0), ui.Err, "server name", "DNS entry"},
		"tls":           {failing(webhook.TLS, 0), ui.Err, "secure connection", "valid certificate"},
		"connect": {failing(webhook.Connect, 0), ui.Err, "no connection to the server",
			"New orders do not reach the POS"},
		"timeout": {failing(webhook.Timeout, 0), ui.Err, "too slowly", "within 5"},
		"broken": {failing(webhook.ConnectionBroken, 0), ui.Err, "without a full response",
			"crashes"},
		"protocol": {failing(webhook.Protocol, 0), ui.Err, "not valid HTTP", "a web server"},
		"redirect": {failing(webhook.Redirect, 302), ui.Err, "redirect",
			"Ask the developer of the POS to change the URL"},
		"a class of a later version": {failing("new", 0), ui.Err, "not valid HTTP", "a web server"},
	})
}

func TestWebhookStateIsExplained(t *testing.T) {
	requireExplainedWebhooks(t, map[string]explainedWebhook{
		"gone": {console.Endpoint{DisabledReason: "the server responded with 410 Gone", Held: 2},
			ui.Err, "410 (Gone)", "Waiting: 2 event deliveries. Resume it when the receiver wants events again. " +
				"Waiting deliveries are then sent. It gets no event of the time since then"},
		"paused, with deliveries waiting": {console.Endpoint{Held: console.MaxCount}, ui.Held,
			"is paused. Waiting: more than 9\u202f999 event deliveries.",
			"Resume it to send them and new events. It gets no event of the time since then"},
		"paused": {console.Endpoint{DisabledAt: since}, ui.Held, "is paused, so its events are not sent",
			"Resume it to send new events. It gets no event of the time since 21 Nov 09:30 UTC, not even after you " +
				"resume it."},
		"unused": {console.Endpoint{Active: true}, ui.Neutral, "not been used", ""},
		"unused since its change": {console.Endpoint{Active: true, FailedDeliveries: 2}, ui.Warn, "not been used",
			"Failed in the last 24 hours: 2 event deliveries."},
		"failed deliveries": {console.Endpoint{Active: true, FailedDeliveries: 1,
			Health: console.Health{SucceededAt: since}}, ui.Warn, "works, but 1 event delivery failed", "resend them"},
		"no attempt for long": {console.Endpoint{Active: true, CircuitOpenedAt: since, FailedDeliveries: 1,
			Health: console.Health{FailingSince: since, FailedAt: since, Class: "status", Status: 503}}, ui.Err,
			"error 503",
			"No attempt since 21 Nov 09:30 UTC, because there was nothing to deliver. Failed in the last 24 hours: 1 " +
				"event delivery. Resend what is still needed when the server works. The operator"},
		"server responds to other webhooks": {console.Endpoint{Active: true, ServerSucceededAt: since.Add(1),
			Health: console.Health{FailingSince: since, FailedAt: since, Class: "connect", Error: "refused"}},
			ui.Warn,
			"the last attempt failed on 21 Nov at 09:30 UTC (refused). The server has since responded to other " +
				"webhooks.", "The next event shows"},
		"server responds to others, deliveries waiting": {console.Endpoint{Active: true, Held: 1,
			ServerSucceededAt: since.Add(1),
			Health:            console.Health{FailingSince: since, FailedAt: since, Class: "connect"}}, ui.Err,
			"no connection", ""},
		"server responds to others, deliveries pending": {console.Endpoint{Active: true, Waiting: 1,
			ServerSucceededAt: since.Add(1),
			Health:            console.Health{FailingSince: since, FailedAt: since, Class: "connect"}}, ui.Err,
			"no connection", ""},
		"server responds to others, but with an error": {console.Endpoint{Active: true, ServerSucceededAt: since.Add(1),
			Health: console.Health{FailingSince: since, FailedAt: since, Class: "status", Status: 500}}, ui.Err,
			"error 500", ""},
		"some attempts failed": {console.Endpoint{Active: true, Health: console.Health{SucceededAt: since},
			LastDay: console.Count{Failed: 1}}, ui.Warn, "some attempts failed", ""},
		"working": {console.Endpoint{Active: true, Health: console.Health{SucceededAt: since}}, ui.OK, "works", ""},
	})
}

func TestWebhooksFailingAlikeShareOneCause(t *testing.T) {
	failing := func(id int64, url string, status int, more time.Duration) console.Endpoint {
		return console.Endpoint{ID: id, Business: 7, EventType: core.EventType(fmt.Sprint("event_", id)), URL: url,
			Active: true, Waiting: 2, FailedDeliveries: 1,
			Health: console.Health{FailingSince: since.Add(more), FailedAt: since.Add(more), Class: "status",
				Status: status}}
	}
	past := failing(6, "https://a.example/6", 0, 0)
	past.Health.Class, past.ServerSucceededAt, past.Waiting, past.FailedDeliveries = "connect", since.Add(1), 0, 0
	foreign := failing(7, "https://a.example/7", 503, 0)
	foreign.Business = 8
	paused := failing(8, "https://a.example/8", 503, 0)
	paused.Active = false
	list := Failures([]console.Endpoint{failing(1, "https://a.example/1", 503, time.Hour),
		failing(2, "https://a.example/2", 503, 0), failing(3, "https://a.example:8443/3", 503, 0),
		failing(4, "https://a.example/4", 500, 0), past, foreign, paused}, since.Add(2*time.Hour), time.UTC)
	const since503 = " (not available) since 21 Nov 09:30 UTC."
	var names []string
	for _, f := range list {
		names = append(names, fmt.Sprint(len(f.Webhooks), " ", f.Text))
	}
	require.Equal(t,
		[]string{"2 2 webhooks at a.example (event_1, event_2): the server has responded with error 503" + since503,
			"1 event_3 webhook 3: the server has responded with error 503" + since503,
			"1 event_4 webhook 4: the server has responded with error 500 (server error) since 21 Nov 09:30 UTC.",
			"1 event_7 webhook 7: the server has responded with error 503" + since503,
			"1 event_8 webhook 8 is paused, so its events are not sent."}, names)
	require.Equal(t,
		"This server accepts none of these events. Pending: 4 event deliveries. Failed in the last 24 hours: 2 event "+
			"deliveries. Resend what is still needed when the server works. "+
			"The operator of the server must fix this. The last attempt shows its response.",
		list[0].Detail)
}

func TestDeliveryStateIsExplained(t *testing.T) {
	for _, row := range []struct {
		record webhook.DeliveryRecord
		state  ui.State
		text   string
		detail string
	}{
		{webhook.DeliveryRecord{State: webhook.Delivered, Attempts: 1}, ui.OK, "attempt 1", ""},
		{webhook.DeliveryRecord{State: webhook.Delivered, Attempts: 2}, ui.OK, "attempt 2",
			"may have received earlier attempts too. If the POS shows it twice"},
		{webhook.DeliveryRecord{State: webhook.Failed, Attempts: 6, LastError: "no response",
			LastClass: webhook.Timeout},
			ui.Err, "Failed after 6 attempts: no response", "may have received it"},
		{webhook.DeliveryRecord{State: webhook.Failed, Attempts: 1, LastError: "410"}, ui.Err,
			"Failed after 1 attempt: 410", "resend it"},
		{webhook.DeliveryRecord{State: webhook.Held, HeldReason: webhook.WebhookPaused, LastError: "503"},
			ui.Held, "Waiting: the webhook is paused.", "The latest attempt failed: 503."},
		{webhook.DeliveryRecord{State: webhook.Pending}, ui.Wait, "Pending: the first attempt",
			"responds slowly or not at all. The page of the webhook"},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 2, NextAttempt: since, LastError: "503",
			LastClass: webhook.Status}, ui.Warn,
			"Pending: attempt 3 of 6 follows on 21 Nov at 09:30 UTC. The previous attempt failed: 503", ""},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 2, NextAttempt: since,
			LastClass: webhook.ConnectionBroken},
			ui.Warn, "attempt 3 of 6", "with the same id (webhook-id)"},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 6, AttemptsBeforeRestart: 6}, ui.Wait,
			"Resent. Pending: the first attempt is due.", "If it stays pending"},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 9, AttemptsBeforeRestart: 6, NextAttempt: since},
			ui.Warn,
			"Resent. Pending: attempt 4 of 6 follows", ""},
	} {
		cause := Delivery(row.record, time.UTC)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
		require.Contains(t, cause.Detail, row.detail)
		require.Equal(t, row.detail == "", cause.Detail == "")
	}
}

func TestDeliveryAcceptedTwiceSaysSo(t *testing.T) {
	rejected := webhook.AttemptRecord{N: 1, Attempt: webhook.Attempt{Status: 503, ErrorClass: webhook.Status}}
	accepted := func(n int) webhook.AttemptRecord {
		return webhook.AttemptRecord{N: n, Attempt: webhook.Attempt{Status: 200}}
	}
	explain := func(state webhook.State, attempts ...webhook.AttemptRecord) (string, bool) {
		sentence, resent := DeliveryWithAttempts(webhook.DeliveryRecord{State: state, Attempts: len(attempts),
			AttemptsBeforeRestart: 2}, attempts,
			time.UTC)
		return sentence.Text, resent
	}
	sentence, resent := explain(webhook.Delivered, rejected, accepted(2))
	require.Equal(t, []any{"Delivered: the server accepted attempt 2.", false}, []any{sentence, resent})
	sentence, resent = explain(webhook.Delivered, rejected, accepted(2), accepted(3))
	require.Equal(t, []any{"Delivered 2 times: the server accepted attempts 2 and 3.", true},
		[]any{sentence, resent})
	sentence, resent = explain(webhook.Pending, rejected, accepted(2))
	require.Equal(t, []any{"Resent. Pending: the first attempt is due.", true}, []any{sentence, resent})
}

func TestJobStateIsExplained(t *testing.T) {
	groups := []console.Group{{Cause: "title is required", Count: 3}, {Cause: "x", Count: 1}}
	for _, row := range []struct {
		job    console.Job
		groups []console.Group
		state  ui.State
		text   string
	}{
		{console.Job{State: "failed", Attempts: 25, Error: "no store"}, nil, ui.Err,
			"The job failed after 25 attempts: no store"},
		{console.Job{State: "queued"}, nil, ui.Wait, "Queued: jobs of one kind"},
		{console.Job{State: "queued", Attempts: 2, Error: "e"}, nil, ui.Warn,
			"Attempt 2 failed and will be retried: e"},
		{console.Job{State: "running", Kind: core.StoreJob, Done: 1, Total: 9}, nil, ui.Run, "1 of 9 stores"},
		{console.Job{State: "done", DryRun: true}, nil, ui.Neutral, "nothing was changed"},
		{console.Job{State: "done", Total: 10}, groups, ui.Err,
			"Not applied: 4 of 10 objects. Most frequent cause: title is required"},
		{console.Job{State: "done", Total: 1}, []console.Group{{Cause: `platform "z" is unknown`, Count: 1}}, ui.Err,
			`Not applied: 1 of 1 object. platform "z" is unknown`},
		{console.Job{State: "done", Total: 10}, nil, ui.OK, "Applied: 10 objects."},
		{console.Job{State: "done", Kind: core.MenuJob, Total: 1}, nil, ui.OK, "Applied: 1 menu entry."},
		{console.Job{State: "done", Total: 1,
			Result: []byte(`{"stats":{},"warnings":[{"path":"flush_items","message":"flush_items was not applied"}]}`)},
			nil,
			ui.Warn, "Applied: 1 object, with 1 warning."},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":1}`)}, nil,
			ui.Err, "Not applied, or not for all categories: 1 of 2 timing groups."},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":0}`)}, nil,
			ui.OK, "Applied: 2 objects."},
		{console.Job{Kind: core.OrderRetryJob, State: "running", Done: 1, Total: 9}, nil, ui.Run, "1 of 9 orders"},
		{console.Job{Kind: core.OrderRetryJob, State: "done", Result: []byte(`{"retried":0,"failed":0}`)}, nil,
			ui.Neutral, "Nothing was resent. No order of this window was left to resend"},
		{console.Job{Kind: core.OrderRetryJob, State: "done", Total: 12, Result: []byte(`{"retried":12,"failed":0}`)},
			nil, ui.OK, "Resent: 12 orders."},
		{console.Job{Kind: core.OrderRetryJob, State: "done", Total: 12, Result: []byte(`{"retried":12,"failed":12}`)},
			nil, ui.Err, "Resent: 12 orders. Failed again: 12."},
		{console.Job{Kind: core.OrderRetryJob, State: "done", Total: 12, Result: []byte(`{"retried":12,"failed":1}`)},
			nil, ui.Warn, "Resent: 12 orders. Failed again: 1."},
		{console.Job{Kind: core.RecheckJob, State: "done", Total: 12, Result: []byte(`{"items":12}`)}, nil,
			ui.OK, "Checked: 12 items."},
		{console.Job{Kind: core.RecheckJob, State: "done", Total: 12,
			Result: []byte(`{"items":12,"items_with_findings":3}`)}, nil,
			ui.Warn, "Checked: 12 items. Items that break a rule of the platform: 3."},
	} {
		cause := Job(row.job, row.groups)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
	}
}

func TestFailedJobHasTheRemedyOfItsKind(t *testing.T) {
	for _, row := range []struct {
		kind                 core.JobKind
		actor                string
		resent, again, start bool
	}{
		{core.StoreJob, "key:pos", true, true, false}, {core.MenuJob, "", true, true, false},
		{core.TimingJob, "key:pos", true, false, false}, {core.OrderRetryJob, "key:pos", true, false, false},
		{core.MenuJob, "user:sam@example.com", false, false, true},
		{core.OrderRetryJob, "user:sam@example.com", false, false, true}, {core.BulkResendJob, "", false, false, true},
		{core.ProblemResendJob, "", false, false, true}, {core.RecheckJob, "", false, false, false},
	} {
		detail := Job(console.Job{Kind: row.kind, State: "failed", Error: "e", Actor: row.actor}, nil).Detail
		require.Contains(t, detail, "Ask the operator of the hub to fix this.")
		require.Equal(t, []bool{row.resent, row.again, row.start}, []bool{strings.Contains(detail, "POS resend"),
			strings.Contains(detail, "Run again"), strings.Contains(detail, "where you started it")}, row.kind)
	}
}

func TestJobWarningsAreShownWithItsErrors(t *testing.T) {
	warned := console.Job{State: "done", Total: 10,
		Result: []byte(`{"stats":{},"warnings":[{"path":"flush_items","message":"flush_items was not applied"},` +
			`{"message":"b"},{"message":"c"},{"message":"d"},{"message":"e"}]}`)}
	for _, groups := range [][]console.Group{nil, {{Cause: "title is required", Count: 3}}} {
		require.Equal(t, "flush_items was not applied. b. c. The callback has 2 more.",
			Job(warned, groups).Detail)
	}
	require.Empty(t, Job(console.Job{State: "done", Total: 10, Result: []byte(`{"stats":{}}`)}, nil).Detail)
}

// explainedItem is an item, the reason at all its stores, and parts of the expected explanations.
type explainedItem struct {
	item   console.ItemDetail
	reason console.PlaceReason
	state  ui.State
	text   string
	store  string
}

func requireExplainedItems(t *testing.T, rows map[string]explainedItem) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			cause := Item(row.item, []string{"web"}, []console.ItemPlaceCount{{Platform: "web", Reason: row.reason,
				Stores: 1}}, since)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			visibility := ItemVisibility(row.item, console.ItemPlace{Platform: "web", Reason: row.reason},
				Platform{}, since, time.UTC)
			require.Contains(t, visibility.Label+": "+visibility.Why, row.store)
		})
	}
}

func TestItemStateIsExplained(t *testing.T) {
	active := console.Item{Active: true}
	requireExplainedItems(t, map[string]explainedItem{
		"inactive in the catalogue": {console.ItemDetail{}, console.PlaceReason(menu.Inactive), ui.Err,
			"inactive in the master", "Not shown"},
		"in an inactive category": {console.ItemDetail{Item: active,
			Categories: []console.ItemCategory{{RefID: "mains"}}},
			console.PlaceReason(menu.CategoryInactive), ui.Err, "mains is inactive", "Not shown"},
		"under an inactive one": {console.ItemDetail{Item: active,
			Categories: []console.ItemCategory{{RefID: "sub", InactiveParent: "top"}}},
			console.PlaceReason(menu.CategoryInactive), ui.Err,
			"category sub belongs to the inactive category top", "Not shown"},
		"on no platform": {console.ItemDetail{Item: active, Platforms: []string{}}, console.PlaceReason(menu.NotListed),
			ui.Err, "not listed on any platform", "Not shown"},
		"unavailable": {console.ItemDetail{Item: active}, console.PlaceReason(menu.Unavailable), ui.Warn,
			"not available at any store", "Not available at this store"},
		"the stores are not active": {console.ItemDetail{Item: active}, console.PlaceInactive, ui.Warn,
			"Every store that sells the item is inactive", ""},
		"the stores accept no orders": {console.ItemDetail{Item: active}, console.PlaceNoOrders, ui.Warn,
			"No store that sells the item accepts orders", ""},
		"out of stock": {console.ItemDetail{Item: active}, console.PlaceReason(menu.OutOfStock), ui.Warn,
			"out of stock at every store that sells it", "Out of stock"},
		"required options missing": {console.ItemDetail{Item: active}, console.PlaceReason(menu.OptionsMissing), ui.Err,
			"cannot order the item on any platform", "requires more options"},
		"shown": {console.ItemDetail{Item: active}, console.PlaceLive, ui.OK, "at the only store", "Shown"},
	})
}

func TestItemSaleHoursAreExplained(t *testing.T) {
	active := console.Item{Active: true}
	wednesdays := []core.DayHours{{Day: "monday", Slots: []core.HoursSlot{}},
		{Day: "wednesday", Slots: []core.HoursSlot{{StartTime: "08:00:00", EndTime: "11:30:00"}}}}
	// since is a Saturday at 09:30
	saturdays := []core.DayHours{{Day: "friday", Slots: []core.HoursSlot{{StartTime: "22:00:00", EndTime: "10:00:00"}}}}
	categories := func(hours ...[]core.DayHours) (list []console.ItemCategory) {
		for _, h := range hours {
			list = append(list, console.ItemCategory{RefID: "mains", Name: "Mains", Active: true, SaleHours: h})
		}
		return list
	}
	requireExplainedItems(t, map[string]explainedItem{
		"outside sale hours": {console.ItemDetail{Item: active,
			Categories: categories(wednesdays)}, console.PlaceLive,
			ui.Warn, "Not on sale now. Sale hours by category: Mains (Wed 08:00–11:30).",
			"Not on sale now: Not on sale now."},
		"without sale hours": {console.ItemDetail{Item: active,
			Categories: categories(wednesdays[:1])}, console.PlaceLive,
			ui.Warn, "Mains (no hours)", "Not on sale now"},
		"outside sale hours and unavailable": {console.ItemDetail{Item: active,
			Categories: categories(wednesdays)}, console.PlaceReason(menu.Unavailable),
			ui.Warn, "Not on sale now", "Not available at this store"},
		"within sale hours": {console.ItemDetail{Item: active,
			Categories: categories(saturdays)}, console.PlaceLive,
			ui.OK,
			"at the only store", "Shown"},
		"in another category too": {console.ItemDetail{Item: active,
			Categories: categories(wednesdays, nil)}, console.PlaceLive, ui.OK, "at the only store", "Shown"},
	})
}

func TestStoreStateIsExplained(t *testing.T) {
	yes, no := true, false
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC) // a Saturday
	listed := func(change func(*store.Object)) store.Stored {
		s := store.Stored{Object: store.Object{Active: &yes, OrderingEnabled: &yes, HideFromUI: &no,
			IncludedPlatforms: []string{"web"}}}
		change(&s.Object)
		return s
	}
	hours := func(day, from, to string) []store.Timing {
		return []store.Timing{{Day: day, Slots: []core.HoursSlot{{StartTime: from, EndTime: to}}}}
	}
	for name, row := range map[string]struct {
		store store.Stored
		state ui.State
		text  string
	}{
		"on no platform": {listed(func(o *store.Object) { o.IncludedPlatforms = nil }), ui.Err,
			"not listed on any platform"},
		"not active":      {listed(func(o *store.Object) { o.Active = &no }), ui.Err, "is inactive"},
		"takes no orders": {listed(func(o *store.Object) { o.OrderingEnabled = &no }), ui.Err, "orders are disabled"},
		"hidden":          {listed(func(o *store.Object) { o.HideFromUI = &yes }), ui.Warn, "hidden"},
		"closed": {listed(func(o *store.Object) {
			o.Timings = hours("saturday", "09:00:00",
				"22:00:00")
		}), ui.Warn, "closed"},
		"open past midnight": {listed(func(o *store.Object) { o.Timings = hours("friday", "18:00:00", "02:00:00") }),
			ui.OK, "web"},
		"closed before late hours": {listed(func(o *store.Object) {
			o.Timings = hours("saturday", "18:00:00",
				"02:00:00")
		}), ui.Warn, "closed"},
		"closed on a date": {listed(func(o *store.Object) {
			o.SpecialTimings = []core.DateHours{{Date: now.Format(time.DateOnly), Closed: true, Reason: "Inventory"}}
		}), ui.Warn, "closed"},
		"live": {listed(func(*store.Object) {}), ui.OK, "accepts orders on web"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Store(row.store, []string{"app", "web"}, nil, "", now)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
		})
	}
	visibility := StoreVisibility(listed(func(*store.Object) {}), ownPlatform("app"), now, time.UTC)
	require.Equal(t, ui.Neutral, visibility.State)
	require.Contains(t, visibility.Why, "not selected this platform")
}
