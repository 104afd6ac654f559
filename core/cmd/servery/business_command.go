package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/webhook"
)

type businessCommand struct {
	Create         businessCreate `cmd:"" help:"Create a business."`
	List           businessList   `cmd:"" help:"List the businesses."`
	Set            businessSet    `cmd:"" help:"Set or show the settings of a business."`
	CallbackSecret businessSecret `cmd:"" help:"Rotate the secret for callback_url deliveries."`
}

type businessCreate struct {
	databaseFlags
	pluginFlags
	simulatorFlags
	Name     string `required:"" help:"Name of the business."`
	Country  string `required:"" help:"ISO 3166 code, such as US."`
	Timezone string `required:"" help:"IANA name, such as America/Los_Angeles."`
	Currency string `required:"" help:"ISO 4217 code, such as USD."`
	Sandbox  bool   `help:"Connect its platforms to the simulated aggregators."`
	JSON     bool   `help:"Print JSON."`
}

// Run creates a business and prints its id.
func (c businessCreate) Run(ctx context.Context, out output) error {
	business := core.Business{Name: c.Name, Country: c.Country, Timezone: c.Timezone, Currency: c.Currency}
	if err := access.CheckBusiness(business); err != nil { // before a hub is created
		return err
	}
	c.mayCreate = true
	return c.withHub(ctx, out, func(db *hub.Database) error {
		plugins, err := c.pluginDir(db).Running(ctx)
		if err != nil {
			return err
		}
		secret := webhook.NewSecret()
		b, err := accountsOf(db.DB).CreateBusiness(ctx, business, secret, plugins)
		if err != nil {
			return err
		}
		if c.Sandbox { // the business exists, so its secret is shown even if this fails
			err = sandbox.Setup(ctx, db.DB, b.ID, plugins, string(c.Simulator))
		}
		return errors.Join(out.show(c.JSON, struct {
			core.Business
			CallbackSecret string `json:"callback_secret"`
		}{b, secret}, "business %d: %s\ncallback secret (signs deliveries to a callback_url; shown once): %s\n",
			b.ID, b.Name, secret), err)
	})
}

type businessList struct {
	databaseFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the businesses.
func (c businessList) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		list, err := consoleview.New(db.DB).Businesses(ctx, nil, maxListed)
		if err != nil {
			return err
		}
		text := ""
		for _, b := range list {
			text += fmt.Sprintf("%6d  %s, %s, %s, %s\n", b.ID, b.Name, b.Country, b.Timezone, b.Currency)
		}
		return out.show(c.JSON, list, "%s", text)
	})
}

// accountsOf returns access to the businesses and keys of a database.
func accountsOf(db *postgres.DB) access.Access {
	return access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
}
