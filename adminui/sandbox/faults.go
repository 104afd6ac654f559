package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Faults lists, starts and stops the faults of a business's simulated aggregators.
type Faults interface {
	// Faults returns Unavailable if the simulator does not respond.
	Faults(ctx context.Context, business core.BusinessID) ([]console.Fault, error)
	InjectFault(ctx context.Context, business core.BusinessID, fault console.Fault, change access.Change) error
	ClearFaults(ctx context.Context, business core.BusinessID, change access.Change) error
}

// faults returns the banner and the list of the active faults, or nil without any. If the simulator does not respond,
// the banner says so and the page still loads.
func (p Pages) faults(c *fiber.Ctx, v *shell.PageContext) (banner []ui.Cause, list templ.Component, err error) {
	active, err := p.Runner.Faults(c.UserContext(), v.Business.ID)
	if core.CodeOf(err) == core.Unavailable {
		var coded *core.Error
		errors.As(err, &coded)
		return []ui.Cause{{State: ui.Err, Text: fmt.Sprintf(text.FaultsUnknown, coded.Message)}}, nil, nil
	}
	if err != nil || len(active) == 0 {
		return nil, nil, err
	}
	own := 0
	for _, f := range active {
		if !f.Global {
			own++
		}
	}
	cause := ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.FaultsOn, len(active)), Detail: text.FaultsDetail}
	if v.MayAct() && own > 0 {
		cause.Button = &ui.Button{Label: text.FaultsOff, Action: v.Link("sandbox/faults/off/"), ReasonLabel: text.Why}
	}
	return []ui.Cause{cause}, ui.ListOf(faultList(v, active)), nil
}

func faultList(v *shell.PageContext, active []console.Fault) ui.List {
	list := ui.List{Name: text.FaultsTitle,
		Columns: []ui.Column{{Label: text.FaultKind}, {Label: text.FaultHow, Kind: ui.Wide}, {Label: text.Platform},
			{Label: text.Call},
			{Label: text.FaultUntil}, {Label: text.FaultHits, Kind: ui.Figure}}}
	for _, f := range active {
		until := ui.T(text.FaultForever)
		switch {
		case f.Global:
			until = ui.T(text.FaultGlobal)
		case !f.Until.IsZero():
			until = ui.TimeCell(v.At(f.Until))
		}
		list.Add(ui.T(text.FaultKinds[f.Kind]), ui.T(faultDetails(f)), ui.T(orAny(f.Platform)),
			ui.T(orAny(f.Call)), until, ui.T(ui.Number(f.Hits)))
	}
	return list
}

// faultDetails returns the status, delay and probability of a fault.
func faultDetails(f console.Fault) string {
	var parts []string
	if f.Status != 0 {
		parts = append(parts, strconv.Itoa(f.Status))
	}
	if f.Delay != 0 {
		parts = append(parts, ui.Took(f.Delay))
	}
	if f.Probability > 0 && f.Probability < 1 {
		parts = append(parts, fmt.Sprintf(text.FaultShare, strconv.FormatFloat(f.Probability*100, 'g', 4, 64), f.Seed))
	}
	return strings.Join(parts, ", ")
}

func orAny(s string) string { return cmp.Or(s, text.Any) }

// InjectFault starts a fault.
func (p Pages) InjectFault(c *fiber.Ctx, v *shell.PageContext) error {
	f := form{c: c}
	fault := console.Fault{Kind: f.text("kind"), Platform: f.text("platform"), Call: f.text("call"),
		Probability: f.number("probability", text.FaultProbability) / 100,
		Seed:        f.seed("seed", text.FaultSeed), Duration: f.seconds("lasts", text.FaultDuration)}
	switch fault.Kind { // a kind ignores the fields of the others
	case "fail":
		fault.Status = f.integer("status", text.FaultStatus)
	case "delay":
		fault.Delay = f.seconds("delay", text.FaultDelay)
	}
	if f.err == nil && fault.Probability <= 0 {
		f.err = core.Errorf(core.Invalid, text.FaultNever)
	}
	if f.err == nil {
		f.err = p.Runner.InjectFault(c.UserContext(), v.Business.ID, fault, v.Change(c, "sandbox.fault"))
	}
	if f.err != nil {
		return v.Redisplay(c, f.err, v.Link("sandbox/"), p.Show)
	}
	return shell.RedirectDone(c, v.Link("sandbox/"), "fault")
}

// ClearFaults stops all faults of the business.
func (p Pages) ClearFaults(c *fiber.Ctx, v *shell.PageContext) error {
	if err := p.Runner.ClearFaults(c.UserContext(), v.Business.ID, v.Change(c, "sandbox.fault_off")); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("sandbox/"), "faults_off")
}
