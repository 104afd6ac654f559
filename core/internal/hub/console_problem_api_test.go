package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// problemPage waits until a business has a problem with failed deliveries, and returns the path of its page.
func (a *api) problemPage(t *testing.T, business core.BusinessID, failed int) (path string) {
	t.Helper()
	a.waitAdvancing(t, "the deliveries have failed", func() bool {
		list, err := consolelists.New(a.hub.db).Problems(context.Background(),
			console.ProblemFilter{Businesses: []core.BusinessID{business}, Limit: 9})
		require.NoError(t, err)
		if len(list) != 1 || list[0].Failed != failed {
			return false
		}
		path = shell.BusinessLink(business, fmt.Sprintf("problems/%d/", list[0].ID))
		return true
	})
	return path
}

func TestConsoleProblemIsResolvedByAResend(t *testing.T) {
	a := consoleHub(t)
	tenant, stranger := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	var accepts atomic.Bool
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !accepts.Load() {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	for _, path := range []string{"/one", "/two"} {
		hubtest.SubscribeSeconds(t, a.hub.db, tenant.ID, core.StoreAction, sink.URL+path)
	}
	a.start(t)
	for range 2 {
		require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
			core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.StoreAction, At: a.clock.Now(),
				Body: []byte(`{}`)}))
	}
	page := a.problemPage(t, tenant.ID, 4)
	sam, vera := a.user(t, "sam@example.com", access.Support, tenant.ID),
		a.user(t, "vera@example.com", access.Viewer, tenant.ID)
	other := a.user(t, "other@example.com", access.Support, stranger.ID)

	require.Contains(t, sam.get(t, shell.ProblemsPath).text, page)
	require.NotContains(t, other.get(t, shell.ProblemsPath).text, page)
	require.Equal(t, http.StatusNotFound, other.get(t, page).status)
	seen := vera.get(t, page)
	require.Contains(t, seen.text, "responded with error 400 (bad request).")
	require.Contains(t, seen.text, "Not delivered: 4 event deliveries.")
	require.NotContains(t, seen.text, page+"resolve/")
	require.Equal(t, http.StatusForbidden, vera.post(t, page+"resolve/", withReason(nil)).status)
	delivery := regexp.MustCompile(shell.BusinessLink(tenant.ID, "deliveries/") + `[0-9a-f-]{36}/`).
		FindString(seen.text)
	require.Contains(t, sam.get(t, delivery).text, `href="`+page+`"`)

	state := func(form, was string) int {
		return sam.post(t, page+form, withReason(url.Values{"seen": {was}})).status
	}
	require.Equal(t, http.StatusSeeOther, state("acknowledge/", "open"))
	require.Equal(t, http.StatusConflict, state("acknowledge/", "open"))
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, page+"assign/", withReason(url.Values{"assignee": {"sam@example.com"}})).status)
	require.Equal(t, http.StatusBadRequest,
		sam.post(t, page+"assign/", withReason(url.Values{"assignee": {"vera@example.com"}})).status)
	require.Equal(t, http.StatusSeeOther, sam.post(t, page+"note/", withReason(nil)).status)
	require.Contains(t, sam.get(t, shell.ProblemsPath+"?assignee=me&state=acknowledged").text, page)

	accepts.Store(true)
	confirm := sam.get(t, page+"resend/")
	require.Contains(t, confirm.text, "Resend 4 event deliveries")
	require.Equal(t, http.StatusSeeOther, sam.post(t, page+"resend/", withReason(hiddenFields(confirm))).status)
	a.waitAdvancing(t, "all are delivered", func() bool {
		var delivered int
		pgtest.Row(t, a.hub.db, &delivered,
			`SELECT count(*) FROM deliveries WHERE business_id = ? AND state = 'delivered'`, tenant.ID)
		return delivered == 4
	})
	hubtest.WaitUntil(t, "the page shows the result", func() bool {
		a.clock.Advance(time.Second) // counting follows in steps of seconds
		return regexp.MustCompile(`4 of 4 delivered`).MatchString(vera.get(t, page).text)
	})
	require.Contains(t, sam.get(t, page+"resend/").text, "Nothing of this problem is left to resend.")
	require.Equal(t, http.StatusSeeOther, state("resolve/", "acknowledged"))
	require.NotContains(t, sam.get(t, shell.ProblemsPath).text, page)

	accepts.Store(false)
	require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
		core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.StoreAction, At: a.clock.Now(),
			Body: []byte(`{}`)}))
	require.Equal(t, page, a.problemPage(t, tenant.ID, 2), "the same problem")
	require.Contains(t, sam.get(t, shell.ProblemsPath).text, "failed again")
	require.Contains(t, sam.get(t, page).text, "after sam@example.com had resolved it")
	require.ElementsMatch(t, []string{"problem.resolve", "problem.resend", "problem.note", "problem.assign",
		"problem.acknowledge"}, a.auditActions(t, tenant.ID))
}
