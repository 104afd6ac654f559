package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/webhook"
)

type businessCreate struct {
	databaseFlags
	pluginFlags
	simulatorFlags
	Name     string `required:"" help:"Name of the business."`
	Country  string `required:"" help:"ISO 3166 code, such as US."`
	Timezone string `required:"" help:"IANA name, such as America/Los_Angeles."`
	Currency string `required:"" help:"ISO 4217 code, such as USD."`
	Sandbox  bool   `help:"Connect its platforms to the simulated aggregators, for trying things out."`
	JSON     bool   `help:"Print JSON."`
}

// Check returns all mistakes in the flags of the database and the sandbox.
func (c businessCreate) Check() error {
	return errors.Join(c.databaseFlags.Check(), c.simulatorFlags.wrong())
}

// Run creates a business and prints its id.
func (c businessCreate) Run(ctx context.Context, out output) error {
	c.begins = true
	return c.withSchema(ctx, out, func(a access.Access, db *postgres.DB) error {
		plugins, err := c.running(ctx, db)
		if err != nil {
			return err
		}
		secret := webhook.NewSecret()
		b, err := a.CreateBusiness(ctx,
			core.Business{Name: c.Name, Country: c.Country, Timezone: c.Timezone, Currency: c.Currency}, secret,
			plugins)
		if err == nil && c.Sandbox {
			err = sandbox.Setup(ctx, db, b.ID, plugins, c.Simulator)
		}
		if err != nil || c.JSON {
			return printJSON(out, struct {
				core.Business
				CallbackSecret string `json:"callback_secret"`
			}{b, secret}, err)
		}
		_, err = fmt.Fprintf(out.stdout,
			"business %d: %s\ncallback secret (signs deliveries to a callback_url; shown once): %s\n", b.ID, b.Name,
			secret)
		return err
	})
}
