package hub

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestConsoleSetsAStoreBusy(t *testing.T) {
	r := newHistoryClient(t)
	found := regexp.MustCompile(`stores/\d+/`).FindString(r.sam.get(t, shell.BusinessLink(r.tenant.ID,
		"stores/")).text)
	store := shell.BusinessLink(r.tenant.ID, found)
	busyOn := func() []any {
		list, _ := r.ok("GET", storesRoute+"s1/", "").body["busy_on"].([]any)
		return list
	}
	page := r.sam.get(t, store)
	require.Contains(t, page.text, "Set busy")
	require.NotContains(t, page.text, "End busy")
	send := func(b *browser, action string, fields url.Values) apiResponse {
		form := withReason(nil)
		maps.Copy(form, fields)
		return b.post(t, store+action+"/", form)
	}
	rejected := send(r.sam, "busy", url.Values{"minutes": {"999"}})
	require.Equal(t, http.StatusBadRequest, rejected.status)
	require.Contains(t, rejected.text, "prep_minutes must be at most 180, not 999")
	require.Contains(t, rejected.text, `value="999"`)
	rejected = send(r.sam, "busy", url.Values{"lasts": {"soon"}})
	require.Equal(t, http.StatusBadRequest, rejected.status)
	require.Contains(t, rejected.text, "is not a time span")
	vera := r.user(t, "vera@example.com", access.Viewer, r.tenant.ID)
	require.Equal(t, http.StatusForbidden, send(vera, "busy", nil).status)
	require.Empty(t, busyOn())

	done := send(r.sam, "busy", url.Values{"minutes": {"40"}, "lasts": {"1h"}, "platform": {"web"}})
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	require.Len(t, busyOn(), 1)
	busy := busyOn()[0]
	require.Equal(t, []any{"web", 40.0}, []any{hubtest.Lookup(busy, "platform"), hubtest.Lookup(busy, "prep_minutes")})
	require.InDelta(t, float64(r.clock.Now().UnixMilli()+3600_000), hubtest.Lookup(busy, "until"), 5000)
	shown := r.sam.get(t, store).text
	for _, words := range []string{"The store is busy on web, set by sam@example.com", "New orders take 40 minutes",
		"Store busy on web", "End busy"} {
		require.Contains(t, shown, words)
	}
	audit := r.sam.get(t, shell.BusinessLink(r.tenant.ID, "audit/?action=store.busy")).text
	require.Contains(t, audit, withReason(nil).Get("why"))
	require.Contains(t, audit, "sam@example.com")

	require.Equal(t, http.StatusSeeOther, send(r.sam, "normal", nil).status)
	require.Empty(t, busyOn())
	require.Contains(t, fmt.Sprint(r.auditActions(t, r.tenant.ID)), "store.normal")
}
