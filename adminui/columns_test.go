package adminui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// arrangedLists are the lists with columns and orders, and a column that is not shown by default.
var arrangedLists = map[string]string{"deliveries": "event", "orders": "platform", "jobs": "error", "calls": "actor",
	"audit": "id"}

func TestChosenColumnsAreRememberedAndInTheCSV(t *testing.T) {
	for list, extra := range arrangedLists {
		base := serveConsole(t, fullHub())
		client := adminClient(t, base)
		at := base + shell.Root + "b/7/" + list + "/"
		header := func(query string) string {
			_, file := getPage(t, client, at+"?format=csv"+query)
			line, _, _ := strings.Cut(file, "\n")
			return line
		}
		standard := header("")
		_, page := getPage(t, client, at)
		token := tokenPattern.FindStringSubmatch(page)[1]
		response, page := postForm(t, client, at+"?when=any", base+shell.ColumnsPath,
			url.Values{"token": {token}, "list": {list}, "column": {extra, "unknown", "<b>"}})
		require.Equal(t, http.StatusOK, response.StatusCode, list)
		require.Equal(t, "cols="+extra+".unknown&when=any", response.Request.URL.RawQuery)
		require.Contains(t, page, `type="hidden" name="cols" value="`+extra, "the filters keep it")
		require.Contains(t, page, `name="filters" value="cols=`+extra, "so does a saved view")
		chosen := header("")
		require.Equal(t, 1, strings.Count(chosen, ","), "%s: the first column and the chosen: %s", list, chosen)
		require.NotEqual(t, standard, header("&cols=nothing"), "an unknown column changes nothing")
		_, _ = postForm(t, client, at, base+shell.ColumnsPath,
			url.Values{"token": {token}, "list": {list}, "standard": {"1"}})
		require.Equal(t, standard, header(""))
		require.Equal(t, chosen, header("&cols="+extra), "a link keeps its columns")
	}
}

func TestListsAreSortedOnlyByTheirIndexes(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for list := range arrangedLists {
		at := base + shell.Root + "b/7/" + list + "/?"
		_, page := getPage(t, client, at)
		require.Regexp(t, `aria-sort="descending"[^<]*<a class="list-sort" href="[^"]*sort=oldest"`, page, list)
		_, page = getPage(t, client, at+"sort=oldest&before=x")
		require.Regexp(t, `aria-sort="ascending"[^<]*<a class="list-sort" href="[^"?]*"`, page,
			"without sort or before")
		require.Contains(t, page, `type="hidden" name="sort" value="oldest"`)
		for _, query := range []string{"sort=reason", "sort=reason&format=csv", "sort=Oldest"} {
			status, page := getPage(t, client, at+query)
			require.Equal(t, http.StatusBadRequest, status, list)
			if !strings.Contains(query, "csv") {
				require.Regexp(t, `&#34;(reason|Oldest)&#34; is not an order of this list`, page)
			}
		}
	}
	for _, list := range []string{"deliveries", "calls"} {
		at := base + shell.Root + "b/7/" + list + "/?"
		status, page := getPage(t, client, at+"sort=failed")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, page, "&#34;failed&#34; needs the filter")
		status, page = getPage(t, client, at+"of=failed&sort=failed&cols=finished")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, page, "sort=failed-oldest")
		assert.NotContains(t, page, `type="hidden" name="sort"`, "another filter would make the order invalid")
	}
	f.deliveries = repeatRows(f.deliveries)
	for i := range f.deliveries {
		f.deliveries[i].FinishedAt = minutesAgo(i)
	}
	_, page := getPage(t, client, base+shell.Root+"b/7/deliveries/?of=failed&sort=failed")
	older := strings.ReplaceAll(findString(t, `href="([^"]*before=[^"]*)"`, page), "&amp;", "&")
	_, _ = getPage(t, client, strings.TrimSuffix(base, "/")+older)
	assert.Equal(t, webhook.LatestFailure, f.filter.Sort)
	assert.Equal(t, f.deliveries[shell.PageSize-1].FinishedAt, f.filter.BeforeAt)
	assert.Equal(t, f.deliveries[shell.PageSize-1].ID, f.filter.Before)
}

func TestSearchShowsItsProgressAndContinues(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := base + shell.Root + "b/7/deliveries/?text=order_placed"
	_, page := getPage(t, client, at)
	assert.Contains(t, page, "Searched all 5 in the time range. Without a start, a search covers seven days.")
	assert.True(t, noon.AddDate(0, 0, -7).Equal(f.filter.From))
	assert.Equal(t, 2, strings.Count(page, `<tr id="row-`))
	assert.NotContains(t, page, "Bulk resend")
	assert.NotContains(t, page, `hx-trigger="changed`, "a search does not repeat itself")

	f.searchStop = 2
	_, page = getPage(t, client, at+"&when=1h")
	assert.Equal(t, 1, strings.Count(page, `<tr id="row-`))
	assert.Contains(t, page, "Searched 2 of about 11, until 21 Nov 2026 05:49:00 CST.", "2 rows in 11 of 60 minutes")
	next := strings.ReplaceAll(findString(t, `href="([^"]*searched=2[^"]*)"[^>]*>Continue`, page), "&amp;", "&")
	_, page = getPage(t, client, base+next)
	assert.Contains(t, page, "Searched all 5 in the time range.", "with those before")
	assert.Equal(t, 1, strings.Count(page, `<tr id="row-`))
	f.searchStop = 2
	_, page = getPage(t, client, at+"&when=1h&text=nothing")
	assert.Contains(t, page, "Searched")
	f.searchStop = 1
	_, file := getPage(t, client, at+"&when=1h&format=csv")
	assert.Contains(t, file, "The search is not complete.")
	for path, expected := range map[string]int{"resend/?text=x": http.StatusBadRequest,
		"?text=" + strings.Repeat("x", console.MaxSearchText+1): http.StatusBadRequest} {
		status, _ := getPage(t, client, base+shell.Root+"b/7/deliveries/"+path)
		assert.Equal(t, expected, status, path)
	}
	for list, found := range map[string]string{"orders": "AGG-88120-4417", "jobs": "the database refused it",
		"calls": "400 Bad Request", "audit": "receiver is being moved"} {
		_, page := getPage(t, client, base+shell.Root+"b/7/"+list+"/?text="+url.QueryEscape(found))
		assert.Regexp(t, `Searched all \d+ in the time range`, page, list)
		assert.NotContains(t, page, "Nothing matches", list)
	}
}

func TestErrorTextIsSearchedFromTheSearchPage(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := clientOf(t, base, "")
	client.Jar = adminClient(t, base).Jar
	_, page := getPage(t, client, base+shell.Root+"search/?q=503+Service")
	assert.Contains(t, page, "Search for the text of an error")
	for in, found := range map[string]int{"deliveries": http.StatusSeeOther, "calls": http.StatusSeeOther,
		"settings": http.StatusNotFound} {
		response, _ := customerForm(t, client, base, "search/texts/",
			url.Values{"q": {" 503 Service "}, "in": {in}, "business": {"7"}})
		require.Equal(t, found, response.StatusCode, in)
		if found == http.StatusSeeOther {
			assert.Equal(t, "/console/b/7/"+in+"/?text=503+Service", response.Header.Get("Location"))
		}
	}
	response, _ := customerForm(t, client, base, "search/texts/",
		url.Values{"q": {"503"}, "in": {"jobs"}, "business": {"all"}})
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "of no business")
}

func TestAllMatchingDeliveriesAreCounted(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root+"b/7/deliveries/?state=failed")
	assert.Regexp(t, `href="/console/b/7/deliveries/resend/\?state=failed">Resend all that failed and match: 1<`, page)
	f.countMore = true
	_, page = getPage(t, client, base+shell.Root+"b/7/deliveries/?state=delivered")
	assert.Contains(t, page, "Resend all that were delivered and match: at least 1<")
	for _, path := range []string{"deliveries/resend/?state=delivered", "problems/31/resend/"} {
		_, page = getPage(t, client, base+shell.Root+"b/7/"+path)
		assert.Contains(t, page, ">Resend at least 1 event deliveries<", path)
	}
}

func TestSearchOfAnOrdersCallsShowsItsProgress(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	at := fmt.Sprintf("%s%sb/7/calls/?order=%d&text=rider", base, shell.Root, f.orders[0].ID)
	f.searchStop = 1
	_, page := getPage(t, client, at)
	assert.Regexp(t, `Searched 1, until 21 Nov 2026 \d\d:\d\d:\d\d CST\.`, page)
	next := html.UnescapeString(findString(t, `href="([^"]*searched=1[^"]*)"[^>]*>Continue`, page))
	_, page = getPage(t, client, base+next)
	assert.Regexp(t, `Searched all \d+\.`, page)
	_, page = getPage(t, client, base+shell.Root+"b/7/calls/?kind=inbound_fetch")
	assert.Contains(t, page, `<option value="inbound_fetch" selected>Fetch of an order</option>`)
}

// findString returns the group of the first match of a pattern.
func findString(t *testing.T, pattern, in string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(in)
	require.Len(t, match, 2, pattern)
	return match[1]
}
