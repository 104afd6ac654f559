package adminui_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
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
)

const password = "correct horse battery"

// newConsole returns the console of a fake hub.
func newConsole(f *fake) *adminui.Console {
	return adminui.New(adminui.Config{Accounts: newAccounts(f), Logins: fakeLogins{},
		Provider: f.provider, Database: f, Deliveries: f,
		Tester: f, Rotator: f, Orders: orderReader{f}, Actions: actionStub{f}, Workloads: f, Plugins: pluginReader{f},
		Published: publicationReader{f}, Renderer: menuRenderer{f}, Stores: storeReader{f}, Menus: menuHistory{f},
		Checklist: checklistReader{f}, Sandbox: sandboxStub{f}, Clock: fixedClock{},
		Log: slog.New(slog.DiscardHandler)})
}

func newAccounts(f *fake) access.Accounts {
	return access.Accounts{Users: f, Sessions: f, Attempts: f, Clock: fixedClock{}}
}

// passwordHash is stored for all users, because a hash takes long.
var passwordHash = sync.OnceValue(func() string {
	f := emptyHub()
	if _, err := newAccounts(f).UseLink(context.Background(), "any", password, ""); err != nil {
		panic(err)
	}
	return f.users[0].Password
})

// sessionPath starts a session of a user without the form.
const sessionPath = "/test-session"

// serveConsole serves the console of a fake hub. All users have the same password.
func serveConsole(t *testing.T, f *fake) string {
	t.Helper()
	for i := range f.users {
		f.users[i].Password = passwordHash()
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	c := newConsole(f)
	assets.Mount(app)
	app.Get(shell.LivePath+"*", func(c *fiber.Ctx) error {
		if f.streamsDown.Load() {
			return c.SendStatus(503)
		}
		return c.Next()
	})
	app.Get("/favicon.ico", func(c *fiber.Ctx) error { return c.SendStatus(204) })
	app.Get(sessionPath, func(c *fiber.Ctx) error {
		token, err := newAccounts(f).SignInByProvider(c.UserContext(), c.Query("email"), "")
		shell.SessionCookie.Set(c, token, access.SessionLifetime)
		return err
	})
	c.Mount(app)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	base := browsertest.Serve(t, app)
	t.Cleanup(func() { cancel(); <-done })
	return base
}

// signIn signs in without the form.
func signIn(t *testing.T, browser *browsertest.Browser, base, email string) {
	t.Helper()
	at, err := url.Parse(base)
	require.NoError(t, err)
	browser.SetCookies(t, base, signedInClient(t, base, email).Jar.Cookies(at))
}

// emptyKinds are an empty page of each kind: the overview, the business, a list, cards, and forms.
var emptyKinds = []string{"", "business", "business-orders", "plugins", "business-settings"}

func TestEveryConsolePagePassesBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	full, bare, broken := fullHub(), emptyHub(), fullHub()
	bare.sessions, broken.sessions = full.sessions, full.sessions // one sign-in for all three hubs
	bare.mu, broken.mu = full.mu, full.mu
	fullBase, bareBase, brokenBase := serveConsole(t, full), serveConsole(t, bare), serveConsole(t, broken)
	signIn(t, browser, fullBase, "sam@example.com") // cookies ignore the port
	broken.broken = fmt.Errorf("reading: %w", context.DeadlineExceeded)
	views := browsertest.TwoViews()
	for _, hub := range []struct {
		name, base string
		pages      map[string]string
	}{{"full", fullBase, allPages(t, full)}, {"empty", bareBase, allPages(t, bare)},
		{"error", brokenBase, map[string]string{"overview": "", "jobs": "b/7/jobs/", "orders": "b/7/orders/",
			"plugins": "plugins/", "settings": "b/7/settings/"}}} {
		for name, path := range hub.pages {
			t.Run(hub.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				page := browser.Open(t, hub.base+shell.Root+path, browsertest.Views()[0])
				// The browser reports statuses. A login that another page began may be of a platform of another hub.
				if hub.name == "error" || name == "missing" || name == "history-item-none" ||
					name == "business-settings-login-done" {
					page.Ignore("Failed to load resource")
				}
				if hub.name == "full" {
					page.CheckViews(t, "console-"+hub.name+"-"+name, views...)
					return
				}
				// Less than the full page, except for a text: axe checks that of some pages, in one view.
				page.SetView(t, views[1])
				page.CheckLayout(t)
				if hub.name == "empty" && !slices.Contains(emptyKinds, name) {
					page.SetView(t, views[0])
					page.CheckLayout(t)
					page.Close()
					return
				}
				page.CheckViews(t, "console-"+hub.name+"-"+name, views[0])
			})
		}
	}
}

// providerStub is an identity provider.
type providerStub struct{ signin.Provider }

func TestSignInPagesPassBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	withProvider := emptyHub()
	withProvider.provider = providerStub{}
	base, providerBase := serveConsole(t, emptyHub()), serveConsole(t, withProvider)
	for name, address := range map[string]string{"sign-in": base + shell.SignInPath,
		"welcome": base + shell.WelcomePath + "?link=x", "provider": providerBase + shell.SignInPath} {
		t.Run(name, func(t *testing.T) {
			browser.Open(t, address, browsertest.Views()[0]).CheckViews(t, "console-public-"+name,
				browsertest.TwoViews()...)
		})
	}
	t.Run("signed in without JavaScript", func(t *testing.T) {
		view := browsertest.Views()[0]
		view.NoScript = true
		browser.Open(t, base+shell.SignInPath, view).Do(t,
			chromedp.SendKeys(chromedp.CSS("#email"), "sam@example.com"),
			chromedp.SendKeys(chromedp.CSS("#password"), password),
			chromedp.Click(chromedp.CSS("button.button-main")),
			chromedp.WaitReady(chromedp.CSS("h1")),
			chromedp.WaitReady(chromedp.CSS(".console-body")),
		)
	})
}

func TestPagesRefreshUnlessRowsAreSelected(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	change := func(words string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.deliveries[0].LastError = words
		f.changes++
	}
	page := browser.Open(t, base+shell.Root+"b/7/deliveries/", browsertest.Views()[0])
	page.Wait(t, `htmx && document.querySelector("#live")._htmx?.sse?.reader != null`)
	change("first")
	page.Wait(t, `document.querySelector("main").innerText.includes("first")`)
	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[type=checkbox]")))
	change("second")
	page.Wait(t, `!document.querySelector("[data-paused]").hidden`)
	assert.NotContains(t, mainText(t, page), "second")
	page.Do(t, chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[type=checkbox]")))
	page.Wait(t, `document.querySelector("main").innerText.includes("second")`)
	assert.Empty(t, page.Problems())
}

func TestConsoleWorksByKeyboardAlone(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/webhooks/3/", browsertest.Views()[0])
	var seen []string
	for range 60 {
		page.Do(t, chromedp.KeyEvent("\t"))
		focus := browsertest.Eval[string](t, page,
			`(() => { const e = document.activeElement; const o = getComputedStyle(e);
			return (o.outlineStyle === "none" ? "UNSEEN " : "") + (e.innerText || e.getAttribute("aria-label") || `+
				`e.name || e.tagName).trim(); })()`)
		seen = append(seen, focus)
		if focus == "Pause" {
			break
		}
	}
	all := strings.Join(seen, "|")
	assert.Contains(t, all, "Skip to content")
	assert.Contains(t, all, "Search for any id")
	assert.Contains(t, all, "Deliveries")
	require.Contains(t, all, "Pause")
	assert.NotContains(t, all, "UNSEEN")
	page.Do(t, chromedp.KeyEvent("\r"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("moved"), chromedp.KeyEvent("\r"),
		chromedp.WaitVisible(chromedp.CSS(".flash")))
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.done, 1)
	assert.Equal(t, "webhook.pause", f.done[0].Action)
}
