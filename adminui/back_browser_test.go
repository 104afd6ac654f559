package adminui_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/webhook"
)

func TestFiltersSurviveBackAndResend(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/?state=failed&when=7d&cols=state.finished",
		browsertest.Views()[0])
	filters := `[location.search, document.querySelector("#filter-state").value,
		document.querySelectorAll("th").length].join(" ")`
	want := "?state=failed&when=7d&cols=state.finished failed 3"
	assert.Equal(t, want, browsertest.Eval[string](t, page, filters))
	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) a")),
		chromedp.WaitVisible(chromedp.CSS(".attempt-title")), chromedp.NavigateBack(),
		chromedp.WaitVisible(chromedp.CSS("#filter-state")))
	assert.Equal(t, want, browsertest.Eval[string](t, page, filters))

	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[type=checkbox]")),
		chromedp.SendKeys(chromedp.CSS(".chosen-why input"), "The server is back."),
		chromedp.Click(chromedp.CSS(".chosen-act button")), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, browsertest.Eval[string](t, page, `location.search`), "state=failed")
	page.Wait(t, `htmx && document.querySelector("#live")._htmx?.sse?.reader != null`)
	f.mu.Lock()
	f.deliveries[1].State, f.deliveries[1].FinishedAt = webhook.Delivered, noon.Add(-time.Second)
	f.changes++
	f.mu.Unlock()
	page.Wait(t, `document.querySelector("tbody tr:nth-child(2)").innerText.includes("Delivered")`)
	assert.Empty(t, page.Problems())
}
