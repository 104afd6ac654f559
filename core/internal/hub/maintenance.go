package hub

import (
	"context"
	"errors"
	"time"

	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// reportUnreadable checks once for stored secrets that no key can open, and logs them. Only what needs these secrets
// fails.
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
func (h *Hub) maintain(ctx context.Context) (retention, again time.Duration) {
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

// housekeep synchronises the clock, wakes the queue and, after then, maintains the partitions, until the context
// ends.
func (h *Hub) housekeep(ctx context.Context, then time.Duration) {
	clock, partitions := time.NewTicker(30*time.Second), time.NewTimer(then)
	defer clock.Stop()
	defer partitions.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			err = errors.Join(h.db.SyncClock(ctx), outbox.Sweep(ctx, h.db))
		case <-partitions.C:
			retention, again := h.maintain(ctx)
			partitions.Reset(again)
			if retention > 0 {
				err = orders.New(h.db).DropOld(ctx, retention)
			}
			err = errors.Join(err, h.riders.Sweep(ctx))
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("maintenance failed", "error", err)
		}
	}
}

// How often counts are stored, and expired ones deleted.
const (
	tallyInterval  = 2 * time.Second
	expiryInterval = 10 * time.Minute
)

// storeAttemptCounts stores the counts until the context ends, and then once more.
func (h *Hub) storeAttemptCounts(ctx context.Context) {
	records := consoleview.New(h.db)
	forgot := time.Now()
	h.storePeriodically(ctx, "attempt counts", tallyInterval, func(ctx context.Context) error {
		err := records.AddSums(ctx, h.tally.Take())
		if time.Since(forgot) >= expiryInterval {
			forgot = time.Now()
			err = errors.Join(err, records.DeleteExpiredCounts(ctx))
		}
		return err
	})
}

// recordsInterval is how often the use of keys, and unrouted events, are stored.
const recordsInterval = time.Minute

// storeConsoleRecords stores the records for the console until the context ends, and then once more.
func (h *Hub) storeConsoleRecords(ctx context.Context) {
	h.storePeriodically(ctx, "console notes", recordsInterval, h.storeConsoleRecordsOnce)
}

func (h *Hub) storeConsoleRecordsOnce(ctx context.Context) error {
	return errors.Join(accessdb.New(h.db).StoreUses(ctx, h.keyUses.Take()), outbox.StoreUnrouted(ctx, h.db))
}

// storePeriodically calls store at an interval until the context ends, and then once more with a limit of 5 s.
func (h *Hub) storePeriodically(ctx context.Context, what string, every time.Duration, store func(context.Context) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := store(last); err != nil {
				h.log.Warn("storing records failed at shutdown", "records", what, "error", err)
			}
			return
		case <-tick.C:
			if err := store(ctx); err != nil && ctx.Err() == nil {
				h.log.Warn("storing records failed", "records", what, "error", err)
			}
		}
	}
}
