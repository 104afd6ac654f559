package cause

import (
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

func TestCauseOfAWebhook(t *testing.T) {
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
		"probed": {console.Endpoint{Active: true, ProbedSince: since, Pause: 30 * time.Second, Waiting: 3, Health: console.Health{FailingSince: since, Class: "status", Status: 503}}, ui.Err,
			"answers 503", "3 deliveries wait for their next attempt. It is probed by single attempts every 30s; the others are held until it answers."},
		"status":                          {failing(webhook.Status, 503), ui.Err, "answers 503 since 21 Nov 09:30 UTC", "3 deliveries wait"},
		"refused":                         {failing(webhook.Refused, 0), ui.Err, "not on the public internet", "SERVERY_WEBHOOK_ALLOW"},
		"dns":                             {failing(webhook.DNS, 0), ui.Err, "host name", "DNS entry"},
		"tls":                             {failing(webhook.TLS, 0), ui.Err, "certificate", "valid certificate"},
		"connect":                         {failing(webhook.Connect, 0), ui.Err, "Nothing answers", "firewall"},
		"timeout":                         {failing(webhook.Timeout, 0), ui.Err, "too slowly", "accept first"},
		"broken":                          {failing(webhook.Broken, 0), ui.Err, "breaks the connection off", "firewall"},
		"protocol":                        {failing(webhook.Protocol, 0), ui.Err, "not proper HTTP", "2xx"},
		"redirect":                        {failing(webhook.Redirect, 302), ui.Err, "redirect", "final address"},
		"a class of a later version":      {failing("new", 0), ui.Err, "not proper HTTP", "2xx"},
		"gone":                            {console.Endpoint{DisabledReason: "the endpoint answered 410 Gone", Held: 2}, ui.Err, "410 Gone", "2 deliveries are held"},
		"paused, with deliveries waiting": {console.Endpoint{Held: console.Many}, ui.Held, "more than 9\u202f999 deliveries are held", "Resume it"},
		"paused":                          {console.Endpoint{}, ui.Held, "switched off", "Resume it"},
		"unused":                          {console.Endpoint{Active: true}, ui.Neutral, "not been used", ""},
		"some refused":                    {console.Endpoint{Active: true, Health: console.Health{AcceptedAt: since}, Day: console.Count{Refused: 1}}, ui.Warn, "some attempts were refused", ""},
		"well":                            {console.Endpoint{Active: true, Health: console.Health{AcceptedAt: since}}, ui.OK, "works", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Webhook(row.endpoint, time.UTC)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			require.Contains(t, cause.Detail, row.detail)
		})
	}
}

func TestCauseOfADelivery(t *testing.T) {
	for _, row := range []struct {
		record webhook.DeliveryRecord
		state  ui.State
		text   string
	}{
		{webhook.DeliveryRecord{State: webhook.Delivered, Attempts: 2}, ui.OK, "attempt 2"},
		{webhook.DeliveryRecord{State: webhook.Failed, Attempts: 6, LastError: "no answer"}, ui.Err, "Given up after 6 attempts: no answer"},
		{webhook.DeliveryRecord{State: webhook.Held, HeldBecause: "the webhook is switched off"}, ui.Held, "Held: the webhook is switched off."},
		{webhook.DeliveryRecord{State: webhook.Pending}, ui.Run, "first attempt"},
		{webhook.DeliveryRecord{State: webhook.Pending, Attempts: 2, NextAttempt: since, LastError: "503"}, ui.Warn, "Attempt 3 of 6 follows 21 Nov 09:30 UTC: 503"},
	} {
		cause := Delivery(row.record, time.UTC)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
	}
}

func TestCauseOfAJob(t *testing.T) {
	groups := []console.Group{{Cause: "title is required", Count: 3}, {Cause: "x", Count: 1}}
	for _, row := range []struct {
		job    console.Job
		groups []console.Group
		state  ui.State
		text   string
	}{
		{console.Job{State: "failed", Attempts: 25, Error: "no store"}, nil, ui.Err, "25 times and was given up: no store"},
		{console.Job{State: "queued"}, nil, ui.Run, "Waiting for its turn"},
		{console.Job{State: "queued", Attempts: 2, Error: "e"}, nil, ui.Warn, "Tried 2 times"},
		{console.Job{State: "running", Done: 1, Total: 9}, nil, ui.Run, "1 of 9"},
		{console.Job{State: "done", DryRun: true}, nil, ui.Neutral, "nothing was changed"},
		{console.Job{State: "done", Total: 10}, groups, ui.Err, "4 of 10 objects were not applied; the most frequent cause: title is required"},
		{console.Job{State: "done", Total: 10}, nil, ui.OK, "All 10"},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":1}`)}, nil, ui.Err, "1 of 2 timing groups were not carried out"},
		{console.Job{Kind: core.TimingJob, State: "done", Total: 2, Result: []byte(`{"groups":2,"errors":0}`)}, nil, ui.OK, "All 2"},
	} {
		cause := Job(row.job, row.groups)
		require.Equal(t, row.state, cause.State)
		require.Contains(t, cause.Text, row.text)
	}
}

func TestCauseOfAnItem(t *testing.T) {
	at := func(available bool, stock int64) []console.ItemPlace {
		return []console.ItemPlace{{Sold: true, Available: available, Stock: stock}}
	}
	active := console.Item{Active: true}
	for name, row := range map[string]struct {
		item  console.ItemDetail
		state ui.State
		text  string
		place string
	}{
		"inactive at the master":  {console.ItemDetail{Places: at(true, -1)}, ui.Err, "inactive in the master", "Not shown"},
		"in an inactive category": {console.ItemDetail{Item: active, Places: at(true, -1), Categories: []console.ItemCategory{{RefID: "mains"}}}, ui.Err, "mains is inactive", "Not shown"},
		"on no platform":          {console.ItemDetail{Item: active, Platforms: []string{}, Places: at(true, -1)}, ui.Err, "no platform", "Not shown"},
		"at no store":             {console.ItemDetail{Item: active}, ui.Warn, "No store", ""},
		"unavailable":             {console.ItemDetail{Item: active, Places: at(false, -1)}, ui.Warn, "0 of 1", "available is false"},
		"out of stock":            {console.ItemDetail{Item: active, Places: at(true, 0)}, ui.Warn, "0 of 1", "out of stock"},
		"shown":                   {console.ItemDetail{Item: active, Places: at(true, 5)}, ui.OK, "1 of 1", "Shown"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Item(row.item)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
			for _, place := range row.item.Places {
				_, words := Place(row.item, place)
				require.Contains(t, words, row.place)
			}
		})
	}
}

func TestCauseOfAStore(t *testing.T) {
	yes, no := true, false
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC) // a Saturday
	listed := func(change func(*store.Object)) store.Stored {
		s := store.Stored{Object: store.Object{Active: &yes, OrderingEnabled: &yes, HideFromUI: &no, IncludedPlatforms: []string{"web"}}}
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
		"on no platform":           {listed(func(o *store.Object) { o.IncludedPlatforms = nil }), ui.Err, "no platform"},
		"not active":               {listed(func(o *store.Object) { o.Active = &no }), ui.Err, "not active"},
		"takes no orders":          {listed(func(o *store.Object) { o.OrderingEnabled = &no }), ui.Err, "ordering_enabled"},
		"hidden":                   {listed(func(o *store.Object) { o.HideFromUI = &yes }), ui.Warn, "hidden"},
		"closed":                   {listed(func(o *store.Object) { o.Timings = hours("saturday", "09:00:00", "22:00:00") }), ui.Warn, "closed"},
		"open past midnight":       {listed(func(o *store.Object) { o.Timings = hours("friday", "18:00:00", "02:00:00") }), ui.OK, "web"},
		"closed before late hours": {listed(func(o *store.Object) { o.Timings = hours("saturday", "18:00:00", "02:00:00") }), ui.Warn, "closed"},
		"live":                     {listed(func(*store.Object) {}), ui.OK, "takes orders on web"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Store(row.store, []string{"app", "web"}, now)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Text, row.text)
		})
	}
	state, why := StoreOn(listed(func(*store.Object) {}), "app", now)
	require.Equal(t, ui.Neutral, state)
	require.Contains(t, why, "not in the platforms")
}
