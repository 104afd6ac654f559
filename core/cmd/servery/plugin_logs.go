package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
)

type pluginLogs struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// pluginLog is the log of a plugin, as JSON.
type pluginLog struct {
	Faults []pluginhost.Fault `json:"faults"` // newest first
	Log    []string           `json:"log"`
}

// Run prints the last reported log of a plugin.
func (c pluginLogs) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		p, err := c.pluginFlags.find(ctx, db, c.ID)
		if err != nil {
			return err
		}
		var told aggregator.StatusReport
		if p.Status != "" {
			if err := json.Unmarshal([]byte(p.Status), &told); err != nil {
				return fmt.Errorf("reading the status of plugin %s: %w", c.ID, err)
			}
		}
		if c.JSON {
			return printJSON(out, pluginLog{append([]pluginhost.Fault{}, told.Faults...),
				append([]string{}, told.Log...)}, nil)
		}
		for _, fault := range slices.Backward(told.Faults) {
			fmt.Fprintf(out.stdout, "%s fault: %s\n", fault.At.Format(time.RFC3339), fault.Text)
		}
		for _, line := range told.Log {
			fmt.Fprintln(out.stdout, line)
		}
		return nil
	})
}
