package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
)

func TestConsoleChangesMonitoringRules(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sam, vera := a.user(t, "sam@example.com", access.Support, tenant.ID),
		a.user(t, "vera@example.com", access.Viewer, tenant.ID)
	page, action := shell.BusinessLink(tenant.ID, "settings/"), shell.BusinessLink(tenant.ID, "settings/watching/")
	before := sam.get(t, page)
	require.Contains(t, before.text, "as the hub is set up")
	require.NotContains(t, vera.get(t, page).text, "settings/watching/")
	form := func(ack, silent, closes string) url.Values {
		return withReason(url.Values{"seen": {hiddenFields(before).Get("seen")}, "ack": {ack}, "silent": {silent},
			"close": {closes}})
	}
	wrong := sam.post(t, action, form("soon", "hub", "true"))
	require.Equal(t, http.StatusBadRequest, wrong.status)
	require.Contains(t, wrong.text, "Report orders that are not acknowledged within: must be")
	require.Equal(t, http.StatusSeeOther, sam.post(t, action, form("3m", "0", "true")).status)
	require.Equal(t, http.StatusConflict, sam.post(t, action, form("4m", "0", "true")).status,
		"somebody was quicker: shown, not lost")
	after := vera.get(t, page).text
	for _, reported := range []string{"3m", "0: never", ">yes<"} {
		require.Contains(t, after, reported)
	}
	w, err := consoleview.New(a.hub.db).MonitoringRules(t.Context(), tenant.ID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"acknowledge-within": "3m", "pos-silent-after": "0", "close-silent-stores": true},
		w.Flags())
	require.Equal(t, []string{"business.watch"}, a.auditActions(t, tenant.ID))
	require.Contains(t, sam.get(t, shell.BusinessLink(tenant.ID, "audit/")).text, "acknowledge-within hub → 3m")
}

func TestStorePagePublishesItsMenuNow(t *testing.T) {
	n := newPublishClient(t, "a")
	n.hub.console = n.hub.newConsole()
	n.hub.mountPages("http://example.com", 0)
	kim, vera := n.user(t, "kim@example.com", access.Support, n.tenant.ID),
		n.user(t, "vera@example.com", access.Viewer, n.tenant.ID)
	n.sendMenu("s1", soup)
	n.settle()
	lists, read := consolelists.New(n.hub.db), consolemenus.New(n.hub.db)
	stores, err := read.ListStores(t.Context(), n.tenant.ID, console.StoreFilter{Limit: 1})
	require.NoError(t, err)
	page := shell.BusinessLink(n.tenant.ID, fmt.Sprintf("stores/%d/", stores[0].ID))
	require.Contains(t, kim.get(t, page).text, "Publish now")
	require.NotContains(t, vera.get(t, page).text, "Publish now")
	require.Equal(t, http.StatusForbidden, vera.post(t, page+"publish/", withReason(nil)).status)
	require.Equal(t, http.StatusBadRequest, kim.post(t, page+"publish/", nil).status, "a reason is asked")
	require.Equal(t, http.StatusNotFound,
		kim.post(t, page+"publish/", withReason(url.Values{"platform": {"mars"}})).status)
	require.Equal(t, http.StatusNotFound,
		kim.post(t, shell.BusinessLink(n.tenant.ID, "stores/999999/publish/"), withReason(nil)).status)
	require.NotContains(t, n.auditActions(t, n.tenant.ID), "store.publish")

	sent := len(n.aggregators.requests())
	done := kim.post(t, page+"publish/", withReason(url.Values{"platform": {"p-a"}}))
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	require.Contains(t, kim.get(t, done.header.Get("Location")).text, "The menu is being sent to the platforms")
	n.advanceUntil("the menu at the platform", func() bool { return len(n.aggregators.requests()) > sent })
	published := n.settle()[0]
	entries, err := lists.Audit(t.Context(), n.tenant.ID, console.EntryFilter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"store.publish", fmt.Sprintf("store/%d", stores[0].ID)},
		[]string{entries[0].Action, entries[0].Object})
	require.Contains(t, string(entries[0].Detail), hubtest.Lookup(published, "reference"))
	require.Contains(t, kim.get(t, page).text, "Menu publication requested", "in the timeline of the store")
	require.Contains(t, kim.get(t, page).text, hubtest.Lookup(published, "published_at").(string)[:10],
		"since when the platform has it")

	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","name":"Nowhere","city":"C"}]}`)
	hubtest.WaitUntil(t, "the second store", func() bool {
		stores, err = read.ListStores(t.Context(), n.tenant.ID, console.StoreFilter{Text: "Nowhere", Limit: 1})
		return err == nil && len(stores) == 1
	})
	nowhere := kim.post(t, shell.BusinessLink(n.tenant.ID, fmt.Sprintf("stores/%d/publish/", stores[0].ID)),
		withReason(nil))
	require.Equal(t, http.StatusConflict, nowhere.status)
	require.Contains(t, nowhere.text, "is listed on no platform of an aggregator")
}
