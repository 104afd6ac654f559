package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSimulatorAcceptsWhatPluginsRender(t *testing.T) {
	for letter, plugin := range map[string]string{"a": "aggregatora", "b": "aggregatorb", "c": "aggregatorc"} {
		b := newHarness(t, nil)
		for name, p := range goldenPlans(t, plugin) {
			r := b.sendAsHub("7", p.Method, "/"+letter+p.Path, string(p.Body))
			require.Less(t, r.status, 300, "%s %s: %s", plugin, name, r.text)
			if letter == "c" {
				require.Contains(t, r.text, `"code":0`, name)
			}
		}
		var received []Received
		b.admin("GET", "7/"+letter+"/received", "", &received)
		require.Len(t, received, len(goldenPlans(t, plugin)))
		for _, r := range received {
			require.NotEmpty(t, r.Call)
			require.Empty(t, r.Problem)
		}
	}
}

func TestInvalidFormatIsRejectedAndShown(t *testing.T) {
	const at = `,"at":"2026-11-21T10:00:00Z"`
	for _, c := range []struct {
		letter, request, body string
		status                int
		says                  string
	}{
		{"a", "POST /v2/orders/1/accept", `{"prep_minutes":1.5}`, 400, "prep_minutes must be a whole number"},
		{"a", "POST /v2/orders/1/accept", `{"minutes":1}`, 400, "minutes is unknown"},
		{"a", "POST /v2/orders/1/reject", `{}`, 400, "reason is missing"},
		{"a", "POST /v2/orders/1/reject", `{"reason":null}`, 400, "reason must be a string"},
		{"a", "POST /v2/orders/1/reject", `{"reason":"a","reason":"b"}`, 400, "is no JSON"},
		{"a", "POST /v2/orders/1/status", `{"status":"lost"` + at + `}`, 400, "must be one of: ready"},
		{"a", "POST /v2/orders/1/status", `{"status":"ready","at":"now"}`, 400, "must be a time such as"},
		{"a", "PUT /v2/outlets/R/menu", `[]`, 400, "the body must be an object"},
		{"a", "PUT /v2/outlets/R/menu",
			`{"outlet":{"id":"S"},"categories":[{"id":""}],"products":{},"modifier_groups":[],"taxes":[],"charges":[]}`,
			400, "outlet.reference is missing"},
		{"a", "GET /v2/outlets/R/menu", ``, 404, "has no GET"},
		{"a", "POST /api/orders/1/decision", `{"decision":"CONFIRMED"}`, 404, "aggregator-a has no POST"},
		{"b", "POST /api/orders/1/decision", `{"decision":"MAYBE"}`, 400, "must be one of: CONFIRMED"},
		{"b", "POST /api/orders/1/delivery-state", `{"state":"delivered","rider":{"name":"R"}` + at + `}`, 400,
			"rider.phone is missing"},
		{"b", "PUT /api/orders/1/rider-position", `{"lat":"1","lng":2` + at + `}`, 400, "lat must be a number"},
		{"b", "POST /api/restaurants/R/catalogue",
			`{"restaurant":{"id":"R","ref":"S","name":"","acceptsOrders":true},"fees":[],"sections":[{"id":"m",` +
				`"title":"","order":0,"dishes":[{"id":"d","title":"","price":{"amount":"1,5","currency":""},` +
				`"order":0}]}]}`, 400, `sections[0].dishes[0].price.amount \"1,5\" must be a decimal`},
		{"c", "POST /gw/order.stage", `{"no":"1","stage":31` + at + `}`, 200, `{"code":400,"msg":"stage 31 must be`},
		{"c", "POST /gw/shop.status", `{"shop":"R","status":2}`, 200, `{"code":400,"msg":"status 2 must be`},
		{"b", "POST /api/orders/1/missing", `{"dishIds":[],"addOnIds":[],"at":"2026-11-21T10:00:00Z"}`, 400,
			"substitute is missing"},
		{"c", "POST /gw/menu.replace",
			`{"shop":{"code":"R","ref":"S","names":{},"status":1},"groups":[{"code":"g","names":{},"seq":0,` +
				`"sale":{"1":["noon"]}}],"dishes":[],"choices":[],"extras":[]}`, 200, "must be a span of a day"},
		{"c", "POST /gw/order.eat", `{}`, 200, `"code":404`},
	} {
		b := newHarness(t, nil)
		method, path, _ := strings.Cut(c.request, " ")
		r := b.sendAsHub("7", method, "/"+c.letter+path, c.body)
		require.Equal(t, c.status, r.status, "%s: %s", c.request, r.text)
		require.Contains(t, r.text, c.says)
		var received []Received
		b.admin("GET", "7/"+c.letter+"/received", "", &received)
		require.Len(t, received, 1)
		require.NotEmpty(t, received[0].Problem)
		var orders []Order
		b.admin("GET", "7/"+c.letter+"/orders", "", &orders)
		require.Empty(t, orders, "what is refused changes nothing")
	}
}

func TestRequestNeedsItsIdempotencyKey(t *testing.T) {
	b := newHarness(t, nil)
	for request, status := range map[string]int{"/7/a/v2/orders/1/accept?nonce=k": 400,
		"/7/b/api/orders/1/decision?nonce=k": 400, "/7/c/gw/order.reply": 200} {
		r, err := b.do("POST", request, `{}`,
			map[string]string{"X-Partner-Key": "key-7", "Authorization": "Bearer key-7", "X-App-Key": "key-7"})
		require.NoError(t, err)
		require.Equal(t, status, r.status, request)
		require.Contains(t, r.text, "the idempotency key is missing")
	}
}

func TestCredentialsIdentifyTheMerchant(t *testing.T) {
	b := newHarness(t, nil)
	for _, letter := range []string{"a", "b", "c"} {
		for _, key := range []string{"", "key-8", "key-"} {
			path := map[string]string{"a": "/v2/orders/1/accept", "b": "/api/orders/1/decision",
				"c": "/gw/order.reply"}[letter]
			r, err := b.do("POST", "/7/"+letter+path, `{}`,
				map[string]string{"X-Partner-Key": key, "Authorization": "Bearer " + key, "X-App-Key": key})
			require.NoError(t, err)
			require.Contains(t, r.text, "the credentials are wrong")
			require.Equal(t, map[string]int{"a": 401, "b": 401, "c": 200}[letter], r.status)
		}
	}
	require.Equal(t, 404, b.sendAsHub("9", "POST", "/a/v2/orders/1/accept", `{}`).status)
	require.Equal(t, 404, b.sendAsHub("8", "POST", "/z/v2/orders/1/accept", `{}`).status,
		"nobody plays its plugin's aggregator")
	require.Equal(t, 200, b.sendAsHub("8", "POST", "/a/v2/orders/1/accept", `{}`).status)
	var orders []Order
	b.admin("GET", "7/a/orders", "", &orders)
	require.Empty(t, orders)
	b.admin("GET", "8/a/orders", "", &orders)
	require.Equal(t, []any{"1", true, "accepted"}, []any{orders[0].ID, orders[0].PlacedElsewhere, orders[0].Decision})
}

func TestOrderShowsTheHubsUpdates(t *testing.T) {
	b := newHarness(t, nil)
	b.sendMenu("b")
	var placed []Sent
	b.admin("POST", "7/b/orders", `{"store":"S-1","seed":5,"wish":{"carrier":"self","mode":"delivery"}}`, &placed)
	id := placed[0].ID
	require.Equal(t, []any{int64(10001), 200, "order accepted"},
		[]any{placed[0].HubOrder, placed[0].Status, placed[0].Message})
	const at = `,"at":"2026-11-21T10:00:00.000Z"}`
	path := "/b/api/orders/" + id
	for _, c := range [][3]string{
		{"POST", "/decision", `{"decision":"CONFIRMED","readyInSeconds":900}`},
		{"POST", "/progress", `{"progress":"READY"` + at},
		{"POST", "/delivery-state", `{"state":"picked_up","rider":{"name":"Asha","phone":"1"}` + at},
		{"PUT", "/rider-position", `{"lat":37.80440,"lng":-122.27` + at},
		{"PUT", "/rider-position", `{"lat":37.80441,"lng":-122.27` + at},
		{"POST", "/delivery-state", `{"state":"delivered"` + at},
	} {
		r := b.sendAsHub("7", c[0], path+c[1], c[2])
		require.Equal(t, httpReply{204, ""}, r)
	}
	var o Order
	b.admin("GET", "7/b/orders/"+id, "", &o)
	require.Equal(t, []any{"S-1", int64(10001), false, "CONFIRMED, ready in 15 min", "READY", "delivered",
		&Point{37.80441, -122.27}, 2},
		[]any{o.Store, o.HubOrder, o.PlacedElsewhere, o.Decision, o.Status, o.Rider, o.Location, o.LocationUpdates})
	whats := []string{}
	for _, s := range o.Steps {
		whats = append(whats, string(s.Call)+" "+s.What)
	}
	require.Equal(t, []string{"decision CONFIRMED, ready in 15 min", "status READY", "rider_status picked_up Asha",
		"rider_status delivered"}, whats)
}

func TestStoreOfAggregatorACanBeBusy(t *testing.T) {
	b := newHarness(t, nil)
	b.sendMenu("a")
	const path = "/a/v2/outlets/R-88/pace"
	r := b.sendAsHub("7", "PUT", path, `{"busy":true,"prep_minutes":40,"until":"2026-11-21T10:00:00Z"}`)
	require.Equal(t, 200, r.status, r.text)
	s := b.storesOf("a")[0]
	require.Equal(t, []any{true, true, int64(40)}, []any{s.Open, s.Busy, s.PrepMinutes})
	require.Equal(t, 400, b.sendAsHub("7", "PUT", path, `{"busy":true,"until":"soon"}`).status)
	require.Equal(t, 200, b.sendAsHub("7", "PUT", path, `{"busy":false}`).status)
	require.False(t, b.storesOf("a")[0].Busy)
}

func TestStoresAndItemsCanBeSwitched(t *testing.T) {
	for letter, c := range map[string]struct{ state, closed, items, off string }{
		"a": {"PUT /v2/outlets/R-88/state", `{"open":false}`, "POST /v2/outlets/R-88/availability",
			`{"available":%t,"products":["dal","pie"],"modifiers":["rice"]}`},
		"b": {"PUT /api/restaurants/R-88/opening", `{"acceptsOrders":false,"at":"2026-11-21T10:00:00Z"}`,
			"POST /api/restaurants/R-88/stock",
			`{"inStock":%t,"dishIds":["dal","pie"],"addOnIds":["rice"],"at":"2026-11-21T10:00:00Z"}`},
		"c": {"POST /gw/shop.status", `{"shop":"R-88","status":0}`, "POST /gw/dish.switch",
			`{"shop":"R-88","on":%t,"dishes":["dal","pie"],"extras":["rice"]}`},
	} {
		b := newHarness(t, nil)
		b.sendMenu(letter)
		send := func(request, body string) httpReply {
			method, path, _ := strings.Cut(request, " ")
			return b.sendAsHub("7", method, "/"+letter+path, body)
		}
		r := send(c.items, fmt.Sprintf(c.off, false))
		require.Equal(t, 200, r.status, r.text)
		require.Contains(t, r.text, "pie", "unknown items are reported")
		menu, _, err := b.Menu(t.Context(), "7", letter, "S-1")
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprint(menu.Items), "rice")
		require.Contains(t, fmt.Sprint(menu.Items), "large")
		for _, store := range []string{"S-1", "R-88"} {
			require.Equal(t, 200, b.admin("GET", "7/"+letter+"/stores/"+store+"/menu", "", nil).status)
		}
		stores := b.storesOf(letter)
		require.Equal(t, []any{"R-88", "S-1", true, 1, []string{"dal", "pie"}, []string{"rice"}},
			[]any{stores[0].Code, stores[0].Ref, stores[0].Open, stores[0].Menus, stores[0].DisabledItems,
				stores[0].DisabledOptions})
		for n := range 20 {
			basket, err := b.RandomBasket(t.Context(), "7", letter, BasketRequest{Store: "S-1", Seed: 1, N: n})
			require.NoError(t, err)
			for _, l := range basket.Lines {
				require.NotEqual(t, "dal", l.Ref, "what is off is not ordered")
			}
		}
		send(c.items, fmt.Sprintf(c.off, true))
		require.Less(t, send(c.state, c.closed).status, 300)
		stores = b.storesOf(letter)
		require.Equal(t, []any{false, 0, 0}, []any{stores[0].Open, len(stores[0].DisabledItems),
			len(stores[0].DisabledOptions)})
		r = b.admin("POST", "7/"+letter+"/orders", `{"store":"S-1"}`, nil)
		require.Equal(t, 409, r.status)
		require.Contains(t, r.text, "is closed")
		b.sendMenu(letter)
		stores = b.storesOf(letter)
		require.Equal(t, []any{true, 2}, []any{stores[0].Open, stores[0].Menus}, "a menu replaces what was there")
	}
}

func TestNestedOptionsCanBeSwitched(t *testing.T) {
	b := newHarness(t, nil)
	plan := goldenPlans(t, "aggregatora")["menu"]
	var menu menuA
	require.NoError(t, json.Unmarshal(plan.Body, &menu))
	menu.Products[0].ModifierGroups = []string{"size"} // the option large has the group sides
	require.Equal(t, 200, b.sendAsHub("7", plan.Method, "/a"+plan.Path, string(marshal(menu))).status)
	r := b.sendAsHub("7", "POST", "/a/v2/outlets/R-88/availability",
		`{"available":false,"products":[],"modifiers":["rice"]}`)
	require.Equal(t, 200, r.status, r.text)
	require.Contains(t, r.text, `"problems":[]`)
}

func TestUnlistedStoreTakesNoOrdersUntilRepublished(t *testing.T) {
	for _, letter := range []string{"a", "b", "c"} {
		b := newHarness(t, nil)
		b.sendMenu(letter)
		off := goldenPlans(t, "aggregator"+letter)["unlist"]
		require.Less(t, b.sendAsHub("7", off.Method, "/"+letter+off.Path, string(off.Body)).status, 300)
		require.True(t, b.storesOf(letter)[0].Unlisted)
		require.Contains(t, b.admin("POST", "7/"+letter+"/orders", `{"store":"S-1"}`, nil).text, "is closed")
		b.sendMenu(letter)
		require.False(t, b.storesOf(letter)[0].Unlisted)
	}
}

func TestOrderShowsItsOutOfStockReport(t *testing.T) {
	for _, letter := range []string{"a", "b", "c"} {
		b := newHarness(t, nil)
		short := goldenPlans(t, "aggregator"+letter)["items-oos"]
		r := b.sendAsHub("7", short.Method, "/"+letter+short.Path, string(short.Body))
		if letter == "a" {
			require.Regexp(t, `"masked_phone":"\+1510556(\d{4})","message":"the customer was informed","pin":"\d{4}"`,
				r.text)
		}
		var o Order
		b.admin("GET", "7/"+letter+"/orders/90001", "", &o)
		require.Equal(t, "out of stock: dal, soda/1, rice; the customer may edit the order", o.Missing)
		page, err := b.do("GET", "/7/", "", nil)
		require.NoError(t, err)
		require.Contains(t, page.text, o.Missing)
	}
}

func TestPageShowsReceivedMessagesEscaped(t *testing.T) {
	b := newHarness(t, nil)
	b.sendMenu("a")
	b.sendAsHub("7", "POST", "/a/v2/orders/9/reject", `{"reason":"<script>alert(1)</script>"}`)
	r, err := b.do("GET", "/7/", "", nil)
	require.NoError(t, err)
	require.Equal(t, 200, r.status)
	require.Contains(t, r.text, "rejected: &lt;script&gt;")
	require.NotContains(t, r.text, "<script")
	require.Contains(t, r.text, "3 dishes")
	index, err := b.do("GET", "/", "", nil)
	require.NoError(t, err)
	require.Contains(t, index.text, `href="/7/"`)
}

func TestAdminAPIRequiresItsToken(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Token = "t0ken" })
	for _, path := range []string{"/admin/", "/", "/7/"} {
		r, err := b.do("GET", path, "", nil)
		require.NoError(t, err)
		require.Equal(t, 401, r.status)
		r, err = b.do("GET", path, "", map[string]string{"Authorization": "Bearer t0ken"})
		require.NoError(t, err)
		require.Equal(t, 200, r.status)
	}
	b = newHarness(t, nil)
	r, err := b.do("POST", "/admin/7/a/orders", `{}`, map[string]string{"Content-Type": "text/plain"})
	require.NoError(t, err)
	require.Equal(t, 415, r.status, "a page of another site may send that unasked")
	for path, body := range map[string]string{
		"7/a/orders": `{"store":"S-1","colour":1}`, "7/a/orders?": `{"store":"S-1","count":1001}`,
		"faults": `{"kind":"eat"}`, "7/b/orders/1/contact": `{}`, "7/a/orders?n": `{"basket":{"number":"A-1"}}`,
		"7/a/orders?p": `{"basket":{"number":"1","lines":[{"ref":"dal","price":"1,5"}]}}`,
	} {
		require.Equal(t, 400, b.admin("POST", path, body, nil).status, path)
	}
	require.Equal(t, 409, b.admin("POST", "7/a/orders", `{"store":"S-1"}`, nil).status, "no menu came")
	require.Equal(t, 404, b.admin("POST", "9/a/orders", `{"store":"S-1"}`, nil).status)
}

func TestMemoryIsBounded(t *testing.T) {
	b := newHarness(t, func(c *Config) {
		list := c.Directory.(fixedDirectory)
		for n := range maxAccounts {
			list = append(list, Account{Space: fmt.Sprint("s", n), Platform: "a", Plugin: "aggregator-a",
				Secrets: list[0].Secrets})
		}
		c.Directory = list
	})
	b.menus = newMenuCache(2000)
	at, account, err := b.accountState(t.Context(), "7", "a")
	require.NoError(t, err)
	long := strings.Repeat("x", 1<<20)
	for n := range maxReceived + 50 {
		at.record(Received{Body: long, Answer: long, Request: long})
		at.apply(CallStatus, update{order: "1", summary: long}, 0, time.Time{})
		b.menus.put(menuKey{"7", "a", fmt.Sprint(n)}, bytes.Repeat([]byte("x"), 300))
	}
	require.Len(t, at.received, maxReceived)
	require.Less(t, len(at.received[0].Body), maxRecordedText+10)
	require.Equal(t, int64(51), at.received[0].ID)
	require.Len(t, at.orders["1"].Steps, maxSteps)
	require.Equal(t, 6, len(b.menus.order))
	require.Len(t, b.menus.menus, 6)
	require.Nil(t, b.menus.get(menuKey{"7", "a", "0"}))
	b.menus.put(menuKey{"7", "a", "big"}, bytes.Repeat([]byte("x"), 3000))
	require.Zero(t, b.menus.bytes, "a menu above the limit is not stored")
	for n := range maxOrders + 1 {
		at.apply(CallStatus, update{order: fmt.Sprint("o", n)}, 0, time.Time{})
	}
	require.Len(t, at.orders, maxOrders)
	require.Nil(t, at.orders["1"])
	for n := range maxStores + 1 {
		at.apply(CallStoreState, update{store: fmt.Sprint(n)}, 0, time.Time{})
	}
	require.Len(t, at.stores, maxStores)
	for n := range maxAccounts {
		_, _, err := b.accountState(t.Context(), fmt.Sprint("s", n), "a")
		require.NoError(t, err)
	}
	require.Len(t, b.states, maxAccounts)
	require.Nil(t, b.states[accountKey{account.Space, account.Platform}], "the one that was used longest ago went")
}
