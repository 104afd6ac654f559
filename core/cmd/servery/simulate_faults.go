package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulateFaults manages the faults of a business's simulated aggregators.
type simulateFaults struct {
	List faultsList `cmd:"" default:"withargs" help:"List the active faults."`
	On   faultsOn   `cmd:"" help:"Activate faults."`
	Off  faultsOff  `cmd:"" help:"Deactivate all faults of the business."`
}

type faultFlags struct {
	databaseFlags
	Token    string `env:"SERVERY_SIMULATOR_TOKEN" help:"Token of the simulator."`
	Business int64  `help:"Id of the business, by default that of the demo."`
	JSON     bool   `help:"Print JSON."`
}

type faultsList struct{ faultFlags }

// Run shows the active faults.
func (c faultsList) Run(ctx context.Context, out output) error {
	return c.runAndList(ctx, out, func(*postgres.DB, sandbox.FaultClient, core.BusinessID) error { return nil })
}

type faultsOn struct {
	faultFlags
	Fault []string `arg:"" help:"KIND:NAME=VALUE,… as for servery simulator --fault."`
}

// Run enables all of the faults, or none if one is not valid.
func (c faultsOn) Run(ctx context.Context, out output) error {
	return c.runAndList(ctx, out, func(db *postgres.DB, client sandbox.FaultClient, business core.BusinessID) error {
		var faults []simulator.Fault
		for _, text := range c.Fault {
			f, err := simulator.ParseFault(text)
			if err == nil && f.Space != "" {
				err = fmt.Errorf("fault %q: space is not allowed: use --business", text)
			}
			if err == nil {
				err = client.Check(ctx, business, f)
			}
			if err != nil {
				return err
			}
			faults = append(faults, f)
		}
		for i, f := range faults {
			change := access.Change{Business: business, Actor: "cli", Action: "sandbox.fault", Object: "sandbox",
				After: map[string]any{"fault": c.Fault[i]}}
			if err := consolelists.New(db).Record(ctx, change); err != nil {
				return err
			}
			if err := client.Set(ctx, business, f); err != nil {
				return err
			}
		}
		return nil
	})
}

type faultsOff struct{ faultFlags }

// Run disables all faults of the business.
func (c faultsOff) Run(ctx context.Context, out output) error {
	return c.runAndList(ctx, out, func(db *postgres.DB, client sandbox.FaultClient, business core.BusinessID) error {
		change := access.Change{Business: business, Actor: "cli", Action: "sandbox.fault_off", Object: "sandbox"}
		if err := consolelists.New(db).Record(ctx, change); err != nil {
			return err
		}
		return client.Clear(ctx, business)
	})
}

// runAndList calls do, then shows the active faults.
func (f faultFlags) runAndList(ctx context.Context, out output,
	do func(*postgres.DB, sandbox.FaultClient, core.BusinessID) error) error {
	business, err := sandbox.BusinessOrDemo(f.Business, f.DataDir)
	if err != nil {
		return err
	}
	return f.withHub(ctx, out, func(db *hub.Database) error {
		client := sandbox.NewFaultClient(db.DB, f.Token)
		if err := do(db.DB, client, business); err != nil {
			return err
		}
		list, err := client.List(ctx, business)
		if err != nil {
			return err
		}
		text := ""
		for _, l := range list {
			text += fmt.Sprintln(l)
		}
		return out.show(f.JSON, append([]simulator.Fault{}, list...), "%s", cmp.Or(text, "no faults are active\n"))
	})
}
