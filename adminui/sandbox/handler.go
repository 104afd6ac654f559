// Package sandbox lets simulated customers of a business in test mode order, and
// shows how that goes.
package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Playground plays scenarios, one of a business at a time.
type Playground interface {
	InTestMode(ctx context.Context, business core.BusinessID) (bool, error)
	Play(ctx context.Context, business core.BusinessID, s console.Scenario, change access.Change) error
	Latest(business core.BusinessID) (console.Played, bool)
}

// Pages are the page of the sandbox.
type Pages struct {
	Playground Playground
}

// Show shows what can be played and what was played last.
func (p Pages) Show(c *fiber.Ctx, v *shell.Visit) error {
	test, err := p.Playground.InTestMode(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Sandbox, Note: text.SandboxNote, Live: true}
	list := ui.List{Name: text.Calls, EmptyTitle: text.PlayCallsTitle, EmptyText: text.PlayCallsText, Columns: []ui.Column{{Label: text.Call, Kind: ui.Wide},
		{Label: text.Count, Kind: ui.Figure}, {Label: text.CallsFailed, Kind: ui.Figure}, {Label: text.PlayAnsweredFast, Kind: ui.Figure}, {Label: text.PlayAnswered, Kind: ui.Figure}}}
	played, found := p.Playground.Latest(v.Business.ID)
	switch {
	case !test:
		head.Causes = []ui.Cause{{State: ui.Neutral, Text: text.SandboxNone}}
	case !found:
		head.Causes = []ui.Cause{{State: ui.Neutral, Text: text.SandboxReady}}
	default:
		head.Causes = []ui.Cause{told(played)}
	}
	if test && v.MayAct() && (!found || !played.Ended.IsZero()) {
		head.Buttons = buttons(v.Link("sandbox/"), played.Scenario)
	}
	keys := make([]string, len(played.Calls))
	for i, call := range played.Calls {
		keys[i] = call.Name
		list.Rows = append(list.Rows, ui.Row{Cells: []ui.Cell{ui.T(call.Name), ui.T(ui.Number(call.Count)), ui.T(ui.Number(call.Failed)), ui.T(ui.Took(call.P50)), ui.T(ui.Took(call.P99))}})
	}
	return v.Listed(c, head, list, "after", keys)
}

func told(p console.Played) ui.Cause {
	about := []any{p.Kind, p.Count, p.Store, p.Seed}
	switch {
	case p.Failure != "":
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.SandboxFailed, append(about, p.Failure)...)}
	case p.Ended.IsZero():
		return ui.Cause{State: ui.Run, Text: fmt.Sprintf(text.SandboxRuns, about...)}
	default:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.SandboxRan, about...)}
	}
}

// buttons are the scenarios, at the store of the one before.
func buttons(action string, before console.Scenario) (list []ui.Button) {
	for _, one := range []struct{ kind, label, say, count, rate string }{
		{"order", text.PlayOrder, text.PlayOrderSay, "5", "0"}, {"rider", text.PlayRider, text.PlayRiderSay, "1", "0"},
		{"cancel", text.PlayCancel, text.PlayCancelSay, "2", "0"}, {"rush", text.PlayRush, text.PlayRushSay, "500", "50"},
	} {
		list = append(list, ui.Button{Label: one.label, Action: action, Ask: text.Why, Say: one.say, Hidden: []ui.Option{{Label: "kind", Value: one.kind}}, Fields: []ui.Filter{
			{Name: "store", Label: text.PlayStore, Value: before.Store}, {Name: "count", Label: text.PlayCount, Value: one.count}, {Name: "rate", Label: text.PlayRate, Value: one.rate},
			{Name: "seed", Label: text.PlaySeed}, {Name: "platform", Label: text.PlayPlatform, Value: before.Platform}}})
	}
	return list
}

// Play begins a scenario.
func (p Pages) Play(c *fiber.Ctx, v *shell.Visit) error {
	field := func(name string) string { return strings.TrimSpace(strings.Clone(c.FormValue(name))) }
	s := console.Scenario{Kind: field("kind"), Store: field("store"), Platform: field("platform")}
	var err error
	if s.Count, err = strconv.Atoi(field("count")); err != nil {
		return core.Errorf(core.Invalid, text.PlayNumber, text.PlayCount)
	}
	if s.Rate, err = strconv.ParseFloat(field("rate"), 64); err != nil || s.Rate != s.Rate {
		return core.Errorf(core.Invalid, text.PlayNumber, text.PlayRate)
	}
	if seed := field("seed"); seed != "" {
		if s.Seed, err = strconv.ParseUint(seed, 10, 53); err != nil {
			return core.Errorf(core.Invalid, text.PlayNumber, text.PlaySeed)
		}
	}
	if err := p.Playground.Play(c.UserContext(), v.Business.ID, s, v.Change(c, "sandbox.play")); err != nil {
		return err
	}
	return shell.Then(c, v.Link("sandbox/"), "playing")
}
