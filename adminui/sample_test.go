package adminui_test

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

func pointer[T any](v T) *T { return &v }

// emptyHub returns a hub with an admin and an empty business.
func emptyHub() *fake {
	return &fake{mu: new(sync.Mutex), sessions: map[string]int64{},
		businesses: []core.Business{{ID: 7, Name: "Tasty Eats", Country: "US", Timezone: "America/Chicago",
			Currency: "USD", CreatedAt: minutesAgo(50_000)}},
		users: []access.User{{ID: 1, Email: "sam@example.com", Role: access.Admin, CreatedAt: minutesAgo(9000)}}}
}

// long is a name wider than any column.
const long = "A very long name that somebody typed into the point of sale without ever pressing the return key, as " +
	"people do"

// hostile is a name that runs as a script unless it is escaped.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`

// fullHub returns a hub with everything that a page can show.
func fullHub() *fake {
	f := emptyHub()
	f.businesses = append(f.businesses,
		core.Business{ID: 12, Name: long, Country: "IN", Timezone: "Asia/Kolkata", Currency: "INR",
			CreatedAt: minutesAgo(900)})
	f.users = append(f.users,
		access.User{ID: 2, Email: "vera@example.com", Role: access.Viewer, Businesses: []core.BusinessID{7},
			Password: "x", CreatedAt: minutesAgo(800), SeenAt: minutesAgo(3)},
		access.User{ID: 3, Email: "gone@example.com", Role: access.Support, DisabledAt: minutesAgo(2),
			CreatedAt: minutesAgo(80)})
	f.counts = sampleCounts()
	f.views = sampleViews()
	f.figures = console.Figures{Waiting: 41, Held: 12, FailedDeliveries: 22, OpenProblems: 1, Undelivered: 430,
		FailedJobs: 1, OpenJobs: 2}
	f.deliveries, f.attempts = sampleDeliveries()
	f.endpoints = sampleEndpoints(f.deliveries[1].ID)
	f.jobs = sampleJobs()
	f.jobs[0].Event = f.deliveries[0].EventID
	f.stores, f.items, f.hubSamples = sampleStores(), sampleItems(), newHubSamples()
	f.keys = []console.Key{{ID: 2, Username: "pos", Prefix: "svk_Ab12", Scope: core.ScopePOS,
		CreatedAt: minutesAgo(600),
		UsedAt:    minutesAgo(1)}, {ID: 1, Username: "pos", Prefix: "svk_Zz98", Scope: core.ScopePOS,
		CreatedAt:  minutesAgo(9000),
		DisabledAt: minutesAgo(500), UsedAt: minutesAgo(2)}}
	f.audit = []console.Entry{
		{Business: 7, ID: idAt(5), At: minutesAgo(5), Actor: "user:sam@example.com", Action: "webhook.pause",
			Object: "webhook/3",
			Detail: []byte(`{"why":"The receiver is being moved.","before":{"active":true},"after":{"active":false}}`)},
		{Business: 7, ID: idAt(6), At: minutesAgo(6), Actor: "hub", Action: "webhook.disable", Object: "webhook/5",
			Detail: []byte(`{"reason":"the server responded with 410 Gone","delivery":"` + idAt(6).String() + `"}`)},
		{Business: 7, ID: idAt(7), At: minutesAgo(7), Actor: hostile, Action: "key.create", Object: "key/2",
			Detail: []byte(`{}`)}}
	f.problems, f.resends = sampleProblems(), sampleResends()
	f.week = console.FailureWeek{Days: 4, Jobs: 12, Latest: f.jobs[0].Reference}
	f.notices, f.storeCalls = sampleNotices(f.jobs[0].Reference), sampleStoreCalls()
	f.hits = []console.Hit{{Business: 7, Kind: "store", ID: "1040", Title: "Market Street",
		Detail: "S-17 · San Francisco"}, {Business: 7, Kind: "item", ID: "501", Title: "Dal makhani", Detail: "dal"},
		{Business: 7, Kind: "order", ID: "10412", Title: "Order 10412",
			Detail: "aggregator-a · AGG-88120-4417 · Acknowledged"},
		{Business: 12, Kind: "item", ID: "502", Title: hostile, Detail: "naan"}}
	return f
}

func sampleCounts() (list []console.Count) {
	for hour := range 24 {
		if hour != 9 {
			count := console.Count{At: noon.Add(time.Duration(hour-23) * time.Hour), Succeeded: int64(400 + 40*hour),
				TotalTime: time.Duration(400+40*hour) * 30 * time.Millisecond,
				Slowest:   time.Duration(100+hour*9) * time.Millisecond}
			if hour > 20 {
				count.Failed = int64(hour * 6)
			}
			list = append(list, count)
		}
	}
	return list
}

func sampleEndpoints(failed core.ID) []console.Endpoint {
	return []console.Endpoint{
		{Business: 7, ID: 3, EventType: "order_placed", URL: "https://pos.example.com/hooks/orders", Active: true,
			EventHeader: "X-Hook-Event", EventValue: "number",
			Units: "seconds", CreatedAt: minutesAgo(40_000), Waiting: 41, FailedDeliveries: 22,
			CircuitOpenedAt: minutesAgo(90),
			ProbeInterval:   30 * time.Second, OldSecretUntil: noon.Add(time.Hour),
			LastDay: console.Count{Succeeded: 20_412, Failed: 390, TotalTime: 2_000_000 * time.Millisecond,
				Slowest: 4 * time.Second},
			Health: console.Health{SucceededAt: minutesAgo(95), FailedAt: minutesAgo(1), FailingSince: minutesAgo(94),
				Status: 503,
				Class:  string(webhook.Status), Error: "the server responded with 503", Delivery: failed}},
		{Business: 7, ID: 4, EventType: "store_creation",
			URL: "https://pos.example.com/" + strings.Repeat("very-long-path/", 12), Active: true, Units: "minutes",
			LastDay: console.Count{Succeeded: 12, TotalTime: 400 * time.Millisecond},
			Health:  console.Health{SucceededAt: minutesAgo(2)}},
		{Business: 7, ID: 5, EventType: "inventory_update", URL: "https://menu.example.com/hook", Held: 12,
			Units: "minutes", DisabledReason: "the server responded with 410 Gone",
			Health: console.Health{SucceededAt: minutesAgo(3000)}},
		{Business: 7, ID: 6, EventType: "rider_status_update", URL: "https://pos.example.com/riders", Active: true,
			Units: "minutes"},
	}
}

func sampleStores() []store.Stored {
	return []store.Stored{
		{ID: 1040, Object: store.Object{RefID: pointer("S-17"), Name: pointer("Market Street"),
			City: pointer("San Francisco"), Address: pointer("1 Market Street"), Active: pointer(true),
			OrderingEnabled: pointer(true),
			HideFromUI:      pointer(false), IncludedPlatforms: []string{"aggregator-a", "app", "web"},
			Timings: []store.Timing{{Day: "monday",
				Slots: []core.HoursSlot{{StartTime: "09:00:00", EndTime: "22:00:00"}}}},
			SpecialTimings: []core.DateHours{{Date: "2030-12-24",
				Slots: []core.HoursSlot{{StartTime: "10:00:00", EndTime: "14:00:00"}}},
				{Date: "2030-12-25", Closed: true, Reason: "Christmas Day"}}},
			BusyOn: []store.PlatformBusy{{Platform: "web", PrepMinutes: 40, Actor: "key:pos",
				Since: minutesAgo(5).UnixMilli(), Until: minutesAgo(-25).UnixMilli()}}},
		{ID: 1041, Object: store.Object{RefID: pointer("S-18"), Name: pointer(hostile), City: pointer(long),
			Active: pointer(true)}},
	}
}

func sampleItems() []console.ItemDetail {
	return []console.ItemDetail{
		{Item: console.Item{ID: 501, RefID: "dal", Title: "Dal makhani", Price: "9.50", Active: true, Findings: 3,
			Updated: minutesAgo(30)}, Record: []byte(`{"title":"Dal makhani","price":9.50}`),
			Categories: []console.ItemCategory{{RefID: "mains", Name: "Mains"}},
			Platforms:  []string{"aggregator-a", "web"},
			Findings: []console.ItemFinding{{Platform: "aggregator-a", Rule: "nutrition_energy",
				Message: "calorie_kcal is missing from NutritionalInfo"},
				{Platform: "aggregator-a", Rule: "photo", Message: "images is empty"},
				{Platform: "aggregator-a", Rule: "title_length", Message: hostile}},
			Rejections: []console.ItemRejection{{Platform: "aggregator-b", Message: "photo required", Stores: 2}}},
		{Item: console.Item{ID: 502, RefID: "naan-" + strings.Repeat("x", 60), Title: hostile, Price: "3",
			Updated: minutesAgo(30)}, Record: []byte(`{}`)},
	}
}

func sampleNotices(job core.ID) console.Notices {
	return console.Notices{
		Unrouted: []console.UnroutedEvents{{Business: 7, EventType: core.InventoryUpdate, Count: 3, At: minutesAgo(4),
			Webhook: 5}},
		Throttled: []console.Throttled{{Business: 7, Name: "STORES", Until: noon.Add(40 * time.Second)}},
		Revoked: []console.Key{{Business: 7, ID: 1, Username: "pos", Prefix: "svk_Zz98", DisabledAt: minutesAgo(500),
			UsedAt: minutesAgo(2)}},
		Unnotified: []console.UnnotifiedOrders{{Business: 7, Count: 12, First: minutesAgo(20), Last: minutesAgo(8),
			HasWebhook: true}},
		PartlyFailed: []console.PartlyFailedJobs{{Business: 7, Count: 3, Reference: job,
			Kind: core.MenuJob, Subject: "-1", Failed: 40, Total: 40}},
		Calls: []console.FailedCalls{{Business: 7, Platform: "aggregator-a", ServedBy: "aggregator-a",
			Orders: true, At: minutesAgo(2), Message: "the aggregator responded with 401: " + hostile,
			Kinds: []console.CallCount{{Kind: string(relay.OrderStatus), Count: 16},
				{Kind: string(relay.OrderAcknowledge), Count: 8}, {Kind: string(relay.StoreAction), Count: 1}}}},
		Menus: []console.RejectedMenus{{Business: 7, Platform: "aggregator-a", ServedBy: "aggregator-a",
			Count: 12, Message: "unknown partner key"}},
		RejectedOrders: []console.RejectedOrders{{Business: 7, Count: 3, At: minutesAgo(4),
			Reason: `store_ref_id "NOWHERE-7": there is no store with this ref_id`}},
		Overdue: []console.OverdueOrders{{Business: 7, Count: 3, Since: minutesAgo(42)}},
		Closed: []console.ClosedStores{{Business: 7, Count: 2, StoreID: 1040, Store: "Market Street", Platform: long,
			Actor: "key:pos", Since: minutesAgo(50)}},
		Silent: []console.SilentStores{{Business: 7, Count: 2, StoreID: 1040, Store: "Market Street",
			Since: minutesAgo(35)}},
	}
}

// sampleStoreCalls returns the calls of store 1040.
func sampleStoreCalls() []console.Call {
	return []console.Call{
		{ID: idAt(71), Kind: string(relay.StoreAction), Platform: "aggregator-a", Payload: []byte(`{"enable":false}`),
			State: string(relay.Done), CreatedAt: minutesAgo(9), FinishedAt: minutesAgo(9),
			Attempts: []console.CallAttempt{{N: 1, Attempt: relay.Attempt{StartedAt: minutesAgo(9), Method: "POST",
				URL: "https://a.example.com/outlets/17/closed", Status: 204, Took: 31 * time.Millisecond,
				RequestBody: []byte(`{"closed":true}`)}}}},
		{ID: idAt(72), Kind: string(relay.ItemAction), Platform: "aggregator-b",
			Payload: []byte(`{"enable":true,"items":[{"ref_id":"dal"}]}`), State: string(relay.Waiting),
			Message: "the platform answered 503", CreatedAt: minutesAgo(8),
			Attempts: []console.CallAttempt{{N: 1, Attempt: relay.Attempt{StartedAt: minutesAgo(8), Method: "PUT",
				URL: "https://b.example.com/" + long, Status: 503, ErrorClass: "status",
				Error: "the platform answered 503"}}}}}
}

func sampleDeliveries() ([]webhook.DeliveryRecord, []webhook.AttemptRecord) {
	var list []webhook.DeliveryRecord
	var attempts []webhook.AttemptRecord
	for i, d := range []webhook.DeliveryRecord{
		{EventType: "store_creation", WebhookID: 4, State: webhook.Delivered, Attempts: 1, LastStatus: 200,
			FinishedAt: minutesAgo(1), Reference: idAt(3).String()},
		{EventType: "order_placed", WebhookID: 3, State: webhook.Failed, Attempts: 6, LastStatus: 503,
			LastError: "the server responded with 503 Service Unavailable", FinishedAt: minutesAgo(2)},
		{EventType: "order_placed", WebhookID: 3, State: webhook.Pending, Attempts: 2, LastStatus: 503,
			LastError:   "the server responded with 503 Service Unavailable",
			NextAttempt: noon.Add(4 * time.Minute)},
		{EventType: "inventory_update", WebhookID: 5, State: webhook.Held, HeldReason: webhook.WebhookPaused,
			WebhookOff: true, DisabledReason: "the server responded with 410 Gone", Attempts: 1, LastStatus: 410,
			LastError: "the server responded with 410 Gone: it wants no more deliveries"},
		{EventType: "inventory_update", State: webhook.Pending,
			URL: "https://menu.example.com/" + strings.Repeat("callback/", 20)},
	} {
		d.ID, d.EventID, d.CreatedAt = idAt(10+i), idAt(10+i), minutesAgo(10+i)
		if d.URL == "" {
			d.URL = "https://pos.example.com/hooks/it's/orders"
		}
		list = append(list, d)
	}
	for n := range 6 {
		attempts = append(attempts,
			webhook.AttemptRecord{N: n + 1,
				Attempt: webhook.Attempt{StartedAt: minutesAgo(20 - n), URL: "https://pos.example.com/hooks",
					Status:     503,
					ErrorClass: webhook.Status,
					Error:      "the server responded with 503 Service Unavailable",
					RequestHeaders: map[string]string{"Webhook-Id": "01a1", "X-Token": "•••",
						"Content-Type": "application/json", "Content-Length": "91"},
					ResponseHeaders: map[string]string{"Content-Type": "text/html", "X-Evil": hostile},
					ResponseBody:    []byte("<html>" + hostile),
					Timing: webhook.Timing{DNS: 3 * time.Millisecond, Connect: 12 * time.Millisecond,
						TLS: 31 * time.Millisecond, FirstByte: 120 * time.Millisecond, Total: 121 * time.Millisecond}}})
	}
	return list, attempts
}

func sampleJobs() []console.JobDetail {
	var failures strings.Builder
	for i := range 30 {
		fmt.Fprintf(&failures,
			`,{"ref_id":"item-%d","upipr_status":{"action":"A","error":true,`+
				`"err_msg":"category_ref_ids: there is no category \"c-%d\""}}`, i, i)
	}
	outcome :=
		`{"reference":"r","items":[{"ref_id":"a","upipr_status":{"action":"A","error":true,` +
			`"err_msg":"title is required to create an item"}}` + failures.String() + `]}`
	return []console.JobDetail{
		{Job: console.Job{Business: 7, Reference: idAt(3), Kind: core.MenuJob, Subject: "-1", State: "done",
			CreatedAt: minutesAgo(3), StartedAt: minutesAgo(3), FinishedAt: minutesAgo(3).Add(640 * time.Millisecond),
			Attempts: 1,
			Done:     412, Total: 412, Result: []byte(`{"stats":{"items":{"created":381,"updated":0,"errors":31}}}`)},
			RequestID: "pos-8812", Event: idAt(3),
			Request: []byte(`{"items":[{"ref_id":"a"},{"ref_id":"` + hostile[2:] + `"}]}`), Outcome: []byte(outcome)},
		{Job: console.Job{Business: 7, Reference: idAt(4), Kind: core.StoreJob, State: "running",
			CreatedAt: minutesAgo(1),
			StartedAt: minutesAgo(1), Attempts: 1, Done: 1200, Total: 5000}, Request: []byte(`{}`)},
		{Job: console.Job{Business: 7, Reference: idAt(5), Kind: core.StoreJob, State: "failed",
			CreatedAt: minutesAgo(65),
			StartedAt: minutesAgo(64), FinishedAt: minutesAgo(61), Attempts: 25, Total: 3,
			Error: "the database refused it: " + long}, Request: []byte(`{"stores":[]}`)},
		{Job: console.Job{Business: 7, Reference: idAt(6), Kind: core.MenuJob, Subject: "S-17", State: "queued",
			DryRun: true, CreatedAt: minutesAgo(1)}, Request: []byte(`{}`)},
	}
}
