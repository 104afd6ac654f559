package adminui_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
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
	c := adminui.New(adminui.Config{Accounts: accounts, Records: f, Deliveries: f, Stores: storeReader{f}, Clock: stillClock{}, Log: slog.New(slog.DiscardHandler)})
	assets.Mount(app)
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
	browser.Open(t, base+shell.SignInPath, view).Do(t,
		chromedp.SendKeys(chromedp.CSS("#email"), email),
		chromedp.SendKeys(chromedp.CSS("#password"), password),
		chromedp.Click(chromedp.CSS("button.button-main")),
		chromedp.WaitReady(chromedp.CSS("h1")),
		chromedp.WaitReady(chromedp.CSS(".console-body")),
	)
}

// every is each page of the console by its name.
func every(f *fake) map[string]string {
	pages := map[string]string{"overview": "", "business": "b/7/", "webhooks": "b/7/webhooks/", "deliveries": "b/7/deliveries/", "jobs": "b/7/jobs/", "stores": "b/7/stores/",
		"items": "b/7/items/", "keys": "b/7/keys/", "audit": "b/7/audit/", "users": "users/", "hub-audit": "audit/", "search": "search/?q=a", "account": "account/"}
	if len(f.endpoints) == 0 {
		return pages
	}
	pages["webhook"], pages["webhook-gone"] = "b/7/webhooks/3/", "b/7/webhooks/5/"
	pages["delivery"], pages["delivery-callback"] = fmt.Sprintf("b/7/deliveries/%s/", f.deliveries[1].ID), fmt.Sprintf("b/7/deliveries/%s/", f.deliveries[4].ID)
	pages["job"], pages["job-running"], pages["job-failed"] = "b/7/jobs/"+f.jobs[0].Reference.String()+"/", "b/7/jobs/"+f.jobs[1].Reference.String()+"/", "b/7/jobs/"+f.jobs[2].Reference.String()+"/"
	pages["store"], pages["store-hostile"], pages["item"] = "b/7/stores/1040/", "b/7/stores/1041/", "b/7/items/501/"
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
	broken.broken = errors.New("the database is away")
	for _, hub := range []struct {
		name, base string
		pages      map[string]string
	}{{"full", wholeBase, every(whole)}, {"empty", noneBase, every(none)}, {"error", brokenBase, map[string]string{"overview": "", "jobs": "b/7/jobs/"}}} {
		for name, path := range hub.pages {
			t.Run(hub.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				page := browser.Open(t, hub.base+shell.Root+path, browsertest.Views()[0])
				if hub.name == "error" || name == "missing" {
					page.Allow("Failed to load resource") // the browser tells the status
				}
				for _, view := range browsertest.Views() {
					t.Run(view.Name, func(t *testing.T) {
						page.Look(t, view)
						page.Screenshot(t, "console-"+hub.name+"-"+name+"-"+view.Name)
						page.CheckAgain(t, view)
					})
				}
				page.Close()
			})
		}
	}
}

func TestDoorsInTheBrowser(t *testing.T) {
	browser := browsertest.Start(t)
	base := served(t, empty())
	for _, view := range browsertest.Views() {
		for name, path := range map[string]string{"sign-in": shell.SignInPath, "welcome": shell.WelcomePath + "?link=x"} {
			t.Run(name+"-"+view.Name, func(t *testing.T) {
				page := browser.Open(t, base+path, view)
				page.Check(t)
				page.Screenshot(t, "console-door-"+name+"-"+view.Name)
			})
		}
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
	t.Run("a delivery is sent again with a reason: four clicks", func(t *testing.T) {
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
	time.AfterFunc(shell.LiveEvery, func() { change("first") }) // the first look only learns the pulse
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
