// Package browsertest lets tests look at pages in a real browser: it starts one
// Chromium for the tests of a package, opens pages in a given size and colour scheme, collects what the
// console and the content security policy complain of, and runs axe-core.
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

// timeout bounds every wait for the browser.
const timeout = 60 * time.Second

// flags keep Chromium quiet: no window, no updates, no traffic of its own.
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
}

// chromium is the one that the tests of this process share, until Main stops it.
var chromium struct {
	sync.Mutex
	context context.Context
	stop    func()
}

// Main runs the tests of a package, which share one Chromium, and stops it. A
// package whose tests call Start has it as its TestMain.
func Main(m *testing.M) {
	mainRan.Store(true)
	status := m.Run()
	chromium.Lock()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(status)
}

// mainRan is set where Main stops Chromium.
var mainRan atomic.Bool

// launch starts Chromium, or joins the one that runs.
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

// Browser is a profile of its own in a running Chromium: no cookie and nothing stored
// is shared with other tests.
type Browser struct {
	context context.Context
	mu      sync.Mutex
	free    []*tab // to open pages in: a tab of its own costs three times as much as the page
}

// Start gives a test a browser, until it ends. Where there is no Chromium the test is
// skipped, in CI it fails.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := chromiumPath()
	if path == "" {
		const missing = "there is no Chromium on this machine: install it with apt-get install chromium, or name it " +
			"in CHROMIUM"
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

// chromiumPath is the path of Chromium, "" where there is none.
func chromiumPath() string {
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
