package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// callbackCommand manages the keys of aggregators.
type callbackCommand struct {
	Create callbackCreate `cmd:"" help:"Make a key by which an aggregator calls the hub; it is shown once."`
}

type callbackCreate struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Platform string `required:"" help:"Name of the platform."`
	JSON     bool   `help:"Print JSON."`
}

// Run creates a key and prints it.
func (c callbackCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		callers := relay.Callers{Records: platforms.NewCallers(db), Clock: db.Clock()}
		key, err := callers.Create(ctx, core.BusinessID(c.Business), c.Platform)
		if err != nil || c.JSON {
			return printJSON(out, struct {
				Platform string `json:"platform"`
				Key      string `json:"callback_key"`
			}{c.Platform, key}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "callback key of %s (shown once)\nAuthorization: Bearer %s\n", c.Platform, key)
		return err
	})
}
