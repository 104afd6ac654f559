package main

import (
	"context"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// callbackCommand manages the keys of aggregators.
type callbackCommand struct {
	Create callbackCreate `cmd:"" help:"Create the key of an aggregator, shown once."`
}

type callbackCreate struct {
	businessFlags
	Platform string `required:"" help:"Name of the platform."`
	JSON     bool   `help:"Print JSON."`
}

// Run creates a key and prints it.
func (c callbackCreate) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		callers := relay.Callers{Keys: platforms.NewCallers(db.DB), Clock: db.Clock()}
		key, err := callers.CreateKey(ctx, c.Business, c.Platform)
		if err != nil {
			return err
		}
		return out.show(c.JSON, struct {
			Platform string `json:"platform"`
			Key      string `json:"callback_key"`
		}{c.Platform, key}, "callback key of %s (shown once)\nAuthorization: Bearer %s\n"+
			"Earlier keys stay valid until you revoke them in the console.\n", c.Platform, key)
	})
}
