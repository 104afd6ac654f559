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

// View is a window size with display settings.
type View struct {
	Name          string // name of subtests and screenshots
	Width, Height int64
	Dark          bool
	NoScript      bool
	Print         bool
	ForcedColours bool // forced-colors mode
}

// Views returns the views of every page: wide and narrow, light and dark.
func Views() []View {
	return []View{
		{Name: "wide-light", Width: 1280, Height: 900},
		{Name: "wide-dark", Width: 1280, Height: 900, Dark: true},
		{Name: "narrow-light", Width: 390, Height: 844},
		{Name: "narrow-dark", Width: 390, Height: 844, Dark: true},
	}
}

// TwoViews returns a view of each width, in different colour schemes. Few rules of axe depend on both.
func TwoViews() []View { return []View{Views()[0], Views()[3]} }

// Step is a browser action, such as chromedp.Click(chromedp.CSS("a")).
type Step = chromedp.Action[chromedp.Void]

// tab is a Chromium tab. It shows one page at a time.
type tab struct {
	context context.Context
	page    atomic.Pointer[Page] // nil between pages
}

type Page struct {
	context  context.Context
	close    func()
	mu       sync.Mutex
	problems []string
	ignored  []string // words of expected problems
}

// Open opens a page in a free tab and closes it when the test ends.
func (b *Browser) Open(t *testing.T, url string, view View) *Page {
	t.Helper()
	tab := b.acquire(t)
	p := &Page{context: tab.context}
	p.close = sync.OnceFunc(func() { b.release(tab) })
	t.Cleanup(p.close)
	tab.page.Store(p)
	p.SetView(t, view)
	p.Do(t,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: view.NoScript}),
		chromedp.Navigate(url),
		chromedp.WaitReady(chromedp.CSS("main")),
	)
	return p
}

// acquire returns a free tab, or opens one.
func (b *Browser) acquire(t *testing.T) *tab {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		free := b.free[last]
		b.free = b.free[:last]
		return free
	}
	opened, _ := chromedp.NewContext(b.context) // closed with Chromium
	free, err := newTab(opened)
	if err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	return free
}

// newTab opens a tab that is closed when ctx ends.
func newTab(ctx context.Context) (*tab, error) {
	created := &tab{context: ctx}
	if err := chromedp.Listen(ctx, func(event any) {
		if p := created.page.Load(); p != nil {
			p.listen(event)
		}
	}); err != nil {
		return nil, err
	}
	return created, chromedp.Do(ctx, command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}))
}

// release returns a tab to the free list. A tab that does not leave its page is closed.
func (b *Browser) release(used *tab) {
	used.page.Store(nil)
	ctx, cancel := context.WithTimeout(used.context, timeout)
	defer cancel()
	if err := chromedp.Do(ctx,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{}),
		command(runtime.Evaluate, runtime.EvaluateParams{Expression: `sessionStorage.clear()`}),
		leave,
	); err != nil {
		_ = chromedp.Cancel(used.context)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, used)
}

// leave opens a missing page of the same server. Chromium starts a process for a page after about:blank, which takes a
// fifth of all processor time of a test of many pages.
var leave = chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
	origin, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.origin"))
	if err != nil {
		return err
	}
	return chromedp.Do(ctx, chromedp.Navigate(origin+"/no-such-page"))
})

// SetView changes the window size and display settings.
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
		command(runtime.Evaluate, runtime.EvaluateParams{Expression: `window.resizedAt ??= performance.now()`}),
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

// command wraps a DevTools command as a step.
func command[P, R any](c cdp.Command[P, R], params P) Step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// listen records console errors, uncaught exceptions, failed requests and violations of the content security
// policy.
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
	p.mu.Lock()
	defer p.mu.Unlock()
	expected := slices.ContainsFunc(p.ignored, func(words string) bool { return strings.Contains(problem, words) })
	if problem != "" && !expected {
		p.problems = append(p.problems, problem)
	}
}

// Do runs steps in order. It fails the test on an error or timeout.
func (p *Page) Do(t *testing.T, steps ...Step) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.context, timeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

// Eval evaluates a JavaScript expression once the page has loaded. It awaits promises.
func Eval[T any](t *testing.T, p *Page, expression string) T {
	t.Helper()
	value, err := evaluate[T](p, `(() => {
		const value = () => (`+expression+`);
		if (document.readyState === "complete") return value();
		return new Promise((done) => addEventListener("load", done, { once: true })).then(value);
	})()`)
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
	return value
}

func evaluate[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.context, timeout)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Problems returns the problems reported so far.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Screenshot writes a picture of the page to the directory in SERVERY_SCREENSHOTS. It does nothing if the variable
// is not set.
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

// Ignore drops expected problems that contain words, those reported so far and later ones.
func (p *Page) Ignore(words string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ignored = append(p.ignored, words)
	p.problems = slices.DeleteFunc(p.problems, func(problem string) bool { return strings.Contains(problem, words) })
}

// Close frees the tab before the test ends.
func (p *Page) Close() { p.close() }

// navigated is in the error of an evaluation whose page is left.
const navigated = "Inspected target navigated"

// Wait waits until a JavaScript condition holds, on whichever page the browser navigates to meanwhile. The page has
// loaded then.
func (p *Page) Wait(t *testing.T, condition string) {
	t.Helper()
	for {
		_, err := evaluate[bool](p, `new Promise((done, late) => {
			const until = performance.now() + 30000;
			const look = () => {
				let holds = false;
				try { holds = document.readyState === "complete" && Boolean(`+condition+`); } catch {}
				if (holds) return done(true);
				if (performance.now() > until) return late(new Error("still not so"));
				setTimeout(look, 20);
			};
			look();
		})`)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), navigated) {
			t.Fatalf("in the browser: %v", err)
		}
	}
}
