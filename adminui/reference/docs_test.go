package reference_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/core/problem"
	"github.com/servery-hub/servery/core/webhook"
)

// maxIndex limits the uncompressed search index, in bytes.
const maxIndex = 150 << 10

var indexPath = regexp.MustCompile(`data-index="([^"]+)"`)

func TestSearchIndexLinksExist(t *testing.T) {
	app := app(t)
	_, page := get(t, app, "/docs")
	response, body := get(t, app, indexPath.FindStringSubmatch(page)[1])
	require.Equal(t, "public, max-age=31536000, immutable", response.Header.Get("Cache-Control"))
	require.Less(t, len(body), maxIndex)
	t.Logf("the index has %d bytes", len(body))
	var entries []struct{ U string }
	require.NoError(t, json.Unmarshal([]byte(body), &entries))
	pages := map[string]string{}
	for _, each := range entries {
		path, id, deep := strings.Cut(each.U, "#")
		if pages[path] == "" {
			_, pages[path] = get(t, app, path)
		}
		require.True(t, !deep || strings.Contains(pages[path], `id="`+id+`"`), each.U)
	}
	require.Greater(t, len(entries), 150)
	require.Greater(t, len(pages), 10)
}

func TestSearchWorksWithoutJavaScript(t *testing.T) {
	app := app(t)
	for query, part := range map[string]string{
		"retry+order":            `href="/docs#`,
		"hide_from_ui":           `href="/docs#postStores"`,
		"throttled":              `href="/docs/errors#status-429"`,
		"":                       "Enter a word",
		"xyzzy":                  "No results for “xyzzy”",
		"%3Cxyzzy%3E":            "No results for “&lt;xyzzy&gt;”",
		strings.Repeat("a", 999): "No results",
		"%ff":                    "",
	} {
		response, page := get(t, app, "/docs/search?q="+query)
		require.Equal(t, http.StatusOK, response.StatusCode, query)
		require.Contains(t, page, part)
	}
}

func TestErrorsPageListsEveryCode(t *testing.T) {
	_, page := get(t, app(t), "/docs/errors/")
	for _, e := range problem.Errors() {
		require.Contains(t, page, "<code>"+string(e.Code)+"</code>")
	}
	for _, v := range problem.Violations() {
		require.Contains(t, page, `id="violation-`+v.Code+`"`)
	}
	for _, f := range webhook.Failures() {
		require.Contains(t, page, `id="delivery-`+string(f.Class)+`"`)
	}
}

func TestPreviousAndNextVisitEveryGuide(t *testing.T) {
	app := app(t)
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	path, visited := "/docs/first-sync", map[string]bool{}
	for path != "" {
		require.False(t, visited[path], path)
		visited[path] = true
		_, page := get(t, app, path)
		require.Contains(t, page, `href="`+path+`" aria-current="page"`)
		after := next.FindStringSubmatch(page)
		if path = ""; after != nil {
			path = after[1]
		}
	}
	require.Greater(t, len(visited), 10)
}

func TestGuidesPassBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	base := browsertest.Serve(t, app(t))
	few := []browsertest.View{browsertest.Views()[0], browsertest.Views()[3]}
	for _, name := range []string{"first-sync", "errors", "search?q=webhook"} {
		page := browser.Open(t, base+"/docs/"+name, browsertest.Views()[0])
		page.CheckViews(t, "docs-"+strings.Split(name, "?")[0], few...)
	}
	print := browsertest.Views()[0]
	print.Print = true
	page := browser.Open(t, base+"/docs/errors", print)
	for _, left := range []string{".topbar", ".contents", ".outline", ".steps", ".copy", ".anchor"} {
		display := browsertest.Eval[string](t, page, `getComputedStyle(document.querySelector("`+left+`")).display`)
		require.Equal(t, "none", display, left)
	}
}

func TestSearchByKeyboard(t *testing.T) {
	browser := browsertest.Start(t)
	base := browsertest.Serve(t, app(t))
	page := browser.Open(t, base+"/docs/orders", browsertest.Views()[1])
	page.Do(t,
		chromedp.KeyEvent("/"),
		chromedp.WaitReady(chromedp.CSS("#search:focus")),
		chromedp.KeyEvent("\brider"), // DevTools also types the slash into the field
		chromedp.WaitVisible(chromedp.CSS(".docsearch .found li:nth-child(3)")),
	)
	page.CheckPart(t, ".docsearch")
	page.Screenshot(t, "docs-search-open")
	page.Do(t,
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.ArrowDown+kb.ArrowUp),
		chromedp.WaitReady(chromedp.CSS(".docsearch .found li:nth-child(2) a:focus")),
		chromedp.KeyEvent(kb.Escape),
		chromedp.WaitReady(chromedp.CSS("#search:focus")),
		chromedp.WaitNotVisible(chromedp.CSS(".docsearch .found")),
		chromedp.KeyEvent("s"),
		chromedp.WaitVisible(chromedp.CSS(`.docsearch .found li:first-child a[href="/docs/riders"]`)),
		chromedp.KeyEvent("\r"),
		chromedp.WaitReady(chromedp.CSS(`.contents a[href="/docs/riders"][aria-current]`)),
	)
	require.Empty(t, page.Problems())
}
