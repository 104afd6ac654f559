package adminui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
)

func TestDisconnectedPageSaysSoAndCatchesUp(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	const stream = `document.querySelector("#live")._htmx?.sse?.reader`
	page.Wait(t, stream)
	f.streamsDown.Store(true)
	browsertest.Eval[int](t, page, stream+`.cancel(), 0`)
	page.Wait(t, `!document.querySelector("#away").hidden`)
	assert.Regexp(t, `^Not connected since 06:0\d CST\. This page may be outdated\.$`,
		browsertest.Eval[string](t, page, `document.querySelector("#away").textContent`))
	page.Ignore("503")
	page.Check(t)
	page.Screenshot(t, "console-away")
	f.mu.Lock()
	f.deliveries[0].LastError = "changed meanwhile"
	f.mu.Unlock()
	f.streamsDown.Store(false)
	page.Wait(t,
		`document.querySelector("main").innerText.includes("changed meanwhile") && `+
			`document.querySelector("#away").hidden`)
	assert.Empty(t, page.Problems())
}

func TestRelativeTimesUpdateAndConfirmationShowsOnce(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	f.deliveries[0].CreatedAt = noon.Add(-5 * time.Second)
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/?event=order_placed&done=retried", browsertest.Views()[0])
	assert.Equal(t, "?event=order_placed", browsertest.Eval[string](t, page, `location.search`))
	page.Wait(t, `document.querySelector(".flash")`)
	page.Wait(t, `/^([7-9]|\d\d) s ago$/.test(document.querySelector("tbody time").textContent)`)
	page.Do(t, chromedp.Reload(), chromedp.WaitReady(chromedp.CSS("main")))
	assert.False(t, browsertest.Eval[bool](t, page, `document.querySelector(".flash") !== null`))
	assert.Empty(t, page.Problems())
}

func TestLiveUpdateKeepsFocusOnTheCopyButton(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, fmt.Sprintf("%s%sb/7/deliveries/%s/", base, shell.Root, f.deliveries[1].ID),
		browsertest.Views()[0])
	page.Wait(t, `document.querySelector("#live")._htmx?.sse?.reader`)
	browsertest.Eval[int](t, page, `[...document.querySelectorAll("button.copy")].at(-1).focus(), 0`)
	f.mu.Lock()
	f.deliveries[1].LastError = "changed meanwhile"
	f.changes++
	f.mu.Unlock()
	page.Wait(t, `document.querySelector("main").innerText.includes("changed meanwhile")`)
	assert.Equal(t, "Copy: For developers: the request as a curl command, secrets masked",
		browsertest.Eval[string](t, page, `document.activeElement.getAttribute("aria-label")`))
	browsertest.Eval[int](t, page, `(window.seen = [], new MutationObserver(() => `+
		`seen.push(document.activeElement.textContent)).observe(document.activeElement, { childList: true, `+
		`characterData: true, subtree: true }), 0)`) // the label is back after two seconds
	page.Do(t, chromedp.KeyEvent("\r"))
	page.Wait(t, `seen.includes("Copied") || seen.includes("Selected")`)
}

func TestNoPageScrollsSidewaysAtAnyWidth(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	unbroken := strings.Repeat("Unbroken", 10)
	f.jobs[0].Subject, f.stores[0].Name, f.businesses[0].Name = unbroken, &unbroken, unbroken
	for i := range f.deliveries {
		f.deliveries[i].OrderID = 10412
	}
	f.notices = console.Notices{}
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	paths := []string{"b/7/grid/", "b/7/webhooks/3/", "b/7/stores/1040/", "b/7/items/501/", "search/?q=a"}
	for _, page := range newConsole(f).Pages() {
		if at, _ := routePath(t, f, page.Path); page.Label != "" {
			paths = append(paths, at)
		}
	}
	for _, path := range paths {
		page := browser.Open(t, base+shell.Root+path, browsertest.Views()[0])
		for _, width := range []int64{900, 1024, 1200} {
			page.SetView(t, browsertest.View{Width: width, Height: 800})
			assert.LessOrEqual(t, browsertest.Eval[int64](t, page, `document.documentElement.scrollWidth`), width, path)
			page.Screenshot(t, fmt.Sprintf("console-%d-%s", width,
				strings.NewReplacer("/", "-", "?", "-").Replace(path)))
		}
		page.Close()
	}
}

func TestPrintAndForcedColoursKeepAllContent(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	style := func(page *browsertest.Page, selector, pseudo, property string) string {
		return browsertest.Eval[string](t, page,
			fmt.Sprintf(`getComputedStyle(document.querySelector(%q), %q)[%q]`, selector, pseudo, property))
	}
	page := browser.Open(t, fmt.Sprintf("%s%sb/7/deliveries/%s/", base, shell.Root, f.deliveries[1].ID),
		browsertest.Views()[0])
	page.SetView(t, browsertest.View{Width: 760, Height: 1000, Dark: true, Print: true})
	assert.Equal(t, "none", style(page, ".side", "", "display"))
	assert.Equal(t, "none", style(page, "button.copy", "", "display"))
	assert.Equal(t, "none", style(page, ".code-scrolled pre", "", "maxHeight"))
	assert.Equal(t, "light", style(page, "html", "", "colorScheme"))
	page.Screenshot(t, "console-print-delivery")
	page = browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.View{Width: 760, Height: 1000, Print: true})
	assert.Equal(t, "table-cell", style(page, "tbody td:nth-child(2)", "", "display"), "rows stay rows")
	page.Screenshot(t, "console-print-deliveries")
	page = browser.Open(t, base+shell.Root+"b/7/", browsertest.View{Width: 1280, Height: 900, ForcedColours: true})
	assert.NotEqual(t, style(page, ".chart", "", "backgroundColor"),
		style(page, ".chart-key", "::before", "backgroundColor"))
	page.Screenshot(t, "console-forced-business")
}

func TestPageConnectsLaterAfterARejectedStream(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	f.streamsDown.Store(true)
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	page.Ignore("503")
	page.Wait(t, `!document.querySelector("#away").hidden`)
	f.mu.Lock()
	f.deliveries[0].LastError = "changed meanwhile"
	f.mu.Unlock()
	f.streamsDown.Store(false)
	page.Wait(t,
		`document.querySelector("main").innerText.includes("changed meanwhile") && `+
			`document.querySelector("#away").hidden`)
	assert.Empty(t, page.Problems())
}

func TestSilentStreamIsShownAsDisconnected(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	page.Wait(t, `document.querySelector("#live")._htmx?.sse?.reader`)
	// The clock leaps at every call, because a beat may arrive after the first leap.
	browsertest.Eval[int](t, page,
		`(window.realNow = Date.now, window.leap = 0, Date.now = () => realNow() + (leap += 60000), 0)`)
	page.Wait(t, `!document.querySelector("#away").hidden`)
	browsertest.Eval[int](t, page,
		`(Date.now = realNow, document.querySelector("#live").dispatchEvent(new CustomEvent("beat",`+
			` { bubbles: true })), 0)`)
	assert.True(t, browsertest.Eval[bool](t, page, `document.querySelector("#away").hidden`))
	assert.Empty(t, page.Problems())
}
