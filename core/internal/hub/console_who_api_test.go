package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
)

func TestWebhookChangesByAPIAreAudited(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	f.clock.Advance(time.Millisecond) // earlier entries are lower in the list
	before := len(f.auditActions(t, f.tenant.ID))
	made := f.ok("POST", webhooksRoute,
		`{"event_type":"store_action","url":"https://pos.example.com/a","headers":{"X-Token":"hush-hush"}}`)
	f.ok("POST", webhooksRoute,
		`{"event_type":"store_action","url":"https://pos.example.com/a","headers":{"X-Token":"hush-hush"}}`)
	id := fmt.Sprintf("%.0f", made.body["webhook_id"])
	f.clock.Advance(time.Millisecond) // entries are sorted by time
	f.ok("PUT", webhooksRoute+id+"/", `{"headers":{"X-Token":"hush again"}}`)
	f.clock.Advance(time.Millisecond)
	f.ok("PUT", webhooksRoute+id+"/", `{"url":"https://pos.example.com/b","active":false}`)
	actions := f.auditActions(t, f.tenant.ID)
	require.ElementsMatch(t, []string{"webhook.update", "webhook.update", "webhook.create"},
		actions[:len(actions)-before], "what changes nothing has no entry")

	trail := sam.get(t, shell.BusinessLink(f.tenant.ID, "audit/?object=webhook/"+id)).text
	for _, reported := range []string{"key:pos", "https://pos.example.com/a → https://pos.example.com/b",
		"active true → false", "header_values changed", "X-Token"} {
		require.Contains(t, trail, reported)
	}
	require.NotContains(t, trail, "hush", "the values of headers are secret")
	require.Regexp(t, `webhook\.update</a>\s*<span[^>]*>POS \(API key &#34;pos&#34;\), `,
		sam.get(t, shell.BusinessLink(f.tenant.ID, "webhooks/"+id+"/")).text)
}

func TestStorePageShowsWhoSwitchedTheStore(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	f.ok("POST", locationRoute, `{"location_ref_id":"s1","platforms":["web","b"],"action":"disable"}`)
	f.ok("POST", locationRoute, `{"location_ref_id":"s1","platforms":["web"],"action":"disable"}`)
	f.ok("POST", locationRoute, `{"location_ref_id":"s1","platforms":["web"],"action":"enable"}`)
	s1, err := stores.New(f.hub.db).Get(t.Context(), f.tenant.ID, "s1")
	require.NoError(t, err)
	page := sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("stores/%d/", s1.ID))).text
	require.Contains(t, page, "Store opened on web")
	require.Regexp(t, `Store closed on b and web</span><a[^>]*>By the POS \(API key &#34;pos&#34;\)\.</a>`, page)
	require.Regexp(t, `Closing sent to b</span><span>By the POS \(API key &#34;pos&#34;\)\. `, page,
		"a call to an aggregator names who caused it")
	trail := sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("audit/?object=store/%d", s1.ID))).text
	require.Equal(t, 1, strings.Count(trail, ">store.close<"), "a store that is closed already is not closed again")
	require.Contains(t, trail, ">store.open<")
}

func TestOrderPageSendsAnUndeliveredOrder(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	switchOrders := func(active bool) {
		for _, hook := range f.ok("GET", webhooksRoute, "").body["webhooks"].([]any) {
			if hook := hook.(map[string]any); hook["event_type"] == "order_placed" {
				f.ok("PUT", fmt.Sprintf("%s%.0f/", webhooksRoute, hook["webhook_id"]),
					fmt.Sprintf(`{"active":%v}`, active))
			}
		}
	}
	switchOrders(false)
	page := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", f.order("web", "W-1", "")))
	shown := sam.get(t, page).text
	require.Contains(t, shown, "The POS has not received the order, because no active webhook")
	require.Contains(t, shown, "Subscribe or resume a webhook")
	require.NotContains(t, shown, page+"send/")
	switchOrders(true)
	require.Contains(t, sam.get(t, page).text, page+"send/")
	require.Equal(t, http.StatusSeeOther, sam.post(t, page+"send/", withReason(nil)).status)
	f.waitAdvancing(t, "the order at its endpoint", func() bool {
		return strings.Contains(sam.get(t, page).text, "Delivered: the server accepted attempt 1")
	})
	require.NotContains(t, sam.get(t, page).text, page+"send/")

	delivery := regexp.MustCompile(shell.BusinessLink(f.tenant.ID, `deliveries/[0-9a-f-]{36}/`)).FindString(sam.get(t,
		page).text)
	shown = sam.get(t, delivery).text
	require.Contains(t, shown, "with the same event id (webhook-id)")
	form := withReason(url.Values{"seen": hiddenFields(sam.get(t, delivery))["seen"]})
	require.Equal(t, http.StatusSeeOther, sam.post(t, delivery+"retry/", form).status)
	twice := sam.post(t, delivery+"retry/", form)
	require.Equal(t, http.StatusConflict, twice.status, "a form that is sent twice sends it again once")
	require.Contains(t, twice.text, "Nothing was done")
	f.waitAdvancing(t, "the second attempt", func() bool {
		return strings.Contains(sam.get(t, delivery).text, "the server accepted attempts 1 and 2")
	})

	f.clock.Advance(48 * time.Hour)
	sam = f.user(t, "kim@example.com", access.Support, f.tenant.ID)
	require.Equal(t, http.StatusConflict, sam.post(t, page+"send/", withReason(nil)).status, "only orders of the day")
}
