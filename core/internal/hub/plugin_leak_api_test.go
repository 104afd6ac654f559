package hub

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// leakModes are the ways in which the plugin leaky fails.
var leakModes = []string{"refuse", "error", "panic", "invalid", "interpret-refuse", "interpret-error",
	"interpret-panic"}

// requireNoLeak fails if a text has a part of the errors of the plugin leaky.
func requireNoLeak(t *testing.T, what, text string) {
	t.Helper()
	for _, part := range []string{"/etc/", "/src/", "sk_live", "goroutine", "main.leak", "secret.key", "panicked",
		"4155550100"} {
		require.NotContains(t, text, part, what)
	}
}

// leakClient is a business with a platform of the plugin leaky for each of its modes.
type leakClient struct {
	*orderClient
	events *hubtest.Sink
	keys   map[string]string // callback keys by platform
}

func newLeakClient(t *testing.T) *leakClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "leaky", "../../pluginhost/testdata/leaky")
	a := newPluginAPI(t, dir, unlimited)
	aggregator := newFakeAggregators(t)
	l := &leakClient{orderClient: newOrderClientAt(newMenuClientAt(t, a)), events: hubtest.NewEventSink(t, nil),
		keys: map[string]string{}}
	for _, event := range []core.EventType{core.HubMenuPublish, core.StoreAction, core.ItemStateToggle,
		core.OrderItemsOOSProcessed, core.FeatureAction} {
		l.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, l.events.URL))
	}
	for _, mode := range leakModes {
		require.NoError(t, platforms.New(l.hub.db).Set(context.Background(), l.tenant.ID,
			core.Platform{Name: mode, ServedBy: "leaky"}, func(a *relay.Access) error {
				a.BaseURLs = map[string]string{"api": aggregator.URL}
				a.Settings = fmt.Appendf(nil, `{"leak":%q}`, mode)
				return nil
			}))
		var err error
		l.keys[mode], err = relay.Callers{Keys: platforms.NewCallers(l.hub.db), Clock: l.clock}.CreateKey(t.Context(),
			l.tenant.ID, mode)
		require.NoError(t, err)
	}
	return l
}

// advanceUntil advances the clock until a condition holds, by several steps for each check of many requests. Long steps
// would time out the plugin's health checks.
func (l *leakClient) advanceUntil(what string, condition func() bool) {
	l.t.Helper()
	hubtest.WaitUntil(l.t, what, func() bool {
		for range 5 {
			l.clock.advanceToWork(100 * time.Millisecond)
		}
		return condition()
	})
}

func TestAggregatorsNeverReadPluginDetails(t *testing.T) {
	l := newLeakClient(t)
	for _, platform := range leakModes {
		for _, kind := range []string{"orders", "outcomes"} {
			for _, body := range []string{`{"id":1}`, "ignore"} {
				answer := l.do(t, request{method: "POST", authorization: "Bearer " + l.keys[platform], body: body,
					path: fmt.Sprintf("/channel/api/v1/%s/callback/%s/", platform, kind)})
				requireNoLeak(t, platform+" "+kind, answer.text)
			}
		}
	}
	answer := l.do(t, request{method: "POST", authorization: "Bearer " + l.keys["refuse"], body: `{}`,
		path: "/channel/api/v1/refuse/callback/orders/"})
	requireEnvelope(t, answer, 400, "plugin leaky rejected the request (plugin_rejected)")
	answer = l.do(t, request{method: "POST", authorization: "Bearer " + l.keys["panic"], body: `{}`,
		path: "/channel/api/v1/panic/callback/orders/"})
	requireEnvelope(t, answer, http.StatusInternalServerError, "plugin leaky failed at this request (plugin_failed): "+
		"the hub may or may not have accepted the request: resend it")
	require.NotEmpty(t, answer.body["request_id"], "the log has the detail by this id")

	require.NoError(t, l.hub.config.Host.Refresh(t.Context(), false))
	causes, err := calls.NewPlugins(l.hub.db).Causes(t.Context(), "leaky")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(causes), "sk_live_51HxYzAbC", "the operator sees it")
	require.Contains(t, fmt.Sprint(causes), "[number]")
	require.NotContains(t, fmt.Sprint(causes), "4155550100")
}

func TestIntegratorsNeverReadPluginDetails(t *testing.T) {
	l := newLeakClient(t)
	var texts []string
	read := func(r apiResponse) apiResponse {
		texts = append(texts, r.text)
		return r
	}
	l.ok("POST", menuRoute+"s1/", `{"items":[{"ref_id":"dal","title":"Dal","price":9}]}`)
	var actions []string
	for _, platform := range leakModes {
		placed := read(l.sendAsChannel("POST", channelOrdersRoute,
			strings.Replace(orderOf("O-"+platform, ""), `"web"`, `"`+platform+`"`, 1)))
		require.Equal(t, 200, placed.status, placed.text)
		id := int64(placed.body["order_id"].(float64))
		read(l.send("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`))
		read(l.send("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"assigned","rider_data":%s}`, id,
			riderData)))
		read(l.send("POST", itemsOOSRoute, fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id)))
		for _, action := range []string{`"rider_with_mask","wearing_mask":true`, `"fetch_customer_data"`} {
			queued := read(l.send("POST", fmt.Sprintf(actionRoute, platform),
				fmt.Sprintf(`{"order_id":%d,"action":%s,"phone":""}`, id, action)))
			require.Equal(t, 200, queued.status, queued.text)
			actions = append(actions, queued.body["reference"].(string))
		}
		read(l.send("POST", locationRoute, fmt.Sprintf(
			`{"location_ref_id":"s1","platforms":[%q],"action":"disable"}`, platform)))
		read(l.send("POST", itemsRoute, fmt.Sprintf(
			`{"location_ref_id":"s1","platforms":[%q],"item_ref_ids":["dal"],"action":"disable"}`, platform)))
	}
	ended := func(state any) bool { return state != "waiting" }
	l.advanceUntil("the actions have ended", func() bool {
		for _, reference := range actions {
			if !ended(l.ok("GET", "/external/api/v1/actions/"+reference+"/", "").body["state"]) {
				return false
			}
		}
		return true
	})
	l.advanceUntil("the menus are published or have failed", func() bool {
		list := l.ok("GET", publicationsRoute, "").body["publications"].([]any)
		for _, publication := range list {
			if !ended(publication.(map[string]any)["status"]) {
				return false
			}
		}
		return len(list) == len(leakModes)
	})
	for _, reference := range actions {
		read(l.ok("GET", "/external/api/v1/actions/"+reference+"/", ""))
	}
	read(l.ok("GET", publicationsRoute, ""))
	seen := map[string]int{}
	l.advanceUntil("the events", func() bool {
		clear(seen)
		for _, arrival := range l.events.Arrivals() {
			seen[arrival.Header.Get("X-Event-Type")]++
		}
		return seen["order_items_oos_processed"] >= len(leakModes) && seen["feature_action"] >= len(leakModes) &&
			seen["store_action"] >= len(leakModes) && seen["item_state_toggle"] >= len(leakModes) &&
			seen["hub_menu_publish"] >= len(leakModes)
	})
	for _, sink := range []*hubtest.Sink{l.events, l.sink, l.orders} {
		for _, arrival := range sink.Arrivals() {
			texts = append(texts, string(arrival.Body))
		}
	}
	all := strings.Join(texts, "\n")
	requireNoLeak(t, "everything that integrators receive", all)
	for _, code := range []string{"plugin_rejected", "plugin_failed", "plugin_invalid_result"} {
		require.Contains(t, all, code)
	}
}
