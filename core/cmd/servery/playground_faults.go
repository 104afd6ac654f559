package main

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/plugins/simulator"
)

func (p *playground) desk() faultDesk { return faultDesk{p.db, p.flags.Token} }

// Faults are those in force that may befall the business. Conflict where it is
// not in test mode, Unavailable where its simulator does not answer.
func (p *playground) Faults(ctx context.Context, business core.BusinessID) ([]console.Fault, error) {
	found, err := p.desk().list(ctx, business)
	list := make([]console.Fault, len(found))
	for i, f := range found {
		list[i] = console.Fault{
			Kind: f.Kind, Platform: f.Platform, Call: string(f.Call), Status: f.Status, Delay: inTime(float64(f.DelayMS)), Probability: f.Probability,
			Seed: f.Seed, Until: f.Until, Hits: f.Hits, Foreign: f.Space == "",
		}
	}
	return list, err
}

// SwitchFault puts a fault in force, for the business alone. Invalid says what
// is wrong with it.
func (p *playground) SwitchFault(ctx context.Context, business core.BusinessID, fault console.Fault, change access.Change) error {
	f := simulator.Fault{
		Kind: fault.Kind, Platform: fault.Platform, Call: simulator.Call(fault.Call), Status: fault.Status, DelayMS: fault.Delay.Milliseconds(),
		Probability: fault.Probability, Seed: fault.Seed, LastsMS: fault.Lasts.Milliseconds(),
	}
	if err := p.desk().check(ctx, business, f); err != nil {
		return err
	}
	change.Object, change.After = "sandbox", map[string]any{"kind": f.Kind, "platform": f.Platform, "call": f.Call, "status": f.Status,
		"delay_ms": f.DelayMS, "probability": f.Probability, "seed": f.Seed, "lasts_ms": f.LastsMS}
	if err := (postgres.Console{DB: p.db}).Record(ctx, change); err != nil {
		return err
	}
	return p.desk().set(ctx, business, f)
}

// ClearFaults switches all faults of the business off.
func (p *playground) ClearFaults(ctx context.Context, business core.BusinessID, change access.Change) error {
	before, err := p.desk().list(ctx, business)
	if err != nil {
		return err
	}
	change.Object, change.Before, change.After = "sandbox", map[string]any{"faults": len(before)}, map[string]any{"faults": 0}
	if err := (postgres.Console{DB: p.db}).Record(ctx, change); err != nil {
		return err
	}
	return p.desk().clear(ctx, business)
}
