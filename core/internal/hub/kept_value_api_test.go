package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestLaterCallsHaveKeptValues(t *testing.T) {
	revisions := []string{"r1", "", "r3"}
	l := newLinkClient(t, func(n int, _ string) (int, string) {
		return 200, fmt.Sprintf(`{"revision":%q}`, revisions[n-1])
	})
	event := func(menu, store string) {
		response := l.event(fmt.Sprintf(`{"id":"e-1","menu":%q,"store":%q}`, menu, store))
		require.Equal(t, 200, response.status, response.text)
	}
	event("m-7", "s1")
	event("m-8", "nowhere") // ignored, as a fault of the plugin
	fetcher := marketClient{orderClient: l.orderClient}
	served := fetcher.get(fmt.Sprintf("/channel/api/v1/linked/callback/menu/s1/?business=%d", l.tenant.ID),
		map[string]string{"X-Key": "the-webhook-key"})
	require.Equal(t, "m-7", served.text)
	for n, want := range []string{"/menus/m-7//e-1", "/menus/m-7/r1/e-1", "/menus/m-7//e-1"} {
		action := []string{"disable", "enable"}[n%2]
		l.ok("POST", locationRoute, fmt.Sprintf(`{"location_ref_id":"s1","action":%q}`, action))
		hubtest.WaitUntil(t, "the request", func() bool {
			l.clock.advanceToWork(20 * time.Millisecond)
			return len(l.seen()) > n
		})
		require.Equal(t, want, strings.TrimSpace(l.seen()[n]))
		if n == 2 {
			break
		}
		hubtest.WaitUntil(t, "the value of the response", func() bool {
			values, err := platforms.New(l.hub.db).Values(t.Context(), l.tenant.ID, "linked", "s1")
			require.NoError(t, err)
			return values["revision"] == revisions[n]
		})
	}
	page := l.sam.get(t, shell.BusinessLink(l.tenant.ID, "settings/platform/?name=linked")).text
	require.Contains(t, page, "Value menu_id of store s1, kept by the plugin")
	require.Contains(t, page, "Value last_event, kept by the plugin")
	require.Contains(t, page, "m-7")
	require.NotContains(t, page, "m-8")

	set := func(plugin string) {
		require.NoError(t, platforms.New(l.hub.db).Set(t.Context(), l.tenant.ID,
			core.Platform{Name: "linked", ServedBy: plugin}, func(*relay.Access) error { return nil }))
	}
	set("linked")
	values, err := platforms.New(l.hub.db).ListValues(t.Context(), l.tenant.ID)
	require.NoError(t, err)
	require.NotEmpty(t, values["linked"])
	set("another")
	values, err = platforms.New(l.hub.db).ListValues(t.Context(), l.tenant.ID)
	require.NoError(t, err)
	require.Empty(t, values, "another plugin does not get them")
}
