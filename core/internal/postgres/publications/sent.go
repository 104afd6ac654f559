package publications

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/tasks"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/publish"
)

// readSent decodes a stored menu whose outcome is pending. It returns nil if there is none.
func readSent(stored string) (*publish.SentMenu, error) {
	if stored == "" {
		return nil, nil
	}
	sent := &publish.SentMenu{}
	if err := json.Unmarshal([]byte(stored), sent); err != nil {
		return nil, fmt.Errorf("reading a menu whose outcome is pending: %w", err)
	}
	return sent, nil
}

// await stores that the outcome of a claimed publication is pending.
func (p Store) await(ctx context.Context, tx bun.Conn, owner core.ID, r publish.Result) (sql.Result, error) {
	sent, err := jsonText(r.Sent)
	if err != nil {
		return nil, err
	}
	return tx.ExecContext(ctx, queries.With("await", postgres.Args{
		"call": r.CallID, "version": r.Version, "attempts": r.Sent.Attempts, "deadline": r.Sent.Deadline,
		"since": r.Sent.Since, "sent": sent, "task": postgres.CleanText(r.Sent.Task),
		"business": r.Business, "store": r.StoreID, "platform": r.Platform, "owner": owner,
		"lease": r.Lease, "platform_store_id": r.Sent.PlatformStoreID,
	}))
}

// endTask ends the task of the earlier menu whose outcome was pending, if a result replaces or fails it.
func (p Store) endTask(ctx context.Context, tx bun.Conn, r publish.Result) error {
	ended := tasks.Ended{Business: r.Business, CallID: r.Replaced, State: tasks.Superseded}
	if r.Sent != nil && r.State != publish.Pending && !r.SentStays() {
		ended.CallID = r.Sent.CallID
	}
	if ended.CallID == (core.ID{}) {
		return nil
	}
	if r.Overdue {
		ended.State = tasks.Expired
	}
	return tasks.End(ctx, p.db, tx, ended)
}

// register stores the task of a menu whose outcome is pending. If the outcome arrived before the response, it stores
// that and returns the events.
func (p Store) register(ctx context.Context, tx bun.Conn, r publish.Result) ([]core.Event, error) {
	early, err := tasks.Register(ctx, p.db, tx, outcome.Task{Business: r.Business, Platform: r.Platform,
		Reference: r.Sent.Task, Kind: outcome.Menu, StoreID: r.StoreID, CallID: r.Sent.CallID,
		Deadline: r.Sent.Deadline})
	if err != nil || early == nil {
		return nil, err
	}
	return p.settle(ctx, tx, r.Sent.Settle(r.Work, *early, p.db.Clock().Now()))
}

// settle stores the result of a menu whose outcome the aggregator has reported, and returns its events. The caller has
// locked the publication.
func (p Store) settle(ctx context.Context, tx bun.Conn, r publish.Result) (events []core.Event, err error) {
	state := outcome.Done
	switch r.State {
	case publish.Waiting:
		state = outcome.Retry
		_, err = tx.ExecContext(ctx, queries.With("resend", postgres.Args{
			"note": postgres.CleanText(r.Message), "version": r.Version, "attempts": r.Attempts, "retry_at": r.RetryAt,
			"business": r.Business, "store": r.StoreID, "platform": r.Platform,
		}))
	case publish.Failed:
		state = outcome.Failed
		fallthrough
	default:
		_, err = p.conclude(ctx, tx, r, bun.SafeQuery(`true`))
	}
	if err != nil {
		return nil, fmt.Errorf("recording the outcome of a menu: %w", err)
	}
	if err := p.endExchange(ctx, tx, r); err != nil {
		return nil, err
	}
	if err := tasks.End(ctx, p.db, tx, tasks.Ended{Business: r.Business, CallID: r.Sent.CallID,
		State: state}); err != nil {
		return nil, err
	}
	if err := outbox.Notify(ctx, p.db, tx, Channel); err != nil { // one that was marked meanwhile is due
		return nil, err
	}
	return r.Events()
}

// BusyPause is when an aggregator repeats a report while the hub sends a newer request.
const BusyPause = 2 * time.Second

// Settle stores the outcome of a menu that an aggregator reports, with its events. It returns Unavailable while the
// hub sends a newer menu.
func (p Store) Settle(ctx context.Context, task outcome.Task, report outcome.Report) (effect outcome.Effect,
	err error) {
	err = outbox.Run(ctx, p.db, func(tx bun.Conn, box *outbox.Outbox) error {
		work, leased, err := p.lockSent(ctx, tx, task)
		if err != nil {
			return err
		}
		switch sent := work.Sent; {
		case sent == nil || sent.CallID != task.CallID:
			effect = outcome.Superseded
			return tasks.End(ctx, p.db, tx,
				tasks.Ended{Business: task.Business, CallID: task.CallID, State: tasks.Superseded})
		case leased && work.Version > sent.Version:
			return &core.Error{Code: core.Unavailable, RetryAfter: BusyPause,
				Message: "the hub sends a newer menu of the store: resend the outcome later"}
		}
		result := work.Sent.Settle(work, report, p.db.Clock().Now())
		if effect = outcome.Settled; result.State == publish.Waiting {
			effect = outcome.Retried
		}
		events, err := p.settle(ctx, tx, result)
		if err != nil {
			return err
		}
		return box.Publish(ctx, tx, events...)
	})
	return effect, err
}

// Relisted delists a store again whose replaced or overdue menu the aggregator has applied after the delisting.
func (p Store) Relisted(ctx context.Context, task outcome.Task) error {
	_, err := MarkDue(ctx, p.db, p.db.Bun(), Selector{
		Reference: core.NewID(p.db.Clock().Now()), Now: true, StateUnknown: true,
		Condition: `store.business_id = ? AND store.id = ? AND platform.name = ? AND publication.state = 'unlisted'`,
		Args:      []any{task.Business, task.StoreID, task.Platform},
	})
	return err
}

// lockSent locks the publication of a task and returns it. leased reports whether a replica publishes it now.
func (p Store) lockSent(ctx context.Context, tx bun.Conn, task outcome.Task) (w publish.Work, leased bool, err error) {
	w.Business, w.StoreID, w.Platform = task.Business, task.StoreID, task.Platform
	var stored string
	err = tx.QueryRowContext(ctx, queries.With("lock_sent", postgres.Args{
		"business": task.Business, "store": task.StoreID, "platform": task.Platform,
		"sent_name": outbox.SentNameOf("publication.business_id", "publication.platform"),
	})).Scan(&w.StoreRef, &w.EventPlatform, &w.Plugin, &w.Version, &w.Reference, &leased, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return w, false, nil
	}
	if err != nil {
		return w, false, fmt.Errorf("reading the publication of an outcome: %w", err)
	}
	w.Sent, err = readSent(stored)
	return w, leased, err
}
