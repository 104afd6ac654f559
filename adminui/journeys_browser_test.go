package adminui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/webhook"
)

// click clicks a link or button by its text.
func click(words string) browsertest.Step {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//*[self::a or self::button or `+
		`self::summary][normalize-space()=%q]`, words)))
}

func mainText(t *testing.T, page *browsertest.Page) string {
	t.Helper()
	return browsertest.Eval[string](t, page, `document.querySelector("main").innerText`)
}

// clickNavigation clicks a link of the navigation.
func clickNavigation(words string) browsertest.Step {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//nav[@id="side"]//a[.=%q]`, words)))
}

// journey is a task of support staff in the console.
type journey struct {
	browser *browsertest.Browser
	fake    *fake
	base    string
}

func (j *journey) open(t *testing.T, path string) *browsertest.Page {
	return j.browser.Open(t, j.base+shell.Root+path, browsertest.Views()[0])
}

func TestConsoleUserJourneys(t *testing.T) {
	f := fullHub()
	j := &journey{browser: browsertest.Start(t), fake: f, base: serveConsole(t, f)}
	signIn(t, j.browser, j.base, "sam@example.com")
	for _, journeyCase := range []struct {
		name string
		run  func(*journey, *testing.T)
	}{
		{"webhooks are not arriving: two clicks", (*journey).webhooksNotArriving},
		{"an item was not applied: three clicks", (*journey).itemNotApplied},
		{"failed deliveries are resent in bulk: four clicks", (*journey).failedResent},
		{"a delivery is resent with a reason: three clicks", (*journey).deliveryResent},
		{"where is an order and its rider: one search", (*journey).orderAndRider},
		{"a store is not live on a platform: two clicks", (*journey).storeNotLive},
		{"one merchant or platform-wide: two clicks", (*journey).platformWide},
		{"a problem is acknowledged and resent: six clicks", (*journey).problemResent},
		{"a wrong price is traced and rolled back: six clicks", (*journey).priceRolledBack},
		{"the slash key focuses the search, and a single match opens", (*journey).slashSearches},
	} {
		t.Run(journeyCase.name, func(t *testing.T) { journeyCase.run(j, t) })
	}
}

func (j *journey) webhooksNotArriving(t *testing.T) {
	page := j.open(t, "")
	assert.Contains(t, mainText(t, page),
		"Tasty Eats · order_placed webhook 3: the server has responded with error 503 (not available) since 21 Nov "+
			"10:26 UTC.")
	page.Do(t, click("View webhook"), chromedp.WaitVisible(chromedp.Search(`//h1[.="order_placed"]`)),
		click("View attempt"), chromedp.WaitVisible(chromedp.CSS(".attempt-title")))
	assert.Contains(t, mainText(t, page), "Failed after 6 attempts: the server responded with 503")
	assert.Empty(t, page.Problems())
}

func (j *journey) itemNotApplied(t *testing.T) {
	page := j.open(t, "b/7/")
	page.Do(t, chromedp.Click(chromedp.Search(`//nav[@id="side"]//a[.="Items"]`)),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="Items"]`)),
		click("Dal makhani"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Dal makhani"]`)))
	assert.Contains(t, mainText(t, page), "The item's category mains is inactive.")
	page.Do(t, click("View menu requests"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Jobs"]`)))
	assert.Contains(t, mainText(t, page), "31")
}

func (j *journey) failedResent(t *testing.T) {
	page := j.open(t, "")
	page.Do(t, click("View webhook"), chromedp.WaitVisible(chromedp.Search(`//h1[.="order_placed"]`)),
		click("All deliveries"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Deliveries"]`)),
		click("Bulk resend"), chromedp.WaitVisible(chromedp.CSS(".act-form")))
	assert.Contains(t, mainText(t, page), "This resends 1 event delivery and no others.")
	page.Do(t, chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The receiver is back."),
		click("Resend 1 event delivery"), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Empty(t, page.Problems())
	j.fake.mu.Lock()
	defer j.fake.mu.Unlock()
	require.Len(t, j.fake.done, 1)
	assert.Equal(t, "delivery.retry_many", j.fake.done[0].Action)
	assert.Equal(t, int64(3), j.fake.done[0].After["filter"].(webhook.Selector).WebhookID, "of the webhook alone")
	j.fake.done = nil
}

func (j *journey) deliveryResent(t *testing.T) {
	page := j.open(t, "b/7/webhooks/3/")
	page.Do(t, click("View attempt"), chromedp.WaitVisible(chromedp.CSS(".attempt-title")),
		click("Resend"),
		chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The receiver is back."),
		chromedp.Click(chromedp.CSS(".act-form button")), chromedp.WaitVisible(chromedp.CSS(".flash")))
	j.fake.mu.Lock()
	defer j.fake.mu.Unlock()
	require.Len(t, j.fake.done, 1)
	assert.Equal(t, "The receiver is back.", j.fake.done[0].Why)
	assert.Equal(t, "user:sam@example.com", j.fake.done[0].Actor)
}

func (j *journey) orderAndRider(t *testing.T) {
	page := j.open(t, "")
	page.Do(t, chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#search:focus")),
		chromedp.KeyEvent("\b10412\r"),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="Order 10412"]`)))
	assert.Contains(t, mainText(t, page), "Acknowledged on 21 Nov at 05:48 CST by the POS (API key "+
		"\"pos\"). The rider Asha")
	assert.Contains(t, mainText(t, page), "arrived at the store on 21 Nov at 05:51 CST.")
	assert.Contains(t, mainText(t, page), "Rider status \"At the store\" to aggregator-a. Failed, and not retried")
	assert.Empty(t, page.Problems())
}

func (j *journey) storeNotLive(t *testing.T) {
	page := j.open(t, "b/7/")
	page.Do(t, clickNavigation("Stores"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Stores"]`)),
		click("Market Street"),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="Market Street"]`)))
	assert.Contains(t, mainText(t, page), "The store is closed now, outside its opening hours.")
	assert.Contains(t, mainText(t, page),
		"Not live on aggregator-a. The menu was not published: aggregator-a rejected the menu (422")
}

func (j *journey) platformWide(t *testing.T) {
	page := j.open(t, "")
	page.Do(t, clickNavigation("Plugins"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Plugins"]`)),
		click("aggregator-a"),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="aggregator-a"]`)))
	assert.Contains(t, mainText(t, page), "Plugin aggregator-a responds, but has reported a problem")
	assert.Contains(t, mainText(t, page), "tasty-eats")
	assert.Empty(t, page.Problems())
}

func (j *journey) problemResent(t *testing.T) {
	page := j.open(t, "")
	page.Do(t, clickNavigation("Problems"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Problems"]`)))
	assert.Contains(t, mainText(t, page), "failed again")
	page.Do(t, click("pos.example.com responded with error 503 (not available)"),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="pos.example.com"]`)))
	assert.Contains(t, mainText(t, page), "Not delivered: 430 event deliveries. It failed again on 21 Nov at "+
		"05:20 CST, after vera@example.com had resolved it on 20 Nov at 18:20 CST.")
	page.Do(t, click("Acknowledge"),
		chromedp.SendKeys(chromedp.CSS(".act[open] input[name=why]"), "I call the merchant."),
		chromedp.Click(chromedp.CSS(".act[open] button")), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, mainText(t, page), "sam@example.com acknowledged this on 21 Nov at 06:00 CST.")
	assert.Contains(t, mainText(t, page), "I call the merchant.", "in the history")
	page.Do(t, click("Resend all"), chromedp.WaitVisible(chromedp.CSS(".act-form")),
		chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The server is back."),
		click("Resend 1 event delivery"), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, mainText(t, page), "is about to start")
	page.Wait(t, `htmx && document.querySelector("#live")._htmx?.sse?.reader != null`)
	j.fake.mu.Lock()
	last := j.fake.done[len(j.fake.done)-1]
	j.fake.done = nil
	j.fake.resends[0].State = "running"
	j.fake.resends[0].Outcome = webhook.ResendOutcome{Selected: 430, Sent: 430, Delivered: 412, Failed: 3}
	j.fake.changes++
	j.fake.mu.Unlock()
	assert.Equal(t, []any{"problem.resend", "problem/31", "The server is back."},
		[]any{last.Action, last.Object, last.Why})
	page.Do(t, chromedp.WaitVisible(chromedp.CSS("progress[value='96']")))
	assert.Contains(t, mainText(t, page), "412 of 430 delivered", "without a reload")
	assert.Contains(t, mainText(t, page), "Pending: 15. Failed again: 3.")
	assert.Empty(t, page.Problems())
}

func (j *journey) priceRolledBack(t *testing.T) {
	page := j.open(t, "b/7/")
	page.Do(t, clickNavigation("Items"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Items"]`)),
		click("Dal makhani"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Dal makhani"]`)),
		click("History"), chromedp.WaitVisible(chromedp.Search(`//h1[.="History"]`)))
	assert.Contains(t, mainText(t, page), "API key \"pos\"", "who")
	page.Do(t, click("Menu request"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Menu request"]`)))
	assert.Contains(t, mainText(t, page), "price 10.25 USD → 102.50 USD")
	page.Do(t, click("Roll back this and all later changes"), chromedp.WaitVisible(chromedp.CSS(".act-form")))
	assert.Contains(t, mainText(t, page), "A job restores the menu")
	page.Do(t, chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The till had a zero too many."),
		click("Roll back 125 objects"), chromedp.WaitVisible(chromedp.CSS(".flash")))
	assert.Contains(t, mainText(t, page), "The rollback is queued")
	assert.Empty(t, page.Problems())
	j.fake.mu.Lock()
	defer j.fake.mu.Unlock()
	last := j.fake.done[len(j.fake.done)-1]
	assert.Equal(t, []any{"menu.rollback", "The till had a zero too many.", revisionIDs[1].String(), 125},
		[]any{last.Action, last.Why, last.After["back_to"], last.After["objects"]})
	j.fake.done = nil
}

func (j *journey) slashSearches(t *testing.T) {
	page := j.open(t, "")
	// DevTools also types the slash into the field
	page.Do(t, chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#search:focus")),
		chromedp.KeyEvent("\bS-17\r"),
		chromedp.WaitVisible(chromedp.Search(`//h1[.="Market Street"]`)))
	assert.Empty(t, page.Problems())
}
