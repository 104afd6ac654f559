package cause

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

var since = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

func TestWebhookStateIsExplained(t *testing.T) {
	failing := func(class webhook.ErrorClass, status int) console.Endpoint {
		return console.Endpoint{ID: 7, EventType: "order_placed", Active: true, Waiting: 3,
			Health: console.Health{FailingSince: since, Class: string(class), Status: status}}
	}
	for name, row := range map[string]struct {
		endpoint console.Endpoint
		state    ui.State
		text     string
		detail   string
	}{
		"probed": {console.Endpoint{Active: true, ProbedSince: since, Pause: 30 * time.Second, Waiting: 3,
			Health: console.Health{FailingSince: since, Class: "status", Status: 503}}, ui.Err,
			"answers 503",
			"Waiting for the next attempt: 3 deliveries. It is probed by single attempts every 30s; the others are " +
				"held until it answers."},
		"probed, with deliveries held": {console.Endpoint{Active: true, ProbedSince: since, Pause: time.Second,
			Waiting: 1, Held: 3, Health: console.Health{FailingSince: since, RefusedAt: since, Class: "status",
				Status: 503}}, ui.Err,
			"answers 503",
			"Waiting for the next attempt: 1 delivery. Held for it: 3 deliveries. It is probed by single attempts " +
				"every 1s"},
		"status": {failing(webhook.Status, 503), ui.Err, "answers 503 since 21 Nov 09:30 UTC",
			"Waiting for the next attempt: 3 deliveries"},
		"refused": {failing(webhook.Refused, 0), ui.Err, "not on the public internet",
			"SERVERY_WEBHOOK_ALLOW"},
		"dns":                        {failing(webhook.DNS, 0), ui.Err, "host name", "DNS entry"},
		"tls":                        {failing(webhook.TLS, 0), ui.Err, "secure connection", "valid certificate"},
		"connect":                    {failing(webhook.Connect, 0), ui.Err, "Nothing answers", "firewall"},
		"timeout":                    {failing(webhook.Timeout, 0), ui.Err, "too slowly", "accept first"},
		"broken":                     {failing(webhook.Broken, 0), ui.Err, "breaks the connection off", "firewall"},
		"protocol":                   {failing(webhook.Protocol, 0), ui.Err, "not proper HTTP", "2xx"},
		"redirect":                   {failing(webhook.Redirect, 302), ui.Err, "redirect", "final address"},
		"a class of a later version": {failing("new", 0), ui.Err, "not proper HTTP", "2xx"},
		"gone": {console.Endpoint{DisabledReason: "the endpoint answered 410 Gone", Held: 2},
			ui.Err, "410 Gone", "Held for it: 2 deliveries."},
		"paused, with deliveries waiting": {console.Endpoint{Held: console.Many}, ui.Held,
			"held for it: more than 9\u202f999 deliveries", "Resume it"},
		"paused": {console.Endpoint{}, ui.Held, "switched off", "Resume it"},
		"unused": {console.Endpoint{Active: true}, ui.Neutral, "not been used", ""},
		"unused since it was changed": {console.Endpoint{Active: true, GivenUp: 2}, ui.Warn, "not been used",
			"Given up in the last 24 hours: 2 deliveries."},
		"given up": {console.Endpoint{Active: true, GivenUp: 1,
			Health: console.Health{AcceptedAt: since}}, ui.Warn, "not tried again by themselves: 1.", ""},
		"not tried for long": {console.Endpoint{Active: true, ProbedSince: since, GivenUp: 1,
			Health: console.Health{FailingSince: since, RefusedAt: since, Class: "status", Status: 503}}, ui.Err,
			"answers 503",
			"Not tried since 21 Nov 09:30 UTC: nothing waits for it. Given up in the last 24 hours: 1 delivery. The " +
				"receiver has to"},
		"its server answers others": {console.Endpoint{Active: true, ServerAnswered: since.Add(1),
			Health: console.Health{FailingSince: since, RefusedAt: since, Class: "connect", Error: "nothing answers"}},
			ui.Warn,
			"was refused last at 21 Nov 09:30 UTC (nothing answers); its server answers others since then", ""},
		"its server answers others, and it is held for": {console.Endpoint{Active: true, Held: 1,
			ServerAnswered: since.Add(1),
			Health:         console.Health{FailingSince: since, RefusedAt: since, Class: "connect"}}, ui.Err,
			"Nothing answers", ""},
		"its server answers others, and it is tried": {console.Endpoint{Active: true, Waiting: 1,
			ServerAnswered: since.Add(1),
			Health:         console.Health{FailingSince: since, RefusedAt: since, Class: "connect"}}, ui.Err,
			"Nothing answers", ""},
		"its server answers others but not so": {console.Endpoint{Active: true, ServerAnswered: since.Add(1),
			Health: console.Health{FailingSince: since, RefusedAt: since, Class: "status", Status: 500}}, ui.Err,
			"answers 500", ""},
		"some refused": {console.Endpoint{Active: true, Health: console.Health{AcceptedAt: since},
			Day: console.Count{Refused: 1}}, ui.Warn, "some attempts were refused", ""},
		"well": {console.Endpoint{Active: true, Health: console.Health{AcceptedAt: since}}, ui.OK, "works", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Webhook(row.endpoint, since.Add(time.Hour), time.UTC)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			require.Contains(t, cause.Detail, row.detail)
		})
	}
}

func TestWebhooksFailingAlikeShareOneCause(t *testing.T) {
	failing := func(id int64, url string, status int, more time.Duration) console.Endpoint {
		return console.Endpoint{ID: id, Business: 7, EventType: core.EventType(fmt.Sprint("event_", id)), URL: url,
			Active: true, Waiting: 2, GivenUp: 1,
			Health: console.Health{FailingSince: since.Add(more), RefusedAt: since.Add(more), Class: "status",
				Status: status}}
	}
	past := failing(6, "https://a.example/6", 0, 0)
	past.Health.Class, past.ServerAnswered, past.Waiting, past.GivenUp = "connect", since.Add(1), 0, 0
	foreign := failing(7, "https://a.example/7", 503, 0)
	foreign.Business = 8
	paused := failing(8, "https://a.example/8", 503, 0)
	paused.Active = false
	list := Failures([]console.Endpoint{failing(1, "https://a.example/1", 503, time.Hour),
		failing(2, "https://a.example/2", 503, 0), failing(3, "https://a.example:8443/3", 503, 0),
		failing(4, "https://a.example/4", 500, 0), past, foreign, paused}, since.Add(2*time.Hour), time.UTC)
	var names []string
	for _, f := range list {
		names = append(names, fmt.Sprint(len(f.Webhooks), " ", f.Text))
	}
	require.Equal(t,
		[]string{"2 The endpoint of 2 webhooks at a.example (event_1, event_2) answers 503 since 21 Nov 09:30 UTC.",
			"1 The endpoint of event_3 (3) answers 503 since 21 Nov 09:30 UTC.",
			"1 The endpoint of event_4 (4) answers 500 since 21 Nov 09:30 UTC.",
			"1 The endpoint of event_7 (7) answers 503 since 21 Nov 09:30 UTC.",
			"1 event_8 (8) is switched off, so its events are not sent."}, names)
	require.Equal(t,
		"Waiting for the next attempt: 4 deliveries. Given up in the last 24 hours: 2 deliveries. The receiver has "+
			"to answer 2xx. What it answered stands in the attempt.", list[0].Detail)
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
			"may have got earlier attempts too. All carry the same webhook-id"},
		{webhook.DeliveryRecord{State: webhook.Failed, Attempts: 6, LastError: "no answer", LastClass: webhook.Timeout},
			ui.Err, "Given up after 6 attempts: no answer", "may have got it all the same"},
		{webhook.DeliveryRecord{State: webhook.Held, HeldBecause: "the webhook is switched off", LastError: "503"},
			ui.Held, "Held: the webhook is switched off.", "503"},
		{webhook.DeliveryRecord{State: webhook.Pending}, ui.Run, "The first attempt", ""},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 2, NextAttempt: since, LastError: "503",
			LastClass: webhook.Status}, ui.Warn, "Attempt 3 of 6 follows 21 Nov 09:30 UTC: 503", ""},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 2, NextAttempt: since, LastClass: webhook.Broken},
			ui.Warn, "Attempt 3 of 6", "carries the same webhook-id"},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 6, Base: 6}, ui.Run,
			"Sent again. The first attempt is due.", ""},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 9, Base: 6, NextAttempt: since}, ui.Warn,
			"Sent again. Attempt 4 of 6 follows", ""},
	} {
		cause := Delivery(row.record, time.UTC)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
		require.Contains(t, cause.Detail, row.detail)
		require.Equal(t, row.detail == "", cause.Detail == "")
	}
}

func TestDeliveryAcceptedTwiceSaysSo(t *testing.T) {
	refused := webhook.AttemptRecord{N: 1, Attempt: webhook.Attempt{Status: 503, ErrorClass: webhook.Status}}
	accepted := func(n int) webhook.AttemptRecord {
		return webhook.AttemptRecord{N: n, Attempt: webhook.Attempt{Status: 200}}
	}
	of := func(state webhook.State, attempts ...webhook.AttemptRecord) (string, bool) {
		told, again := DeliveryOf(webhook.DeliveryRecord{State: state, Attempts: len(attempts), Base: 2}, attempts,
			time.UTC)
		return told.Text, again
	}
	told, again := of(webhook.Delivered, refused, accepted(2))
	require.Equal(t, []any{"Delivered: the endpoint accepted it at attempt 2.", false}, []any{told, again})
	told, again = of(webhook.Delivered, refused, accepted(2), accepted(3))
	require.Equal(t, []any{"Delivered: the endpoint accepted it 2 times, at the attempts 2, 3.", true},
		[]any{told, again})
	told, again = of(webhook.Pending, refused, accepted(2))
	require.Equal(t, []any{"Sent again. The first attempt is due.", true}, []any{told, again})
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
			"25 times and was given up: no store"},
		{console.Job{State: "queued"}, nil, ui.Run, "Waiting for its turn"},
		{console.Job{State: "queued", Attempts: 2, Error: "e"}, nil, ui.Warn, "Tried 2 times"},
		{console.Job{State: "running", Done: 1, Total: 9}, nil, ui.Run, "1 of 9"},
		{console.Job{State: "done", DryRun: true}, nil, ui.Neutral, "nothing was changed"},
		{console.Job{State: "done", Total: 10}, groups, ui.Err,
			"Not applied: 4 of 10. The most frequent cause: title is required"},
		{console.Job{State: "done", Total: 1}, []console.Group{{Cause: `platform "z" is unknown`, Count: 1}}, ui.Err,
			`Not applied: 1 of 1. platform "z" is unknown`},
		{console.Job{State: "done", Total: 10}, nil, ui.OK, "Everything was applied: 10 objects."},
		{console.Job{State: "done", Total: 1}, nil, ui.OK, "Everything was applied: 1 object."},
		{console.Job{State: "done", Total: 1,
			Result: []byte(`{"stats":{},"warnings":[{"path":"flush_items","message":"flush_items is held"}]}`)}, nil,
			ui.Warn, "not all that was asked for had an effect. Applied: 1 object."},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":1}`)}, nil,
			ui.Err, "1 of 2 timing groups were not carried out"},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":0}`)}, nil,
			ui.OK, "Everything was applied: 2 objects."},
	} {
		cause := Job(row.job, row.groups)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
	}
}

func TestJobWarningsAreShownWithItsErrors(t *testing.T) {
	warned := console.Job{State: "done", Total: 10,
		Result: []byte(`{"stats":{},"warnings":[{"path":"flush_items","message":"flush_items is held"},` +
			`{"message":"b"},{"message":"c"},{"message":"d"},{"message":"e"}]}`)}
	for _, groups := range [][]console.Group{nil, {{Cause: "title is required", Count: 3}}} {
		require.Equal(t, "flush_items is held. b. c. And 2 more: the callback has them all.",
			Job(warned, groups).Detail)
	}
	require.Empty(t, Job(console.Job{State: "done", Total: 10, Result: []byte(`{"stats":{}}`)}, nil).Detail)
}

func TestItemStateIsExplained(t *testing.T) {
	at := func(available bool, stock int64) []console.ItemPlace {
		return []console.ItemPlace{{Store: console.GridStore{Active: true, Ordering: true}, Sold: true,
			Available: available, Stock: stock}}
	}
	unmet := at(true, -1)
	unmet[0].Unmet = "size"
	active := console.Item{Active: true}
	wednesdays := []core.DayHours{{Day: "monday", Slots: []core.HoursSlot{}},
		{Day: "wednesday", Slots: []core.HoursSlot{{StartTime: "08:00:00", EndTime: "11:30:00"}}}}
	// since is a Saturday, half past nine
	saturdays := []core.DayHours{{Day: "friday", Slots: []core.HoursSlot{{StartTime: "22:00:00", EndTime: "10:00:00"}}}}
	in := func(hours ...[]core.DayHours) (list []console.ItemCategory) {
		for _, h := range hours {
			list = append(list, console.ItemCategory{RefID: "mains", Name: "Mains", Active: true, OnSale: h})
		}
		return list
	}
	for name, row := range map[string]struct {
		item  console.ItemDetail
		state ui.State
		text  string
		place string
	}{
		"inactive at the master": {console.ItemDetail{Places: at(true, -1)}, ui.Err, "inactive in the master",
			"Not shown"},
		"in an inactive category": {console.ItemDetail{Item: active, Places: at(true, -1),
			Categories: []console.ItemCategory{{RefID: "mains"}}}, ui.Err, "mains is inactive", "Not shown"},
		"under an inactive one": {console.ItemDetail{Item: active, Places: at(true, -1),
			Categories: []console.ItemCategory{{RefID: "sub", Under: "top"}}}, ui.Err,
			"The category top, above sub, is inactive", "Not shown"},
		"on no platform": {console.ItemDetail{Item: active, Platforms: []string{}, Places: at(true, -1)}, ui.Err,
			"no platform", "Not shown"},
		"at no store": {console.ItemDetail{Item: active}, ui.Warn, "No store", ""},
		"unavailable": {console.ItemDetail{Item: active, Places: at(false, -1)}, ui.Warn, "0 of 1",
			"available is false"},
		"the store is not active": {console.ItemDetail{Item: active,
			Places: []console.ItemPlace{{Store: console.GridStore{Ordering: true}, Sold: true, Available: true,
				Stock: -1}}}, ui.Warn, "0 of 1", "the store is not active"},
		"the store takes none": {console.ItemDetail{Item: active,
			Places: []console.ItemPlace{{Store: console.GridStore{Active: true}, Sold: true, Available: true,
				Stock: -1}}}, ui.Warn, "0 of 1", "takes no orders"},
		"out of stock": {console.ItemDetail{Item: active, Places: at(true, 0)}, ui.Warn, "0 of 1", "out of stock"},
		"without what it demands": {console.ItemDetail{Item: active, Places: unmet}, ui.Warn, "0 of 1",
			"the option group size demands more options"},
		"shown": {console.ItemDetail{Item: active, Places: at(true, 5)}, ui.OK, "1 of 1", "Shown"},
		"outside its times": {console.ItemDetail{Item: active, Places: at(true, 5), Categories: in(wednesdays)},
			ui.Warn, "Not on sale now: the category Mains is on sale Wed 08:00–11:30.", "Not now: Not on sale now"},
		"without any time": {console.ItemDetail{Item: active, Places: at(true, 5), Categories: in(wednesdays[:1])},
			ui.Warn, "is on sale at no time.", "Not now"},
		"outside them, and off": {console.ItemDetail{Item: active, Places: at(false, 5), Categories: in(wednesdays)},
			ui.Warn, "Not on sale now", "available is false"},
		"within its times": {console.ItemDetail{Item: active, Places: at(true, 5), Categories: in(saturdays)}, ui.OK,
			"1 of 1", "Shown"},
		"in another category too": {console.ItemDetail{Item: active, Places: at(true, 5),
			Categories: in(wednesdays, nil)}, ui.OK, "1 of 1", "Shown"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Item(row.item, since)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			for _, place := range row.item.Places {
				seen := Place(row.item, place, since)
				require.Contains(t, seen.Words+": "+seen.Why, row.place)
			}
		})
	}
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
		return []store.Timing{{Day: day, Slots: []store.Slot{{StartTime: from, EndTime: to}}}}
	}
	for name, row := range map[string]struct {
		store store.Stored
		state ui.State
		text  string
	}{
		"on no platform":  {listed(func(o *store.Object) { o.IncludedPlatforms = nil }), ui.Err, "no platform"},
		"not active":      {listed(func(o *store.Object) { o.Active = &no }), ui.Err, "not active"},
		"takes no orders": {listed(func(o *store.Object) { o.OrderingEnabled = &no }), ui.Err, "ordering_enabled"},
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
		"live": {listed(func(*store.Object) {}), ui.OK, "takes orders on web"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Store(row.store, []string{"app", "web"}, nil, now)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
		})
	}
	state, why := StoreOn(listed(func(*store.Object) {}), "app", now)
	require.Equal(t, ui.Neutral, state)
	require.Contains(t, why, "not in the platforms")
}
