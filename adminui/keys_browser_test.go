package adminui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
)

// press sends a key to the focused element.
func press(t *testing.T, page *browsertest.Page, options string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		browsertest.Eval[bool](t, page, fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown",`+
			`{key: %q, bubbles: true, cancelable: true, %s}))`, key, options))
	}
}

func TestKeysMoveSelectAndOpenRows(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	row := func() int {
		return browsertest.Eval[int](t, page,
			`[...document.querySelectorAll("tbody tr")].indexOf(document.activeElement.closest("tr"))`)
	}
	selected := func() int {
		return browsertest.Eval[int](t, page, `document.querySelectorAll("tbody input:checked").length`)
	}
	press(t, page, "", "j")
	assert.Equal(t, 0, row())
	press(t, page, "", "j", "j", "k")
	assert.Equal(t, 1, row())
	press(t, page, "ctrlKey: true", "j", "x", "r")
	press(t, page, "metaKey: true", "j", "x", "r")
	assert.Equal(t, []int{1, 0}, []int{row(), selected()}, "with a modifier they do nothing")
	press(t, page, "", "x")
	assert.Equal(t, 1, selected())
	press(t, page, "", "x", "r")
	assert.Equal(t, 1, selected(), "r selects the row")
	assert.Equal(t, "why", browsertest.Eval[string](t, page, `document.activeElement.name`))
	press(t, page, "", "j", "x", "?", "o")
	assert.Equal(t, "why", browsertest.Eval[string](t, page, `document.activeElement.name`),
		"they do nothing in a field")
	page.Screenshot(t, "keys-selected")
	browsertest.Eval[int](t, page, `document.activeElement.blur(), 0`)
	press(t, page, "", "j", "j", "o")
	page.Do(t, chromedp.WaitVisible(chromedp.CSS(".attempt-title")))
	press(t, page, "", "j", "j", "o")
	page.Wait(t, `document.querySelectorAll(".folds .fold")[1].open`)
	press(t, page, "", "r")
	assert.Equal(t, "why", browsertest.Eval[string](t, page, `document.activeElement.name`))
	assert.True(t, browsertest.Eval[bool](t, page, `document.querySelector("details.act").open`))
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Empty(t, f.done, "no key sends a form")
	assert.Empty(t, page.Problems())
}

func TestKeyboardHelpIsAccessibleAndCanBeOff(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	const isOpen = `document.querySelector("#keys").open`
	press(t, page, "", "?")
	page.Wait(t, isOpen)
	for _, view := range browsertest.TwoViews() {
		page.SetView(t, view)
		page.Check(t)
		page.Screenshot(t, "keys-help-"+view.Name)
	}
	press(t, page, "", "j")
	assert.True(t, browsertest.Eval[bool](t, page, `document.querySelector("#keys").contains(document.activeElement)`))
	page.Do(t, chromedp.KeyEvent("\r"))
	page.Wait(t, "!"+isOpen)
	page.SetView(t, browsertest.Views()[0])
	choose := func(name, value string) {
		page.Do(t, chromedp.Click(chromedp.CSS(".console-user")), chromedp.WaitVisible(chromedp.CSS(".menu-user")),
			chromedp.Click(chromedp.CSS(`button[name="`+name+`"][value="`+value+`"]`)))
		page.Wait(t, `document.documentElement.dataset.`+name+` === "`+value+`"`)
	}
	height := func() int64 {
		return browsertest.Eval[int64](t, page, `Math.round(document.querySelector("tbody tr").offsetHeight)`)
	}
	comfortable := height()
	choose("density", "compact")
	assert.Less(t, height(), comfortable)
	page.Check(t)
	page.Screenshot(t, "density-compact")
	choose("keys", "off")
	assert.Equal(t, "compact", browsertest.Eval[string](t, page, `document.documentElement.dataset.density`))
	press(t, page, "", "?", "j", "/")
	assert.False(t, browsertest.Eval[bool](t, page, isOpen))
	assert.Equal(t, "BODY", browsertest.Eval[string](t, page, `document.activeElement.tagName`))
	page.Do(t, chromedp.Click(chromedp.CSS(".console-user")), chromedp.WaitVisible(chromedp.CSS(".keys-open")))
	page.Check(t)
	page.Screenshot(t, "keys-menu")
	page.Do(t, chromedp.Click(chromedp.CSS(".keys-open")))
	page.Wait(t, isOpen)
	assert.Empty(t, page.Problems())
}

func TestChartShowsValuesAndSelectsATimeRange(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/", browsertest.Views()[0])
	page.Wait(t, `document.querySelectorAll(".chart-plot[role=slider]").length === 2`)
	assert.Equal(t, 1, browsertest.Eval[int](t, page, `new Set([...document.querySelectorAll(".chart-plot")].map(`+
		`(plot) => Math.round(plot.getBoundingClientRect().bottom))).size`), "the charts share a baseline")
	const summary = `document.querySelector(".chart-summary").textContent`
	whole := browsertest.Eval[string](t, page, summary)
	browsertest.Eval[int](t, page, `document.querySelector(".chart-plot").focus(), 0`)
	assert.Equal(t, "06:00–07:00 CST · 1\u202f320 accepted, 138 failed", browsertest.Eval[string](t, page, summary))
	press(t, page, "", "ArrowLeft")
	assert.Equal(t, "05:00–06:00 CST · 1\u202f280 accepted, 132 failed", browsertest.Eval[string](t, page,
		`document.activeElement.getAttribute("aria-valuetext")`))
	page.Check(t)
	page.Screenshot(t, "chart-focus")
	browsertest.Eval[int](t, page, `document.activeElement.blur(), 0`)
	assert.Equal(t, whole, browsertest.Eval[string](t, page, summary))
	at := func(hour float64) [2]float64 {
		return [2]float64(browsertest.Eval[[]float64](t, page,
			fmt.Sprintf(`(() => { const box = document.querySelector(`+
				`".chart-plot svg").getBoundingClientRect(); `+
				`return [box.left + box.width * %f / 24, box.top + 20]; })()`,
				hour)))
	}
	from, to := at(20.5), at(22.5)
	page.Do(t, chromedp.MouseEvent("mousePressed", from[0], from[1], chromedp.Button("left")),
		chromedp.MouseEvent("mouseMoved", to[0], to[1], chromedp.Button("left")))
	assert.Equal(t, "03:00–06:00 CST", browsertest.Eval[string](t, page, summary))
	page.Do(t, chromedp.MouseEvent("mouseReleased", to[0], to[1], chromedp.Button("left")),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="Deliveries"]`)))
	assert.Equal(t, "?from=2026-11-21T03%3A00-06%3A00&to=2026-11-21T06%3A00-06%3A00",
		browsertest.Eval[string](t, page, `location.search`))
	assert.Equal(t, "2026-11-21T03:00", browsertest.Eval[string](t, page,
		`document.querySelector("#filter-from").value`))
	assert.Empty(t, page.Problems())
}

func TestLiveUpdateKeepsTheSelectionOfAChart(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/", browsertest.Views()[0])
	page.Wait(t, `document.querySelector("#live")._htmx?.sse?.reader`)
	page.Wait(t, `document.querySelectorAll(".chart-plot[role=slider]").length === 2`)
	browsertest.Eval[int](t, page, `document.querySelector(".chart-plot").focus(), 0`)
	press(t, page, "", "ArrowLeft", "ArrowLeft")
	press(t, page, "shiftKey: true", "ArrowLeft")
	const selected = `[...document.querySelectorAll(".chart-on")].map((slot) => slot.dataset.from).join()`
	before := browsertest.Eval[string](t, page, selected)
	assert.Equal(t, "2026-11-21T03:00-06:00,2026-11-21T04:00-06:00", before)
	f.mu.Lock()
	f.counts[len(f.counts)-1].Failed = 4711
	f.changes++
	f.mu.Unlock()
	page.Wait(t, `document.querySelector("main").innerHTML.includes("711 failed")`)
	assert.Equal(t, before, browsertest.Eval[string](t, page, selected))
	assert.Equal(t, "03:00–05:00 CST",
		browsertest.Eval[string](t, page, `document.querySelector(".chart-summary").textContent`))
	press(t, page, "", "Enter")
	page.Do(t, chromedp.WaitVisible(chromedp.Search(`//h1[.="Deliveries"]`)))
	assert.Equal(t, "?from=2026-11-21T03%3A00-06%3A00&to=2026-11-21T05%3A00-06%3A00",
		browsertest.Eval[string](t, page, `location.search`))
	assert.Empty(t, page.Problems())
}

func TestNarrowPageShowsNamesAndShortBanners(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/", browsertest.Views()[2])
	assert.True(t, browsertest.Eval[bool](t, page, `(() => {
		const name = document.querySelector(".console-switch span");
		return name.scrollWidth <= name.clientWidth; })()`), "the name of the business is whole")
	assert.LessOrEqual(t, browsertest.Eval[float64](t, page,
		`Math.max(...[...document.querySelectorAll(".cause")].map((cause) => cause.offsetHeight))`), 56.0)
	page.Screenshot(t, "narrow-banners")
	page.Do(t, chromedp.Click(chromedp.CSS(".cause-more")))
	assert.Equal(t, []string{"none", "2"}, browsertest.Eval[[]string](t, page,
		`[...document.querySelectorAll(".cause-text")].slice(0, 2)
			.map((words) => getComputedStyle(words).webkitLineClamp)`),
		"an open one is whole")
	page.Check(t)
	log := browser.Open(t, base+shell.Root+"plugins/aggregator-a/", browsertest.Views()[2])
	assert.True(t, browsertest.Eval[bool](t, log, `(() => { const pre = document.querySelector(".code-end pre");
		pre.querySelector("code").append("\n".repeat(200) + "last"); // until the page is updated
		return Math.abs(pre.scrollTop) <= 1 && pre.scrollHeight > pre.clientHeight + 1000; })()`), "the end is in view")
	assert.Empty(t, page.Problems())
}
