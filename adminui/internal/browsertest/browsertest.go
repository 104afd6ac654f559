// Package browsertest opens pages in Chromium and runs axe-core on them. The tests of a package share one
// Chromium. It collects errors of the console and violations of the content security policy.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	context context.Context
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
func launch(path string) (context.Context, error) {
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.context != nil {
		return chromium.context, nil
	}
	options := append([]chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}, flags...)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	chromium.stop = func() { closeBrowser(); stop() }
	if err := chromedp.Do(browser); err != nil {
		chromium.stop()
		return nil, err
	}
	chromium.context = browser
	return browser, nil
}

// Browser is a separate Chromium profile. Tests share no cookies or storage.
type Browser struct {
	context context.Context
	mu      sync.Mutex
	free    []*tab // idle tabs; opening a tab costs three times as much as opening a page
}

// Start returns a browser that is closed when the test ends. Without Chromium it skips the test, but fails it in
// CI.
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
	running, err := launch(path)
	if err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	profile, end := chromedp.NewContext(running, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	first, err := newTab(profile)
	if err != nil {
		t.Fatalf("opening a profile: %v", err)
	}
	return &Browser{context: profile, free: []*tab{first}}
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
