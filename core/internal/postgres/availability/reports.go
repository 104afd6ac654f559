package availability

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/store"
)

// ReportStore stores the state of a store on a platform, and publishes an event if it changed. It reports whether the
// report is newer than the stored one (callback.PlatformViews).
func (t Store) ReportStore(ctx context.Context, business core.BusinessID, storeRef string,
	status store.PlatformStatus) (newer bool, err error) {
	status.Reason = postgres.CleanText(status.Reason)
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		id, err := publications.StoreID(ctx, tx, business, storeRef)
		if err != nil {
			return err
		}
		change := store.PlatformChange{PlatformStatus: status, StoreID: id, StoreRef: storeRef}
		var changed bool
		err = tx.QueryRowContext(ctx, queries.With("report_store", postgres.Args{
			"business": business, "store": id, "platform": status.Platform, "state": status.State,
			"reason": status.Reason, "at": time.UnixMilli(status.Since), "until": untilTime(status.Until),
			"sent_name": outbox.SentName,
		})).Scan(&changed, &change.EventAlias)
		if newer = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("storing the report of a platform: %w", err)
		}
		if !changed {
			return nil
		}
		event, err := change.Event(business, t.db.Clock().Now())
		if err != nil {
			return err
		}
		return box.Publish(ctx, tx, event)
	})
	return newer, err
}

func untilTime(millis int64) *time.Time {
	if millis == 0 {
		return nil
	}
	return new(time.UnixMilli(millis))
}

// RepublishMenu publishes the menu of a store on a platform, even if it has not changed. Requests that follow each
// other are collected like changes. It reports whether the platform lists the store (callback.PlatformViews).
func (t Store) RepublishMenu(ctx context.Context, business core.BusinessID, storeRef,
	platform string) (listed bool, err error) {
	err = t.db.InTx(ctx, func(tx bun.Conn) error {
		id, err := publications.StoreID(ctx, tx, business, storeRef)
		if err != nil {
			return err
		}
		n, err := publications.MarkDue(ctx, t.db, tx, publications.Selector{
			Reference: core.NewID(t.db.Clock().Now()), StateUnknown: true,
			Condition: publications.ListedOn + ` AND platform.served_by <> 'own'
				AND store.business_id = ? AND store.id = ? AND platform.name = ?`,
			Args: []any{business, id, platform},
		})
		listed = n > 0
		return err
	})
	return listed, err
}
