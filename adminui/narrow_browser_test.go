package adminui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
)

func TestNarrowListsFoldTheirFilters(t *testing.T) {
	browser := browsertest.Start(t)
	base := serveConsole(t, fullHub())
	signIn(t, browser, base, "sam@example.com")
	const filterIsVisible = `document.querySelector("#filter-state").checkVisibility({contentVisibilityAuto: true})`
	path := base + shell.Root + "b/7/deliveries/?state=failed&when=7d"
	page := browser.Open(t, path, browsertest.Views()[2])
	assert.False(t, browsertest.Eval[bool](t, page, filterIsVisible))
	assert.Equal(t, []string{"Filter", "Created: 7 days", "State: Failed"}, browsertest.Eval[[]string](t, page,
		`[...document.querySelectorAll(".filtering-head span")].map((used) => used.innerText)`))
	assert.Less(t, browsertest.Eval[float64](t, page, `document.querySelector("tbody tr").getBoundingClientRect().top`),
		600.0, "the first row is on the first screen")
	const sortable = `document.querySelector(".list thead a").checkVisibility()`
	assert.False(t, browsertest.Eval[bool](t, page, sortable), "no hidden link has the focus")
	browsertest.Eval[int](t, page, `(document.querySelector(".filtering-head").focus(), 0)`)
	page.Do(t, chromedp.KeyEvent("\r"))
	page.Wait(t, filterIsVisible)
	page.CheckViews(t, "narrow-filters", browsertest.Views()[2:]...)
	for _, view := range browsertest.Views()[:2] {
		wide := browser.Open(t, path, view)
		assert.True(t, browsertest.Eval[bool](t, wide, filterIsVisible))
		assert.True(t, browsertest.Eval[bool](t, wide, sortable))
		assert.False(t, browsertest.Eval[bool](t, wide,
			`document.querySelector(".filtering-head").checkVisibility()`), "a wide page has room")
	}
}

func TestReasonsInListsAreWhole(t *testing.T) {
	browser := browsertest.Start(t)
	base := serveConsole(t, fullHub())
	signIn(t, browser, base, "sam@example.com")
	const cut = `[...document.querySelectorAll(".badge + .cell-note, .list-wide span.cell")].filter((cell) =>
		cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.clientHeight).map((cell) => cell.innerText)`
	for _, path := range []string{"deliveries/?state=held", "stores/1040/"} {
		page := browser.Open(t, base+shell.Root+"b/7/"+path, browsertest.Views()[1])
		assert.Positive(t, browsertest.Eval[int](t, page, `document.querySelectorAll("td").length`), path)
		assert.Empty(t, browsertest.Eval[[]string](t, page, cut), path)
	}
}
