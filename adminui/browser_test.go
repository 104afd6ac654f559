package adminui_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/signin"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/webhook"
)

const password = "correct horse battery"

// served serves a console over the fake hub, whose users' passwords are all the same.
func served(t *testing.T, f *fake) string {
	t.Helper()
	accounts := access.Accounts{Users: f, Sessions: f, Attempts: f, Clock: stillClock{}}
	_, err := accounts.UseLink(context.Background(), "any", password, "")
	require.NoError(t, err)
	for i := range f.users {
		f.users[i].Password = f.users[0].Password
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	c := adminui.New(adminui.Config{Accounts: accounts, Provider: f.provider, Records: f, Deliveries: f, Tester: f, Rotator: f, Orders: orderReader{f}, Plugins: pluginReader{f}, Published: publications{f}, Stores: storeReader{f}, Menus: past{f}, Checklist: progress{f}, Sandbox: sandboxed{f}, Clock: stillClock{}, Log: slog.New(slog.DiscardHandler)})
	assets.Mount(app)
	app.Get(shell.LivePath+"*", func(c *fiber.Ctx) error {
		if f.deaf.Load() {
			return c.SendStatus(503)
		}
		return c.Next()
	})
	app.Get("/favicon.ico", func(c *fiber.Ctx) error { return c.SendStatus(204) })
	c.Mount(app)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	base := browsertest.Serve(t, app)
	t.Cleanup(func() { cancel(); <-done })
	return base
}

// enter signs in by the form, without a script.
func enter(t *testing.T, browser *browsertest.Browser, base, email string) {
	t.Helper()
	view := browsertest.Views()[0]
	view.NoScript = true
	page := browser.Open(t, base+shell.SignInPath, view)
	defer page.Close()
	page.Do(t,
		chromedp.SendKeys(chromedp.CSS("#email"), email),
		chromedp.SendKeys(chromedp.CSS("#password"), password),
		chromedp.Click(chromedp.CSS("button.button-main")),
		chromedp.WaitReady(chromedp.CSS("h1")),
		chromedp.WaitReady(chromedp.CSS(".console-body")),
	)
}

// every is each page of the console by its name.
func every(f *fake) map[string]string {
	pages := map[string]string{"overview": "", "business": "b/7/", "grid": "b/7/grid/", "webhooks": "b/7/webhooks/", "deliveries": "b/7/deliveries/", "jobs": "b/7/jobs/", "stores": "b/7/stores/",
		"orders": "b/7/orders/", "settings": "b/7/settings/", "checklist": "b/7/checklist/", "sandbox": "b/7/sandbox/", "plugins": "plugins/", "items": "b/7/items/", "keys": "b/7/keys/", "history": "b/7/history/", "history-item": "b/7/history/item/", "audit": "b/7/audit/", "users": "users/", "hub-audit": "audit/", "search": "search/?q=a", "account": "account/"}
	if len(f.endpoints) == 0 {
		return pages
	}
	pages["webhook"], pages["webhook-gone"] = "b/7/webhooks/3/", "b/7/webhooks/5/"
	pages["delivery"], pages["delivery-callback"] = fmt.Sprintf("b/7/deliveries/%s/", f.deliveries[1].ID), fmt.Sprintf("b/7/deliveries/%s/", f.deliveries[4].ID)
	pages["job"], pages["job-running"], pages["job-failed"] = "b/7/jobs/"+f.jobs[0].Reference.String()+"/", "b/7/jobs/"+f.jobs[1].Reference.String()+"/", "b/7/jobs/"+f.jobs[2].Reference.String()+"/"
	pages["store"], pages["store-hostile"], pages["item"] = "b/7/stores/1040/", "b/7/stores/1041/", "b/7/items/501/"
	pages["delivery-diff"], pages["job-diff"] = pages["delivery"]+"diff/", pages["job"]+"diff/"
	pages["audit-entry"] = "b/7/audit/" + f.audit[0].ID.String() + "/"
	for n, name := range []string{"revision", "revision-rollback", "revision-switch"} {
		pages[name] = "b/7/history/" + revised[n].String() + "/"
	}
	pages["revision-more"], pages["revision-diff"] = pages["revision-switch"]+"?from=25", pages["revision"]+"diff/?at=1"
	pages["rollback"], pages["rollback-none"] = pages["revision-rollback"]+"rollback/", pages["revision"]+"rollback/"
	pages["history-item-then"], pages["history-item-none"] = "b/7/history/item/?item=dal&store=S-17&platform=web&at=2026-11-20T14:30", "b/7/history/item/?item=dal&store=none&platform=web"
	pages["again"] = "b/7/deliveries/again/?webhook=3"
	pages["item-platform"] = "b/7/items/501/?platform=aggregator-a"
	pages["orders-refused"] = "b/7/orders/refused/"
	pages["order"], pages["order-hostile"], pages["order-unacknowledged"] = "b/7/orders/10412/", "b/7/orders/10410/", "b/7/orders/10411/"
	pages["plugin"], pages["plugin-failed"], pages["plugin-new"] = "plugins/aggregator-a/", "plugins/aggregator-c/", "plugins/aggregator-d/"
	pages["platform"], pages["platform-hostile"], pages["platform-own"] = "b/7/settings/platform/?name=tasty-eats", "b/7/settings/platform/?name="+url.QueryEscape(hostile), "b/7/settings/platform/?name=web"
	pages["user"], pages["missing"] = "users/2/", "b/7/nothing/"
	return pages
}

func TestEveryPageInTheBrowser(t *testing.T) {
	browser := browsertest.Start(t)
	whole, none, broken := full(), empty(), full()
	none.sessions, broken.sessions = whole.sessions, whole.sessions // one sign-in opens all three
	none.mu, broken.mu = whole.mu, whole.mu
	wholeBase, noneBase, brokenBase := served(t, whole), served(t, none), served(t, broken)
	enter(t, browser, wholeBase, "sam@example.com") // the cookie is the host's, whatever the port
	broken.broken = fmt.Errorf("reading: %w", context.DeadlineExceeded)
	views := []browsertest.View{browsertest.Views()[0], browsertest.Views()[3]} // both widths and both colour schemes
	for _, hub := range []struct {
		name, base string
		pages      map[string]string
	}{{"full", wholeBase, every(whole)}, {"empty", noneBase, every(none)}, {"error", brokenBase, map[string]string{"overview": "", "jobs": "b/7/jobs/", "orders": "b/7/orders/", "plugins": "plugins/", "settings": "b/7/settings/"}}} {
		for name, path := range hub.pages {
			t.Run(hub.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				page := browser.Open(t, hub.base+shell.Root+path, browsertest.Views()[0])
				if hub.name == "error" || name == "missing" || name == "history-item-none" {
					page.Allow("Failed to load resource") // the browser tells the status
				}
				page.EachView(t, "console-"+hub.name+"-"+name, views...)
			})
		}
	}
}

// vouching stands for an identity provider.
type vouching struct{ signin.Provider }

func TestDoorsInTheBrowser(t *testing.T) {
	browser := browsertest.Start(t)
	vouched := empty()
	vouched.provider = vouching{}
	base, other := served(t, empty()), served(t, vouched)
	for name, address := range map[string]string{"sign-in": base + shell.SignInPath, "welcome": base + shell.WelcomePath + "?link=x", "provider": other + shell.SignInPath} {
		t.Run(name, func(t *testing.T) {
			browser.Open(t, address, browsertest.Views()[0]).EachView(t, "console-door-"+name, browsertest.Views()...)
		})
	}
}

// click follows a link or presses a button by its words, one click.
func click(words string) browsertest.Step {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//*[self::a or self::button or self::summary][normalize-space()=%q]`, words)))
}

func told(t *testing.T, page *browsertest.Page) string {
	t.Helper()
	return browsertest.Eval[string](t, page, `document.querySelector("main").innerText`)
}

func TestJourneys(t *testing.T) {
	browser := browsertest.Start(t)
	f := full()
	base := served(t, f)
	enter(t, browser, base, "sam@example.com")
	open := func(t *testing.T, path string) *browsertest.Page {
		return browser.Open(t, base+shell.Root+path, browsertest.Views()[0])
	}
	t.Run("webhooks are not arriving: two clicks", func(t *testing.T) {
		page := open(t, "")
		assert.Contains(t, told(t, page), "Tasty Eats: The endpoint of order_placed (3) answers 503 since 21 Nov 10:26 UTC.")
		page.Do(t, click("Look at the webhook"), chromedp.WaitVisible(chromedp.Search(`//h1[.="order_placed"]`)),
			click("Look at the attempt"), chromedp.WaitVisible(chromedp.CSS(".attempt-title")))
		assert.Contains(t, told(t, page), "Given up after 6 attempts: the endpoint answered 503")
		assert.Empty(t, page.Problems())
	})
	t.Run("an item was not applied: three clicks", func(t *testing.T) {
		page := open(t, "b/7/")
		page.Do(t, chromedp.Click(chromedp.Search(`//nav[@id="side"]//a[.="Items"]`)), chromedp.WaitVisible(chromedp.Search(`//h1[.="Items"]`)),
			click("Dal makhani"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Dal makhani"]`)))
		assert.Contains(t, told(t, page), "The category mains is inactive, so its items are not shown")
		page.Do(t, click("Look at the menu requests"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Jobs"]`)))
		assert.Contains(t, told(t, page), "31")
	})
	t.Run("it is mended, and what failed is sent again: four clicks", func(t *testing.T) {
		page := open(t, "")
		page.Do(t, click("Look at the webhook"), chromedp.WaitVisible(chromedp.Search(`//h1[.="order_placed"]`)),
			click("All deliveries"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Deliveries"]`)),
			click("Send many again"), chromedp.WaitVisible(chromedp.CSS(".act-form")))
		assert.Contains(t, told(t, page), "Those that are counted here are sent again, and no others: 1.")
		page.Do(t, chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The receiver is back."),
			click("Send 1 again"), chromedp.WaitVisible(chromedp.CSS(".flash")))
		assert.Empty(t, page.Problems())
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Len(t, f.done, 1)
		assert.Equal(t, "delivery.retry_many", f.done[0].Action)
		assert.Equal(t, int64(3), f.done[0].After["filter"].(webhook.Choice).WebhookID, "of the webhook alone")
		f.done = nil
	})
	t.Run("a delivery is sent again with a reason: three clicks", func(t *testing.T) {
		page := open(t, "b/7/webhooks/3/")
		page.Do(t, click("Look at the attempt"), chromedp.WaitVisible(chromedp.CSS(".attempt-title")), click("Send again"),
			chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The receiver is back."),
			chromedp.Click(chromedp.CSS(".act-form button")), chromedp.WaitVisible(chromedp.CSS(".flash")))
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Len(t, f.done, 1)
		assert.Equal(t, "The receiver is back.", f.done[0].Why)
		assert.Equal(t, "user:sam@example.com", f.done[0].Actor)
	})
	side := func(words string) browsertest.Step {
		return chromedp.Click(chromedp.Search(fmt.Sprintf(`//nav[@id="side"]//a[.=%q]`, words)))
	}
	t.Run("where is an order and its rider: one search", func(t *testing.T) {
		page := open(t, "")
		page.Do(t, chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#search:focus")), chromedp.KeyEvent("\b10412\r"),
			chromedp.WaitVisible(chromedp.Search(`//h1[.="Order 10412"]`)))
		assert.Contains(t, told(t, page), "Acknowledged since 21 Nov 05:48 CST. The rider Asha")
		assert.Contains(t, told(t, page), "is at the store since 21 Nov 05:51 CST.")
		assert.Contains(t, told(t, page), "Rider status AT-STORE to aggregator-a: Refused for good")
		assert.Empty(t, page.Problems())
	})
	t.Run("a store is not live on a platform: two clicks", func(t *testing.T) {
		page := open(t, "b/7/")
		page.Do(t, side("Stores"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Stores"]`)), click("Market Street"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Market Street"]`)))
		assert.Contains(t, told(t, page), "The store is closed now by its opening hours.")
		assert.Contains(t, told(t, page), "On aggregator-a it is not live: Its menu was not taken: the aggregator answered 422")
	})
	t.Run("one merchant or platform-wide: two clicks", func(t *testing.T) {
		page := open(t, "")
		page.Do(t, side("Plugins"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Plugins"]`)), click("aggregator-a"), chromedp.WaitVisible(chromedp.Search(`//h1[.="aggregator-a"]`)))
		assert.Contains(t, told(t, page), "Plugin aggregator-a answers, but something is wrong with it")
		assert.Contains(t, told(t, page), "tasty-eats")
		assert.Empty(t, page.Problems())
	})
	t.Run("the price of an item is wrong, who changed it, and back: six clicks", func(t *testing.T) {
		page := open(t, "b/7/")
		page.Do(t, side("Items"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Items"]`)),
			click("Dal makhani"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Dal makhani"]`)),
			click("History"), chromedp.WaitVisible(chromedp.Search(`//h1[.="History"]`)))
		assert.Contains(t, told(t, page), "key:pos", "who")
		page.Do(t, click("Menu request"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Menu request"]`)))
		assert.Contains(t, told(t, page), "price 10.25 → 102.5")
		page.Do(t, click("Go back to before it"), chromedp.WaitVisible(chromedp.CSS(".act-form")))
		assert.Contains(t, told(t, page), "An ordinary menu job")
		page.Do(t, chromedp.SendKeys(chromedp.CSS(".act-form input[name=why]"), "The till had a zero too many."),
			click("Change 125 objects back"), chromedp.WaitVisible(chromedp.CSS(".flash")))
		assert.Contains(t, told(t, page), "The menu job is queued")
		assert.Empty(t, page.Problems())
		f.mu.Lock()
		defer f.mu.Unlock()
		last := f.done[len(f.done)-1]
		assert.Equal(t, []any{"menu.rollback", "The till had a zero too many.", revised[1].String(), 125}, []any{last.Action, last.Why, last.After["back_to"], last.After["objects"]})
		f.done = nil
	})
	t.Run("the slash leads to the search, and a single match opens", func(t *testing.T) {
		page := open(t, "")
		page.Do(t, chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#search:focus")), chromedp.KeyEvent("\bS-17\r"), // the protocol of the browser types the slash all the same
			chromedp.WaitVisible(chromedp.Search(`//h1[.="Market Street"]`)))
		assert.Empty(t, page.Problems())
	})
}

func TestPagesFollowTheHubUnlessRowsAreChosen(t *testing.T) {
	browser := browsertest.Start(t)
	f := full()
	base := served(t, f)
	enter(t, browser, base, "sam@example.com")
	change := func(words string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.deliveries[0].LastError = words
		f.pulse++
	}
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	page.Wait(t, `htmx && document.querySelector("#pulse")._htmx?.sse?.reader != null`)
	change("first")
	page.Wait(t, `document.querySelector("main").innerText.includes("first")`)
	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[type=checkbox]")))
	change("second")
	page.Wait(t, `!document.querySelector("[data-paused]").hidden`)
	assert.NotContains(t, told(t, page), "second")
	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[type=checkbox]")))
	page.Wait(t, `document.querySelector("main").innerText.includes("second")`)
	assert.Empty(t, page.Problems())
}

func TestByKeyboardAlone(t *testing.T) {
	browser := browsertest.Start(t)
	f := full()
	base := served(t, f)
	enter(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/webhooks/3/", browsertest.Views()[0])
	var seen []string
	for range 60 {
		page.Do(t, chromedp.KeyEvent("\t"))
		focus := browsertest.Eval[string](t, page, `(() => { const e = document.activeElement; const o = getComputedStyle(e);
			return (o.outlineStyle === "none" ? "UNSEEN " : "") + (e.innerText || e.getAttribute("aria-label") || e.name || e.tagName).trim(); })()`)
		seen = append(seen, focus)
		if focus == "Pause" {
			break
		}
	}
	all := strings.Join(seen, "|")
	assert.Contains(t, all, "Skip to the content")
	assert.Contains(t, all, "Search for any id")
	assert.Contains(t, all, "Deliveries")
	require.Contains(t, all, "Pause")
	assert.NotContains(t, all, "UNSEEN")
	page.Do(t, chromedp.KeyEvent("\r"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("moved"), chromedp.KeyEvent("\r"), chromedp.WaitVisible(chromedp.CSS(".flash")))
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.done, 1)
	assert.Equal(t, "webhook.pause", f.done[0].Action)
}
