package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

type pluginList struct {
	pluginOperation
}

// listedPlugin is a plugin as the list shows it.
type listedPlugin struct {
	pluginhost.Status
	Enabled   bool       `json:"enabled"`
	Installed string     `json:"installed,omitzero"` // version in the directory
	ToldAt    *time.Time `json:"told_at,omitzero"`   // when a hub last told its status
}

// Run lists the plugins.
func (c pluginList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		installed, err := pluginhost.Installed(c.dir())
		if err != nil {
			return err
		}
		if err := (postgres.Plugins{DB: db}).Know(ctx, installed); err != nil {
			return err
		}
		plugins, err := postgres.Plugins{DB: db}.List(ctx)
		if err != nil {
			return err
		}
		list := make([]listedPlugin, 0, len(plugins))
		for _, p := range plugins {
			one := listedPlugin{Status: pluginhost.Status{ID: p.ID}, Enabled: p.Enabled}
			if p.Status != "" {
				if err := json.Unmarshal([]byte(p.Status), &one.Status); err != nil {
					return fmt.Errorf("the status of plugin %s: %w", p.ID, err)
				}
				one.ToldAt = &p.ToldAt
			}
			one.Installed = c.installed(p.ID)
			list = append(list, one)
		}
		if c.JSON {
			return printJSON(out, list, nil)
		}
		return printPlugins(out, list)
	})
}

func printPlugins(out output, list []listedPlugin) error {
	for _, p := range list {
		state, version := string(p.State), p.Version
		if state == "" {
			state, version = "not run yet", p.Installed
		}
		if !p.Enabled {
			state += ", disabled"
		}
		fmt.Fprintf(out.stdout, "%-20s %-10s %s\n", p.ID, version, state)
		if p.Health != "" {
			fmt.Fprintf(out.stdout, "%20s %s\n", "", p.Health)
		}
		if len(p.Faults) > 0 && (p.State != pluginhost.Ready || p.Faults[0].At.After(p.Since)) { // what it is over is told by its page
			fmt.Fprintf(out.stdout, "%20s %s: %s\n", "", p.Faults[0].At.Format(time.RFC3339), p.Faults[0].Text)
		}
	}
	return nil
}

type pluginInstall struct {
	pluginOperation
	From string `arg:"" help:"Directory with the plugin's manifest and program."`
}

// Run installs a plugin.
func (c pluginInstall) Run(ctx context.Context, out output) error {
	enabled := true
	return c.place(ctx, out, c.From, &enabled, "installed")
}

type pluginUpgrade struct {
	pluginOperation
	From string `arg:"" help:"Directory with the new version's manifest and program."`
}

// Run replaces a plugin. One that is disabled stays so.
func (c pluginUpgrade) Run(ctx context.Context, out output) error {
	return c.place(ctx, out, c.From, nil, "upgraded; running hubs change over")
}

// place verifies a plugin and puts it into the directory, then tells the hubs.
func (c pluginOperation) place(ctx context.Context, out output, from string, enabled *bool, done string) error {
	manifest, err := sdk.ReadManifest(filepath.Join(from, sdk.ManifestName))
	if err != nil {
		return err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := verifyBinary(from, binary); err != nil {
		return err
	}
	into := filepath.Join(c.dir(), manifest.ID)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	// The manifest last: a hub that looks meanwhile refuses a program of another digest and stays with what runs.
	for _, name := range []string{binary.Path, sdk.ManifestName} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(into, name)); err != nil {
			return err
		}
	}
	return c.want(ctx, out, manifest.ID, enabled, manifest.Version+" is "+done)
}

// copyFile puts a copy in the place of a file in one step.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	target, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	err = errors.Join(err, target.Chmod(info.Mode().Perm()), target.Sync(), target.Close())
	if err == nil {
		err = os.Rename(target.Name(), to)
	}
	if err != nil {
		_ = os.Remove(target.Name())
	}
	return err
}

type pluginEnable struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// Run enables a plugin.
func (c pluginEnable) Run(ctx context.Context, out output) error {
	enabled := true
	return c.want(ctx, out, c.ID, &enabled, "is enabled")
}

type pluginDisable struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// Run disables a plugin.
func (c pluginDisable) Run(ctx context.Context, out output) error {
	enabled := false
	return c.want(ctx, out, c.ID, &enabled, "is disabled")
}

// wanted is what an operator wants of a plugin, as JSON.
type wanted struct {
	ID        string `json:"id"`
	Enabled   bool   `json:"enabled"`
	Installed string `json:"installed,omitzero"` // version in the directory
}

// want has the hubs run a plugin or not, nil as it is, and says what was done.
func (c pluginOperation) want(ctx context.Context, out output, id string, enabled *bool, says string) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		p, err := known(ctx, c.dir(), db, id)
		if err != nil {
			return err
		}
		if enabled == nil {
			if enabled = &p.Enabled; !p.Enabled {
				says += "; it stays disabled"
			}
		}
		now := wanted{ID: id, Enabled: *enabled, Installed: c.installed(id)}
		if err := (postgres.Plugins{DB: db}).Want(ctx, id, now.Enabled); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(out, now, nil)
		}
		_, err = fmt.Fprintf(out.stdout, "plugin %s %s\n", id, says)
		return err
	})
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
