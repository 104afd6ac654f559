package hub

import (
	"context"
	"errors"
	"time"

	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/customers"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
)

// reportUnreadable checks once for stored secrets that no key can open, and logs them.
func (h *Hub) reportUnreadable(ctx context.Context) {
	sealed, err := schema.CountSealed(ctx, h.db)
	if err != nil && ctx.Err() == nil {
		h.log.Warn("checking stored secrets failed", "error", err)
	}
	for _, column := range sealed {
		if column.Unreadable > 0 {
			h.log.Error("stored secrets cannot be decrypted", "column", column.Column, "secrets", column.Unreadable,
				"remedy", "add their key to SERVERY_SECRET_KEY_PREVIOUS")
		}
	}
}

// maintain creates and drops partitions. It returns the retention and the time until the next run, which is shorter
// after an error. An error does not stop the hub.
func (h *Hub) maintain(ctx context.Context) (retention, next time.Duration) {
	retention, err := schema.Retention(ctx, h.db, h.config.Retention)
	if err == nil {
		err = schema.Maintain(ctx, h.db, retention)
	}
	if err != nil {
		if ctx.Err() == nil {
			h.log.Warn("partition maintenance failed", "error", err)
		}
		return retention, 5 * time.Minute
	}
	if retention > h.config.Retention {
		h.log.Warn("SERVERY_RETENTION differs between hubs", "here", h.config.Retention.String(),
			"applied", retention.String())
	}
	return retention, time.Hour
}

// housekeepInterval is the interval of work that must not be late, and of erasing personal data.
const housekeepInterval = 30 * time.Second

// housekeep synchronises the clock, wakes the queue, schedules polls and deletes expired nonces and rates, until the
// context ends.
func (h *Hub) housekeep(ctx context.Context) {
	tick := time.NewTicker(housekeepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.clockSet: // work that is stored by the old clock would be late
		case <-tick.C:
		}
		if err := errors.Join(h.db.SyncClock(ctx), outbox.Sweep(ctx, h.db), h.outcomes.Sweep(ctx),
			platforms.NewCallers(h.db).DeleteExpiredNonces(ctx), platforms.NewRates(h.db).Sweep(ctx),
			h.schedulePolls(ctx), h.followUps.Sweep(ctx)); err != nil && ctx.Err() == nil {
			h.log.Warn("maintenance failed", "error", err)
		}
	}
}

// retain erases personal data, maintains the partitions and deletes what is past the retention, until the context ends.
// That may take long, so housekeep does not wait for it. The first maintenance of partitions is after the given time.
func (h *Hub) retain(ctx context.Context, first time.Duration) {
	tick, partitions := time.NewTicker(housekeepInterval), time.NewTimer(first)
	defer tick.Stop()
	defer partitions.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = errors.Join(customers.New(h.db).Backfill(ctx), customers.New(h.db).Erase(ctx))
		case <-partitions.C:
			retention, next := h.maintain(ctx)
			partitions.Reset(next)
			if retention > 0 {
				err = errors.Join(orders.New(h.db).DropOld(ctx, retention),
					deliveries.New(h.db).DropHeld(ctx, retention),
					webhooksdb.New(h.db).DropOldProblems(ctx, retention), jobs.New(h.db).DropOld(ctx, retention))
			}
			err = errors.Join(err, h.riders.Sweep(ctx), customers.New(h.db).Sweep(ctx))
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("maintenance failed", "error", err)
		}
	}
}

// The intervals of storing attempt counts, and of deleting expired ones.
const (
	tallyInterval  = 2 * time.Second
	expiryInterval = 10 * time.Minute
)

// storeAttemptCounts stores the counts until the context ends, and then a last time.
func (h *Hub) storeAttemptCounts(ctx context.Context) {
	records := consoleview.New(h.db)
	expired := time.Now()
	h.storePeriodically(ctx, "attempt counts", tallyInterval, func(ctx context.Context) error {
		sums := h.tally.Take()
		err := records.AddSums(ctx, sums)
		if err != nil {
			h.tally.Restore(sums)
		}
		if time.Since(expired) >= expiryInterval {
			expired = time.Now()
			err = errors.Join(err, records.DeleteExpiredCounts(ctx))
		}
		return err
	})
}

// recordsInterval is how often the use of keys, unrouted events and pending rejected orders are stored.
const recordsInterval = time.Minute

// storeConsoleRecords stores the records for the console until the context ends, and then a last time.
func (h *Hub) storeConsoleRecords(ctx context.Context) {
	h.storePeriodically(ctx, "console notes", recordsInterval, h.storeConsoleRecordsOnce)
}

func (h *Hub) storeConsoleRecordsOnce(ctx context.Context) error {
	uses := h.keyUses.Take()
	err := accessdb.New(h.db).StoreUses(ctx, uses)
	if err != nil {
		h.keyUses.Restore(uses)
	}
	return errors.Join(err, outbox.StoreUnrouted(ctx, h.db), orders.New(h.db).StorePendingRejected(ctx))
}

// storePeriodically calls store at an interval until the context ends, and then a last time with a timeout of 5 s.
func (h *Hub) storePeriodically(ctx context.Context, records string, interval time.Duration,
	store func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			final, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := store(final); err != nil {
				h.log.Warn("storing records failed at shutdown", "records", records, "error", err)
			}
			return
		case <-tick.C:
			if err := store(ctx); err != nil && ctx.Err() == nil {
				h.log.Warn("storing records failed", "records", records, "error", err)
			}
		}
	}
}
