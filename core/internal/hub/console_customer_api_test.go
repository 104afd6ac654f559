package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestConsoleFindsExportsAndErasesACustomer(t *testing.T) {
	f, ada := newConsoleRelayClient(t, nil)
	id := f.order("web", "W-1", `,"customer":{"name":"Maya Lindqvist","email":"maya@example.com",`+
		`"phone":"(415) 555-0142","address":{"line_1":"1390 Mission Street"}}`)
	page := shell.BusinessLink(f.tenant.ID, "customers/")
	order := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", id))
	f.waitAdvancing(t, "the delivery",
		func() bool { return strings.Contains(ada.get(t, order).text, "the server accepted attempt 1") })
	require.Contains(t, ada.get(t, order).text, "Maya Lindqvist")
	f.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, id), `{"new_status":"Cancelled","message":"Maya called"}`)
	f.waitAdvancing(t, "the delivery of the state",
		func() bool { return strings.Count(ada.get(t, order).text, "the server accepted attempt 1") == 2 })

	search := func() url.Values { return url.Values{"q": {"+1 415 555 0142"}, "why": {"ticket 7"}} }
	viewer := f.user(t, "vera@example.com", access.Viewer, f.tenant.ID)
	require.Equal(t, http.StatusForbidden, viewer.get(t, page).status)
	require.Equal(t, http.StatusForbidden, viewer.post(t, page, search()).status)
	foreign := f.user(t, "kim@example.com", access.Support, hubtest.Business(t, f.hub.db).ID)
	require.Equal(t, http.StatusNotFound, foreign.post(t, page, search()).status)
	require.Equal(t, http.StatusNotFound, foreign.post(t, shell.SearchPath+"customers/",
		url.Values{"q": {"Maya"}, "business": {fmt.Sprint(f.tenant.ID)}, "why": {"x"}}).status)

	found := ada.post(t, page, search())
	require.Equal(t, http.StatusSeeOther, found.status, found.text)
	customer := found.header.Get("Location")
	require.Contains(t, ada.get(t, customer).text, "W-1")
	support := f.user(t, "sue@example.com", access.Support, f.tenant.ID)
	require.Contains(t, support.get(t, customer).text, "W-1")
	require.Equal(t, http.StatusForbidden, support.post(t, customer+"erase/", url.Values{"why": {"x"}}).status)
	require.Equal(t, http.StatusForbidden, support.post(t, customer+"export/", url.Values{"why": {"x"}}).status)

	export := ada.post(t, customer+"export/", url.Values{"why": {"the customer asked"}})
	require.Equal(t, http.StatusOK, export.status)
	for _, part := range []string{"Maya Lindqvist", "1390 Mission Street", "Maya called", `"sent_to"`} {
		require.Contains(t, export.text, part)
	}
	erased := ada.post(t, customer+"erase/", url.Values{"why": {"the customer asked"}, "orders": {"1"}})
	require.Equal(t, http.StatusSeeOther, erased.status, erased.text)
	require.Contains(t, ada.get(t, page).text, "Running")
	require.Contains(t, ada.get(t, customer).text, "No orders of this customer")
	shown := ada.get(t, order).text
	for _, part := range []string{"Maya", "555-0142", "1390 Mission"} {
		require.NotContains(t, shown, part)
	}
	require.Contains(t, shown, "W-1")
	require.Contains(t, shown, "Cancelled")
	require.Equal(t, 200, f.send("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").status, "the API still has it")
	require.Contains(t, ada.get(t, shell.BusinessLink(f.tenant.ID, "audit/")).text, "customer.erase")
}

func TestConsoleSetsTheRetentionOfPersonalData(t *testing.T) {
	f, ada := newConsoleRelayClient(t, nil)
	settings := shell.BusinessLink(f.tenant.ID, "settings/")
	require.Contains(t, ada.get(t, settings).text, "as long as the orders")
	support := f.user(t, "sue@example.com", access.Support, f.tenant.ID)
	form := func() url.Values { return url.Values{"from": {"off"}, "keep": {"30"}, "why": {"our policy"}} }
	require.Equal(t, http.StatusForbidden, support.post(t, settings+"personal-data/", form()).status)
	require.Equal(t, http.StatusSeeOther, ada.post(t, settings+"personal-data/", form()).status)
	require.Contains(t, ada.get(t, settings).text, "30 days")
	require.Equal(t, http.StatusConflict, ada.post(t, settings+"personal-data/", form()).status,
		"seen before the change")
	wrong := url.Values{"from": {"30"}, "keep": {"soon"}, "why": {"our policy"}}
	require.Equal(t, http.StatusBadRequest, ada.post(t, settings+"personal-data/", wrong).status)

	id := f.order("web", "W-1", `,"customer":{"name":"Maya Lindqvist","phone":"+14155550142"}`)
	order := shell.BusinessLink(f.tenant.ID, fmt.Sprintf("orders/%d/", id))
	f.waitAdvancing(t, "the delivery",
		func() bool { return strings.Contains(ada.get(t, order).text, "the server accepted attempt 1") })
	require.Contains(t, ada.get(t, order).text, "Maya Lindqvist")
	f.clock.Advance(31 * 24 * time.Hour)
	ada = f.user(t, "ana@example.com", access.Admin)
	require.NoError(t, newConsoleRecords(f.hub.db).Sweep(t.Context()))
	require.NotContains(t, ada.get(t, order).text, "Maya Lindqvist")
}
