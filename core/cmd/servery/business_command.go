package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/store"
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
	c.creates = true
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		plugins, err := c.in(db).Running(ctx)
		if err != nil {
			return err
		}
		secret := webhook.NewSecret()
		b, err := accountsOf(db).CreateBusiness(ctx,
			core.Business{Name: c.Name, Country: c.Country, Timezone: c.Timezone, Currency: c.Currency}, secret,
			plugins)
		if err == nil && c.Sandbox {
			err = sandbox.Setup(ctx, db, b.ID, plugins, string(c.Simulator))
		}
		if err != nil {
			return err
		}
		return out.show(c.JSON, struct {
			core.Business
			CallbackSecret string `json:"callback_secret"`
		}{b, secret}, "business %d: %s\ncallback secret (signs deliveries to a callback_url; shown once): %s\n",
			b.ID, b.Name, secret)
	})
}

type businessList struct {
	databaseFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the businesses.
func (c businessList) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		list, err := consoleview.New(db).Businesses(ctx, nil, listed)
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

// accountsOf returns the businesses and keys of a database.
func accountsOf(db *postgres.DB) access.Access {
	return access.Access{Records: accessdb.New(db), Clock: db.Clock()}
}

type businessSet struct {
	databaseFlags
	businessFlag
	AcknowledgeWithin string `placeholder:"5m" help:"Time until orders are escalated: 0 is never, hub its default."`
	POSSilentAfter    string `placeholder:"15m" help:"Time until a POS is silent: 0 is never, hub its default."`
	CloseSilentStores *bool  `negatable:"" help:"Close stores on the platforms while their POS is silent."`
	ListStores        string `placeholder:"all|none" help:"Platforms of new stores that are sent without platform lists."`
	JSON              bool   `help:"Print JSON."`
}

// Run applies the flags and prints the settings of the business. Without a flag it only prints.
func (c businessSet) Run(ctx context.Context, out output) error {
	if _, err := c.listing(); err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		records := consoleview.New(db)
		if c.AcknowledgeWithin != "" || c.POSSilentAfter != "" || c.CloseSilentStores != nil {
			change := access.Change{Business: c.Business, Actor: "cli", Action: "business.watch",
				Why: "servery business set"}
			if err := records.SetWatching(ctx, c.Business, c.set, change); err != nil {
				return err
			}
		}
		if found, err := records.Businesses(ctx, []core.BusinessID{c.Business}, 1); err != nil || len(found) == 0 {
			return cmp.Or(err, error(core.Errorf(core.NotFound, "there is no business %d", c.Business)))
		}
		w, err := records.Watching(ctx, c.Business)
		if err != nil {
			return err
		}
		listing, err := c.setListing(ctx, db)
		if err != nil {
			return err
		}
		settings := w.Told()
		settings["list-stores"] = listing
		return out.show(c.JSON, settings,
			"business %d: orders are escalated after %s, a POS is silent after %s, stores are closed while it is: %t, "+
				"new stores without platform lists are listed on: %s\n",
			c.Business, console.SpanText(w.AckWithin), console.SpanText(w.SilentAfter), w.CloseSilent, listing)
	})
}

// listing returns the flag, "" if it is not given.
func (c businessSet) listing() (store.DefaultListing, error) {
	if c.ListStores == "" {
		return "", nil
	}
	return store.ParseDefaultListing(c.ListStores)
}

// setListing sets where new stores are listed, if the flag is given, and returns it.
func (c businessSet) setListing(ctx context.Context, db *postgres.DB) (listing store.DefaultListing, err error) {
	records := stores.New(db)
	if listing, err = c.listing(); err != nil || listing == "" {
		return records.DefaultListing(ctx, c.Business)
	}
	change := access.Change{Business: c.Business, Actor: "cli", Action: "business.list_stores",
		Why: "servery business set"}
	return listing, records.SetDefaultListing(ctx, c.Business, "", listing, change)
}

func (c businessSet) set(w *console.Watching) (err error) {
	if c.AcknowledgeWithin != "" {
		err = w.SetAckWithin(c.AcknowledgeWithin)
	}
	if c.POSSilentAfter != "" {
		err = errors.Join(err, w.SetSilentAfter(c.POSSilentAfter))
	}
	if c.CloseSilentStores != nil {
		w.CloseSilent = *c.CloseSilentStores
	}
	return err
}
