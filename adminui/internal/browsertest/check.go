package browsertest

import (
	_ "embed"
	"fmt"
	"strconv"
	"testing"
)

// axe is axe-core, which finds accessibility problems. Its license is in the directory axe.
//
//go:embed axe/axe.min.js
var axe string

// violation is a rule of axe that a page violates.
type violation struct {
	ID     string `json:"id"`
	Help   string `json:"help"`
	Impact string `json:"impact"`
	Nodes  []struct {
		Target         []string `json:"target"`
		FailureSummary string   `json:"failureSummary"`
	} `json:"nodes"`
}

// Check fails the test on problems reported by the browser, violations of WCAG 2.2 AA or best practices, layout
// shifts, and horizontal overflow.
func (p *Page) Check(t *testing.T) { t.Helper(); p.check(t, "html", everyRule) }

// CheckLong is Check for pages too long for contrast checks. It checks contrast only in part, a selector.
func (p *Page) CheckLong(t *testing.T, part string) {
	t.Helper()
	p.check(t, "html", everyRule+`, rules: {"color-contrast": {enabled: false}}`)
	p.check(t, part, `["color-contrast"]`)
}

// CheckPart is Check with axe limited to a selector.
func (p *Page) CheckPart(t *testing.T, selector string) { t.Helper(); p.check(t, selector, everyRule) }

// CheckViews checks a page in each view, takes screenshots with the name as prefix, and closes the page. In a dark
// view only colours differ, so other rules run once per width.
func (p *Page) CheckViews(t *testing.T, name string, views ...View) {
	t.Helper()
	checkedWidths := map[int64]bool{}
	for _, view := range views {
		t.Run(view.Name, func(t *testing.T) {
			p.SetView(t, view)
			p.Screenshot(t, name+"-"+view.Name)
			if view.Dark && checkedWidths[view.Width] {
				p.check(t, "html", `["color-contrast"]`)
				return
			}
			p.Check(t)
			checkedWidths[view.Width] = true
		})
	}
	p.Close()
}

// everyRule selects WCAG 2.2 AA and the best practices of axe.
const everyRule = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`

func (p *Page) check(t *testing.T, part, rules string) {
	t.Helper()
	p.CheckLayout(t)
	if !Eval[bool](t, p, `typeof axe !== "undefined"`) {
		if _, err := evaluate[int](p, axe+`;window.axe = axe;0`); err != nil {
			t.Fatalf("in the browser: %v", err)
		}
	}
	found := Eval[[]violation](t, p, `axe.run(`+strconv.Quote(part)+`, {
		resultTypes: ["violations"], runOnly: `+rules+`,
	}).then((result) => result.violations)`)
	for _, v := range found {
		t.Errorf("axe: %s (%s, %s): %s", v.Help, v.ID, v.Impact, v.locations())
	}
}

// CheckLayout is Check without axe.
func (p *Page) CheckLayout(t *testing.T) {
	t.Helper()
	for _, problem := range p.Problems() { // before axe runs, which may cause problems itself
		t.Errorf("the browser reports: %s", problem)
	}
	if shift := Eval[float64](t, p, layoutShiftScript); shift > maxShift {
		t.Errorf("the layout shifts by %.3f while the page loads", shift)
	}
	wide := Eval[string](t, p, `(() => {
		const room = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= room) return "";
		const widest = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > `+
		`room + 1);
		return document.documentElement.scrollWidth + " px: " + widest.slice(0, 3).map((e) => e.outerHTML.slice(0,`+
		` 120)).join(" | ");
	})()`)
	if wide != "" {
		t.Errorf("the page is wider than the window, %s", wide)
	}
}

// maxShift is the allowed Cumulative Layout Shift of a page.
const maxShift = 0.1

// layoutShiftScript returns the Cumulative Layout Shift before the first change of the view.
const layoutShiftScript = `new Promise((done) => {
	let sum = 0;
	const add = (list) => {
		for (const e of list) if (!e.hadRecentInput && !(e.startTime >= window.resizedAt)) sum += e.value;
	};
	const watcher = new PerformanceObserver((list) => add(list.getEntries()));
	watcher.observe({ type: "layout-shift", buffered: true });
	requestAnimationFrame(() => requestAnimationFrame(() => { add(watcher.takeRecords()); done(sum); }));
})`

// locations lists the first elements with the violation.
func (v violation) locations() (list string) {
	for i, node := range v.Nodes {
		if i == 3 {
			return list + fmt.Sprintf("and %d more", len(v.Nodes)-3)
		}
		list += fmt.Sprintf("%v: %s; ", node.Target, node.FailureSummary)
	}
	return list
}
