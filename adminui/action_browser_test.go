package adminui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

func TestOrderPageSendsActionsAndShowsTheirResult(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	order := fmt.Sprintf("%s%sb/7/orders/%d/", base, shell.Root, f.orders[0].ID)
	page := browser.Open(t, order, browsertest.Views()[0])
	const form = `details.act[open] `
	enter := func(minutes string) {
		t.Helper()
		page.Do(t, chromedp.SendKeys(chromedp.CSS(form+`[name="parameter-minutes"]`), minutes),
			chromedp.SendKeys(chromedp.CSS(form+`[name="why"]`), "The kitchen is busy."),
			chromedp.Click(chromedp.CSS(form+`button[type=submit]`)))
	}
	page.Do(t, click("Delay the order"), chromedp.WaitVisible(chromedp.CSS(form+`[name="parameter-minutes"]`)))
	for _, view := range browsertest.TwoViews() {
		page.SetView(t, view)
		page.Check(t)
		page.Screenshot(t, "order-action-"+view.Name)
	}
	page.SetView(t, browsertest.Views()[0])
	enter("99")
	page.Do(t, chromedp.WaitVisible(chromedp.CSS(form+`.problem`)))
	assert.Contains(t, mainText(t, page), "parameters.minutes must be at most 60, not 99")
	assert.Equal(t, "99", browsertest.Eval[string](t, page,
		`document.querySelector('details.act[open] [name="parameter-minutes"]').value`))
	browsertest.Eval[string](t, page,
		`document.querySelectorAll('details.act[open] input[type=text]').forEach(i => i.value = ""), ""`)
	enter("5")
	page.Do(t, chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, mainText(t, page), "The action is being sent.")
	f.mu.Lock()
	require.Len(t, f.requested, 1)
	assert.Equal(t, `{"minutes":5}`, string(f.requested[0].Parameters))
	require.Len(t, f.done, 1)
	assert.Equal(t, []any{"order.action", "The kitchen is busy.", "user:sam@example.com"},
		[]any{f.done[0].Action, f.done[0].Why, f.done[0].Actor})
	f.calls = append(f.calls, console.Call{ID: idAt(1), Kind: string(relay.Action), Platform: "tasty-eats",
		Payload: []byte(`{"action":"delay_order"}`), Actor: "user:sam@example.com", State: string(relay.Done),
		Message: "five minutes later", CreatedAt: minutesAgo(1), FinishedAt: minutesAgo(1)})
	f.changes++
	f.mu.Unlock()
	page.Wait(t, `document.querySelector("main").innerText.includes("five minutes later")`)
	page.Ignore("400 (Bad Request)") // of the first form
	assert.Empty(t, page.Problems())
}

func TestPluginPageListsActionsWithParameters(t *testing.T) {
	base := serveConsole(t, fullHub())
	_, page := getPage(t, adminClient(t, base), base+shell.PluginsPath+"aggregator-a/")
	for _, expected := range []string{"delay_order", "minutes (required) – integer, 1 … 60: how much later; " +
		"reason – busy, rider", "Event feature_action",
		"wearing_mask (required) – boolean: whether the rider wears one"} {
		assert.Contains(t, page, expected)
	}
}
