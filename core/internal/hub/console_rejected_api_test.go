package hub

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestConsoleFindsRejectedOrdersWithTheirReason(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	page := func(path string) string { return sam.get(t, shell.BusinessLink(f.tenant.ID, path)).text }
	const refused, list = "orders/refused/", "orders/"
	require.NotContains(t, page(list), refused)
	require.Contains(t, page(refused), "No rejected orders")

	key := "Bearer " + f.newCallbackKey("b")
	unknown := strings.Replace(orderOf("W-UNKNOWN", ""), `"s1"`, `"NOWHERE-7"`, 1)
	for _, c := range []struct {
		answer apiResponse
		status int
		id     string
		shown  []string // the search page
	}{
		{f.sendAsChannel("POST", channelOrdersRoute, unknown), 404, "W-UNKNOWN",
			[]string{"NOWHERE-7", "there is no store with this ref_id"}},
		{f.callBack("b", "order", key, `{"orderId":"B-77","dish":"dal","store":"GHOST-1"}`), 404, "B-77",
			[]string{"GHOST-1", "no store has it on the platform b"}},
		{f.sendAsChannel("POST", channelOrdersRoute,
			`{"platform":"webx","platform_order_id":"X-1","store_ref_id":"s1",`+
				`"items":[{"ref_id":"dal","quantity":1}]}`), 404, "X-1", []string{"webx"}},
		{f.sendAsChannel("POST", channelOrdersRoute,
			`{"platform":"web","platform_order_id":"W-HALF","store_ref_id":"s1","items":[{]}`), 400, "W-HALF",
			[]string{"not valid JSON"}},
		{f.sendAsChannel("POST", channelOrdersRoute,
			`{"platform":"web","platform_order_id":"W-NONE","store_ref_id":"s1","items":[]}`), 400, "W-NONE",
			[]string{"items must have at least one item"}},
		{f.do(t, request{method: "POST", path: channelOrdersRoute, authorization: f.channel,
			body: orderOf("W-TEXT", ""), headers: map[string]string{"Content-Type": "text/html"}}), 415, "W-TEXT",
			[]string{"send the body as JSON"}},
		{f.callBack("b", "order", key, `{"orderId":"B-78","dish":78}`), 400, "B-78", []string{"order: "}},
	} {
		require.Equal(t, c.status, c.answer.status, c.answer.text)
		found := sam.get(t, shell.SearchPath+"?q="+c.id)
		require.Equal(t, http.StatusSeeOther, found.status, "a single match opens")
		require.Equal(t, shell.BusinessLink(f.tenant.ID, refused+"?id="+c.id), found.header.Get("Location"))
		shown := page(refused + "?id=" + c.id)
		for _, words := range append(c.shown, c.id, "Rejected") {
			require.Contains(t, shown, words)
		}
		require.Contains(t, html.UnescapeString(page(list+"?id="+c.id)),
			"orders/refused/?fault=order&id="+c.id+"&state=missing", "where it would be, had it come")
	}
	require.Equal(t, shell.BusinessLink(f.tenant.ID, refused+"?store=NOWHERE-7"),
		sam.get(t, shell.SearchPath+"?q=NOWHERE-7").header.Get("Location"))
	require.Contains(t, page(refused+"?store=NOWHERE-7"), "W-UNKNOWN")
	require.NotContains(t, page(refused+"?store=NOWHERE-7"), "B-77")
	require.Contains(t, page(list), "7 orders were rejected and have not been accepted since. The last was rejected on")
	require.Contains(t, page(""), "7 orders were rejected and have not been accepted since. The last was rejected on")
	require.Equal(t, 8, strings.Count(page(refused+"?format=csv"), "\n"))

	f.sendAsChannel("POST", channelOrdersRoute, unknown)
	require.Contains(t, page(refused+"?format=csv"), ",2,")
	id := f.order("web", "W-UNKNOWN", "")
	require.Contains(t, page(refused), fmt.Sprintf("orders/%d/", id), "it came later")
	require.Contains(t, page(""), "6 orders were rejected and have not been accepted since. The last was rejected on")

	foreign := f.user(t, "kim@example.com", access.Viewer, hubtest.Business(t, f.hub.db).ID)
	require.Equal(t, http.StatusNotFound, foreign.get(t, shell.BusinessLink(f.tenant.ID, refused)).status)
	require.NotContains(t, foreign.get(t, shell.SearchPath+"?q=B-77").text, "GHOST-1")
	viewer := f.user(t, "vera@example.com", access.Viewer, f.tenant.ID)
	require.Contains(t, viewer.get(t, shell.BusinessLink(f.tenant.ID, refused)).text, "GHOST-1")
}

func TestOrdersOfAQuarantinedPluginAreOnRecord(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	page := func(path string) string { return sam.get(t, shell.BusinessLink(f.tenant.ID, path)).text }
	key := "Bearer " + f.newCallbackKey("b")
	f.agent.setDown(true)
	for _, id := range []string{"B-1", "B-2", "B-1"} {
		require.Equal(t, 503, f.callBack("b", "order", key, fmt.Sprintf(`{"orderId":%q,"dish":"dal"}`, id)).status)
	}
	require.Equal(t, 503, f.callBack("b", "order", key, `{`).status)
	require.Equal(t, 503, f.callBack("b", "action", key, `{"orderId":"B-9"}`).status)
	missed := func(n int) string {
		return fmt.Sprintf("%d orders could not be accepted and have not arrived since. The last was rejected on", n)
	}
	const list = "orders/refused/?fault=hub"
	require.Contains(t, page(""), missed(3))
	require.Contains(t, page(""), "plugin aggregator-b is quarantined")
	require.Contains(t, page("orders/"), missed(3))
	require.Contains(t, page(list), "Not accepted")
	require.Contains(t, page(list), "not readable", "the body has no id")
	require.NotContains(t, page(list), "B-9", "no order")
	require.NotContains(t, page("orders/refused/?fault=order"), "B-1")
	require.Equal(t, shell.BusinessLink(f.tenant.ID, "orders/refused/?id=B-2"),
		sam.get(t, shell.SearchPath+"?q=B-2").header.Get("Location"))

	f.agent.setDown(false)
	require.Equal(t, 200, f.callBack("b", "order", key, `{"orderId":"B-1","dish":"dal"}`).status)
	require.Contains(t, page(""), missed(2))
	require.Contains(t, page(list), "Accepted later")
	require.NotContains(t, page(list+"&state=missing"), "Accepted later")
	again := f.callBack("b", "order", key, `{"orderId":"B-1","dish":"naan"}`)
	require.Equal(t, 200, again.status)
	require.Contains(t, page(fmt.Sprintf("orders/%v/", again.body["order_id"])), "item naan added; item dal removed")
}

func TestPlatformPageExplainsCallbackURLAndFailedVerification(t *testing.T) {
	s := newSettingsClient(t)
	require.NoError(t, platforms.New(s.hub.db).Set(t.Context(), s.tenant.ID,
		core.Platform{Name: oddName, ServedBy: "aggregator-a"}, func(*relay.Access) error { return nil }))
	home := shell.BusinessLink(s.tenant.ID, "")
	address := fmt.Sprintf("http://example.com/channel/api/v1/%s/callback/orders/?business=%d", url.PathEscape(oddName),
		s.tenant.ID)
	page := s.kim.get(t, s.page(oddName)).text
	for _, words := range []string{html.EscapeString(address), "/callback/customer-data/?business=",
		"rejected until the secret webhook_secret is set", "the aggregator cannot call the hub", "none recorded"} {
		require.Contains(t, page, words)
	}
	require.NoError(t, platforms.New(s.hub.db).Set(t.Context(), s.tenant.ID,
		core.Platform{Name: oddName, ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Secrets = map[string]string{"webhook_secret": "ours"}
			return nil
		}))
	requireEnvelope(t, s.do(t,
		request{method: "POST", path: strings.TrimPrefix(address, "http://example.com"), body: `{}`,
			headers: map[string]string{"X-Signature": "theirs"}}), 401, "does not prove")
	page = s.kim.get(t, s.page(oddName)).text
	for _, words := range []string{"verified by webhook_secret: HMAC-SHA256 of", "in header x-signature",
		"not needed: the hub verifies its calls", "the header x-signature is wrong"} {
		require.Contains(t, page, words)
	}
	require.NotContains(t, page, "cannot call the hub")
	require.NotContains(t, s.kim.get(t, home).text, "x-signature",
		"anybody can send such a call: it is no banner of the business")
	require.Contains(t, s.do(t, request{method: "GET", path: "/metrics"}).text, "servery_callbacks_unverified_total 1")
}
