package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/customers"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/store"
)

type businessSet struct {
	databaseFlags
	businessFlag
	AcknowledgeWithin string `placeholder:"5m" help:"Time until orders are escalated: 0 is never, hub its default."`
	POSSilentAfter    string `placeholder:"15m" help:"Time until a POS is silent: 0 is never, hub its default."`
	CloseSilentStores *bool  `negatable:"" help:"Close stores on the platforms while their POS is silent."`
	ListStores        string `placeholder:"all|none" help:"Platforms of new stores that have no platform lists."`
	KeepPersonalData  string `placeholder:"90|off" help:"Days until personal data of orders is erased."`
	JSON              bool   `help:"Print JSON."`
}

// Run applies the flags, if there are any, and prints the settings of the business.
func (c businessSet) Run(ctx context.Context, out output) error {
	if _, err := c.listing(); err != nil {
		return err
	}
	if _, err := customer.ParseRetention(cmp.Or(c.KeepPersonalData, "off")); err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(db *postgres.DB) error {
		records := consoleview.New(db)
		if c.AcknowledgeWithin != "" || c.POSSilentAfter != "" || c.CloseSilentStores != nil {
			change := access.Change{Business: c.Business, Actor: "cli", Action: "business.watch",
				Why: "servery business set"}
			if err := records.SetMonitoringRules(ctx, c.Business, c.applyTo, change); err != nil {
				return err
			}
		}
		if found, err := records.Businesses(ctx, []core.BusinessID{c.Business}, 1); err != nil || len(found) == 0 {
			return cmp.Or(err, error(core.Errorf(core.NotFound, "there is no business %d", c.Business)))
		}
		w, err := records.MonitoringRules(ctx, c.Business)
		if err != nil {
			return err
		}
		listing, err := c.setListing(ctx, db)
		if err != nil {
			return err
		}
		keep, err := c.setRetention(ctx, db)
		if err != nil {
			return err
		}
		settings := w.Flags()
		settings["list-stores"], settings["keep-personal-data"] = listing, keep.String()
		return out.show(c.JSON, settings,
			"business %d: orders are escalated after %s, a POS is silent after %s, stores are closed while it is: %t, "+
				"new stores without platform lists are listed on: %s, days until personal data is erased: %s\n",
			c.Business, console.FormatSpan(w.AckWithin), console.FormatSpan(w.SilentAfter), w.CloseSilent, listing, keep)
	})
}

// listing parses the flag; "" means that it is not set.
func (c businessSet) listing() (store.DefaultListing, error) {
	if c.ListStores == "" {
		return "", nil
	}
	return store.ParseDefaultListing(c.ListStores)
}

// setListing sets the platforms of new stores if the flag is set, and returns the setting.
func (c businessSet) setListing(ctx context.Context, db *postgres.DB) (listing store.DefaultListing, err error) {
	records := stores.New(db)
	if listing, err = c.listing(); err != nil || listing == "" {
		return records.DefaultListing(ctx, c.Business)
	}
	change := access.Change{Business: c.Business, Actor: "cli", Action: "business.list_stores",
		Why: "servery business set"}
	return listing, records.SetDefaultListing(ctx, c.Business, "", listing, change)
}

// setRetention sets the retention of personal data if the flag is set, and returns the setting.
func (c businessSet) setRetention(ctx context.Context, db *postgres.DB) (customer.Retention, error) {
	records := customers.New(db)
	keep, err := records.PersonalDataRetention(ctx, c.Business)
	if err != nil || c.KeepPersonalData == "" {
		return keep, err
	}
	to, err := customer.ParseRetention(c.KeepPersonalData)
	if err != nil {
		return keep, err
	}
	change := access.Change{Business: c.Business, Actor: "cli", Action: "business.personal_data",
		Why: "servery business set"}
	return to, records.SetPersonalDataRetention(ctx, c.Business, keep, to, change)
}

func (c businessSet) applyTo(w *console.MonitoringRules) (err error) {
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
