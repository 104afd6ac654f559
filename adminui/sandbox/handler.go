// Package sandbox lets simulated customers of a business in test mode order, lets
// its simulated aggregators fail, and shows how that goes.
package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Playground plays scenarios, one of a business at a time, and switches faults.
type Playground interface {
	// Simulated are the platforms that are simulated; none: the business is not in test mode.
	Simulated(ctx context.Context, business core.BusinessID) ([]string, error)
	Play(ctx context.Context, business core.BusinessID, s console.Scenario, change access.Change) error
	Latest(ctx context.Context, business core.BusinessID) (played console.Played, found bool, err error)
	Faults
}

// Pages are the page of the sandbox.
type Pages struct {
	Playground Playground
}

// Page describes the page.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "sandbox/"
	return shell.Page{Path: path, Label: text.Sandbox,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Show),
			shell.Post(path, access.Support, p.Play),
			shell.Post(path+"faults/", access.Support, p.SwitchFault),
			shell.Post(path+"faults/off/", access.Support, p.ClearFaults),
		},
		Done: map[string]string{"playing": text.SandboxBegun, "fault": text.FaultSwitched,
			"faults_off": text.FaultsCleared}}
}

// Show shows what can be played, what was played last, and which faults are on.
func (p Pages) Show(c *fiber.Ctx, v *shell.PageContext) error {
	simulated, err := p.Playground.Simulated(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Sandbox, Note: text.SandboxNote, Live: true}
	if len(simulated) == 0 {
		head.Causes = []ui.Cause{{State: ui.Neutral, Text: text.SandboxNone}}
		return v.Show(c, head, templ.NopComponent)
	}
	played, found, err := p.Playground.Latest(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	banner, faults, err := p.faults(c, v)
	if err != nil {
		return err
	}
	head.Causes = append(head.Causes, banner...)
	if faults != nil {
		head.Above = append(head.Above, faults)
	}
	if found {
		head.Causes = append(head.Causes, told(played))
		head.Causes = append(head.Causes, arrived(v, played)...)
		head.Above = append(head.Above, ui.FiguresOf(figures(v, played)))
	} else {
		head.Causes = append(head.Causes, ui.Cause{State: ui.Neutral, Text: text.SandboxReady})
	}
	if v.MayAct() {
		if !found || !played.Ended.IsZero() {
			head.Buttons = buttons(v.Link("sandbox/"), played.Scenario)
		}
		head.Buttons = append(head.Buttons, faultButton(v.Link("sandbox/faults/"), simulated))
	}
	list, keys := calls(played)
	return v.Listed(c, head, list, "after", keys)
}

// calls are how the calls of a scenario fared.
func calls(played console.Played) (list ui.List, keys []string) {
	list = ui.List{Name: text.Calls, EmptyTitle: text.PlayCallsTitle, EmptyText: text.PlayCallsText,
		Columns: []ui.Column{{Label: text.Call}, {Label: text.LastAnswer, Kind: ui.Wide},
			{Label: text.Count, Kind: ui.Figure}, {Label: text.CallsFailed, Kind: ui.Figure},
			{Label: text.PlayAnsweredFast, Kind: ui.Figure}, {Label: text.PlayAnswered, Kind: ui.Figure}}}
	for _, call := range played.Calls {
		keys = append(keys, call.Name)
		list.Rows = append(list.Rows,
			ui.Row{Cells: []ui.Cell{ui.T(call.Name), ui.T(call.Said), ui.T(ui.Number(call.Count)),
				ui.T(ui.Number(call.Failed)), ui.T(ui.Took(call.P50)), ui.T(ui.Took(call.P99))}})
	}
	return list, keys
}

func told(p console.Played) ui.Cause {
	cause := ui.Cause{State: ui.OK, Text: text.SandboxRan}
	switch {
	case p.Failure != "":
		cause = ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.SandboxFailed, p.Failure)}
	case p.Ended.IsZero():
		cause = ui.Cause{State: ui.Run, Text: text.SandboxRuns}
	}
	cause.Text = fmt.Sprintf(text.SandboxAbout, text.Plays[p.Kind], ui.Count(p.Count, text.OneOrder, text.Orders_),
		p.Store, p.Seed) + " " +
		cause.Text
	return cause
}

// arrived is what is wrong with the webhooks of a scenario's orders.
func arrived(v *shell.PageContext, p console.Played) (list []ui.Cause) {
	a, link := p.Arrivals, v.Link("deliveries/?event="+string(core.OrderPlaced)+"&state=")
	if a.Failed > 0 {
		list = append(list, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.ArrivedNot, ui.Number(a.Failed)),
			Link: ui.Link{Href: link + "failed", Label: text.ArrivedLook}})
	}
	if a.Retried > 0 {
		list = append(list, ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.ArrivedRetry, ui.Number(a.Retried)),
			Link: ui.Link{Href: link + "pending", Label: text.ArrivedLook}})
	}
	if a.Orders > 0 && a.Arrived+a.Failed+a.Waiting == 0 {
		list = append(list, ui.Cause{State: ui.Warn, Text: text.ArrivedNone,
			Link: ui.Link{Href: v.Link("webhooks/"), Label: text.Webhooks}})
	}
	if a.Known > 0 {
		list = append(list, ui.Cause{State: ui.Neutral, Text: fmt.Sprintf(text.ArrivedKnown, ui.Number(a.Known))})
	}
	return list
}

// figures are how the webhooks of a scenario's orders fared.
func figures(v *shell.PageContext, p console.Played) []ui.Figured {
	a := p.Arrivals
	took := func(d time.Duration) string {
		if a.Arrived == 0 {
			return "–"
		}
		return ui.Took(d)
	}
	failed := ui.Figured{Label: text.ArrivedFailed, Value: ui.Number(a.Failed),
		Note: fmt.Sprintf(text.ArrivedWaiting, ui.Number(a.Waiting))}
	if a.Failed > 0 {
		failed.State, failed.Href = ui.Err, v.Link("deliveries/?event="+string(core.OrderPlaced)+"&state=failed")
	}
	return []ui.Figured{
		{Label: text.Arrived, Value: ui.Number(a.Arrived),
			Note: fmt.Sprintf(text.ArrivedOf,
				ui.Count(a.Arrived+a.Failed+a.Waiting, text.OneDelivery, text.Deliveries_),
				ui.Count(a.Orders, text.OneOrder, text.Orders_))},
		failed,
		{Label: text.ArrivedFast, Value: took(a.P50), Note: text.ArrivedSince},
		{Label: text.ArrivedIn, Value: took(a.P99), Note: text.ArrivedSince},
	}
}

// Play begins a scenario; what is refused comes back as it was typed.
func (p Pages) Play(c *fiber.Ctx, v *shell.PageContext) error {
	f := form{c: c}
	s := console.Scenario{Kind: f.text("kind"), Store: f.text("store"), Platform: f.text("platform"),
		Count: f.whole("count", text.PlayCount),
		Rate:  f.number("rate", text.PlayRate), Seed: f.seed("seed", text.PlaySeed)}
	switch s.Kind {
	case "rider":
		s.Places, s.Step = f.whole("places", text.PlayPlaces), f.seconds("step", text.PlayStep)
	case "cancel":
		s.Share = f.number("share", text.PlayShare) / 100
	}
	if f.err == nil {
		f.err = p.Playground.Play(c.UserContext(), v.Business.ID, s, v.Change(c, "sandbox.play"))
	}
	if f.err != nil {
		return v.Again(c, f.err, v.Link("sandbox/"), p.Show)
	}
	return shell.Then(c, v.Link("sandbox/"), "playing")
}

// form reads the fields of a form; err is the first that is no number.
type form struct {
	c   *fiber.Ctx
	err error
}

func (f *form) text(name string) string { return strings.TrimSpace(shell.Field(f.c, name)) }

func (f *form) wrong(err error, label string) {
	if err != nil && f.err == nil {
		name, _, _ := strings.Cut(label, ";") // without what the label explains
		f.err = core.Errorf(core.Invalid, text.PlayNumber, name)
	}
}

func (f *form) whole(name, label string) int {
	n, err := strconv.Atoi(f.text(name))
	f.wrong(err, label)
	return n
}

func (f *form) number(name, label string) float64 {
	n, err := strconv.ParseFloat(f.text(name), 64)
	if n != n {
		err = strconv.ErrSyntax
	}
	f.wrong(err, label)
	return n
}

func (f *form) seconds(name, label string) time.Duration {
	return time.Duration(min(max(f.number(name, label), -1), 1e6) * float64(time.Second))
}

// seed reads one that may be left out.
func (f *form) seed(name, label string) uint64 {
	if f.text(name) == "" {
		return 0
	}
	n, err := strconv.ParseUint(f.text(name), 10, 53)
	f.wrong(err, label)
	return n
}
