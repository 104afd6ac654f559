package hub

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/webhook"
)

// monitor monitors overdue events: order acknowledgements, action outcomes and POS heartbeats.
type monitor struct {
	actions      orders.Actions
	actionWithin time.Duration // 0: an outcome may be pending forever
	orders       orders.Store
	ackWithin    time.Duration // for businesses without their own limit; 0: orders may wait forever
	presence     presence.Monitor
	escalated    prometheus.Counter
	silenced     prometheus.Counter
	log          *slog.Logger
}

func newMonitor(config Config, db *postgres.DB, registry prometheus.Registerer, log *slog.Logger) *monitor {
	w := &monitor{
		actions: orders.NewActions(db), actionWithin: config.ActionWithin,
		orders: orders.New(db), ackWithin: config.AckWithin,
		presence: presence.Monitor{Tally: &presence.Tally{}, Repository: availability.NewPresence(db),
			Hours:        storeHours,
			SilenceLimit: config.SilentAfter, Clock: db.Clock()},
		escalated: prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_orders_escalated_total",
			Help: "Orders that waited too long for their acknowledgement, found by this process."}),
		silenced: prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_pos_silence_detected_total",
			Help: "Stores whose POS fell silent while they were open, found by this process."}),
		log: log,
	}
	registry.MustRegister(w.escalated, w.silenced)
	return w
}

// storeHours evaluates stored opening hours (presence.Hours).
func storeHours(s presence.Store) (open bool, since time.Duration, err error) {
	var hours core.OpeningHours
	if len(s.Timings) > 0 {
		err = json.Unmarshal(s.Timings, &hours.Week)
	}
	if len(s.SpecialTimings) > 0 {
		err = errors.Join(err, json.Unmarshal(s.SpecialTimings, &hours.Dates))
	}
	open, since = hours.OpenAt(s.LocalTime)
	return open, since, err
}

// The intervals of the checks, and of storing heartbeats.
const (
	checkInterval     = 30 * time.Second
	heartbeatInterval = time.Minute
)

// run checks until the context ends, and then stores heartbeats a last time. If checks is false, it only stores
// heartbeats.
func (w *monitor) run(ctx context.Context, checks bool) {
	check, heartbeat := time.NewTicker(checkInterval), time.NewTicker(heartbeatInterval)
	defer check.Stop()
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			final, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := w.presence.Flush(final); err != nil {
				w.log.Warn("storing store heartbeats failed at shutdown", "error", err)
			}
			return
		case <-check.C:
			if checks {
				err = errors.Join(w.checkOrders(ctx), w.checkActions(ctx))
			}
		case <-heartbeat.C:
			if err = w.presence.Flush(ctx); err == nil && checks {
				err = errors.Join(w.checkStores(ctx), w.orders.ApplyPendingCancellations(ctx))
			}
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("monitoring failed", "error", err)
		}
	}
}

func (w *monitor) checkOrders(ctx context.Context) error {
	n, err := w.orders.Escalate(ctx, w.ackWithin)
	if n > 0 {
		w.escalated.Add(float64(n))
		w.log.Warn("orders escalated", "orders", n)
	}
	return err
}

func (w *monitor) checkActions(ctx context.Context) error {
	if w.actionWithin == 0 {
		return nil
	}
	n, err := w.actions.Expire(ctx, w.actionWithin)
	if n > 0 {
		w.log.Warn("actions timed out", "actions", n)
	}
	return err
}

func (w *monitor) checkStores(ctx context.Context) error {
	changes, err := w.presence.Check(ctx)
	for _, c := range changes {
		if !c.Silent {
			w.log.Info("POS of a store is active again", "business", c.Business, "store", c.RefID)
			continue
		}
		w.silenced.Inc()
		w.log.Warn("POS of a store is silent", "business", c.Business, "store", c.RefID, "since", c.SilentSince)
	}
	return err
}

// recordDelivery records an accepted event of an order as a heartbeat.
func (w *monitor) recordDelivery(r webhook.Result) {
	d := r.Delivery
	if r.State != webhook.Delivered || d.Test ||
		d.EventType != core.OrderPlaced && d.EventType != core.RiderStatusUpdate {
		return
	}
	if id := presence.StoreOf(d.Body); id != 0 {
		w.presence.Record(presence.Heartbeat{Business: d.Business, StoreID: id}, r.Attempt.StartedAt)
	}
}
