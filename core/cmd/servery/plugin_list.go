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

// printPlugin prints the state of a plugin in the running hubs, and why it does not serve.
func printPlugin(to io.Writer, p hub.ListedPlugin) {
	state, version := string(p.State), p.Version
	if len(p.Hubs) == 0 {
		state, version = "in no running hub", p.Installed
	}
	kinds := map[string][]hub.ListedHub{} // by version and state
	for _, h := range p.Hubs {
		key := fmt.Sprintf("%-10s %s", h.Version, h.State)
		kinds[key] = append(kinds[key], h)
	}
	if len(kinds) > 1 {
		state, version = "differs between hubs", "-"
	}
	if !p.Enabled {
		state += ", disabled"
	}
	fmt.Fprintf(to, "%-20s %-10s %s\n", p.ID, version, state)
	for _, key := range slices.Sorted(maps.Keys(kinds)) {
		in := kinds[key]
		if len(kinds) > 1 {
			fmt.Fprintf(to, "%20s %s in %d of %d hubs\n", "", key, len(in), len(p.Hubs))
		}
		if in[0].Reason != "" {
			fmt.Fprintf(to, "%20s since %s: %s\n", "", in[0].Since.Format(time.RFC3339), in[0].Reason)
		}
	}
	if slices.ContainsFunc(p.Hubs, func(h hub.ListedHub) bool { return h.State == pluginhost.Quarantined }) {
		fmt.Fprintf(to, "%20s %s\n", "", pluginhost.QuarantineRule)
	}
	if p.SetAside > 0 {
		fmt.Fprintf(to, "%20s requests set aside: %d (servery plugin faults %s)\n", "", p.SetAside, p.ID)
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
