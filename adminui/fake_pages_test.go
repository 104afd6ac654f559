package adminui_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/checklist"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

// hubSamples is the orders, plugins and platforms of the fake.
type hubSamples struct {
	orders          []console.Order
	records         map[int64]order.Record
	orderDeliveries []webhook.DeliveryRecord // of every order
	calls           []console.Call           // of the first order
	riderLocation   console.RiderLocation
	plugins         []console.Plugin
	faults          console.PluginFaults
	shared          console.SharedInbound
	platforms       []console.PlatformSettings
	published       []publish.Publication
	rejected        []console.RejectedOrder
}

func (f *fake) RejectedOrders(_ context.Context, _ core.BusinessID,
	filter console.RejectedFilter) ([]console.RejectedOrder, int, error) {
	f.rejectedFilter = filter
	list := slices.DeleteFunc(slices.Clone(f.rejected), func(r console.RejectedOrder) bool {
		return filter.Fault != "" && r.HubFault != (filter.Fault == console.HubFault)
	})
	return firstN(list, filter.Limit), len(list), f.broken
}

func (f *fake) OrderRevisions(context.Context, core.BusinessID, int64) ([]console.OrderRevision, error) {
	amount := core.Amount{Decimal: decimal.RequireFromString("12.5")}
	return []console.OrderRevision{
		{ChangeID: hostile, Reason: hostile + long, Actor: "platform:tasty", At: minutesAgo(6), Body: []byte("{}"),
			Changes: order.UpdateSummary{
				Items:   []order.ItemChange{{Change: order.LineAdded, Title: hostile, Quantity: 1}},
				Amounts: []order.AmountChange{{Name: "order_total", Previous: amount, Value: amount}}}},
		{ChangeID: "c-2", Note: hostile + long, Actor: "platform:tasty", At: minutesAgo(5)}}, f.broken
}

func (f *fake) PlacedOrder(context.Context, core.BusinessID, int64) ([]byte, error) {
	return []byte(`{"order":{}}`), f.broken
}

func (f *fake) OrderFollowUps(context.Context, core.BusinessID, int64) ([]console.OrderFollowUp, error) {
	return []console.OrderFollowUp{
		{Kind: "release", Actor: "platform:" + long, At: minutesAgo(7)},
		{Kind: "courier", Note: hostile + long, Actor: "platform:tasty", At: minutesAgo(6)}}, f.broken
}

func (f *fake) OrderRepeats(context.Context, core.BusinessID, int64) ([]console.OrderRepeat, error) {
	if len(f.orders) == 0 {
		return nil, f.broken
	}
	return []console.OrderRepeat{{Differences: "item dal: quantity 1, in the repeat 2; payable_amount: 10.25, in the " +
			"repeat 20.50",
			Actor: "platform:tasty", Times: 2, First: minutesAgo(9), Last: minutesAgo(8)},
			{Differences: hostile + long, Actor: "key:" + long, Times: 1, First: minutesAgo(7), Last: minutesAgo(7)}},
		f.broken
}

// orderReader reads the orders of the fake.
type orderReader struct{ *fake }

func (f orderReader) Get(_ context.Context, _ core.BusinessID, _ string, id int64) (order.Record, error) {
	if record, known := f.records[id]; known {
		return record, nil
	}
	return order.Record{}, notFound()
}

func (f *fake) DeliveriesOfOrder(context.Context, core.BusinessID, int64) ([]webhook.DeliveryRecord, error) {
	return f.orderDeliveries, nil
}

func (f *fake) RiderLocation(context.Context, core.BusinessID, int64) (console.RiderLocation, error) {
	if f.riderLocation.ReceivedAt.IsZero() {
		return f.riderLocation, notFound()
	}
	return f.riderLocation, nil
}

func (f *fake) ItemID(_ context.Context, _ core.BusinessID, ref string) (int64, error) {
	for _, i := range f.items {
		if i.RefID == ref {
			return i.ID, nil
		}
	}
	return 0, notFound()
}

// pluginReader reads the plugins of the fake.
type pluginReader struct{ *fake }

func (f pluginReader) ListPlugins(context.Context, []core.BusinessID) ([]console.Plugin, error) {
	return f.plugins, f.broken
}

func (f pluginReader) PluginFaults(context.Context, string, []core.BusinessID) (console.PluginFaults, error) {
	return f.faults, f.broken
}

func (f pluginReader) SharedInbound(context.Context, string) (console.SharedInbound, error) {
	return f.shared, f.broken
}

func (f pluginReader) RetrySetAside(_ context.Context, _ string, _ []int64, change access.Change) error {
	f.done = append(f.done, change)
	return f.retryError
}

func (pluginReader) CheckSettings(_ context.Context, _ string, _ core.BusinessID, _ string, settings []byte) error {
	if !strings.Contains(string(settings), "nutrition") {
		return core.Errorf(core.Invalid, "settings.nutrition is required")
	}
	return nil
}

// sampleOffers are actions of the fake: one of the specification, and one of a platform.
var sampleOffers = []action.Offer{
	{Name: action.WithMask, Title: "Rider wears a mask", Schema: []byte(`{"type":"object","properties":{` +
		`"wearing_mask":{"type":"boolean","description":"whether the rider wears one"}},"required":["wearing_mask"]}`)},
	{Name: "delay_order", Title: "Delay the order", SendsEvent: true, Schema: []byte(`{"type":"object","properties":{` +
		`"minutes":{"type":"integer","minimum":1,"maximum":60,"description":"how much later"},` +
		`"reason":{"enum":["busy","rider"]}},"required":["minutes"]}`)},
}

// actionStub offers actions for the first order of the fake.
type actionStub struct{ *fake }

func (f actionStub) Possible(_ context.Context, _ core.BusinessID, _ string, id int64) ([]action.Offer, error) {
	if id != f.orders[0].ID {
		return nil, f.broken
	}
	return sampleOffers, f.broken
}

func (f actionStub) SubmitChange(_ context.Context, _ string, r action.Request,
	change access.Change) (core.ID, error) {
	if strings.Contains(string(r.Parameters), "99") {
		return core.ID{}, core.Errorf(core.Invalid, "parameters.minutes must be at most 60, not 99")
	}
	f.recordChange(change)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requested = append(f.requested, r)
	return core.ID{}, nil
}

// fakeLogins is an aggregator where merchants log in.
type fakeLogins struct{}

func (fakeLogins) LoginURL(context.Context, console.Login) (string, error) {
	return "https://login.aggregator-a.example/oauth/authorize?response_type=code&state=s", nil
}

func (fakeLogins) RefreshToken(context.Context, console.Login, string, string) (secret, token string, err error) {
	return "refresh_token", "granted", nil
}

func (pluginReader) CheckAddress(context.Context, string, string, string) error { return nil }

func (f *fake) RequestPluginAction(_ context.Context, _ string, _ console.PluginAction, change access.Change) error {
	f.done = append(f.done, change)
	return nil
}

func (f *fake) ListPlatforms(context.Context, core.BusinessID) ([]console.PlatformSettings, error) {
	return f.platforms, f.broken
}

func (f *fake) SetPlatform(_ context.Context, _ core.BusinessID, platform core.Platform, update relay.AccessUpdate,
	change access.Change) error {
	if slices.ContainsFunc(f.platforms, func(p console.PlatformSettings) bool {
		return p.Name == platform.Name && update.Version != "" && p.Version != update.Version
	}) {
		return core.Errorf(core.Conflict, "the platform has changed meanwhile")
	}
	f.done = append(f.done, change)
	return f.refused
}

func (f *fake) DefaultListing(context.Context, core.BusinessID) (store.DefaultListing, error) {
	return store.ListAll, f.broken
}

func (f *fake) SetDefaultListing(_ context.Context, _ core.BusinessID, _, _ store.DefaultListing,
	change access.Change) error {
	f.recordChange(change)
	return nil
}

func (f *fake) AddAlias(_ context.Context, _ core.BusinessID, alias core.NewPlatformAlias, change access.Change) error {
	if problem := core.CheckAlias(alias.Alias); problem != "" {
		return core.Errorf(core.Invalid, "the alias %s", problem)
	}
	f.recordChange(change)
	return nil
}

func (f *fake) SendAlias(_ context.Context, _ core.BusinessID, _ string, _ bool, change access.Change) error {
	f.recordChange(change)
	return nil
}

func (f *fake) RemoveAlias(_ context.Context, _ core.BusinessID, _ string, change access.Change) error {
	f.recordChange(change)
	return nil
}

func (f *fake) AddCallbackKey(_ context.Context, _ core.BusinessID, _ string, _ []byte, change access.Change) error {
	f.done = append(f.done, change)
	return nil
}

func (f *fake) DropCallbackKeys(_ context.Context, _ core.BusinessID, _ string, change access.Change) error {
	f.done = append(f.done, change)
	return nil
}

// newHubSamples returns samples of everything that a page can show.
func newHubSamples() hubSamples {
	s := hubSamples{records: map[int64]order.Record{}}
	for n, o := range []console.Order{
		{ID: 10412, Platform: "aggregator-a", PlatformOrderID: "AGG-88120-4417", State: "Acknowledged",
			Rider: "AT-STORE", Flags: 2, StoreName: "Market Street", StoreRef: "S-17"},
		{ID: 10411, Platform: "web", PlatformOrderID: "W-1", State: "Placed", StoreName: long, StoreRef: "S-18"},
		{ID: 10410, Platform: hostile, PlatformOrderID: hostile, State: "Completed", Rider: "DELIVERED",
			StoreName: hostile, StoreRef: hostile},
		{ID: 10409, Platform: "app", PlatformOrderID: strings.Repeat("9", 120), State: "Cancelled",
			StoreName: "Market Street", StoreRef: "S-17"},
	} {
		o.StoreID, o.Placed, o.Updated = 1040, minutesAgo(30+40*n), minutesAgo(12+40*n)
		s.orders = append(s.orders, o)
		s.records[o.ID] = sampleOrder(o)
	}
	s.orderDeliveries = []webhook.DeliveryRecord{
		{ID: idAt(30), EventType: "order_placed", WebhookID: 3, URL: "https://pos.example.com/hooks/orders",
			State: webhook.Delivered, Attempts: 2, CreatedAt: minutesAgo(30), FinishedAt: minutesAgo(29)},
		{ID: idAt(29), EventType: "order_placed", WebhookID: 9, URL: "https://kitchen.example.com/hooks",
			State: webhook.Failed, Attempts: 6, LastError: "the server responded with 503", CreatedAt: minutesAgo(30)},
		{ID: idAt(20), EventType: "order_status_update", WebhookID: 3,
			URL: "https://pos.example.com/" + strings.Repeat("very-long-path/", 12), State: webhook.Failed, Attempts: 6,
			LastError: "the server responded with 503", CreatedAt: minutesAgo(20)}}
	s.calls = sampleCalls()
	s.rejected = []console.RejectedOrder{{Platform: "web", PlatformOrderID: "W-9", Store: "NOWHERE-7",
		Reason: `store_ref_id "NOWHERE-7": there is no store with this ref_id`, Times: 1204, First: minutesAgo(300),
		Last: minutesAgo(4)},
		{Platform: "aggregator-a", PlatformOrderID: hostile, Store: hostile, Reason: long + hostile, Times: 1,
			First: minutesAgo(50), Last: minutesAgo(50), OrderID: 10412},
		{Reason: "the body is not valid JSON", Times: 2, First: minutesAgo(70), Last: minutesAgo(60)}}
	s.riderLocation = console.RiderLocation{Latitude: "12.9716", Longitude: "77.5946", ReceivedAt: minutesAgo(1),
		State:   "failed",
		Message: "the aggregator responded with 401 Unauthorized: " + long, SentAt: minutesAgo(3)}
	for n := range 12 {
		step := float64(n) / 11
		s.riderLocation.Path = append(s.riderLocation.Path, console.RiderPoint{Latitude: 12.9716 + 0.008*(step-1),
			Longitude: 77.5946 + 0.012*step*(step-1), At: minutesAgo(12 - n)})
	}
	s.plugins, s.faults = samplePlugins(), samplePluginFaults()
	s.published = []publish.Publication{{StoreRef: "S-17", Platform: "aggregator-a", State: publish.Failed,
		Message: "the aggregator responded with 422: unknown outlet " + long}}
	s.platforms = []console.PlatformSettings{
		{Platform: core.Platform{Name: "tasty-eats", ServedBy: "aggregator-a"},
			Settings:  []byte(`{"nutrition":"required"}`),
			Addresses: map[string]string{"partner_api": "https://api.aggregator-a.example/v1"},
			Secrets:   map[string]time.Time{"api_key": minutesAgo(3000), "api_key@s1": minutesAgo(9)},
			Keys:      []time.Time{minutesAgo(20), minutesAgo(9000)},
			Tokens: []console.PlatformToken{
				{Credential: "partner", RenewedAt: minutesAgo(5), ExpiresAt: minutesAgo(-55)},
				{Credential: "partner", Store: hostile + long, RenewedAt: minutesAgo(70), FailedAt: minutesAgo(1),
					Failure: "the aggregator rejected the credentials"}},
			Polls: []console.PlatformPoll{
				{Poll: "orders", AttemptedAt: minutesAgo(1), Failed: true, Message: long, DueAt: minutesAgo(-2)},
				{Poll: "stores", Store: hostile + long, DueAt: minutesAgo(-1)}},
			Version:    strings.Repeat("a", 32),
			RejectedAt: minutesAgo(3), Rejection: "the header x-signature is not right",
			Aliases: []core.PlatformAlias{{Alias: "eats", Platform: "tasty-eats", InEvents: true},
				{Alias: hostile + long, Platform: "tasty-eats"}}},
		{Platform: core.Platform{Name: hostile, ServedBy: "gone"}, Settings: []byte(`{"brand":"` + long + `"}`),
			Version: strings.Repeat("b", 32), Aliases: []core.PlatformAlias{{Alias: "gone", Platform: hostile}}},
		{Platform: core.Platform{Name: "web", ServedBy: "own"}, Version: strings.Repeat("c", 32)}}
	return s
}

func sampleOrder(o console.Order) order.Record {
	r := order.Record{State: order.State(o.State),
		History: []order.Step{{State: order.Placed, At: o.Placed.UnixMilli(), Actor: "key:shop"}}}
	flags := ""
	if o.Flags > 0 {
		flags =
			`,"flags":[{"path":"items[0].price","code":"differs","message":"the menu of the store says 9.5,` +
				` the order 9"},{"path":"order_total","code":"differs","message":"` + long + `"}]`
	}
	if o.State != "Placed" {
		minutes := int64(20)
		r.History = append(r.History,
			order.Step{State: order.State(o.State), At: o.Updated.UnixMilli(), Actor: "key:pos",
				Message: "In the kitchen " + strings.ReplaceAll(hostile, `"`, ""), PrepMinutes: &minutes})
	}
	if o.Rider != "" {
		rider := order.Rider{Name: "Asha " + strings.ReplaceAll(hostile, `"`, ""), Phone: "5550100"}
		r.RiderHistory = order.RiderHistory{{Status: order.Assigned, At: minutesAgo(15).UnixMilli(), Rider: rider,
			Actor: "key:pos"},
			{Status: order.RiderStatus(o.Rider), At: minutesAgo(9).UnixMilli(), Rider: rider, Actor: "key:pos"}}
	}
	r.Relay = fmt.Appendf(nil,
		`{"customer":{"name":%q,"phone":"5550142"},"order":{"details":{"id":%d,"channel":%q,"created":%d,`+
			`"order_subtotal":21,"discount":2,"order_total":21.65,"payable_amount":21.65,`+
			`"charges":[{"title":"Packaging","value":1}],"taxes":[{"title":"VAT","rate":8.25,"value":1.65}]%s,`+
			`"ext_platforms":[{"id":%q,"name":%q,"delivery_type":"self","discounts":[{"title":"Welcome","code":"HI",`+
			`"value":2,"is_merchant_discount":true}]}]},
		"items":[{"merchant_id":"dal","title":"Dal","price":9,"quantity":2,"total":21,"instructions":"no salt",
		"options_to_add":[{"merchant_id":"rice","title":"Rice","price":1.5,"quantity":1,"group":{"title":"Sides"}}]}],
		"payment":[{"option":"cash","amount":21.65,"srvr_trx_id":""}],"store":{"id":1040,"merchant_ref_id":"S-17",`+
			`"name":%q}}}`, long, o.ID, o.Platform, o.Placed.UnixMilli(), flags, o.PlatformOrderID, o.Platform,
		o.StoreName)
	return r
}

func samplePlugins() []console.Plugin {
	calls := []console.PluginCall{{Name: "Menu.CheckItems", Count: 8812, Failed: 3, TotalTime: 31 * time.Second,
		Slowest: 410 * time.Millisecond},
		{Name: "Riders.PlanStatus", Count: 120, TotalTime: 90 * time.Millisecond, Slowest: 4 * time.Millisecond}}
	hub := func(state string) console.PluginHub {
		one := console.PluginHub{Hub: idAt(900), At: minutesAgo(0), Version: "1.4.0", State: state, InFlight: 2,
			Since: minutesAgo(30), Memory: 31 << 20, Calls: calls}
		if state != "ready" {
			one.Reason = "its process exited (signal: killed) " + long
		}
		return one
	}
	return []console.Plugin{
		{ID: "aggregator-a", Enabled: true, Version: "1.4.0", Installed: "1.5.0", Digest: strings.Repeat("5e", 32),
			State: "ready", Since: minutesAgo(600), Starts: 3, ReportedAt: minutesAgo(4),
			Hubs: []console.PluginHub{hub("ready"), hub("degraded")},
			Faults: []console.PluginFault{{At: minutesAgo(800), Text: "its process exited (signal: killed) " + hostile,
				Ended: true}, {At: minutesAgo(900), Text: "Menu.CheckItems: no response in time"}}, Findings: 41,
			Log: []string{`{"@level":"info","@message":"` + strings.ReplaceAll(hostile, `"`, "'") +
				`","@timestamp":"2026-11-21T11:00:00Z","item":"dal"}`, hostile},
			Serves: []console.Served{{Business: 7, Name: "Tasty Eats", Platform: "tasty-eats"},
				{Business: 12, Name: long, Platform: hostile}},
			About: console.PluginAbout{Name: "Aggregator A",
				Capabilities: []string{"menu_check", "menu_render", "riders"}, Actions: sampleOffers,
				Groups: []string{"NutritionalInfo"},
				Inbound: []console.PluginInbound{{Kind: "order", Secret: "webhook_secret",
					Proof: `HMAC-SHA256 of "{body}" in header x-signature`},
					{Kind: "action", Proof: "secret in header x-key", Secret: "api_key"}},
				Schema: []byte(`{"type":"object","properties":{"nutrition":{"enum":["if_present","required"],` +
					`"description":"whether every item needs NutritionalInfo"},"brand":{"type":"string",` +
					`"description":"the brand"}}}`),
				Endpoints: []console.PluginEndpoint{{Name: "partner_api", Description: "the partner API",
					Hosts: []string{"*.aggregator-a.example", "localhost"}}},
				Tokens: []string{"partner", "another"}, Logins: []string{"partner"},
				Secrets: []console.PluginSecret{{Name: "api_key", Description: "key of the partner API"},
					{Name: "webhook_secret", Description: "signs what the aggregator sends"}}}},
		{ID: "aggregator-b", Version: "1.0.0", State: "stopped", Since: minutesAgo(60), Starts: 1,
			About: console.PluginAbout{Name: "Aggregator B"}},
		{ID: "aggregator-c", Enabled: true, Version: "2.0.0", State: "quarantined", Since: minutesAgo(12), Starts: 6,
			Hubs:   []console.PluginHub{hub("quarantined")},
			Faults: []console.PluginFault{{At: minutesAgo(12), Text: "it did not get ready in time", Ended: true}}},
		{ID: "aggregator-d", Enabled: true}}
}

// checklistReader reads the integration progress of the fake.
type checklistReader struct{ *fake }

func (f checklistReader) Facts(context.Context, core.BusinessID) (checklist.Facts, error) {
	if len(f.jobs) == 0 {
		return checklist.Facts{}, f.broken
	}
	return checklist.Facts{Called: true, Stores: true, Menu: true, Subscribed: true, MenuErrors: f.jobs[0].Reference,
		Store: hostile, Item: long, Platform: hostile, Order: 10410}, f.broken
}

// sandboxStub runs scenarios of the fake.
type sandboxStub struct{ *fake }

func (f sandboxStub) SimulatedPlatforms(context.Context, core.BusinessID) ([]string, error) {
	return firstN([]string{"aggregator-a", long}, 2*min(len(f.jobs), 1)), f.broken
}

func (f sandboxStub) StartScenario(_ context.Context, _ core.BusinessID, s console.Scenario,
	change access.Change) error {
	f.done = append(f.done, change)
	return s.Check()
}

func (f sandboxStub) Faults(context.Context, core.BusinessID) ([]console.Fault, error) {
	return []console.Fault{{Kind: "fail", Platform: long, Call: "rider_status", Status: 503, Probability: 0.25, Seed: 7,
			Until: minutesAgo(-4), Hits: 1200}, {Kind: "hang", Global: true}, {Kind: "delay", Delay: 2 * time.Second}},
		f.broken
}

func (f sandboxStub) InjectFault(_ context.Context, _ core.BusinessID, _ console.Fault, change access.Change) error {
	f.done = append(f.done, change)
	return nil
}

func (f sandboxStub) ClearFaults(ctx context.Context, business core.BusinessID, change access.Change) error {
	return f.InjectFault(ctx, business, console.Fault{}, change)
}

func (f sandboxStub) LatestRun(context.Context, core.BusinessID) (console.ScenarioRun, bool, error) {
	return console.ScenarioRun{Scenario: console.Scenario{Kind: "rush", Store: hostile, Platform: long, Count: 12000,
		Rate: 200, Seed: 7}, RequestedBy: "user:" + hostile, StartedAt: minutesAgo(1),
		Failure: "3 of 12000 calls failed, the first with: " + hostile,
		Calls: []console.ScenarioCall{{Name: "order", Count: 11200, Failed: 3, P50: 3 * time.Millisecond,
			P99: 41 * time.Millisecond}},
		Deliveries: console.ScenarioDeliveries{NewOrders: 11200, KnownOrders: 12, Delivered: 11000, Failed: 2,
			Waiting: 198, Retried: 6,
			P50: 4 * time.Millisecond, P99: 180 * time.Millisecond}}, len(f.jobs) > 0, nil
}

// publicationReader reads the publications of the fake.
type publicationReader struct{ *fake }

func (f publicationReader) List(_ context.Context, _ core.BusinessID,
	filter publish.Filter) ([]publish.Publication, error) {
	return firstN(f.published, filter.Limit), nil
}

func (f publicationReader) LastSent(_ context.Context, _ core.BusinessID, store int64,
	platform string) (publish.LastSent, error) {
	if store != 1040 || platform != "aggregator-a" {
		return publish.LastSent{}, core.Errorf(core.NotFound, "nothing was sent")
	}
	return publish.LastSent{CallID: f.jobs[0].Reference, Version: 12, Size: len(sentMenu), State: publish.Published,
		Exchange: publish.Exchange{At: fixedClock{}.Now(), Body: []byte(sentMenu), Status: 200,
			Response: []byte(`{"status":"accepted","rejected":[{"id":"dal","reason":"photo missing"}]}`)}}, f.broken
}

// sentMenu is the menu that the fake has sent. Its current one has another price.
const sentMenu = `{"outlet":"S-17","dishes":[{"id":"dal","price":950},{"id":"naan","price":300}]}`

// menuRenderer renders the current menu of the fake.
type menuRenderer struct{ *fake }

func (f menuRenderer) Render(_ context.Context, work publish.Work) (publish.Rendering, error) {
	if work.CallID != f.jobs[0].Reference {
		return publish.Rendering{}, core.Errorf(core.Invalid, "another key")
	}
	return publish.Rendering{Document: []byte(strings.Replace(sentMenu, "950", "1050", 1))}, f.broken
}
