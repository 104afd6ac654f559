package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/plugindir"
)

// pluginFlags select the directory of plugins.
type pluginFlags struct {
	PluginDir string `env:"*" help:"Directory of plugins, by default plugins beside the program."`
}

// dir returns the directory of plugins.
func (f pluginFlags) dir() string {
	if f.PluginDir != "" {
		return f.PluginDir
	}
	program, _ := os.Executable() // "" is in the working directory
	return filepath.Join(filepath.Dir(program), "plugins")
}

// pluginDir returns the plugins in the directory and in the hubs of a database.
func (f pluginFlags) pluginDir(db *hub.Database) plugindir.Dir {
	return plugindir.Dir{Path: f.dir(), DB: db.DB, Hidden: db.SecretDirs()}
}

// pluginOperation is a command about the plugins of a hub.
type pluginOperation struct {
	databaseFlags
	pluginFlags
	JSON bool `help:"Print JSON."`
}

// pluginTarget is a command about one plugin of a hub.
type pluginTarget struct {
	pluginOperation
	ID string `arg:"" help:"Id of the plugin."`
}

// operate opens the database and calls do.
func (c pluginOperation) operate(ctx context.Context, out output, do func(plugindir.Dir) error) error {
	return c.withHub(ctx, out, func(db *hub.Database) error { return do(c.pluginDir(db)) })
}

type pluginEnable struct{ pluginTarget }

// Run enables a plugin.
func (c pluginEnable) Run(ctx context.Context, out output) error {
	return c.enable(ctx, out, true, "enabled")
}

type pluginDisable struct{ pluginTarget }

// Run disables a plugin.
func (c pluginDisable) Run(ctx context.Context, out output) error {
	return c.enable(ctx, out, false, "disabled")
}

func (c pluginTarget) enable(ctx context.Context, out output, enabled bool, text string) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		desired, err := plugins.Enable(ctx, c.ID, enabled)
		if err != nil {
			return err
		}
		return out.show(c.JSON, desired, "plugin %s is %s\n", c.ID, text)
	})
}

type pluginRemove struct{ pluginTarget }

// Run removes a plugin. Hubs with their own directories stop it too.
func (c pluginRemove) Run(ctx context.Context, out output) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		files, err := plugins.Remove(ctx, c.ID)
		if err != nil {
			return err
		}
		return out.show(c.JSON, map[string]any{"id": c.ID, "removed": true}, "plugin %s is removed, and %s deleted\n",
			c.ID, files)
	})
}

// pluginSource installs a version of a plugin in the hub's directory.
type pluginSource struct {
	pluginOperation
	Unchecked  bool          `help:"Do not start the program first, where only the hubs can run it."`
	Force      bool          `help:"Install it even if it rejects stored settings."`
	SetDefault []string      `sep:"none" placeholder:"FIELD=VALUE" help:"Add a setting where platforms lack it."`
	DryRun     bool          `help:"Only list the settings that do not fit, or that are added." xor:"mode"`
	Wait       bool          `help:"Wait until it is ready in every running hub." xor:"mode"`
	Timeout    time.Duration `default:"1m" help:"Time limit of --wait."`
	From       string        `arg:"" help:"Directory with manifest and program."`
}

type pluginInstall struct{ pluginSource }

// Run installs a plugin.
func (c pluginInstall) Run(ctx context.Context, out output) error {
	return c.install(ctx, out, false, "installed")
}

type pluginUpgrade struct{ pluginSource }

// Run replaces a plugin. A disabled one stays disabled.
func (c pluginUpgrade) Run(ctx context.Context, out output) error {
	return c.install(ctx, out, true, "upgraded, and running hubs switch to it")
}

func (c pluginSource) install(ctx context.Context, out output, upgrade bool, result string) error {
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		options := plugindir.InstallOptions{Upgrade: upgrade, Unchecked: c.Unchecked, Force: c.Force,
			DryRun: c.DryRun, Defaults: c.SetDefault}
		desired, err := plugins.Install(ctx, c.From, options)
		if err != nil {
			return err
		}
		if !c.JSON {
			fmt.Fprint(out.stdout, desired.Summary(result))
		}
		if c.Wait {
			desired.Hubs, err = plugins.AwaitReady(ctx, desired, c.Timeout)
		}
		switch {
		case c.JSON:
			return errors.Join(out.show(true, desired, ""), err)
		case c.Wait && err == nil:
			fmt.Fprint(out.stdout, "it is ", plugindir.Readiness(desired.Hubs))
		}
		return err
	})
}
