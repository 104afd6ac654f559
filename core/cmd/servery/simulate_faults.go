package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulateFaults shows and switches the faults of a business's simulated aggregators.
type simulateFaults struct {
	List faultsList `cmd:"" default:"withargs" help:"Show the faults that are on."`
	On   faultsOn   `cmd:"" help:"Switch faults on."`
	Off  faultsOff  `cmd:"" help:"Switch all faults of the business off."`
}

type faultFlags struct {
	databaseFlags
	Token    string `env:"SERVERY_SIMULATOR_TOKEN" help:"Of the simulator, where it asks for one."`
	Business int64  `help:"Id of the business; the demo's unless it is given."`
	JSON     bool   `help:"Print JSON."`
}

type faultsList struct{ faultFlags }

// Run shows the faults that are on.
func (c faultsList) Run(ctx context.Context, out output) error {
	return c.switched(ctx, out, func(faultDesk, core.BusinessID) error { return nil })
}

type faultsOn struct {
	faultFlags
	Fault []string `arg:"" help:"KIND:NAME=VALUE,… such as fail:platform=aggregator-b,call=rider_status,status=500,for=5m; as servery simulator --fault."`
}

// Run switches faults on, all of them or, where one is wrong, none.
func (c faultsOn) Run(ctx context.Context, out output) error {
	return c.switched(ctx, out, func(desk faultDesk, business core.BusinessID) error {
		var faults []simulator.Fault
		for _, text := range c.Fault {
			f, err := simulator.ParseFault(text)
			if err == nil && f.Space != "" {
				err = fmt.Errorf("fault %q: space: name the business by --business", text)
			}
			if err == nil {
				err = desk.check(ctx, business, f)
			}
			if err != nil {
				return err
			}
			faults = append(faults, f)
		}
		for i, f := range faults {
			change := access.Change{Business: business, Actor: "cli", Action: "sandbox.fault", Object: "sandbox", After: map[string]any{"fault": c.Fault[i]}}
			if err := (postgres.Console{DB: desk.db}).Record(ctx, change); err != nil {
				return err
			}
			if err := desk.set(ctx, business, f); err != nil {
				return err
			}
		}
		return nil
	})
}

type faultsOff struct{ faultFlags }

// Run switches all faults of the business off.
func (c faultsOff) Run(ctx context.Context, out output) error {
	return c.switched(ctx, out, func(desk faultDesk, business core.BusinessID) error {
		change := access.Change{Business: business, Actor: "cli", Action: "sandbox.fault_off", Object: "sandbox"}
		if err := (postgres.Console{DB: desk.db}).Record(ctx, change); err != nil {
			return err
		}
		return desk.clear(ctx, business)
	})
}

// switched does something at the desk and shows what is on then.
func (f faultFlags) switched(ctx context.Context, out output, do func(faultDesk, core.BusinessID) error) error {
	business, err := orDemo(f.Business, f.DataDir)
	if err != nil {
		return err
	}
	return f.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		desk := faultDesk{db, f.Token}
		if err := do(desk, business); err != nil {
			return err
		}
		list, err := desk.list(ctx, business)
		if err != nil {
			return err
		}
		if f.JSON {
			return printJSON(out, append([]simulator.Fault{}, list...), nil)
		}
		if len(list) == 0 {
			fmt.Fprintln(out.stdout, "no faults are on")
		}
		for _, l := range list {
			fmt.Fprintln(out.stdout, faultLine(l))
		}
		return nil
	})
}

// faultLine is a fault as people read it.
func faultLine(f simulator.Fault) string {
	line := fmt.Sprintf("%-10s %-16s %-15s", f.Kind, cmp.Or(f.Platform, "all platforms"), cmp.Or(string(f.Call), "all calls"))
	if f.Status != 0 {
		line += fmt.Sprintf(" status %d", f.Status)
	}
	if f.DelayMS != 0 {
		line += fmt.Sprintf(" delay %s", inTime(float64(f.DelayMS)))
	}
	if f.Probability != 0 {
		line += fmt.Sprintf(" probability %g, seed %d", f.Probability, f.Seed)
	}
	if f.Times != 0 {
		line += fmt.Sprintf(" %d times", f.Times)
	}
	if !f.Until.IsZero() {
		line += " until " + f.Until.UTC().Format("15:04:05 UTC")
	}
	if f.Space == "" {
		line += " (of everybody: started with the simulator)"
	}
	return fmt.Sprintf("%s, struck %d times", line, f.Hits)
}
