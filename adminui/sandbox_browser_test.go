package adminui_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
)

func TestSandboxFaultsPassBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	press := func(form string) browsertest.Step {
		return chromedp.Click(chromedp.CSS(`form[action="` + shell.Root + `b/7/sandbox/` + form + `"] button`))
	}
	why := func(form string) browsertest.Step {
		return chromedp.SendKeys(chromedp.CSS(`form[action="`+shell.Root+`b/7/sandbox/`+form+`"] input[name=why]`),
			"How does the POS take it?")
	}
	page := browser.Open(t, base+shell.Root+"b/7/sandbox/", browsertest.Views()[0])
	content := mainText(t, page)
	for _, expected := range []string{"Active faults: 3", "Fails with a status", "503, in 25% of the calls, seed 7",
		"the simulator stops", "Rush: 12\u202f000 orders", "11\u202f000",
		"of 11\u202f200 event deliveries for 11\u202f200 orders", "198 pending"} {
		assert.Contains(t, content, expected)
	}
	page.Do(t, click("Start a fault"), why("faults/"), press("faults/"), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, mainText(t, page), "The fault is active.")
	page.Do(t, click("Stop all faults"), why("faults/off/"), press("faults/off/"),
		chromedp.WaitVisible(chromedp.Search(`//p[contains(., "are stopped")]`)))
	assert.Empty(t, page.Problems())
	page.Do(t, click("2"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Deliveries"]`)))
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.done, 2)
	require.Equal(t, []string{"sandbox.fault", "sandbox.fault_off"}, []string{f.done[0].Action, f.done[1].Action})
	assert.Equal(t, "How does the POS take it?", f.done[1].Why)
}
