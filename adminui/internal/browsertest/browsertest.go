// Package browsertest opens pages in Chromium and runs axe-core on them. The tests of a package share one
// Chromium. It collects errors of the console and violations of the content security policy.
package browsertest

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// timeout limits every wait for the browser.
const timeout = 2 * time.Minute

// flags disable windows, updates and background traffic of Chromium.
var flags = []chromedp.ExecAllocatorOption{
	chromedp.NoFirstRun,
	chromedp.NoDefaultBrowserCheck,
	chromedp.Headless,
	chromedp.NoSandbox,
	chromedp.DisableGPU,
	chromedp.Flag("hide-scrollbars", true),
	chromedp.Flag("disable-background-networking", true),
	chromedp.Flag("disable-component-update", true),
	chromedp.Flag("disable-default-apps", true),
	chromedp.Flag("disable-dev-shm-usage", true),
	chromedp.Flag("disable-extensions", true),
	chromedp.Flag("disable-sync", true),
	chromedp.Flag("disable-quic", true),
	chromedp.Flag("metrics-recording-only", true),
	chromedp.Flag("js-flags", "--max-opt=1"), // each page runs its scripts once, so they are not worth optimizing
}

// chromium is shared by all tests of the process, until Main stops it.
var chromium struct {
	sync.Mutex
	browser *Browser
	stop    func()
}

// Main runs the tests of a package and stops Chromium. It is the TestMain of every package whose tests call Start.
func Main(m *testing.M) {
	mainRan.Store(true)
	status := m.Run()
	chromium.Lock()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(status)
}

// mainRan is set by Main. Start requires it.
var mainRan atomic.Bool

// launch starts Chromium unless it runs already.
func launch(path string) (*Browser, error) {
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.browser != nil {
		return chromium.browser, nil
	}
	options := append([]chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.WSURLReadTimeout(timeout)},
		flags...)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	running, closeBrowser := chromedp.NewContext(allocator)
	chromium.stop = func() { closeBrowser(); stop() }
	if err := chromedp.Do(running); err != nil {
		chromium.stop()
		return nil, err
	}
	chromium.browser = &Browser{context: running}
	return chromium.browser, nil
}

// Browser is Chromium with one profile. Its tests run one after another, and share no cookies or storage: each server
// has another origin.
type Browser struct {
	context context.Context
	mu      sync.Mutex
	free    []*tab // idle tabs; opening a tab costs three times as much as opening a page
}

// Start returns a browser without cookies. Without Chromium it skips the test, but fails it in CI.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := chromiumPath()
	if path == "" {
		const missing = "there is no Chromium on this machine: install it with apt-get install " +
			"chromium-headless-shell, or name it in CHROMIUM"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	if !mainRan.Load() {
		t.Fatal("the package's TestMain must be browsertest.Main, which stops Chromium")
	}
	browser, err := launch(path)
	if err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	browser.do(t, command(network.ClearBrowserCookies, cdp.Empty{}))
	return browser
}

// SetCookies sets cookies of the server of a URL. Cookies ignore the port.
func (b *Browser) SetCookies(t *testing.T, url string, cookies []*http.Cookie) {
	t.Helper()
	hidden := true // from scripts
	for _, cookie := range cookies {
		b.do(t, command(network.SetCookie,
			network.SetCookieParams{URL: url, Name: cookie.Name, Value: cookie.Value, HTTPOnly: &hidden}))
	}
}

func (b *Browser) do(t *testing.T, step Step) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.context, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, step); err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

// chromiumPath returns the path of Chromium, or "". It prefers the headless shell, which needs 40 % less processor
// time.
func chromiumPath() string {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
		"google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
