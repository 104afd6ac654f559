// Package followups applies what platforms send about their orders beside the orders themselves. A follow-up that
// arrives before its order waits for it.
package followups

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Riders stores the statuses of couriers.
type Riders interface {
	Update(ctx context.Context, update order.RiderUpdate) (changed bool, err error)
	// UpdateIn is Update in a transaction of outbox.RunKeyed.
	UpdateIn(ctx context.Context, tx bun.Conn, box *outbox.Outbox, update order.RiderUpdate) (changed bool, err error)
}

// Store stores follow-ups of platforms.
type Store struct {
	db     *postgres.DB
	riders Riders
}

// New returns a Store that uses db.
func New(db *postgres.DB, riders Riders) Store { return Store{db, riders} }

// target is the order of a follow-up.
type target struct {
	business core.BusinessID
	id       int64
	mode     order.DeliveryMode
	waiting  bool    // others wait for it
	row      core.ID // of a follow-up that waited; zero: it did not wait
}

// Apply applies a follow-up; what it changes is durable when it returns. If the order is unknown, the follow-up is
// stored until it arrives. Those that already wait are applied first.
func (s Store) Apply(ctx context.Context, business core.BusinessID,
	f order.FollowUp) (result order.FollowUpResult, err error) {
	if err := f.Check(s.db.Clock().Now()); err != nil {
		return result, err
	}
	found, err := s.find(ctx, business, f)
	if err != nil {
		return result, err
	}
	if found.id == 0 {
		if err := s.wait(ctx, business, f); err != nil {
			return result, err
		}
		// Looked up again, so that an order that arrived meanwhile is not missed.
		if found, err = s.find(ctx, business, f); err != nil {
			return result, err
		}
		result.OrderID, result.Text = found.id, "the order is unknown so far, and this is applied when it arrives"
		if found.waiting {
			err = s.ApplyWaiting(ctx, []int64{int64(business)}, []string{f.Platform}, []string{f.PlatformOrderID})
		}
		return result, err
	}
	if found.waiting {
		if err := s.ApplyWaiting(ctx, []int64{int64(business)}, []string{f.Platform},
			[]string{f.PlatformOrderID}); err != nil {
			return result, err
		}
	}
	result.OrderID = found.id
	result.Text, err = s.apply(ctx, found, f)
	return result, err
}

func (s Store) find(ctx context.Context, business core.BusinessID, f order.FollowUp) (target, error) {
	found := target{business: business}
	err := s.db.Bun().QueryRowContext(ctx, queries.With("find", postgres.Args{
		"business": business, "platform": f.Platform, "ref": f.PlatformOrderID,
	})).Scan(&found.id, &found.mode, &found.waiting)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return found, fmt.Errorf("finding the order of a follow-up: %w", err)
	}
	return found, nil
}

// maxWaiting is the number of follow-ups that can wait for one order.
const maxWaiting = 50

// wait stores a follow-up whose order is unknown. A repeat is not stored again.
func (s Store) wait(ctx context.Context, business core.BusinessID, f order.FollowUp) error {
	content, err := json.Marshal(f)
	if err != nil {
		return err
	}
	now := s.db.Clock().Now()
	args := postgres.Args{"business": business, "platform": f.Platform, "ref": f.PlatformOrderID,
		"id": core.NewID(now), "content": string(content), "now": now}
	var all int
	var repeated bool
	err = s.db.Bun().QueryRowContext(ctx, queries.With("count_waiting", postgres.Args{"business": business,
		"platform": f.Platform, "ref": f.PlatformOrderID, "content": string(content),
		"courier": f.Courier != nil})).Scan(&all, &repeated)
	switch {
	case err != nil:
		return fmt.Errorf("counting follow-ups: %w", err)
	case repeated:
		return nil
	case all >= maxWaiting:
		return core.Errorf(core.Conflict, "%d messages already wait for this order, the maximum", maxWaiting)
	}
	return postgres.Exec(ctx, s.db.Bun(), "storing a follow-up", queries.With("store_waiting", args))
}

// ApplyWaiting applies the follow-ups that wait for orders, which are given by columns (intake.Applier).
func (s Store) ApplyWaiting(ctx context.Context, businesses []int64, platforms, platformOrderIDs []string) error {
	return s.applyWaiting(ctx, bun.SafeQuery(`(waiting.business_id, waiting.platform, waiting.platform_order_id)
		IN (SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[]))`, postgres.Array(businesses),
		postgres.Array(platforms), postgres.Array(platformOrderIDs)))
}

// keptWaiting is how long a follow-up waits for its order. It has personal data.
const keptWaiting = 24 * time.Hour

// Sweep applies the follow-ups that were not applied when their orders arrived, and deletes those whose orders have
// not arrived. Any replica may call it.
func (s Store) Sweep(ctx context.Context) error {
	err := s.applyWaiting(ctx, bun.SafeQuery("true"))
	if _, failed := s.db.Bun().ExecContext(ctx, queries.With("drop_late", postgres.Args{
		"before": s.db.Clock().Now().Add(-keptWaiting)})); failed != nil {
		err = errors.Join(err, fmt.Errorf("deleting follow-ups: %w", failed))
	}
	return err
}

// waitingFollowUp is a follow-up whose order has arrived.
type waitingFollowUp struct {
	target
	order.FollowUp
	content string
}

// maxApplied is the number of follow-ups that one call applies.
const maxApplied = 1000

func (s Store) applyWaiting(ctx context.Context, only any) error {
	list, err := postgres.Collect(ctx, s.db.Bun(), "looking for follow-ups of orders", func(w *waitingFollowUp) []any {
		return []any{&w.business, &w.Platform, &w.PlatformOrderID, &w.row, &w.content, &w.id, &w.mode}
	}, bun.SafeQuery(queries.With("waiting", postgres.Args{"only": only, "most": maxApplied})))
	if err != nil {
		return err
	}
	var failed error
	var left target // the order whose other follow-ups wait until the first can be applied
	for _, w := range list {
		if w.business == left.business && w.id == left.id {
			continue
		}
		if err := s.applyStored(ctx, w); err != nil {
			failed, left = errors.Join(failed, err), w.target
		}
	}
	return failed
}

// applyStored applies a follow-up that waited. If the order does not allow it, it is recorded as ignored. Several
// calls may apply the follow-ups of an order: each follow-up is applied once, after those before it.
func (s Store) applyStored(ctx context.Context, w waitingFollowUp) error {
	if err := json.Unmarshal([]byte(w.content), &w.FollowUp); err != nil {
		return fmt.Errorf("reading a follow-up: %w", err)
	}
	_, err := s.apply(ctx, w.target, w.FollowUp)
	switch core.CodeOf(err) {
	case core.Conflict, core.Invalid, core.NotFound:
		why := core.PublicMessage(err)
		return s.run(ctx, w.target, w.FollowUp, func(tx bun.Conn, _ *outbox.Outbox) error {
			if w.Update != nil { // recorded as a rejected revision
				return nil
			}
			_, err := s.record(ctx, tx, w.target, w.FollowUp, why)
			return err
		})
	}
	return err
}

// run runs the transaction that applies a follow-up. It does nothing for a waiting one that was applied since.
func (s Store) run(ctx context.Context, to target, f order.FollowUp,
	apply func(tx bun.Conn, box *outbox.Outbox) error) error {
	return outbox.RunKeyed(ctx, s.db, func(tx bun.Conn, box *outbox.Outbox) error {
		claimed, err := s.claim(ctx, tx, to, f)
		if err != nil || !claimed {
			return err
		}
		return apply(tx, box)
	})
}

// claim deletes a waiting follow-up in the transaction that applies it, and reports whether it was still waiting.
// The lock of its order makes other transactions wait. It comes first, as in all transactions that have both.
func (s Store) claim(ctx context.Context, tx bun.Conn, to target, f order.FollowUp) (bool, error) {
	if to.row == (core.ID{}) {
		return true, nil
	}
	if _, err := s.read(ctx, tx, queries.With("lock_order", to.args()), to); err != nil {
		return false, err
	}
	deleted, err := tx.ExecContext(ctx, queries.With("drop_waiting", postgres.Args{"business": to.business,
		"platform": f.Platform, "ref": f.PlatformOrderID, "id": to.row}))
	if err != nil {
		return false, fmt.Errorf("removing a follow-up: %w", err)
	}
	rows, err := deleted.RowsAffected()
	return rows > 0, err
}

// apply applies a follow-up to its order, and returns its outcome for people.
func (s Store) apply(ctx context.Context, to target, f order.FollowUp) (string, error) {
	switch {
	case f.Release != nil:
		return s.applyRelease(ctx, to, f)
	case f.Update != nil:
		return s.applyUpdate(ctx, to, f)
	}
	return s.applyCourier(ctx, to, f)
}

func (s Store) applyCourier(ctx context.Context, to target, f order.FollowUp) (string, error) {
	if why := order.CourierIgnored(to.mode); why != "" {
		return "nothing to do: " + why, s.run(ctx, to, f, func(tx bun.Conn, _ *outbox.Outbox) error {
			_, err := s.record(ctx, tx, to, f, why)
			return err
		})
	}
	changed, err := s.updateRider(ctx, to, f)
	if err != nil || changed {
		return "the courier's state is stored", err
	}
	return "the courier's state is known already, nothing changed", nil
}

// updateRider stores the status of a courier. A report that did not wait shares a transaction with others.
func (s Store) updateRider(ctx context.Context, to target, f order.FollowUp) (changed bool, err error) {
	update := f.Courier.Update(to.business, to.id, f.Platform)
	if to.row == (core.ID{}) {
		return s.riders.Update(ctx, update)
	}
	err = s.run(ctx, to, f, func(tx bun.Conn, box *outbox.Outbox) (err error) {
		changed, err = s.riders.UpdateIn(ctx, tx, box, update)
		return err
	})
	return changed, err
}

// record records why a follow-up changed nothing, or "" if it did. It reports whether nothing of the kind was recorded
// before.
func (s Store) record(ctx context.Context, tx bun.Conn, to target, f order.FollowUp, note string) (bool, error) {
	stored, err := tx.ExecContext(ctx, queries.With("record", postgres.Args{"business": to.business,
		"order": to.id, "kind": f.Kind(), "note": note, "actor": f.Actor(), "now": s.db.Clock().Now()}))
	if err != nil {
		return false, fmt.Errorf("recording a follow-up: %w", err)
	}
	rows, err := stored.RowsAffected()
	return rows > 0, err
}
