package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/pluginhost"
)

type pluginList struct{ pluginOperation }

// Run lists the plugins.
func (c pluginList) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
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
func printPlugin(to io.Writer, p plugindir.Listed) {
	state, version := string(p.State), p.Version
	if len(p.Hubs) == 0 {
		state, version = "in no running hub", p.Installed
	}
	groups := console.GroupPluginHubs(p.Hubs)
	if slices.ContainsFunc(groups, func(g console.PluginHubGroup) bool {
		return g.Version != groups[0].Version || g.State != groups[0].State
	}) {
		state, version = "differs between hubs", "-"
	}
	if !p.Enabled {
		state += ", disabled"
	}
	fmt.Fprintf(to, "%-20s %-10s %s\n", p.ID, version, state)
	for _, g := range groups {
		if len(groups) > 1 {
			fmt.Fprintf(to, "%20s %-10s %s in %d of %d hubs\n", "", g.Version, g.State, g.Hubs, len(p.Hubs))
		}
		if g.Reason != "" {
			fmt.Fprintf(to, "%20s since %s: %s\n", "", g.Since.Format(time.RFC3339), g.Reason)
		}
	}
	if slices.ContainsFunc(p.Hubs, func(h plugindir.Hub) bool {
		return h.State == string(pluginhost.Quarantined)
	}) {
		fmt.Fprintf(to, "%20s %s\n", "", pluginhost.QuarantineRule)
	}
	if p.SetAside > 0 {
		fmt.Fprintf(to, "%20s requests set aside: %d (servery plugin faults %s)\n", "", p.SetAside, p.ID)
	}
}

type pluginLogs struct {
	pluginTarget
	Follow bool `short:"f" help:"Print new lines too, until interrupted."`
}

// Run prints the last reported log of a plugin, and with --follow also what later reports add.
func (c pluginLogs) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		show := func(log plugindir.Log) error { return out.show(c.JSON, log, "%s", log) }
		if c.Follow {
			return plugins.FollowLog(ctx, c.ID, show)
		}
		log, err := plugins.Log(ctx, c.ID)
		if err != nil {
			return err
		}
		return show(log)
	})
}
