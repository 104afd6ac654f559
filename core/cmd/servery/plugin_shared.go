package main

import (
	"context"

	"github.com/servery-hub/servery/core/internal/plugindir"
)

type pluginShared struct {
	pluginTarget
	Secret map[string]string `placeholder:"NAME=VALUE" help:"Secret for all businesses, @FILE or empty."`
}

// Run sets the secrets of a plugin's shared URL, and prints its paths.
func (c pluginShared) Run(ctx context.Context, out output) error {
	secrets, err := valuesOrFiles(c.Secret)
	if err != nil {
		return err
	}
	return c.operate(ctx, out, func(plugins plugindir.Dir) error {
		shared, err := plugins.Shared(ctx, c.ID, secrets)
		if err != nil {
			return err
		}
		return out.show(c.JSON, shared, "%s", shared)
	})
}
