package availability

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// SetWorkload sets how busy a store is on the named platforms, or on all platforms that list it. It returns NotFound
// for an unknown store or platform.
func (t Store) SetWorkload(ctx context.Context, business core.BusinessID, r toggle.StoreRequest, reference core.ID,
	actor string) (accepted toggle.Accepted, err error) {
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		// A store that is not busy has no row to lock. Without this lock, platforms could be notified in another order.
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(?, ?))`,
			"workload/"+r.LocationRefID, int64(business)); err != nil {
			return fmt.Errorf("locking the workload: %w", err)
		}
		on, err := chooseStore(ctx, tx, business, r)
		if err != nil {
			return err
		}
		workload := r.Workload()
		switches, err := readWorkloads(ctx, tx, workload, toggle.SourceAPI, queries.With("set_workload", postgres.Args{
			"business": business, "store": on.store, "which": on.selection, "busy": workload.Busy,
			"prep_minutes": workload.PrepMinutes, "until": postgres.NullTime(r.Until), "actor": actor,
			"reference": reference.String(), "now": t.db.Clock().Now(), "columns": switchColumns,
		}))
		for i := range switches {
			switches[i].why = r.Why
		}
		accepted = toggle.Accepted{Platforms: len(switches), Warnings: r.UnlistedWarnings(on.named, on.listed)}
		if err := t.notifyPlatforms(ctx, tx, box, switches, err); err != nil {
			return err
		}
		if err := t.notifyTimer(ctx, tx, r.Until); err != nil {
			return err
		}
		return publications.StoreUnnotified(ctx, tx, business, reference, len(switches))
	})
	return accepted, err
}

// readWorkloads runs a statement that returns platforms on which the workload of stores is set.
func readWorkloads(ctx context.Context, tx bun.IDB, workload relay.Workload, source,
	query string) (list []platformSwitch, err error) {
	list, err = postgres.Collect(ctx, tx, "setting workloads", func(p *platformSwitch) []any {
		return append(p.fields(), &p.actor, &p.Reference, &p.changed)
	}, bun.SafeQuery(query))
	for i := range list {
		list[i].Workload, list[i].Source = &workload, source
	}
	return list, err
}

// endWorkloads ends the workloads of a business that are due.
func (t Store) endWorkloads(ctx context.Context, business core.BusinessID, limit int) (n int, err error) {
	err = outbox.Run(ctx, t.db, func(tx bun.Conn, box *outbox.Outbox) error {
		ended, err := readWorkloads(ctx, tx, relay.Workload{}, toggle.SourceTimer,
			queries.With("end_workloads", postgres.Args{
				"business": business, "now": t.db.Clock().Now(), "limit": limit, "columns": switchColumns,
			}))
		n = len(ended)
		return t.notifyPlatforms(ctx, tx, box, ended, err)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// undoWorkloads restores the workloads that platforms had accepted before calls that failed.
func undoWorkloads(ctx context.Context, tx bun.Conn, ended []endedSwitch) error {
	var businesses, stores []int64
	var calls []core.ID
	var platforms, references []string
	for _, t := range ended {
		if t.failed() && t.payload.Workload.Busy {
			businesses, stores = append(businesses, int64(t.call.Business)), append(stores, t.payload.StoreID)
			calls, platforms = append(calls, t.call.ID), append(platforms, t.call.Platform)
			references = append(references, t.payload.Reference.String())
		}
	}
	if len(stores) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, queries.With("undo_workloads", postgres.Args{
		"businesses": postgres.Array(businesses), "calls": postgres.Array(calls), "stores": postgres.Array(stores),
		"platforms": postgres.Array(platforms), "references": postgres.Array(references),
	})); err != nil {
		return fmt.Errorf("undoing workloads: %w", err)
	}
	return postgres.Notify(ctx, tx, TimerChannel) // of a restored one
}

// storeChoice is a store, with the platforms that a request selects.
type storeChoice struct {
	store         int64
	named, listed []string
	selection     bun.Safe // condition on the rows store and platform
}

// chooseStore returns the store of a request with the named platforms, or with those that list it.
func chooseStore(ctx context.Context, tx bun.Conn, business core.BusinessID,
	r toggle.StoreRequest) (on storeChoice, err error) {
	if on.store, err = publications.StoreID(ctx, tx, business, r.LocationRefID); err != nil {
		return on, err
	}
	if on.named, err = publications.ResolvePlatforms(ctx, tx, business, r.Platforms); err != nil {
		return on, err
	}
	on.selection = publications.ListedOn
	if len(on.named) > 0 {
		on.selection = bun.Safe(postgres.Formatter.FormatQuery(`platform.name = ANY (?::text[])`,
			postgres.Array(on.named)))
	}
	on.listed, err = publications.ListingPlatforms(ctx, tx, business, on.store)
	return on, err
}
