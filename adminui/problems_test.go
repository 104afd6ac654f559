package adminui_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

func TestProblemsAreFilteredAndOfVisibleBusinesses(t *testing.T) {
	f := fullHub()
	f.users = append(f.users, access.User{ID: 9, Email: "sue@example.com", Role: access.Support,
		Businesses: []core.BusinessID{7}})
	base := serveConsole(t, f)
	admin, sue := adminClient(t, base), signedInClient(t, base, "sue@example.com")
	page := base + shell.ProblemsPath
	const one, two, three = "/b/7/problems/31/", "/b/12/problems/33/", "/b/7/problems/32/"
	for name, row := range map[string]struct {
		client *http.Client
		at     string
		found  []string
	}{
		"not resolved":    {admin, page, []string{one, two}},
		"another's":       {sue, page, []string{one}},
		"of one business": {admin, base + shell.BusinessLink(12, "problems/"), []string{two}},
		"resolved":        {admin, page + "?state=resolved", []string{three}},
		"acknowledged":    {admin, page + "?state=acknowledged", []string{two}},
		"all":             {admin, page + "?state=any", []string{one, two, three}},
		"mine":            {admin, page + "?assignee=me", []string{one}},
		"not mine":        {sue, page + "?assignee=me", nil},
		"of no user":      {admin, page + "?state=any&assignee=none", []string{two, three}},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := getPage(t, row.client, row.at)
			for _, path := range []string{one, two, three} {
				if slices.Contains(row.found, path) {
					require.Contains(t, body, path)
				} else {
					require.NotContains(t, body, path)
				}
			}
		})
	}
}

func TestProblemsOfEveryBusinessAreListed(t *testing.T) {
	f := fullHub()
	for i := range 2500 { // before the others in the list of businesses
		f.businesses = slices.Insert(f.businesses, 0, core.Business{ID: core.BusinessID(1000 + i), Name: "A"})
	}
	base := serveConsole(t, f)
	_, body := getPage(t, adminClient(t, base), base+shell.ProblemsPath)
	require.Contains(t, body, "/b/12/problems/33/")
	require.Regexp(t, `href="/console/b/7/problems/"[^>]*>`+f.businesses[2500].Name+`<`, body)
}

func TestProblemIsAssignedOnlyToSupporters(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.BusinessLink(7, "problems/31/")
	_, body := getPage(t, client, page)
	token := tokenPattern.FindStringSubmatch(body)[1]
	assign := func(assignee string) (*http.Response, string) {
		return postForm(t, client, page, page+"assign/",
			url.Values{"token": {token}, "why": {"she knows the shop"}, "assignee": {assignee}})
	}
	response, body := assign("vera@example.com")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Contains(t, body, "cannot act in this business")
	require.Empty(t, f.done)
	response, body = assign("")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, body, "The assignment is saved.")
	require.Equal(t, []string{"problem.assign", "problem/31"}, []string{f.done[0].Action, f.done[0].Object})
}

func TestOnlyOneResendOfAProblemRuns(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	page := base + shell.BusinessLink(7, "problems/31/resend/")
	_, body := getPage(t, client, page)
	form := url.Values{"why": {"it works again"}}
	for _, found := range hiddenPattern.FindAllStringSubmatch(body, -1) {
		form.Set(found[1], found[2])
	}
	form.Set("count", "2")
	response, body := postForm(t, client, page, page, form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, body, "changed from 2 to 1")
	form.Set("count", "1")
	response, _ = postForm(t, client, page, page, form)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, f.done, 1)
	response, body = postForm(t, client, page, page, form)
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, body, "A resend of this problem is in progress.")
	require.Len(t, f.done, 1)
	require.Equal(t, console.ProblemObject(31), f.done[0].Object)
}

var hiddenPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

func TestResentProblemLeavesTheDefaultList(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	const problem = `href="/console/b/7/problems/31/"`
	_, page := getPage(t, client, base+shell.Root+"b/7/problems/")
	require.Contains(t, page, problem)
	f.problems[0].Failed = 0
	_, page = getPage(t, client, base+shell.Root+"b/7/problems/")
	require.NotContains(t, page, problem)
	_, page = getPage(t, client, base+shell.Root+"b/7/problems/?state=any")
	require.Contains(t, page, problem)
}

func TestOpenProblemReplacesNoProblems(t *testing.T) {
	f := emptyHub()
	f.counts = sampleCounts()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for path, link := range map[string]string{"": "/console/problems/", "b/7/": "/console/b/7/problems/"} {
		f.figures = console.Figures{}
		_, page := getPage(t, client, base+shell.Root+path)
		require.Contains(t, page, "No problems with webhooks")
		f.figures = console.Figures{OpenProblems: 1, Undelivered: 3}
		_, page = getPage(t, client, base+shell.Root+path)
		require.NotContains(t, page, "No problems with webhooks")
		require.Contains(t, page, "1 problem with deliveries is not resolved. Not delivered: 3 event deliveries.")
		require.Contains(t, page, `href="`+link+`">View problems</a>`)
	}
}
