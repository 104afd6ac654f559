package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginOperation is a command about the plugins of a hub. It reaches running hubs through the database.
type pluginOperation struct {
	databaseFlags
	pluginFlags
	JSON bool `help:"Print JSON."`
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

// Run removes a plugin. Hubs with their own directories stop it too.
func (c pluginRemove) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		if _, err := c.pluginFlags.find(ctx, db, c.ID); err != nil {
			return err
		}
		records := calls.NewPlugins(db)
		if err := errors.Join(records.Add(ctx, []string{c.ID}), records.Remove(ctx, c.ID)); err != nil {
			return err
		}
		files := filepath.Join(c.dir(), c.ID)
		if err := os.RemoveAll(files); err != nil {
			return fmt.Errorf("plugin %s is removed, but deleting its files failed: %w", c.ID, err)
		}
		if c.JSON {
			return printJSON(out, map[string]any{"id": c.ID, "removed": true}, nil)
		}
		_, err := fmt.Fprintf(out.stdout, "plugin %s is removed, and %s deleted\n", c.ID, files)
		return err
	})
}

// wanted is the desired state of a plugin, as JSON.
type wanted struct {
	ID        string   `json:"id"`
	Enabled   bool     `json:"enabled"`
	Installed string   `json:"installed,omitzero"` // version in the directory
	Unfit     []string `json:"unfit,omitzero"`     // platforms whose settings it rejects
}

// want enables or disables a plugin, and prints the result.
func (c pluginOperation) want(ctx context.Context, out output, id string, enabled bool, says string) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		if _, err := c.pluginFlags.find(ctx, db, id); err != nil {
			return err
		}
		return c.record(ctx, out, db, wanted{ID: id, Enabled: enabled}, says)
	})
}

// record stores the desired state for the hubs, and prints the result.
func (c pluginOperation) record(ctx context.Context, out output, db *postgres.DB, now wanted, says string) error {
	now.Installed = c.installed(now.ID)
	if err := (calls.NewPlugins(db)).Want(ctx, now.ID, now.Enabled); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, now, nil)
	}
	_, err := fmt.Fprintf(out.stdout, "plugin %s %s\n", now.ID, says)
	for _, unfit := range now.Unfit {
		fmt.Fprintf(out.stdout, "it rejects the settings of %s; give it others: servery platform set\n", unfit)
	}
	return err
}

// installed returns the version of a plugin in the directory, or "" if there is none.
func (c pluginOperation) installed(id string) string {
	manifest, err := sdk.ReadManifest(filepath.Join(c.dir(), id, sdk.ManifestName))
	if err != nil {
		return ""
	}
	return manifest.Version
}
