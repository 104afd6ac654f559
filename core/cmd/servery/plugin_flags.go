package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
)

// pluginFlags select the directory of plugins.
type pluginFlags struct {
	PluginDir string `name:"plugin-dir" env:"SERVERY_PLUGIN_DIR" help:"Directory of the plugins, one directory each; plugins beside the program unless it is set."`
}

// dir returns the directory of plugins.
func (f pluginFlags) dir() string {
	if f.PluginDir != "" {
		return f.PluginDir
	}
	program, err := os.Executable()
	if err != nil {
		return "plugins"
	}
	return filepath.Join(filepath.Dir(program), "plugins")
}

// running returns the plugins that hubs run, installed here or elsewhere.
func (f pluginFlags) running(ctx context.Context, db *postgres.DB) ([]string, error) {
	installed, err := pluginhost.Installed(f.dir())
	if err != nil {
		return nil, err
	}
	return calls.NewPlugins(db).Running(ctx, installed)
}

// find returns a plugin that is installed here or known to a hub.
func (f pluginFlags) find(ctx context.Context, db *postgres.DB, id string) (aggregator.Plugin, error) {
	installed, err := pluginhost.Installed(f.dir())
	if err != nil {
		return aggregator.Plugin{}, err
	}
	return calls.NewPlugins(db).Find(ctx, installed, id)
}
