package hub

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/menu"
)

// historyClient is a menuClient with a console and a changed price.
type historyClient struct {
	*menuClient
	sam       *browser
	revisions []menu.Revision // newest first
}

func newHistoryClient(t *testing.T) *historyClient {
	t.Helper()
	d := newMenuClient(t, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	d.hub.mountPages("http://example.com", 0)
	r := &historyClient{menuClient: d, sam: d.user(t, "sam@example.com", access.Support, d.tenant.ID)}
	r.change("s1", lunch)
	r.change("s1", `{"items":[{"ref_id":"dal","price":110.50,"title":"Dear Dal"}]}`)
	return r
}

// change sends a menu and waits until it is stored.
func (r *historyClient) change(location, body string) {
	r.t.Helper()
	r.clock.Advance(3 * time.Minute) // leaves a whole minute between two revisions
	r.awaitJob(r.ok("POST", menuRoute+location+"/", body).body["reference"].(string))
	var err error
	r.revisions, err = menus.New(r.hub.db).Revisions(r.t.Context(), r.tenant.ID, menu.RevisionFilter{Limit: 50})
	require.NoError(r.t, err)
}

func (r *historyClient) awaitJob(reference string) {
	r.t.Helper()
	r.waitAdvancing(r.t, "the job to be done", func() bool {
		return r.ok("GET", "/external/api/v1/jobs/"+reference+"/", "").body["state"] == "done"
	})
}

// page returns a history page as text, without tags.
func (r *historyClient) page(path string) string {
	r.t.Helper()
	response := r.sam.get(r.t, shell.BusinessLink(r.tenant.ID, "history/"+path))
	require.Equal(r.t, http.StatusOK, response.status, response.text)
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(response.text, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func TestHistoryShowsWhoChangedAPrice(t *testing.T) {
	r := newHistoryClient(t)
	list := r.page("?entity=items&ref=dal&location=s1")
	require.Regexp(t,
		`Menu request s1 POS \(API key "pos"\) title Dal → Dear Dal; price 10\.00 USD → 110\.50 USD · at s1 .*items`,
		list, "what became of the item, before how much was changed in all")
	require.NotContains(t, list, "Stores request", "narrowed")
	require.Contains(t, r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/?ref=dal")).text,
		`<option value="items" selected>`, "an item, unless it says otherwise")
	require.Contains(t, r.page(""), "Stores request")
	require.Contains(t, r.page("?ref=none"), "Nothing matches")
	one := r.revisions[0].ID.String() + "/"
	require.Contains(t, r.page(one), "dal item · at s1 price 10.00 USD → 110.50 USD")
	require.Contains(t, r.page(one), "title Dal → Dear Dal")
	require.Contains(t, r.page(one+"diff/?at=1"), `"price": 110.5`)
	r.change("s1", `{"items":[{"ref_id":"tea","title":"Tea","price":3},{"ref_id":"dal","price":12}]}`)
	both := r.revisions[0].ID.String() + "/"
	link := shell.BusinessLink(r.tenant.ID, "history/"+both)
	require.Contains(t, r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/?ref=dal")).text,
		html.EscapeString(link+"?entity=items&ref=dal"), "the list leads to what became of it alone")
	require.Contains(t, r.page(both), "tea item")
	narrowed := r.page(both + "?entity=items&ref=dal")
	require.Contains(t, narrowed, "Only the changes of item dal are shown. Show all changes")
	require.Contains(t, narrowed, "price 110.50 USD → 12.00 USD")
	require.NotContains(t, narrowed, "tea item")
	require.Contains(t, r.page(both+"diff/?at=0&entity=items&ref=dal"), `"price": 12`)
	for _, wrong := range []string{"nonsense/", one + "diff/", one + "diff/?at=99", one + "diff/?at=-1",
		"00000000-0000-0000-0000-000000000000/rollback/"} {
		require.Equal(t, http.StatusNotFound, r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/"+wrong)).status,
			wrong)
	}
	file := r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/?format=csv"))
	require.Contains(t, file.text, `POS (API key ""pos"")`)
}

func TestConsoleShowsAndRollsBackTimingChanges(t *testing.T) {
	r := newHistoryClient(t)
	times := func(slots string) {
		r.clock.Advance(time.Minute)
		r.awaitJob(r.ok("POST", timingsRoute,
			`{"timing_groups":[{"title":"Lunch","category_ref_ids":["mains"],"day_slots":[{"day":"monday","slots":[`+
				slots+`]}]}]}`).body["reference"].(string))
	}
	times(`{"start_time":"11:00","end_time":"15:00"}`)
	times(``)
	require.Contains(t, r.page("?entity=timing_groups&ref=Lunch"), `Timings request POS (API key "pos") day_slots`)
	require.Contains(t, r.page("item/?item=dal&store=s1&platform=web"), "but not on sale at that time")
	list, err := menus.New(r.hub.db).Revisions(t.Context(), r.tenant.ID,
		menu.RevisionFilter{Entity: "timing_groups", Limit: 2})
	require.NoError(t, err)
	require.Contains(t, r.page(list[0].ID.String()+"/"), "Lunch timing group day_slots")
	require.Contains(t, r.page(list[1].ID.String()+"/"), "Lunch timing group Created")
	back := r.page(list[1].ID.String() + "/rollback/")
	require.Contains(t, back, "Timings request of")
	require.Contains(t, back, "timing groups 1")
	require.Contains(t, back, "Roll back 1 object")
}

func TestConsoleShowsAnItemsPastState(t *testing.T) {
	r := newHistoryClient(t)
	then := func(query string) string { return r.page("item/?item=dal&store=s1&platform=web" + query) }
	require.Contains(t, then(""), `On web at store s1, customers saw "Dear Dal" for 110.50 USD.`)
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	before := time.UnixMilli(r.revisions[0].At).Add(-time.Minute).In(zone)
	require.Contains(t, then("&at="+before.Format("2006-01-02T15:04")),
		`customers saw "Dal" for 10.00 USD.`)
	require.Contains(t, then("&at=2026-01-01T00:00"), "The item did not exist at that time.")
	for query, says := range map[string]string{"item=dal&store=s9&platform=web": "no location",
		"item=dal&store=s1&platform=mars": "no platform", "item=dal&store=s1&platform=web&at=noon": "must look like"} {
		response := r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/item/?"+query))
		require.Equal(t, http.StatusNotFound, response.status)
		require.Contains(t, html.UnescapeString(response.text), says)
	}
}

func TestConsoleRollsBackAMenu(t *testing.T) {
	r := newHistoryClient(t)
	vera := r.user(t, "vera@example.com", access.Viewer, r.tenant.ID)
	back := shell.BusinessLink(r.tenant.ID, "history/"+r.revisions[1].ID.String()+"/rollback/")
	require.Equal(t, http.StatusForbidden, vera.get(t, back).status)
	require.NotContains(t, vera.get(t, strings.TrimSuffix(back, "rollback/")).text, "rollback/")
	asked := r.sam.get(t, back)
	require.Contains(t, asked.text, "Roll back 1 object")
	require.Contains(t, asked.text, "dal", "the objects by name")
	require.Contains(t, asked.text, "A job restores the menu")
	require.Equal(t, http.StatusForbidden, vera.post(t, back, withReason(hiddenFields(asked))).status)
	require.Equal(t, http.StatusBadRequest, r.sam.post(t, back, hiddenFields(asked)).status, "a reason is asked")

	r.change("s1", `{"items":[{"ref_id":"naan","price":4,"title":"Naan"}]}`)
	changed := r.sam.post(t, back, withReason(hiddenFields(asked)))
	require.Equal(t, http.StatusConflict, changed.status, "the menu is another than the one that was looked at")
	require.Contains(t, changed.text, "The number of objects was 1 and is now 2.")
	require.Contains(t, changed.text, "Roll back 2 objects")
	require.NotContains(t, r.auditActions(t, r.tenant.ID), "menu.rollback")
	r.clock.Advance(time.Minute)
	done := r.sam.post(t, back, withReason(hiddenFields(changed)))
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	job, query, _ := cutQuery(done.header.Get("Location"))
	require.Equal(t, url.Values{"done": {"back"}}.Encode(), query)
	r.awaitJob(strings.Split(strings.TrimSuffix(job, "/"), "/jobs/")[1])
	require.Equal(t, 10.0, hubtest.Lookup(r.ok("GET", menuRoute+"s1/items/dal/at/?platform=web", "").body,
		"item.price"))

	require.Contains(t, r.auditActions(t, r.tenant.ID), "menu.rollback")
	require.Contains(t, r.sam.get(t, shell.BusinessLink(r.tenant.ID, "audit/?action=menu.rollback")).text, "objects 2")
	require.Contains(t, r.page(""), "Rollback master catalogue sam@example.com items")
	latest := regexp.MustCompile(fmt.Sprintf(`href="/console/b/%d/history/([0-9a-f-]{36})/"`,
		r.tenant.ID)).FindStringSubmatch(r.sam.get(t, shell.BusinessLink(r.tenant.ID, "history/")).text)[1]
	require.Contains(t, r.page(latest+"/"), "Rolled back to")
	require.Contains(t, r.page(latest+"/rollback/"), "nothing to roll back")
}

func TestConsoleRestoresOneChange(t *testing.T) {
	r := newHistoryClient(t)
	vera := r.user(t, "vera@example.com", access.Viewer, r.tenant.ID)
	page := shell.BusinessLink(r.tenant.ID, "history/"+r.revisions[0].ID.String()+"/")
	links := regexp.MustCompile(`href="([^"]*restore/[^"]*)"`).FindAllStringSubmatch(
		r.sam.get(t, page+"?entity=items&ref=dal").text, -1)
	require.Len(t, links, 2, "the title in the catalogue, the price at the store")
	link := html.UnescapeString(links[0][1])
	if !strings.Contains(r.sam.get(t, link).text, "at s1") {
		link = html.UnescapeString(links[1][1])
	}
	require.NotContains(t, vera.get(t, page).text, "restore/")
	require.Equal(t, http.StatusForbidden, vera.get(t, link).status)
	for _, wrong := range []string{"restore/", "restore/?at=9", "restore/?at=x"} {
		require.Equal(t, http.StatusNotFound, r.sam.get(t, page+wrong).status, wrong)
	}
	asked := r.sam.get(t, link)
	require.Contains(t, asked.text, "Restore dal")
	require.Equal(t, http.StatusBadRequest, r.sam.post(t, link, hiddenFields(asked)).status, "a reason is asked")

	r.change("s1", `{"items":[{"ref_id":"dal","price":120}]}`)
	changed := r.sam.post(t, link, withReason(hiddenFields(asked)))
	require.Equal(t, http.StatusConflict, changed.status)
	require.Contains(t, changed.text, "It has changed again since then.")
	done := r.sam.post(t, link, withReason(hiddenFields(changed)))
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	job, _, _ := cutQuery(done.header.Get("Location"))
	r.awaitJob(strings.Split(strings.TrimSuffix(job, "/"), "/jobs/")[1])
	require.Contains(t, r.auditActions(t, r.tenant.ID), "menu.restore")
	require.Equal(t, 10.0, hubtest.Lookup(r.ok("GET", menuRoute+"s1/items/dal/at/?platform=web", "").body,
		"item.price"))
	require.Regexp(t, `Menu request s1 sam@example.com price 120\.00 USD → 10\.00 USD `,
		r.page("?entity=items&ref=dal&location=s1"))
}

func TestEndedJobPageRefreshesAndShowsExactTime(t *testing.T) {
	r := newHistoryClient(t)
	job := r.sam.get(t, shell.BusinessLink(r.tenant.ID, "jobs/"+r.revisions[0].Reference.String()+"/"))
	require.Equal(t, http.StatusOK, job.status)
	require.Contains(t, job.text, `hx-trigger="changed from:body"`, "its callback goes on when it has ended")
	require.Regexp(t, `ago \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]+ Menu request`, r.page(""))
}
