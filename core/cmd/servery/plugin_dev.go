package main

import (
	"context"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/plugindev"
)

type pluginDev struct {
	databaseFlags
	pluginFlags
	RemoteDatabase bool   `help:"Allow a database on another machine."`
	Dir            string `arg:"" help:"Directory of the plugin's Go package."`
}

// Run rebuilds and installs a plugin at each change, and prints its calls.
func (c pluginDev) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		return plugindev.Run(ctx, plugindev.Config{Source: c.Dir, DatabaseURL: c.DatabaseURL,
			AllowRemote: c.RemoteDatabase, Plugins: c.pluginDir(db), Out: out.stdout})
	})
}
