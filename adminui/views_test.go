package adminui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
)

func TestEachListSavesAndOpensViews(t *testing.T) {
	for list, filters := range map[string]string{"deliveries": "state=failed&when=24h", "orders": "state=Placed",
		"jobs": "kind=menu&state=failed&when=7d", "audit": "actor=hub&when=today"} {
		t.Run(list, func(t *testing.T) {
			f := fullHub()
			f.views = nil
			base := serveConsole(t, f)
			client := adminClient(t, base)
			at := base + shell.Root + "b/7/" + list + "/"
			status, page := getPage(t, client, at+"?before=x&"+filters)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, page, `name="filters" value="`+strings.ReplaceAll(filters, "&", "&amp;")+`"`)
			token := tokenPattern.FindStringSubmatch(page)[1]
			response, page := postForm(t, client, at, at+"views/",
				url.Values{"token": {token}, "filters": {filters + "&before=x&other=1"}, "name": {" Mine "}})
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Contains(t, page, "The view is saved.")
			require.Len(t, f.views, 1)
			saved := f.views[0]
			require.Equal(t, []any{filters, list, "Mine", false},
				[]any{saved.Filters, saved.List, saved.Name, saved.Shared})
			require.Empty(t, f.done, "own views are not audited")
			require.Regexp(t, fmt.Sprintf(`href="/console/b/7/%s/\?view=%d"\s+aria-current="true"\s*>Mine<`, list,
				saved.ID), page)
			require.Contains(t, page, `value="`+strings.ReplaceAll(filters, "&", "&amp;")+`"`)

			response, page = postForm(t, client, at, at+"views/delete/",
				url.Values{"token": {token}, "id": {fmt.Sprint(saved.ID)}})
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Contains(t, page, "The view is deleted.")
			require.Empty(t, f.views)
		})
	}
}

func TestRejectedViewKeepsItsNameAndFilters(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/deliveries/"
	_, page := getPage(t, client, at)
	token := tokenPattern.FindStringSubmatch(page)[1]
	for name, status := range map[string]int{"Failed today": http.StatusConflict,
		strings.Repeat("é", 61): http.StatusBadRequest, "": http.StatusBadRequest} {
		response, page := postForm(t, client, at, at+"views/",
			url.Values{"token": {token}, "filters": {"status=404"}, "name": {name}})
		assert.Equal(t, status, response.StatusCode)
		assert.Equal(t, 1, strings.Count(page, `<details class="act" name="act" open`))
		assert.Contains(t, page, `value="`+name+`"`)
		assert.Contains(t, page, `name="filters" value="status=404"`)
	}
	for _, filters := range []string{"state=oops", "when=oops", "%zz"} {
		response, _ := postForm(t, client, at, at+"views/",
			url.Values{"token": {token}, "filters": {filters}, "name": {"New"}})
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, filters)
	}
	assert.Len(t, f.views, len(sampleViews()))
}

func TestViewsAreSharedByThoseWhoMayAct(t *testing.T) {
	f := fullHub()
	f.users = append(f.users, access.User{ID: 9, Email: "sue@example.com", Role: access.Support,
		Businesses: f.users[1].Businesses})
	base := serveConsole(t, f)
	at := base + shell.Root + "b/7/deliveries/"
	viewer, supporter := signedInClient(t, base, "vera@example.com"), signedInClient(t, base, "sue@example.com")
	_, page := getPage(t, viewer, at)
	require.NotContains(t, page, "Share view")
	require.NotContains(t, page, "Failed today", "private to another user")
	require.Contains(t, page, "Private of Vera")
	_, page = getPage(t, viewer, at+"?view=2")
	require.NotContains(t, page, "Delete view", "a viewer does not delete shared views")
	send := func(client *http.Client, path string, form url.Values) int {
		_, page := getPage(t, client, at)
		form.Set("token", tokenPattern.FindStringSubmatch(page)[1])
		response, _ := postForm(t, client, at, at+path, form)
		return response.StatusCode
	}
	form := url.Values{"name": {"Ours"}, "filters": {"status=503"}, "why": {"For the shift."}}
	require.Equal(t, http.StatusForbidden, send(viewer, "views/share/", form))
	require.Equal(t, http.StatusBadRequest, send(supporter, "views/share/", url.Values{"name": {"Ours"}}), "no reason")
	require.Equal(t, http.StatusOK, send(supporter, "views/share/", form))
	_, page = getPage(t, viewer, at)
	require.Contains(t, page, "Ours")
	require.Equal(t, http.StatusNotFound, send(supporter, "views/delete/", url.Values{"id": {"3"}}), "of Vera")
	require.Equal(t, http.StatusOK, send(supporter, "views/withdraw/", url.Values{"id": {"2"}, "why": {"Done."}}))
	require.Len(t, f.done, 2)
	require.Equal(t, []string{"view.share", "user:sue@example.com", "For the shift."},
		[]string{f.done[0].Action, f.done[0].Actor, f.done[0].Why})
	require.Equal(t, []string{"view.delete", "Done."}, []string{f.done[1].Action, f.done[1].Why})
}

func TestListOpensWithoutInvalidOrDeletedView(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	status, page := getPage(t, client, base+shell.Root+"b/7/orders/?view=4")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, "is not valid anymore. The list is shown without it.")
	assert.Contains(t, page, "10412", "the list")
	assert.Contains(t, page, "Delete view")
	for _, gone := range []string{"3", "4", "77", "x"} { // private to another, of another list, unknown
		status, page = getPage(t, client, base+shell.Root+"b/7/deliveries/?view="+gone)
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, page, "This view was deleted.")
		assert.Contains(t, page, `name="filters" value=""`)
	}
}

func TestUserSavesOpensAndDeletesViewInBrowser(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/?state=failed&when=1h", browsertest.Views()[0])
	const form = `details.act[open] `
	page.Do(t, click("Save view"), chromedp.WaitVisible(chromedp.CSS(form+`[name=name]`)))
	for _, view := range browsertest.TwoViews() {
		page.SetView(t, view)
		page.Check(t)
		page.Screenshot(t, "views-"+view.Name)
	}
	page.SetView(t, browsertest.Views()[0])
	page.Do(t, chromedp.SendKeys(chromedp.CSS(form+`[name=name]`), "Last hour"),
		chromedp.Click(chromedp.CSS(form+`button[type=submit]`)), chromedp.WaitVisible(chromedp.CSS(".flash")))
	const current = `document.querySelector(".views a[aria-current]")?.textContent ?? ""`
	assert.Equal(t, "Last hour", browsertest.Eval[string](t, page, current))
	page.Do(t, click("Clear"), chromedp.WaitReady(chromedp.CSS("main")))
	page.Wait(t, `!document.querySelector(".views a[aria-current]")`)
	page.Do(t, click("Last hour"))
	page.Wait(t, current+` === "Last hour"`)
	assert.Equal(t, "1 hour", browsertest.Eval[string](t, page,
		`document.querySelector(".periods:not(.views) a[aria-current]").textContent`))
	page.Do(t, click("Delete view"), chromedp.WaitVisible(chromedp.CSS(form+`button[type=submit]`)),
		chromedp.Click(chromedp.CSS(form+`button[type=submit]`)), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.NotContains(t, mainText(t, page), "Last hour")
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.NotContains(t, fmt.Sprint(f.views), "Last hour")
	assert.Empty(t, page.Problems())
}
