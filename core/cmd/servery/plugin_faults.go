package main

import (
	"context"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/plugindir"
)

type pluginFaults struct {
	pluginTarget
	Stack bool `help:"Print the stacks too."`
}

// Run prints the faults of a plugin, by cause, and the requests that are set aside.
func (c pluginFaults) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		faults, err := plugins.Faults(ctx, c.ID)
		if err != nil {
			return err
		}
		return out.show(c.JSON, faults, "%s", aggregator.FaultsText(c.ID, faults, c.Stack))
	})
}

type pluginRetry struct {
	pluginTarget
	Requests []int64 `arg:"" optional:"" help:"Ids that plugin faults lists, by default all."`
}

// Run lets hubs call a plugin again with requests that are set aside.
func (c pluginRetry) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		n, err := plugins.Retry(ctx, c.ID, c.Requests)
		if err != nil {
			return err
		}
		return out.show(c.JSON, map[string]any{"id": c.ID, "requests": n},
			"the hubs retry %d requests to plugin %s\n", n, c.ID)
	})
}
