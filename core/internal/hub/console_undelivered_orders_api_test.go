package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
)

func TestConsoleShowsOverdueOrdersUntilAcknowledged(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	waits, taken := f.order("b", "B-1", ""), f.order("b", "B-2", "")
	f.clock.Advance(time.Hour)
	escalated, err := orders.New(f.hub.db).Escalate(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 2, escalated)
	f.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, taken), `{"new_status":"Acknowledged"}`)

	home := sam.get(t, shell.BusinessLink(f.tenant.ID, "")).text
	require.Contains(t, home, "The POS has not acknowledged 1 order in time. Waiting since")
	link := shell.BusinessLink(f.tenant.ID, "orders/?state=unacknowledged")
	require.Contains(t, home, link)
	listed := sam.get(t, link).text
	require.Contains(t, listed, fmt.Sprint(waits))
	require.NotContains(t, listed, fmt.Sprint(taken))
	require.Contains(t, listed, "Not acknowledged in time")
	require.Contains(t, sam.get(t, shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", waits))).text,
		"has not acknowledged the order in time")

	f.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, waits), `{"new_status":"Acknowledged"}`)
	require.NotContains(t, sam.get(t, shell.BusinessLink(f.tenant.ID, "")).text, "has not acknowledged 1 order")
	require.NotContains(t, sam.get(t, link).text, fmt.Sprintf("orders/%d/", waits))
}

func TestSearchFindsASwitchByItsReference(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	reference := f.ok("POST", locationRoute,
		fmt.Sprintf(`{"location_ref_id":%q,"platforms":["b"],"action":"disable"}`, "s1")).body["reference"].(string)
	found := sam.get(t, shell.SearchPath+"?q="+reference)
	s1, err := stores.New(f.hub.db).Get(t.Context(), f.tenant.ID, "s1")
	require.NoError(t, err)
	page := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("stores/%d/", s1.ID))
	if found.status == http.StatusSeeOther {
		require.Equal(t, page, found.header.Get("Location"), "a single match opens")
	} else {
		require.Contains(t, found.text, page)
	}
	shown := sam.get(t, page).text
	require.Contains(t, shown, "Updates to platforms")
	require.Contains(t, shown, "Store closed on b")

	require.Contains(t, sam.get(t, shell.BusinessLink(f.tenant.ID, "grid/")).text,
		"Closed on this platform by the POS (API key")

	f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"store_action","url":%q}`, f.events.URL))
	reference = f.ok("POST", locationRoute,
		`{"location_ref_id":"s1","platforms":["web"],"action":"disable"}`).body["reference"].(string)
	found = sam.get(t, shell.SearchPath+"?q="+reference)
	require.Equal(t, http.StatusSeeOther, found.status)
	require.Equal(t, shell.BusinessLink(f.tenant.ID, "deliveries/?reference="+reference), found.header.Get("Location"))
	require.Contains(t, sam.get(t, found.header.Get("Location")).text, "store_action")
	require.Contains(t, sam.get(t, shell.SearchPath+"?q="+uuid.New().String()).text, "Nothing found")
	require.NotContains(t, sam.get(t, shell.SearchPath+"?q="+core.NewID(f.clock.Now()).String()).text, "store_action")
}

func TestConsoleSendsAllUndeliveredOrdersAtOnce(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	for _, known := range f.ok("GET", webhooksRoute, "").body["webhooks"].([]any) {
		if hook := known.(map[string]any); hook["event_type"] == "order_placed" {
			f.ok("PUT", fmt.Sprintf("%s%v/", webhooksRoute, hook["webhook_id"]), `{"active":false}`)
		}
	}
	first, second, cancelled := f.order("b", "B-1", ""), f.order("b", "B-2", ""), f.order("b", "B-3", "")
	f.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, cancelled), `{"new_status":"Cancelled"}`)
	page := func(path string) string { return sam.get(t, shell.BusinessLink(f.tenant.ID, path)).text }
	send := func() apiResponse {
		return sam.post(t, shell.BusinessLink(f.tenant.ID, "orders/send/"),
			withReason(url.Values{"count": {"2"}}))
	}
	const notReceived, button = "The POS has not received 2 orders, the last of", "Send today&#39;s orders"
	require.Contains(t, page(""), notReceived)
	require.Contains(t, page(""), "subscribe or resume one first")
	require.Contains(t, page(""), "orders/?state=not_received")
	require.NotContains(t, page("orders/?state=not_received"), button)
	require.Equal(t, http.StatusConflict, send().status, "nobody would receive it now either")

	f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, f.events.URL))
	require.Contains(t, page(""), notReceived, "a webhook alone sends nothing")
	listed := page("orders/?state=not_received")
	require.Contains(t, listed, button)
	for _, id := range []int64{first, second} {
		require.Contains(t, listed, fmt.Sprintf("orders/%d/", id))
	}
	require.NotContains(t, page("orders/"), button)

	require.Contains(t, page(fmt.Sprintf("orders/%d/", first)), fmt.Sprintf("orders/%d/send/", first))
	sendCancelled := fmt.Sprintf("orders/%d/send/", cancelled)
	require.NotContains(t, page(fmt.Sprintf("orders/%d/", cancelled)), sendCancelled)
	require.Equal(t, http.StatusConflict,
		sam.post(t, shell.BusinessLink(f.tenant.ID, sendCancelled), withReason(nil)).status)
	done := send()
	require.Equal(t, http.StatusSeeOther, done.status)
	require.Contains(t, done.header.Get("Location"), "/jobs/")
	f.waitAdvancing(t, "both are sent", func() bool { return len(f.events.Arrivals()) >= 2 })
	require.NotContains(t, page(""), "has not received 2 orders")
	require.Contains(t, page("orders/?state=not_received"), "Nothing matches")
	require.Equal(t, http.StatusConflict, send().status)
}
