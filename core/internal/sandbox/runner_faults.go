package sandbox

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/plugins/simulator"
)

func (p *Runner) faults() FaultClient { return FaultClient{p.db, p.options.Token} }

// Faults returns the active faults that apply to the business. It returns Conflict if the business is not in test
// mode, and Unavailable if its simulator does not respond.
func (p *Runner) Faults(ctx context.Context, business core.BusinessID) ([]console.Fault, error) {
	found, err := p.faults().List(ctx, business)
	list := make([]console.Fault, len(found))
	for i, f := range found {
		list[i] = console.Fault{
			Kind: f.Kind, Platform: f.Platform, Call: string(f.Call), Status: f.Status,
			Delay: toDuration(float64(f.DelayMS)), Probability: f.Probability,
			Seed: f.Seed, Until: f.Until, Hits: f.Hits, Global: f.Space == "",
		}
	}
	return list, err
}

// InjectFault enables a fault for the business alone. It returns Invalid if the fault is not valid.
func (p *Runner) InjectFault(ctx context.Context, business core.BusinessID, fault console.Fault,
	change access.Change) error {
	f := simulator.Fault{
		Kind: fault.Kind, Platform: fault.Platform, Call: simulator.Call(fault.Call), Status: fault.Status,
		DelayMS:     fault.Delay.Milliseconds(),
		Probability: fault.Probability, Seed: fault.Seed, LastsMS: fault.Duration.Milliseconds(),
	}
	if err := p.faults().Check(ctx, business, f); err != nil {
		return err
	}
	change.Object, change.After = "sandbox",
		map[string]any{"kind": f.Kind, "platform": f.Platform, "call": f.Call, "status": f.Status,
			"delay_ms": f.DelayMS, "probability": f.Probability, "seed": f.Seed, "lasts_ms": f.LastsMS}
	if err := consolelists.New(p.db).Record(ctx, change); err != nil {
		return err
	}
	return p.faults().Set(ctx, business, f)
}

// ClearFaults disables all faults of the business.
func (p *Runner) ClearFaults(ctx context.Context, business core.BusinessID, change access.Change) error {
	before, err := p.faults().List(ctx, business)
	if err != nil {
		return err
	}
	change.Object, change.Before, change.After = "sandbox", map[string]any{"faults": len(before)},
		map[string]any{"faults": 0}
	if err := consolelists.New(p.db).Record(ctx, change); err != nil {
		return err
	}
	return p.faults().Clear(ctx, business)
}
