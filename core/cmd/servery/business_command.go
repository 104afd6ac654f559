package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

type businessSet struct {
	databaseFlags
	Business          int64  `required:"" help:"Id of the business."`
	AcknowledgeWithin string `placeholder:"5m" help:"How long its orders may wait for their acknowledgement before they are escalated; 0: for ever, hub: as the hub says."`
	POSSilentAfter    string `name:"pos-silent-after" placeholder:"15m" help:"How long nothing may be heard of a POS while its store is open before it counts as silent; 0: for ever, hub: as the hub says."`
	CloseSilentStores *bool  `negatable:"" help:"Close stores on the platforms while their POS is silent."`
	JSON              bool   `help:"Print JSON."`
}

// Run sets what was given and prints how the business is watched over; without a
// flag it only prints.
func (c businessSet) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		records, business := postgres.Console{DB: db}, core.BusinessID(c.Business)
		if c.AcknowledgeWithin != "" || c.POSSilentAfter != "" || c.CloseSilentStores != nil {
			change := access.Change{Business: business, Actor: "cli", Action: "business.watch", Why: "servery business set"}
			if err := records.SetWatching(ctx, business, c.set, change); err != nil {
				return err
			}
		}
		if found, err := records.Businesses(ctx, []core.BusinessID{business}, 1); err != nil || len(found) == 0 {
			return cmp.Or(err, error(core.Errorf(core.NotFound, "there is no business %d", business)))
		}
		w, err := records.Watching(ctx, business)
		if err != nil || c.JSON {
			return printJSON(out, w.Told(), err)
		}
		_, err = fmt.Fprintf(out.stdout, "business %d: orders are escalated after %s, a POS is silent after %s, stores are closed while it is: %t\n",
			business, console.SpanText(w.AckWithin), console.SpanText(w.SilentAfter), w.CloseSilent)
		return err
	})
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
