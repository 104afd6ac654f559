package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
)

// newConsoleRelayClient returns a relayClient and a browser.
func newConsoleRelayClient(t *testing.T,
	response func(n int, w http.ResponseWriter, r *http.Request)) (*relayClient, *browser) {
	t.Helper()
	f := newRelayClientWith(t, func(c *Config) { c.Roles = append(c.Roles, RoleConsole) }, response)
	f.hub.mountPages("http://example.com", 0)
	return f, f.user(t, "sam@example.com", access.Admin)
}

func TestConsoleOrderPageShowsOrderAndRider(t *testing.T) {
	f, sam := newConsoleRelayClient(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`<script>alert(1)</script>`))
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	page := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", id))
	for _, wanted := range []string{fmt.Sprint(id), "B-1"} {
		found := sam.get(t, shell.SearchPath+"?q="+wanted)
		require.Equal(t, http.StatusSeeOther, found.status, "a single match opens")
		require.Equal(t, page, found.header.Get("Location"))
	}
	f.waitAdvancing(t, "the delivery on the page", func() bool {
		return strings.Contains(sam.get(t, page).text, "Delivered: the server accepted attempt 1")
	})

	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED",
		`{"rider_name":"Asha <script>alert(1)</script>","rider_phone_number":"5550100"}`).status)
	f.waitAdvancing(t, "the refusal on the page", func() bool {
		return strings.Contains(sam.get(t, page).text,
			"Rider status &#34;Assigned&#34; to b. Failed, and not retried: b responded with error 400 Bad Request")
	})
	require.Equal(t, 200, f.send("POST", riderLocationRoute,
		fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"12.9716","longitude":"77.5946"}}`, id)).status)
	f.waitAdvancing(t, "the place on the page", func() bool {
		return strings.Contains(sam.get(t, page).text, "12.9716, 77.5946; the platform has this location")
	})
	asked := f.postAction("b", fmt.Sprintf(
		`{"order_id":%d,"action":"rider_body_temp","temp":98.4,"wearing_mask":true}`, id))
	require.Equal(t, 400, asked.status, "the platform has no actions")
	f.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, id),
		`{"new_status":"Acknowledged","message":"seen <b>","extra":{"prep_time_mins":20}}`)

	shown := sam.get(t, page).text
	for _, part := range []string{"Acknowledged on", "The rider Asha", "was assigned on", "Ready in 20 min.",
		"seen &lt;b&gt;", "rider_status_update", "Attempt 1", "POST http://127.0.0.1",
		"&#34;status&#34;: &#34;ASSIGNED&#34;", "12.9716"} {
		require.Contains(t, shown, part)
	}
	require.NotContains(t, shown, "<script>alert")
	require.NotContains(t, shown, "Token t-", "secrets are masked")
	payload := sam.get(t, page+"payload.json")
	require.Equal(t, "application/octet-stream", payload.header.Get("Content-Type"))
	require.Contains(t, payload.text, `"id":`+fmt.Sprint(id))
}

func TestConsoleOrdersAreListedFilteredAndPaged(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	first := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.postRiderStatus(first, "AT-STORE", `{}`).status)
	for n := range 52 {
		f.order("web", fmt.Sprint("W-", n), "")
	}
	list := func(query string) string { return sam.get(t, shell.BusinessLink(f.tenant.ID, "orders/"+query)).text }
	link := func(id int64) string { return fmt.Sprintf(`orders/%d/"`, id) }
	require.NotContains(t, list(""), link(first), "the newest stand first, fifty a page")
	older := list("")
	older = older[strings.Index(older, `rel="next"`)-120:]
	older = older[strings.Index(older, "?before=") : strings.Index(older, "?before=")+40]
	older = strings.SplitN(older, `"`, 2)[0]
	require.Contains(t, list(older), link(first))
	for _, query := range []string{"?platform=b", "?id=B-1", "?id=" + fmt.Sprint(first),
		"?platform=b&state=Placed&store=s1&when=1h", "?platform=b&when=any"} {
		require.Contains(t, list(query), link(first), query)
		require.NotContains(t, list(query), "W-1", query)
	}
	require.Contains(t, list("?platform=b"), "At the store")
	for _, query := range []string{"?state=Completed", "?id=nothing", "?store=other", "?platform=c"} {
		require.Contains(t, list(query), "Nothing matches", query)
	}
	require.Equal(t, 54, strings.Count(list("?format=csv"), "\n"))
	for range 25 {
		f.clock.Advance(3600e9)
	}
	sam = f.user(t, "kim@example.com", access.Admin)
	require.Contains(t, list(""), "No orders")
	require.Contains(t, list("?when=any&platform=b"), link(first))
	require.Equal(t, http.StatusNotFound, sam.get(t, shell.BusinessLink(f.tenant.ID, "orders/99/")).status)
}

func TestConsoleShowsWhoResentADelivery(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	page := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", f.order("b", "B-1", "")))
	f.waitAdvancing(t, "the delivery",
		func() bool { return strings.Contains(sam.get(t, page).text, "the server accepted attempt 1") })
	delivery := regexp.MustCompile(regexp.QuoteMeta(shell.BusinessLink(f.tenant.ID, "deliveries/")) +
		`[0-9a-f-]{36}/`).FindString(sam.get(t, page).text)
	require.NotContains(t, sam.get(t, delivery).text, "Resent by")
	require.Equal(t, http.StatusSeeOther, sam.post(t, delivery+"retry/", url.Values{"why": {"merchant asked"}}).status)
	f.waitAdvancing(t, "it is sent again", func() bool {
		return strings.Contains(sam.get(t, delivery).text, "Delivered 2 times: the server accepted attempts 1 and 2.")
	})
	require.Regexp(t, `Resent by sam@example.com on .{10,30}\. Reason: merchant asked\.`, sam.get(t, delivery).text)
	shown := sam.get(t, page).text
	require.Contains(t, shown, "order_placed resent")
	require.Contains(t, shown, `data-every="5"`, "old orders change without a word")
	require.Contains(t, shown, "merchant asked")
}
