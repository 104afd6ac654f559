package deliveries

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// OrderRetries stores the deliveries that order retries send (webhook.OrderRetries).
type OrderRetries struct{ followedResends }

// NewOrderRetries returns OrderRetries that use db.
func NewOrderRetries(db *postgres.DB) OrderRetries { return OrderRetries{followedResends{db}} }

// Select fixes what the job resends: deliveries without a 2xx of orders placed in the window,
// to active webhooks. It skips first attempts that are running. It also skips ended deliveries of cancelled orders,
// because their receiver may already have the cancellation. Orders that no webhook accepted and no active one received
// go to the webhooks that are active now.
func (r OrderRetries) Select(ctx context.Context, work core.Job, window webhook.TimeRange) error {
	return jobs.InTx(ctx, r.db, work, func(tx bun.Conn) error {
		if done, err := r.isSelected(ctx, tx, work); err != nil || done {
			return err
		}
		// Without statistics the planner underestimates these rows; hash joins read each once.
		if _, err := tx.ExecContext(ctx, `SET LOCAL enable_nestloop = off`); err != nil {
			return fmt.Errorf("selecting orders to resend: %w", err)
		}
		var unrouted []unroutedOrder
		err := tx.NewRaw(queries.With("choose_resends", postgres.Args{
			"business": work.Business, "from": window.From, "to": window.To, "event_type": core.OrderPlaced,
			"first": core.FirstID(window.From.Add(-time.Minute)), "reference": work.ID, "chosen": resendChosen,
			"cancelled": order.Cancelled,
		})).Scan(ctx, &unrouted)
		if err != nil {
			return fmt.Errorf("selecting orders to resend: %w", err)
		}
		return r.chooseForNewWebhooks(ctx, tx, work, unrouted)
	})
}

// unroutedOrder is an order that no webhook accepted and no active one received.
type unroutedOrder struct {
	ID          int64   `bun:"id"`
	PlacedEvent core.ID `bun:"placed_event,type:uuid"`
}

// chooseForNewWebhooks selects orders without a webhook for the webhooks that are active now. It stores
// deliveries that failed without an attempt. Their ids carry the time of the event, like
// those created with it. If the order is cancelled before they are sent, Resend deletes them.
func (r OrderRetries) chooseForNewWebhooks(ctx context.Context, tx bun.Conn, work core.Job,
	orders []unroutedOrder) error {
	if len(orders) == 0 {
		return nil
	}
	var receivers []outbox.Target
	if err := tx.NewRaw(`SELECT id, url FROM webhooks WHERE business_id = ? AND event_type = ? AND active ORDER BY id`,
		work.Business, core.OrderPlaced).
		Scan(ctx, &receivers); err != nil {
		return fmt.Errorf("finding the webhooks of orders: %w", err)
	}
	if len(receivers) == 0 {
		return nil
	}
	now := r.db.Clock().Now()
	var deliveries, resends postgres.CopyWriter
	for _, o := range orders {
		for _, t := range receivers {
			id := core.NewID(core.TimeOf(o.PlacedEvent))
			deliveries.Int(int64(work.Business))
			deliveries.ID(id)
			deliveries.ID(o.PlacedEvent)
			deliveries.Text(string(core.OrderPlaced))
			deliveries.Int(t.ID)
			deliveries.Text(t.URL)
			deliveries.Text(string(webhook.Failed))
			deliveries.Int(0)
			deliveries.Int(0)
			deliveries.Time(now)
			deliveries.End()
			resends.Int(int64(work.Business))
			resends.ID(work.ID)
			resends.ID(id)
			resends.Int(o.ID)
			resends.Int(resendChosen)
			resends.Int(0)
			resends.Bool(true)
			resends.End()
		}
	}
	if err := deliveries.CopyInto(ctx, tx, "deliveries",
		"business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at"); err != nil {
		return err
	}
	return resends.CopyInto(ctx, tx, "followed_resends",
		"business_id, reference, delivery_id, order_id, state, prior_attempts, created")
}

// Tally records new responses and counts by order. An order counts as answered when every webhook has responded. A
// delivery that can get no response any more has failed, because its webhook was disabled or its event has expired.
func (r OrderRetries) Tally(ctx context.Context, work core.Job) (tally webhook.Tally, err error) {
	err = r.db.InTx(ctx, func(tx bun.Conn) (err error) {
		tally, err = r.tally(ctx, tx, work, false)
		return err
	})
	return tally, err
}

// End stores the callback event and ends the job, in one transaction.
func (r OrderRetries) End(ctx context.Context, work core.Job, event core.Event, tally webhook.Tally,
	failure string) error {
	return jobs.Run(ctx, r.db, work, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := box.Publish(ctx, tx, event); err != nil {
			return err
		}
		if err := r.forget(ctx, tx, work); err != nil {
			return err
		}
		result := fmt.Appendf(nil, `{"retried":%d,"failed":%d}`, tally.Sent, tally.Failed)
		return jobs.Finish(ctx, r.db, tx, work,
			jobs.Ended{Failure: failure, Result: result, Event: event.ID, Objects: tally.Selected})
	})
}
