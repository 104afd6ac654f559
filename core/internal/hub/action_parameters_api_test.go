package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

func TestActionParametersAreCheckedByTheirSchema(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("a", "A-1", "")
	for _, c := range []struct{ body, path, code, says string }{
		{`"action":"delay_order"`, "parameters.minutes", "required", "parameters.minutes is required"},
		{`"action":"delay_order","parameters":null`, "parameters.minutes", "required", "is required"},
		{`"action":"delay_order","parameters":[]`, "parameters.minutes", "required", "is required"},
		{`"action":"delay_order","parameters":"10"`, "parameters", "type", "parameters must be an object"},
		{`"action":"delay_order","parameters":{"minutes":99}`, "parameters.minutes", "range",
			"parameters.minutes must be at most 60, not 99"},
		{`"action":"delay_order","parameters":{"minutes":"soon"}`, "parameters.minutes", "type",
			`parameters.minutes must be of type integer, not "soon"`},
		{`"action":"delay_order","parameters":{"minutes":5,"reason":"sun"}`, "parameters.reason", "value",
			`parameters.reason must be one of: "busy", "rider", not "sun"`},
		{`"action":"delay_order","parameters":{"minutes":5,"lines":[{},{"count":true}]}`, "parameters.lines[1].count",
			"type", "parameters.lines[1].count must be of type integer, not true"},
		{`"action":"delay_order","parameters":{"minutes":5,"hours":1}`, "parameters.hours", "unknown",
			"parameters.hours is an unknown parameter"},
		{`"action":"delay_order","parameters":{"minutes":1e1000001}`, "parameters", "type",
			"parameters must have no numbers beyond 64-bit floating point"},
		{`"action":"delay_order","parameters":{"minutes":5,"reason":"` + strings.Repeat("x", 16<<10) + `"}`,
			"parameters", "length", "parameters must have at most 16384 bytes of JSON"},
		{`"action":"call_support","parameters":{"minutes":5}`, "parameters", "unknown", "the action has none"},
	} {
		refused := f.postAction("a", fmt.Sprintf(`{"order_id":%d,%s}`, id, c.body))
		requireEnvelope(t, refused, 400, c.says)
		first := refused.body["errors"].([]any)[0]
		require.Equal(t, []any{c.path, c.code}, []any{hubtest.Lookup(first, "path"), hubtest.Lookup(first, "code")},
			c.body)
	}
	require.Empty(t, f.aggregator.Arrivals(), "nothing is sent")

	for n, c := range []struct{ body, sent string }{
		{`"action":"call_support"`, `{"action":"call_support"}`},
		{`"action":"delay_order","parameters":{"reason":"busy","minutes":5}`,
			`{"action":"delay_order","parameters":{"minutes":5,"reason":"busy"},"sends_event":true}`},
	} {
		accepted := f.postAction("a", fmt.Sprintf(`{"order_id":%d,%s}`, id, c.body))
		require.Equal(t, 200, accepted.status, accepted.text)
		require.JSONEq(t, c.sent, string(f.awaitAggregatorRequest(n+1).Body))
		read := f.awaitAction(accepted.body["reference"], "done")
		if n == 0 {
			require.NotContains(t, read.body, "parameters")
		} else {
			require.Equal(t, map[string]any{"minutes": 5.0, "reason": "busy"}, read.body["parameters"])
			require.Equal(t, map[string]any{"reference": accepted.body["reference"], "order_id": float64(id),
				"customer_phone": "", "platform": "a", "action": "delay_order", "platform_order_id": "A-1",
				"status": "done", "message": ""}, f.awaitRiderEvent(1))
		}
	}
	require.Len(t, f.events.Arrivals(), 1, "only the action that declares it sends an event")
}

func TestEqualParametersAreTheSameAction(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("a", "A-1", "")
	f.agent.setDown(true)
	references := map[any]bool{}
	for _, parameters := range []string{`{"minutes":5,"reason":"busy"}`, `{ "reason": "busy", "minutes": 5 }`,
		`{"minutes":6,"reason":"busy"}`} {
		accepted := f.postAction("a",
			fmt.Sprintf(`{"order_id":%d,"action":"delay_order","parameters":%s}`, id, parameters))
		require.Equal(t, 200, accepted.status, accepted.text)
		references[accepted.body["reference"]] = true
	}
	require.Len(t, references, 2)
}

func TestRunningPluginReceivesDeclaredParameters(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "delays", "../../pluginhost/testdata/delays")
	f := newOrderClientAt(newMenuClientAt(t, newPluginAPI(t, dir, unlimited)))
	aggregator, events := hubtest.NewSink(t, nil), hubtest.NewEventSink(t, nil)
	f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"feature_action","url":%q}`, events.URL))
	require.NoError(t, platforms.New(f.hub.db).Set(t.Context(), f.tenant.ID,
		core.Platform{Name: "slow", ServedBy: "delays"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": strings.TrimSuffix(aggregator.URL, "/hook")}
			return nil
		}))
	placed := f.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("S-1", ""), `"web"`, `"slow"`, 1))
	require.Equal(t, 200, placed.status, placed.text)
	send := func(more string) apiResponse {
		return f.send("POST", fmt.Sprintf(actionRoute, "slow"),
			fmt.Sprintf(`{"order_id":%v,%s}`, placed.body["order_id"], more))
	}
	requireEnvelope(t, send(`"action":"delay_order","parameters":{"minutes":61}`), 400,
		"parameters.minutes must be at most 60, not 61")
	requireEnvelope(t, send(`"action":"rider_body_temp","temp":109`), 400,
		"temp must be at most 108, not 109")
	require.Empty(t, aggregator.Arrivals())

	accepted := send(`"action":"delay_order","parameters":{"minutes":10}`)
	require.Equal(t, 200, accepted.status, accepted.text)
	f.waitAdvancing(t, "the request at the aggregator", func() bool { return len(aggregator.Arrivals()) >= 1 })
	require.JSONEq(t, `{"order":"S-1","later":10}`, string(aggregator.Arrivals()[0].Body))
	f.waitAdvancing(t, "the event", func() bool { return len(events.Arrivals()) >= 1 })
	require.Contains(t, string(events.Arrivals()[0].Body), `"action":"delay_order"`)
	require.Contains(t, string(events.Arrivals()[0].Body), `"message":"delay_order done"`)
	accepted = send(`"action":"rider_body_temp","temp":98.60`)
	require.Equal(t, 200, accepted.status, accepted.text)
	last := func() string { list := aggregator.Arrivals(); return string(list[len(list)-1].Body) }
	f.waitAdvancing(t, "the second request", func() bool { return strings.Contains(last(), "temp") })
	require.JSONEq(t, `{"order":"S-1","temp":98.6}`, last())
	require.Len(t, events.Distinct(webhook.HeaderID), 1, "the specification has no event for it")
}

func TestConsoleRequestsActionsOfAnOrder(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	vera := f.user(t, "vera@example.com", access.Viewer, f.tenant.ID)
	id := f.order("a", "A-1", "")
	page := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", id))
	target := page + "action/delay_order/"
	shown := sam.get(t, page).text
	for _, part := range []string{`action="` + target + `"`, `name="parameter-minutes"`, "minutes: how much later",
		`<select id="elaytheorder`, "The POS receives it as the event feature_action.",
		`action="` + page + `action/rider_with_mask/"`} {
		require.Contains(t, shown, part)
	}
	require.NotContains(t, shown, "request_additional_rider", "the order is no bulk order")
	require.NotContains(t, vera.get(t, page).text, target)
	require.Equal(t, http.StatusForbidden, vera.post(t, target, withReason(nil)).status)

	refused := sam.post(t, target, withReason(url.Values{"parameter-minutes": {"99"}, "parameter-reason": {"busy"}}))
	require.Equal(t, http.StatusBadRequest, refused.status)
	require.Contains(t, refused.text, "parameters.minutes must be at most 60, not 99")
	require.Contains(t, refused.text, `value="99"`, "the form keeps what was entered")
	require.Equal(t, http.StatusBadRequest, sam.post(t, target, url.Values{"parameter-minutes": {"5"}}).status,
		"a reason is asked")
	require.Equal(t, http.StatusBadRequest, sam.post(t, page+"action/rider_body_temp/", withReason(nil)).status)
	require.Equal(t, http.StatusConflict, sam.post(t, page+"action/dance/", withReason(nil)).status)
	require.Empty(t, f.aggregator.Arrivals())

	done := sam.post(t, target, withReason(url.Values{"parameter-minutes": {"5"}, "parameter-reason": {""}}))
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	require.JSONEq(t, `{"action":"delay_order","parameters":{"minutes":5},"sends_event":true}`,
		string(f.awaitAggregatorRequest(1).Body))
	f.waitAdvancing(t, "the result on the page", func() bool {
		return strings.Contains(sam.get(t, page).text, "sam@example.com") &&
			strings.Contains(sam.get(t, page).text, "delay_order")
	})
	require.Contains(t, f.auditActions(t, f.tenant.ID), "order.action")
	require.Contains(t, sam.get(t, shell.BusinessLink(f.tenant.ID, "audit/?action=order.action")).text,
		"action delay_order")
	f.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Cancelled"}`)
	require.NotContains(t, sam.get(t, page).text, target)
	late := sam.post(t, target, withReason(url.Values{"parameter-minutes": {"5"}}))
	require.Equal(t, http.StatusConflict, late.status)
}
