// Package sandbox runs scenarios of simulated customers in a business in test mode, injects faults into its simulated
// aggregators, and shows the results.
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

// Runner runs one scenario of a business at a time, and controls its faults.
type Runner interface {
	// SimulatedPlatforms returns the simulated platforms. There are none if the business is not in test mode.
	SimulatedPlatforms(ctx context.Context, business core.BusinessID) ([]string, error)
	StartScenario(ctx context.Context, business core.BusinessID, s console.Scenario, change access.Change) error
	LatestRun(ctx context.Context, business core.BusinessID) (played console.ScenarioRun, found bool, err error)
	Faults
}

// Pages is the page of the sandbox.
type Pages struct {
	Runner Runner
}

// Page returns the descriptor of the page.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "sandbox/"
	return shell.Page{Path: path, Label: text.Sandbox,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Show),
			shell.Post(path, access.Support, p.StartScenario),
			shell.Post(path+"faults/", access.Support, p.InjectFault),
			shell.Post(path+"faults/off/", access.Support, p.ClearFaults),
		},
		Done: map[string]string{"playing": text.SandboxStarted, "fault": text.FaultStarted,
			"faults_off": text.FaultsCleared}}
}

// Show shows the latest scenario, the active faults and the scenarios that can be started.
func (p Pages) Show(c *fiber.Ctx, v *shell.PageContext) error {
	simulated, err := p.Runner.SimulatedPlatforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Sandbox, Note: text.SandboxNote, Live: true}
	if len(simulated) == 0 {
		head.Causes = []ui.Cause{{State: ui.Neutral, Text: text.SandboxNone}}
		return v.Show(c, head, templ.NopComponent)
	}
	played, found, err := p.Runner.LatestRun(c.UserContext(), v.Business.ID)
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
		head.Causes = append(head.Causes, runCause(played))
		head.Causes = append(head.Causes, deliveryCauses(v, played)...)
		head.Above = append(head.Above, ui.FiguresOf(figures(v, played)))
	} else {
		head.Causes = append(head.Causes, ui.Cause{State: ui.Neutral, Text: text.SandboxReady})
	}
	if v.MayAct() {
		if !found || !played.EndedAt.IsZero() {
			head.Buttons = buttons(v.Link("sandbox/"), played.Scenario)
		}
		head.Buttons = append(head.Buttons, faultButton(v.Link("sandbox/faults/"), simulated))
	}
	return v.ShowList(c, head, callList(played), "after")
}

// callList returns the statistics of a scenario's calls.
func callList(played console.ScenarioRun) ui.List {
	list := ui.List{Name: text.Calls, EmptyTitle: text.ScenarioCallsTitle, EmptyText: text.ScenarioCallsText,
		Columns: []ui.Column{{Label: text.Call}, {Label: text.LastResponse, Kind: ui.Wide},
			{Label: text.Count, Kind: ui.Figure}, {Label: text.CallsFailed, Kind: ui.Figure},
			{Label: text.ResponseP50, Kind: ui.Figure}, {Label: text.ResponseP99, Kind: ui.Figure}}}
	for _, call := range played.Calls {
		list.AddAt(call.Name, ui.T(call.Name), ui.T(call.LastResponse), ui.T(ui.Number(call.Count)),
			ui.T(ui.Number(call.Failed)), ui.T(ui.Took(call.P50)), ui.T(ui.Took(call.P99)))
	}
	return list
}

func runCause(p console.ScenarioRun) ui.Cause {
	cause := ui.Cause{State: ui.OK, Text: text.SandboxRan}
	switch {
	case p.Failure != "":
		cause = ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.SandboxFailed, p.Failure)}
	case p.EndedAt.IsZero():
		cause = ui.Cause{State: ui.Run, Text: text.SandboxRuns}
	}
	cause.Text = fmt.Sprintf(text.SandboxAbout, text.ScenarioNames[p.Kind],
		ui.Count(p.Count, text.OneOrder, text.Orders_), p.Store, p.Seed) + " " +
		cause.Text
	return cause
}

// deliveryCauses returns the problems of the webhook deliveries of a scenario's orders.
func deliveryCauses(v *shell.PageContext, p console.ScenarioRun) (list []ui.Cause) {
	a, link := p.Deliveries, v.Link("deliveries/?event="+string(core.OrderPlaced))
	if a.Failed > 0 {
		list = append(list, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseOrdersFailed, ui.Number(a.Failed)),
			Link: ui.Link{Href: link + "&state=failed", Label: text.ActSeeDeliveries}})
	}
	if a.Retried > 0 {
		list = append(list, ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseOrdersRetried, ui.Number(a.Retried)),
			Link: ui.Link{Href: link, Label: text.ActSeeDeliveries}}) // some pending, some held, some delivered by now
	}
	if a.NewOrders > 0 && a.Delivered+a.Failed+a.Waiting == 0 {
		list = append(list, ui.Cause{State: ui.Warn, Text: text.CauseOrdersNotSent,
			Link: ui.Link{Href: v.Link("webhooks/"), Label: text.Webhooks}})
	}
	if a.KnownOrders > 0 {
		list = append(list, ui.Cause{State: ui.Neutral,
			Text: fmt.Sprintf(text.CauseOrdersKnown, ui.Number(a.KnownOrders))})
	}
	return list
}

// figures returns the results of the webhook deliveries of a scenario's orders.
func figures(v *shell.PageContext, p console.ScenarioRun) []ui.Metric {
	a := p.Deliveries
	took := func(d time.Duration) string {
		if a.Delivered == 0 {
			return "–"
		}
		return ui.Took(d)
	}
	failed := ui.Metric{Label: text.OrdersFailed, Value: ui.Number(a.Failed),
		Note: fmt.Sprintf(text.OrdersPending, ui.Number(a.Waiting))}
	if a.Failed > 0 {
		failed.State, failed.Href = ui.Err, v.Link("deliveries/?event="+string(core.OrderPlaced)+"&state=failed")
	}
	return []ui.Metric{
		{Label: text.OrdersDelivered, Value: ui.Number(a.Delivered),
			Note: fmt.Sprintf(text.OrdersDeliveredOf,
				ui.Count(a.Delivered+a.Failed+a.Waiting, text.OneDelivery, text.Deliveries_),
				ui.Count(a.NewOrders, text.OneOrder, text.Orders_))},
		failed,
		{Label: text.DeliveredP50, Value: took(a.P50), Note: text.DeliveredSince},
		{Label: text.DeliveredP99, Value: took(a.P99), Note: text.DeliveredSince},
	}
}

// StartScenario starts a scenario. An invalid form is shown again with its values.
func (p Pages) StartScenario(c *fiber.Ctx, v *shell.PageContext) error {
	f := form{c: c}
	s := console.Scenario{Kind: f.text("kind"), Store: f.text("store"), Platform: f.text("platform"),
		Count: f.integer("count", text.ScenarioCount),
		Rate:  f.number("rate", text.ScenarioRate), Seed: f.seed("seed", text.ScenarioSeed)}
	switch s.Kind {
	case "rider":
		s.Locations, s.Step = f.integer("places", text.ScenarioLocations), f.seconds("step", text.ScenarioStep)
	case "cancel":
		s.CancelShare = f.number("share", text.ScenarioShare) / 100
	}
	if f.err == nil {
		f.err = p.Runner.StartScenario(c.UserContext(), v.Business.ID, s, v.Change(c, "sandbox.play"))
	}
	if f.err != nil {
		return v.Redisplay(c, f.err, v.Link("sandbox/"), p.Show)
	}
	return shell.RedirectDone(c, v.Link("sandbox/"), "playing")
}

// form parses the fields of a form. err is the first error.
type form struct {
	c   *fiber.Ctx
	err error
}

func (f *form) text(name string) string { return strings.TrimSpace(shell.Field(f.c, name)) }

func (f *form) fail(err error, label string) {
	if err != nil && f.err == nil {
		name, _, _ := strings.Cut(label, ";") // without the explanation in the label
		f.err = core.Errorf(core.Invalid, text.ScenarioNumber, name)
	}
}

func (f *form) integer(name, label string) int {
	n, err := strconv.Atoi(f.text(name))
	f.fail(err, label)
	return n
}

func (f *form) number(name, label string) float64 {
	n, err := strconv.ParseFloat(f.text(name), 64)
	if n != n {
		err = strconv.ErrSyntax
	}
	f.fail(err, label)
	return n
}

func (f *form) seconds(name, label string) time.Duration {
	return time.Duration(min(max(f.number(name, label), -1), 1e6) * float64(time.Second))
}

// seed parses an optional seed. An empty one is 0.
func (f *form) seed(name, label string) uint64 {
	if f.text(name) == "" {
		return 0
	}
	n, err := strconv.ParseUint(f.text(name), 10, 53)
	f.fail(err, label)
	return n
}
