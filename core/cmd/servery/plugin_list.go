package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
)

type pluginList struct {
	pluginOperation
}

// listedPlugin is a plugin in the list.
type listedPlugin struct {
	pluginhost.Status
	Enabled   bool        `json:"enabled"`
	Installed string      `json:"installed,omitzero"` // version in the directory
	ToldAt    *time.Time  `json:"told_at,omitzero"`   // when a hub last reported its status
	Hubs      []listedHub `json:"hubs"`               // running hubs that know it
}

// listedHub is a plugin in one hub.
type listedHub struct {
	Hub     core.ID          `json:"hub"`
	Version string           `json:"version"`
	State   pluginhost.State `json:"state"`
	ToldAt  time.Time        `json:"told_at"`
}

// Run lists the plugins.
func (c pluginList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		installed, err := pluginhost.Installed(c.dir())
		if err != nil {
			return err
		}
		records := calls.NewPlugins(db)
		if err := records.Add(ctx, installed); err != nil {
			return err
		}
		plugins, err := records.List(ctx)
		if err != nil {
			return err
		}
		hubs, err := records.Hubs(ctx)
		if err != nil {
			return err
		}
		list := make([]listedPlugin, 0, len(plugins))
		for _, p := range plugins {
			one := listedPlugin{Status: pluginhost.Status{ID: p.ID}, Enabled: p.Enabled, Hubs: []listedHub{}}
			if p.Status != "" {
				if err := json.Unmarshal([]byte(p.Status), &one.Status); err != nil {
					return fmt.Errorf("reading the status of plugin %s: %w", p.ID, err)
				}
				one.ToldAt = &p.ReportedAt
			}
			for _, h := range hubs {
				if h.Plugin == p.ID {
					one.Hubs = append(one.Hubs, listedHub{h.Hub, h.Version, pluginhost.State(h.State), h.At})
				}
			}
			one.Installed = c.installed(p.ID)
			list = append(list, one)
		}
		if c.JSON {
			return printJSON(out, list, nil)
		}
		printPlugins(out.stdout, list)
		return nil
	})
}

func printPlugins(to io.Writer, list []listedPlugin) {
	for _, p := range list {
		state, version := string(p.State), p.Version
		if state == "" {
			state, version = "not run yet", p.Installed
		}
		hubs := map[string]int{} // by version and state
		for _, h := range p.Hubs {
			hubs[fmt.Sprintf("%-10s %s", h.Version, h.State)]++
		}
		if len(hubs) > 1 {
			state, version = "not the same in all hubs", "-"
		}
		if !p.Enabled {
			state += ", disabled"
		}
		fmt.Fprintf(to, "%-20s %-10s %s\n", p.ID, version, state)
		for _, how := range slices.Sorted(maps.Keys(hubs)) {
			if len(hubs) > 1 {
				fmt.Fprintf(to, "%20s %s in %d of %d hubs\n", "", how, hubs[how], len(p.Hubs))
			}
		}
		if p.Health != "" {
			fmt.Fprintf(to, "%20s %s\n", "", p.Health)
		}
		// past faults: see its page
		if len(p.Faults) > 0 && (p.State != pluginhost.Ready || p.Faults[0].At.After(p.Since)) {
			fmt.Fprintf(to, "%20s %s: %s\n", "", p.Faults[0].At.Format(time.RFC3339), p.Faults[0].Text)
		}
	}
}
