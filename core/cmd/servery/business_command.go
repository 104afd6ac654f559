package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

type businessCommand struct {
	Create businessCreate `cmd:"" help:"Make a business."`
	Set    businessSet    `cmd:"" help:"Say, or show, the settings of a business: how it is watched over, where new stores are listed."`
	Secret businessSecret `cmd:"" name:"callback-secret" help:"Make another callback secret, which signs deliveries to a callback_url; it is shown once."`
}

type businessSet struct {
	databaseFlags
	Business          int64  `required:"" help:"Id of the business."`
	AcknowledgeWithin string `placeholder:"5m" help:"How long its orders may wait for their acknowledgement before they are escalated; 0: for ever, hub: as the hub says."`
	POSSilentAfter    string `name:"pos-silent-after" placeholder:"15m" help:"How long nothing may be heard of a POS while its store is open before it counts as silent; 0: for ever, hub: as the hub says."`
	CloseSilentStores *bool  `negatable:"" help:"Close stores on the platforms while their POS is silent."`
	ListStores        string `placeholder:"all|none" help:"Where stores are listed that are created without platform lists: on all platforms of the business, or on none, as the specification has it."`
	JSON              bool   `help:"Print JSON."`
}

// Run applies the flags and prints the settings of the business. Without a flag it only prints.
func (c businessSet) Run(ctx context.Context, out output) error {
	if _, err := c.listing(); err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		records, business := consoleview.New(db), core.BusinessID(c.Business)
		if c.AcknowledgeWithin != "" || c.POSSilentAfter != "" || c.CloseSilentStores != nil {
			change := access.Change{Business: business, Actor: "cli", Action: "business.watch",
				Why: "servery business set"}
			if err := records.SetWatching(ctx, business, c.set, change); err != nil {
				return err
			}
		}
		if found, err := records.Businesses(ctx, []core.BusinessID{business}, 1); err != nil || len(found) == 0 {
			return cmp.Or(err, error(core.Errorf(core.NotFound, "there is no business %d", business)))
		}
		w, err := records.Watching(ctx, business)
		if err != nil {
			return err
		}
		listing, err := c.setListing(ctx, db)
		if err != nil || c.JSON {
			told := w.Told()
			told["list-stores"] = listing
			return printJSON(out, told, err)
		}
		_, err = fmt.Fprintf(out.stdout,
			"business %d: orders are escalated after %s, a POS is silent after %s, stores are closed while it is: %t, "+
				"new stores without platform lists are listed on: %s\n",
			business, console.SpanText(w.AckWithin), console.SpanText(w.SilentAfter), w.CloseSilent, listing)
		return err
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
	business, records := core.BusinessID(c.Business), stores.New(db)
	if listing, err = c.listing(); err != nil || listing == "" {
		return records.DefaultListing(ctx, business)
	}
	change := access.Change{Business: business, Actor: "cli", Action: "business.list_stores",
		Why: "servery business set"}
	return listing, records.SetDefaultListing(ctx, business, "", listing, change)
}

func (c businessSet) set(w *console.Watching) error {
	if c.AcknowledgeWithin != "" {
		if err := w.SetAckWithin(c.AcknowledgeWithin); err != nil {
			return err
		}
	}
	if c.POSSilentAfter != "" {
		if err := w.SetSilentAfter(c.POSSilentAfter); err != nil {
			return err
		}
	}
	if c.CloseSilentStores != nil {
		w.CloseSilent = *c.CloseSilentStores
	}
	return nil
}

type businessSecret struct {
	databaseFlags
	overlapFlag
	Business int64 `required:"" help:"Id of the business."`
	JSON     bool  `help:"Print JSON."`
}

// Run replaces the callback secret of a business and prints the new one.
func (c businessSecret) Run(ctx context.Context, out output) error {
	if err := c.wrong(); err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		secret, until := webhook.NewSecret(), db.Clock().Now().Add(c.SecretOverlap)
		err := accessdb.New(db).ReplaceCallbackSecret(ctx, core.BusinessID(c.Business), secret, until)
		if err != nil || c.JSON {
			return printJSON(out, struct {
				Secret string `json:"callback_secret"`
				Until  int64  `json:"old_secret_until"` // epoch milliseconds
			}{secret, until.UnixMilli()}, err)
		}
		_, err = fmt.Fprintf(out.stdout,
			"callback secret of business %d (signs deliveries to a callback_url; shown once): %s\nthe earlier one "+
				"signs too until %s\n",
			c.Business, secret, until.UTC().Format(time.RFC3339))
		return err
	})
}

// overlapFlag is how long the previous signing secret also signs.
type overlapFlag struct {
	SecretOverlap time.Duration `name:"secret-overlap" env:"SERVERY_SECRET_OVERLAP" default:"24h" help:"How long an earlier signing secret signs too after there is another."`
}

func (f overlapFlag) wrong() error {
	if f.SecretOverlap < 0 || f.SecretOverlap > 30*24*time.Hour {
		return errors.New("SERVERY_SECRET_OVERLAP: must be from 0 to 720h")
	}
	return nil
}
