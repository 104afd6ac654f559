package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/pluginhost"
)

type pluginList struct{ pluginOperation }

// Run lists the plugins.
func (c pluginList) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins hub.PluginDir) error {
		list, err := plugins.List(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return out.show(true, list, "")
		}
		for _, p := range list {
			printPlugin(out.stdout, p)
		}
		return nil
	})
}

func printPlugin(to io.Writer, p hub.ListedPlugin) {
	state, version := string(p.State), p.Version
	if state == "" {
		state, version = "not run yet", p.Installed
	}
	hubs := map[string]int{} // by version and state
	for _, h := range p.Hubs {
		hubs[fmt.Sprintf("%-10s %s", h.Version, h.State)]++
	}
	if len(hubs) > 1 {
		state, version = "differs between hubs", "-"
	}
	if !p.Enabled {
		state += ", disabled"
	}
	fmt.Fprintf(to, "%-20s %-10s %s\n", p.ID, version, state)
	for _, key := range slices.Sorted(maps.Keys(hubs)) {
		if len(hubs) > 1 {
			fmt.Fprintf(to, "%20s %s in %d of %d hubs\n", "", key, hubs[key], len(p.Hubs))
		}
	}
	if p.Health != "" {
		fmt.Fprintf(to, "%20s %s\n", "", p.Health)
	}
	// past faults are only in the log
	if len(p.Faults) > 0 && (p.State != pluginhost.Ready || p.Faults[0].At.After(p.Since)) {
		fmt.Fprintf(to, "%20s %s: %s\n", "", p.Faults[0].At.Format(time.RFC3339), p.Faults[0].Text)
	}
}

type pluginLogs struct{ pluginTarget }

// Run prints the last reported log of a plugin.
func (c pluginLogs) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins hub.PluginDir) error {
		report, err := plugins.Report(ctx, c.ID)
		if err != nil {
			return err
		}
		text := ""
		for _, fault := range slices.Backward(report.Faults) {
			text += fmt.Sprintf("%s fault: %s\n", fault.At.Format(time.RFC3339), fault.Text)
		}
		for _, line := range report.Log {
			text += line + "\n"
		}
		return out.show(c.JSON, struct {
			Faults []pluginhost.Fault `json:"faults"` // newest first
			Log    []string           `json:"log"`
		}{append([]pluginhost.Fault{}, report.Faults...), append([]string{}, report.Log...)}, "%s", text)
	})
}
