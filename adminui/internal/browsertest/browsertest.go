// Package browsertest lets tests look at pages in a real browser: it starts
// Chromium, opens pages in a given size and colour scheme, collects what the
// console and the content security policy complain of, and runs axe-core.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience bounds every wait for the browser.
const patience = 60 * time.Second

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

// Browser is a running Chromium.
type Browser struct{ context context.Context }

// Start starts Chromium for a test and stops it at the test's end. Where there
// is no Chromium the test is skipped, in CI it fails.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := executable()
	if path == "" {
		const missing = "there is no Chromium on this machine: install it with apt-get install chromium, or name it in CHROMIUM"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	options := append([]chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}, flags...)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	browser, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(browser); err != nil { // binds the life of Chromium to the test
		t.Fatalf("starting %s: %v", path, err)
	}
	return &Browser{browser}
}

// executable is the path of Chromium, "" where there is none.
func executable() string {
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
