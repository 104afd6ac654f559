package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/customers"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/store"
)

type businessSet struct {
	businessFlags
	AcknowledgeWithin string `placeholder:"5m" help:"Time until orders are escalated: 0 is never, hub its default."`
	POSSilentAfter    string `placeholder:"15m" help:"Time until a POS is silent: 0 is never, hub its default."`
	CloseSilentStores *bool  `negatable:"" help:"Close stores on the platforms while their POS is silent."`
	ListStores        string `placeholder:"all|none" help:"Platforms of new stores that have no platform lists."`
	KeepPersonalData  string `placeholder:"90|off" help:"Days until personal data of orders is erased."`
	JSON              bool   `help:"Print JSON."`
}

// Run applies the flags, if there are any, and prints the settings of the business.
func (c businessSet) Run(ctx context.Context, out output) error {
	_, err := c.listing()
	_, keepErr := customer.ParseRetention(cmp.Or(c.KeepPersonalData, "off"))
	if err := cmp.Or(err, keepErr); err != nil {
		return err
	}
	return c.withHub(ctx, out, func(db *hub.Database) error {
		records := consoleview.New(db.DB)
		if c.AcknowledgeWithin != "" || c.POSSilentAfter != "" || c.CloseSilentStores != nil {
			if err := records.SetMonitoringRules(ctx, c.Business, c.applyTo, c.change("business.watch")); err != nil {
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
		listing, err := c.setListing(ctx, db.DB)
		if err != nil {
			return err
		}
		keep, err := customers.New(db.DB).ChangeRetention(ctx, c.Business, c.KeepPersonalData,
			c.change("business.personal_data"))
		if err != nil {
			return err
		}
		settings := w.Flags()
		settings["list-stores"], settings["keep-personal-data"] = listing, keep.String()
		return out.show(c.JSON, settings,
			"business %d: orders are escalated after %s, a POS is silent after %s, stores are closed while it is: %t, "+
				"new stores without platform lists are listed on: %s, days until personal data is erased: %s\n",
			c.Business, console.FormatSpan(w.AckWithin), console.FormatSpan(w.SilentAfter), w.CloseSilent, listing,
			keep)
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
	return listing, records.SetDefaultListing(ctx, c.Business, "", listing, c.change("business.list_stores"))
}

func (c businessSet) change(action string) access.Change {
	return access.Change{Business: c.Business, Actor: "cli", Action: action, Why: "servery business set"}
}

func (c businessSet) applyTo(w *console.MonitoringRules) (err error) {
	if c.AcknowledgeWithin != "" {
		err = w.SetAckWithin("--acknowledge-within", c.AcknowledgeWithin)
	}
	if c.POSSilentAfter != "" {
		err = errors.Join(err, w.SetSilentAfter("--pos-silent-after", c.POSSilentAfter))
	}
	if c.CloseSilentStores != nil {
		w.CloseSilent = *c.CloseSilentStores
	}
	return err
}
