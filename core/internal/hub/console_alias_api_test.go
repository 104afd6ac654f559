package hub

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/store"
)

func TestConsoleManagesAliasesOfPlatforms(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sam, vera := a.user(t, "sam@example.com", access.Support, tenant.ID),
		a.user(t, "vera@example.com", access.Viewer, tenant.ID)
	list := shell.BusinessLink(tenant.ID, "settings/")
	page, action := list+"platform/?name=web", list+"alias/"
	post := func(path, alias string, more ...string) apiResponse {
		fields := url.Values{"name": {"web"}, "alias": {alias}}
		for i := 0; i < len(more); i += 2 {
			fields.Set(more[i], more[i+1])
		}
		return sam.post(t, action+path, withReason(fields))
	}
	known := func() []core.PlatformAlias {
		t.Helper()
		known, err := aliases.New(a.hub.db).ListAliases(t.Context(), tenant.ID)
		require.NoError(t, err)
		return known
	}
	require.NotContains(t, vera.get(t, page).text, "settings/alias/")
	require.Equal(t, http.StatusForbidden, vera.post(t, action, withReason(url.Values{"name": {"web"}})).status)
	require.Contains(t, sam.get(t, page).text, "Add an alias")
	require.NotContains(t, sam.get(t, page).text, "Remove an alias", "there is none yet")

	require.Equal(t, http.StatusSeeOther, post("", " shop ", "sent", "true").status)
	require.Equal(t, http.StatusSeeOther, post("", "site", "sent", "false").status)
	require.Equal(t, []core.PlatformAlias{{Alias: "shop", Platform: "web", InEvents: true}, {Alias: "site",
		Platform: "web"}},
		known())
	wrong := post("", "default", "sent", "true")
	require.Equal(t, http.StatusBadRequest, wrong.status)
	require.Contains(t, wrong.text, "the alias must not be")
	require.Equal(t, http.StatusConflict, post("", "app", "sent", "true").status)
	require.Equal(t, http.StatusConflict, post("", "shop", "sent", "true").status)
	for _, address := range []string{page, list} {
		require.Contains(t, vera.get(t, address).text, "shop, site")
	}
	require.Contains(t, vera.get(t, page).text, "named shop in events")

	require.Equal(t, http.StatusSeeOther, post("sent/", "site", "was", "shop").status)
	require.Contains(t, vera.get(t, page).text, "named site in events")
	require.Equal(t, http.StatusSeeOther, post("sent/", "", "was", "site").status)
	require.Contains(t, vera.get(t, page).text, "named web in events", "its own name")
	require.Equal(t, http.StatusSeeOther, post("sent/", "", "was", "").status, "as it is already")
	require.Equal(t, http.StatusSeeOther, post("remove/", "site").status)
	require.Equal(t, http.StatusNotFound, post("remove/", "site").status)
	require.Equal(t, []core.PlatformAlias{{Alias: "shop", Platform: "web"}}, known())
	refused := sam.post(t, list+"platforms/", withReason(url.Values{"name": {"shop"}, "served_by": {"own"}}))
	require.Equal(t, http.StatusConflict, refused.status)
	require.Contains(t, refused.text, "is an alias of the platform")
	require.ElementsMatch(t, []string{"platform.alias", "platform.alias", "platform.send_alias", "platform.send_alias",
		"platform.unalias"}, a.auditActions(t, tenant.ID))
}

func TestConsoleSetsWhereNewStoresAreListed(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sam, vera := a.user(t, "sam@example.com", access.Support, tenant.ID),
		a.user(t, "vera@example.com", access.Viewer, tenant.ID)
	page := shell.BusinessLink(tenant.ID, "settings/")
	const label = "New stores without platforms from the POS"
	for _, address := range []string{page, shell.BusinessLink(tenant.ID, "")} {
		text := vera.get(t, address).text
		require.Contains(t, text, label)
		require.Contains(t, text, ">listed on no platform<")
	}
	set := func(from, to string) int {
		return sam.post(t, page+"listing/", withReason(url.Values{"from": {from}, "listing": {to}})).status
	}
	require.Equal(t, http.StatusForbidden,
		vera.post(t, page+"listing/", withReason(url.Values{"listing": {"all"}})).status)
	require.Equal(t, http.StatusBadRequest, set("none", "some"))
	require.Equal(t, http.StatusConflict, set("all", "none"), "somebody was quicker")
	require.Equal(t, http.StatusSeeOther, set("none", "all"))
	listing, err := stores.New(a.hub.db).DefaultListing(t.Context(), tenant.ID)
	require.NoError(t, err)
	require.Equal(t, store.ListAll, listing)
	require.Contains(t, vera.get(t, page).text, ">listed on all platforms<")
	require.Equal(t, []string{"business.list_stores"}, a.auditActions(t, tenant.ID))
	require.Contains(t, sam.get(t, shell.BusinessLink(tenant.ID, "audit/")).text, "list-stores none → all")
}
