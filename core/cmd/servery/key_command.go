package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

type keyCommand struct {
	Create  keyCreate  `cmd:"" help:"Make an API key; it is shown once."`
	Disable keyDisable `cmd:"" help:"Make an API key useless from now on."`
}

type keyCreate struct {
	databaseFlags
	Business int64  `required:"" help:"Id of the business."`
	Username string `required:"" help:"Name under which the key is used. Several keys may share one, for rotation."`
	Scope    string `default:"pos" enum:"pos,channel" help:"What the key may do: pos or channel."`
	Platform string `help:"Of a channel key: the platform whose orders it brings."`
	JSON     bool   `help:"Print JSON."`
}

// Run creates a key and prints it.
func (c keyCreate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(a access.Access, _ *postgres.DB) error {
		key, secret, err := a.CreateKey(ctx, access.Key{
			Business: core.BusinessID(c.Business), Username: c.Username, Scope: core.Scope(c.Scope),
			Platform: c.Platform,
		})
		if err != nil || c.JSON {
			return printJSON(out, struct {
				ID       int64  `json:"id"`
				Username string `json:"username"`
				APIKey   string `json:"api_key"`
			}{key.ID, key.Username, secret}, err)
		}
		_, err = fmt.Fprintf(out.stdout, "key %d (shown once)\nAuthorization: apikey %s:%s\n", key.ID, key.Username,
			secret)
		return err
	})
}

type keyDisable struct {
	databaseFlags
	Business int64 `required:"" help:"Id of the business."`
	ID       int64 `arg:"" help:"Id of the key."`
}

// Run disables a key.
func (c keyDisable) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(a access.Access, db *postgres.DB) error {
		if err := (accessdb.New(db)).DisableKey(ctx, core.BusinessID(c.Business), c.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out.stdout, "key %d is disabled\n", c.ID)
		return err
	})
}
