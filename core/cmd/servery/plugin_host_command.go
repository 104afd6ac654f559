package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginOperation is a command about the plugins of a hub. A running hub learns
// of it through the database.
type pluginOperation struct {
	databaseFlags
	pluginFlags
	JSON bool `help:"Print JSON."`
}

// enabledPlugins lists the plugins that hubs run: those that are installed here
// or that a hub knows, without those that were disabled.
func enabledPlugins(ctx context.Context, dir string, db *postgres.DB) ([]string, error) {
	installed, err := pluginhost.Installed(dir)
	if err != nil {
		return nil, err
	}
	list, err := postgres.Plugins{DB: db}.List(ctx)
	for _, p := range list {
		installed = slices.DeleteFunc(installed, func(id string) bool { return id == p.ID })
		if p.Enabled {
			installed = append(installed, p.ID)
		}
	}
	slices.Sort(installed)
	return installed, err
}

type pluginEnable struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// Run enables a plugin.
func (c pluginEnable) Run(ctx context.Context, out output) error {
	return c.want(ctx, out, c.ID, true, "is enabled")
}

type pluginDisable struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// Run disables a plugin.
func (c pluginDisable) Run(ctx context.Context, out output) error {
	return c.want(ctx, out, c.ID, false, "is disabled")
}

type pluginRemove struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// Run removes a plugin. What hubs with directories of their own have of it is not run any more.
func (c pluginRemove) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		if _, err := known(ctx, c.dir(), db, c.ID); err != nil {
			return err
		}
		records := postgres.Plugins{DB: db}
		if err := errors.Join(records.Know(ctx, []string{c.ID}), records.Remove(ctx, c.ID)); err != nil {
			return err
		}
		files := filepath.Join(c.dir(), c.ID)
		if err := os.RemoveAll(files); err != nil {
			return fmt.Errorf("no hub runs plugin %s any more, but its files could not be deleted: %w", c.ID, err)
		}
		if c.JSON {
			return printJSON(out, map[string]any{"id": c.ID, "removed": true}, nil)
		}
		_, err := fmt.Fprintf(out.stdout, "plugin %s is removed, and %s deleted\n", c.ID, files)
		return err
	})
}

// wanted is what an operator wants of a plugin, as JSON.
type wanted struct {
	ID        string   `json:"id"`
	Enabled   bool     `json:"enabled"`
	Installed string   `json:"installed,omitzero"` // version in the directory
	Unfit     []string `json:"unfit,omitzero"`     // platforms whose settings it does not take
}

// want has the hubs run a plugin or not, and says what was done.
func (c pluginOperation) want(ctx context.Context, out output, id string, enabled bool, says string) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		if _, err := known(ctx, c.dir(), db, id); err != nil {
			return err
		}
		return c.record(ctx, out, db, wanted{ID: id, Enabled: enabled}, says)
	})
}

// record has the hubs follow, and says what was done.
func (c pluginOperation) record(ctx context.Context, out output, db *postgres.DB, now wanted, says string) error {
	now.Installed = c.installed(now.ID)
	if err := (postgres.Plugins{DB: db}).Want(ctx, now.ID, now.Enabled); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, now, nil)
	}
	_, err := fmt.Fprintf(out.stdout, "plugin %s %s\n", now.ID, says)
	for _, unfit := range now.Unfit {
		fmt.Fprintf(out.stdout, "it does not take the settings of %s; give it others: servery platform set\n", unfit)
	}
	return err
}

// installed is the version of a plugin in the directory; "" where it has none.
func (c pluginOperation) installed(id string) string {
	manifest, err := sdk.ReadManifest(filepath.Join(c.dir(), id, sdk.ManifestName))
	if err != nil {
		return ""
	}
	return manifest.Version
}

// known finds a plugin that is installed here or that a hub knows.
func known(ctx context.Context, dir string, db *postgres.DB, id string) (postgres.Plugin, error) {
	installed, err := pluginhost.Installed(dir)
	if err != nil {
		return postgres.Plugin{}, err
	}
	list, err := postgres.Plugins{DB: db}.List(ctx)
	if err != nil {
		return postgres.Plugin{}, err
	}
	for _, p := range list {
		if p.ID == id {
			return p, nil
		}
		installed = append(installed, p.ID)
	}
	if slices.Contains(installed, id) {
		return postgres.Plugin{ID: id, Enabled: true}, nil
	}
	slices.Sort(installed)
	return postgres.Plugin{}, core.Errorf(core.NotFound, "there is no plugin %q; there are: %s", id, strings.Join(slices.Compact(installed), ", "))
}

type pluginLogs struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// pluginLog is what the log of a plugin says, as JSON.
type pluginLog struct {
	Faults []pluginhost.Fault `json:"faults"` // newest first
	Log    []string           `json:"log"`
}

// Run prints what a hub last told of a plugin's log.
func (c pluginLogs) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		p, err := known(ctx, c.dir(), db, c.ID)
		if err != nil {
			return err
		}
		var told toldStatus
		if p.Status != "" {
			if err := json.Unmarshal([]byte(p.Status), &told); err != nil {
				return fmt.Errorf("the status of plugin %s: %w", c.ID, err)
			}
		}
		if c.JSON {
			return printJSON(out, pluginLog{append([]pluginhost.Fault{}, told.Faults...), append([]string{}, told.Log...)}, nil)
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
