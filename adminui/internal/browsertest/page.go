package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// View is how a page is looked at.
type View struct {
	Name          string // of subtests and of files
	Width, Height int64
	Dark          bool
	NoScript      bool
	Print         bool
	ForcedColours bool // the visitor's own colours go before the page's
}

// Views are the four ways in which every page must hold: wide and narrow, light
// and dark.
func Views() []View {
	return []View{
		{Name: "wide-light", Width: 1280, Height: 900},
		{Name: "wide-dark", Width: 1280, Height: 900, Dark: true},
		{Name: "narrow-light", Width: 390, Height: 844},
		{Name: "narrow-dark", Width: 390, Height: 844, Dark: true},
	}
}

// Step is something to do in a page: chromedp.Click(chromedp.CSS("a")), chromedp.WaitVisible, …
type Step = chromedp.Action[chromedp.Void]

// tab is a tab of Chromium, which shows one page after the other.
type tab struct {
	context context.Context
	page    atomic.Pointer[Page] // nil between pages
}

// Page is an open page.
type Page struct {
	context  context.Context
	close    func()
	mu       sync.Mutex
	problems []string
}

// Open opens a page in a tab that no other open page has, until the test ends.
func (b *Browser) Open(t *testing.T, url string, view View) *Page {
	t.Helper()
	shown := b.acquire(t)
	p := &Page{context: shown.context}
	p.close = sync.OnceFunc(func() { b.release(shown) })
	t.Cleanup(p.close)
	shown.page.Store(p)
	p.SetView(t, view)
	p.Do(t,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: view.NoScript}),
		chromedp.Navigate(url),
		chromedp.WaitReady(chromedp.CSS("main")),
	)
	return p
}

// acquire takes a tab that is free, or opens one.
func (b *Browser) acquire(t *testing.T) *tab {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		taken := b.free[last]
		b.free = b.free[:last]
		return taken
	}
	opened, _ := chromedp.NewContext(b.context) // ends with the profile
	taken, err := newTab(opened)
	if err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	return taken
}

// newTab opens a tab, whose life ends with the context.
func newTab(opened context.Context) (*tab, error) {
	made := &tab{context: opened}
	if err := chromedp.Listen(opened, func(event any) {
		if p := made.page.Load(); p != nil {
			p.listen(event)
		}
	}); err != nil {
		return nil, err
	}
	return made, chromedp.Do(opened, command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}))
}

// release frees a tab for another page; one that does not leave its page is given up.
func (b *Browser) release(shown *tab) {
	shown.page.Store(nil)
	ctx, cancel := context.WithTimeout(shown.context, timeout)
	defer cancel()
	if err := chromedp.Do(ctx,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{}),
		command(runtime.Evaluate, runtime.EvaluateParams{Expression: `sessionStorage.clear()`}),
		chromedp.Navigate("about:blank"),
	); err != nil {
		_ = chromedp.Cancel(shown.context)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, shown)
}

// SetView changes the size of the window and the colour scheme.
func (p *Page) SetView(t *testing.T, view View) {
	t.Helper()
	scheme, media, forced := "light", "", "none"
	if view.Dark {
		scheme = "dark"
	}
	if view.Print {
		media = "print"
	}
	if view.ForcedColours {
		forced = "active"
	}
	p.Do(t,
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: view.Width, Height: view.Height, DeviceScaleFactor: 1,
		}),
		command(emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
				{Name: "forced-colors", Value: forced},
			}}),
	)
}

// command is a command of the protocol as a step.
func command[P, R any](c cdp.Command[P, R], params P) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// listen collects errors of the console, uncaught exceptions, refused requests
// and violations of the content security policy.
func (p *Page) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			problem += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			words := []string{"console:"}
			for _, argument := range e.Args {
				words = append(words, string(argument.Value))
			}
			problem = strings.Join(words, " ")
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

// Do takes steps one after the other, and fails the test when one fails or takes too long.
func (p *Page) Do(t *testing.T, steps ...Step) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.context, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

// Eval is the value of a JavaScript expression in the page; a promise is waited for.
func Eval[T any](t *testing.T, p *Page, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.context, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
	return value
}

// Problems are what the browser complained of so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Screenshot writes a picture of the whole page to the folder that
// SERVERY_SCREENSHOTS names; without it nothing is done.
func (p *Page) Screenshot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("SERVERY_SCREENSHOTS")
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.context, timeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Ignore takes back what the browser complained of so far with these words in
// it: what the test expects.
func (p *Page) Ignore(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = slices.DeleteFunc(p.problems, func(problem string) bool { return strings.Contains(problem, words) })
}

// Close leaves the page before the test's end: another one is opened in its tab.
func (p *Page) Close() { p.close() }

// Wait waits until a JavaScript condition holds in the page.
func (p *Page) Wait(t *testing.T, condition string) {
	t.Helper()
	Eval[bool](t, p, `new Promise((done, late) => {
		const until = Date.now() + 30000;
		const look = () => {
			let holds = false;
			try { holds = Boolean(`+condition+`); } catch {}
			if (holds) return done(true);
			if (Date.now() > until) return late(new Error("still not so"));
			setTimeout(look, 20);
		};
		look();
	})`)
}
