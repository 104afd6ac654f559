package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

// watchman looks after what nobody does: orders that are not acknowledged, actions
// whose outcome aggregators owe, and POSes of which nothing is heard.
type watchman struct {
	actions      postgres.Actions
	actionWithin time.Duration // 0: an outcome may be owed for ever
	orders       postgres.Orders
	ackWithin    time.Duration // where a business does not say; 0: orders may wait for ever
	presence     presence.Watch
	escalated    prometheus.Counter
	silenced     prometheus.Counter
	log          *slog.Logger
}

func newWatchman(config hubConfig, db *postgres.DB, registry prometheus.Registerer, log *slog.Logger) *watchman {
	w := &watchman{
		actions: postgres.Actions{DB: db}, actionWithin: config.actionWithin,
		orders: postgres.Orders{DB: db}, ackWithin: config.ackWithin,
		presence: presence.Watch{Tally: &presence.Tally{}, Records: postgres.Presence{DB: db}, Hours: storeHours, After: config.silentAfter, Clock: db.Clock()},
		escalated: prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_orders_escalated_total",
			Help: "Orders that waited too long for their acknowledgement, found by this process."}),
		silenced: prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_pos_silenced_total",
			Help: "Stores whose POS fell silent while they were open, found by this process."}),
		log: log,
	}
	registry.MustRegister(w.escalated, w.silenced)
	return w
}

// storeHours reads opening hours as stored (presence.Hours).
func storeHours(timings []byte, local time.Time) (open bool, ago time.Duration, err error) {
	var hours []store.Timing
	if len(timings) > 0 {
		err = json.Unmarshal(timings, &hours)
	}
	open, ago = store.OpenAt(hours, local)
	return open, ago, err
}

// How often a look is taken, and what was heard stored.
const (
	lookEvery = 15 * time.Second
	hearEvery = time.Minute
)

// run looks until the context ends, and stores what was heard once more then.
// Where looks is false, it only stores.
func (w *watchman) run(ctx context.Context, looks bool) {
	look, hear := time.NewTicker(lookEvery), time.NewTicker(hearEvery)
	defer look.Stop()
	defer hear.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := w.presence.Store(last); err != nil {
				w.log.Warn("what was last heard of stores is lost", "error", err)
			}
			return
		case <-look.C:
			if looks {
				err = errors.Join(w.lookAtOrders(ctx), w.orders.MeetCancellations(ctx), w.lookAtActions(ctx))
			}
		case <-hear.C:
			if err = w.presence.Store(ctx); err == nil && looks {
				err = w.lookAtStores(ctx)
			}
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("looking for what waits or is silent failed; it is tried again", "error", err)
		}
	}
}

func (w *watchman) lookAtOrders(ctx context.Context) error {
	n, err := w.orders.Escalate(ctx, w.ackWithin)
	if n > 0 {
		w.escalated.Add(float64(n))
		w.log.Warn("orders wait too long for their acknowledgement", "orders", n)
	}
	return err
}

func (w *watchman) lookAtActions(ctx context.Context) error {
	if w.actionWithin == 0 {
		return nil
	}
	n, err := w.actions.Expire(ctx, w.actionWithin)
	if n > 0 {
		w.log.Warn("aggregators owe the outcomes of actions for too long; they are given up", "actions", n)
	}
	return err
}

func (w *watchman) lookAtStores(ctx context.Context) error {
	changes, err := w.presence.Look(ctx)
	for _, c := range changes {
		if !c.Silent {
			w.log.Info("the POS of a store is heard of again", "business", c.Business, "store", c.RefID)
			continue
		}
		w.silenced.Inc()
		w.log.Warn("the POS of a store is silent", "business", c.Business, "store", c.RefID, "since", c.SilentSince)
	}
	return err
}

// hearDelivery takes an accepted event of an order for a sign of life.
func (w *watchman) hearDelivery(r webhook.Result) {
	d := r.Delivery
	if r.State != webhook.Delivered || d.Test || d.EventType != core.OrderPlaced && d.EventType != core.RiderStatusUpdate {
		return
	}
	if id := presence.StoreOf(d.Body); id != 0 {
		w.presence.Hear(presence.Sign{Business: d.Business, StoreID: id}, r.Attempt.StartedAt)
	}
}
