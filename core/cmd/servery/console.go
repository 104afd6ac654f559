package main

import (
	"context"
	"errors"
	"time"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// newConsole joins the console's pages.
func (h *hub) newConsole() *adminui.Console {
	h.playground.db = h.db
	config := adminui.Config{
		Accounts: accounts(h.db), Records: postgres.Console{DB: h.db}, Deliveries: postgres.Deliveries{DB: h.db},
		Tester: h.tester(), Rotator: h.subscriptions(),
		Orders: postgres.Orders{DB: h.db}, Plugins: registry{h.db, h.config.host}, Published: postgres.Publications{DB: h.db}, Stores: postgres.Stores{DB: h.db}, Menus: postgres.Menus{DB: h.db},
		Checklist: postgres.Checklist{DB: h.db, Offers: h.config.plugins}, Sandbox: &h.playground, Memory: h.config.memory, Clock: h.db.Clock(), Log: h.log,
	}
	h.config.identity.join(&config)
	return adminui.New(config)
}

// counting observes delivery attempts for metrics and for the console's figures.
type counting struct {
	*metrics
	tally *console.Tally
	watch *watchman
}

// Attempted counts a delivery attempt (webhook.Observer).
func (c counting) Attempted(r webhook.Result, late time.Duration) {
	c.metrics.Attempted(r, late)
	c.watch.hearDelivery(r)
	c.tally.Count(console.Attempt{
		Business: r.Delivery.Business, Webhook: r.Delivery.WebhookID, Delivery: r.Delivery.ID, At: r.Attempt.StartedAt,
		Took: r.Attempt.Timing.Total, Class: string(r.Attempt.ErrorClass), Status: r.Attempt.Status, Error: r.Attempt.Error,
	})
}

// How often what was counted is stored, and what is too old forgotten.
const (
	tallyEvery  = 2 * time.Second
	forgetEvery = 10 * time.Minute
)

// keepCounts stores what was counted until the context ends, and then once more.
func (h *hub) keepCounts(ctx context.Context) {
	records := postgres.Console{DB: h.db}
	forgot := time.Now()
	h.keep(ctx, "counts of attempts", tallyEvery, func(ctx context.Context) error {
		err := records.AddSums(ctx, h.tally.Take())
		if time.Since(forgot) >= forgetEvery {
			forgot = time.Now()
			err = errors.Join(err, records.ForgetCounts(ctx))
		}
		return err
	})
}

// notesEvery is how often it is stored which keys were used, and which events nobody heard.
const notesEvery = time.Minute

// keepNotes stores what was noted for the console until the context ends, and then once more.
func (h *hub) keepNotes(ctx context.Context) {
	h.keep(ctx, "notes for the console", notesEvery, h.storeNotes)
}

func (h *hub) storeNotes(ctx context.Context) error {
	return errors.Join(postgres.Access{DB: h.db}.StoreUses(ctx, h.uses.Take()), postgres.Console{DB: h.db}.StoreUnheard(ctx))
}

// keep stores something each time every has passed until the context ends, and then
// once more within 5 s.
func (h *hub) keep(ctx context.Context, what string, every time.Duration, store func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := store(last); err != nil {
				h.log.Warn("the last "+what+" are lost", "error", err)
			}
			return
		case <-tick.C:
			if err := store(ctx); err != nil && ctx.Err() == nil {
				h.log.Warn(what+" could not be stored", "error", err)
			}
		}
	}
}
