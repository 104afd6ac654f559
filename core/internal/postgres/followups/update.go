package followups

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

// maxRevisions is the number of changes of one order.
const maxRevisions = 100

// errErased is the error for a change of an order without personal data.
var errErased = core.Errorf(core.Conflict, "the personal data of the order was erased, so it can no longer change")

// revision is a change of an order.
type revision struct {
	target
	order.FollowUp
	order  storedOrder
	priced intake.PricedOrder
	event  core.ID // with the changed order; zero: the change is rejected
}

// applyUpdate makes the changed order the present content of its order, and publishes it. A rejected change is
// recorded. A repeat of another one changes nothing.
func (s Store) applyUpdate(ctx context.Context, to target, f order.FollowUp) (text string, err error) {
	r := revision{target: to, FollowUp: f}
	if r.order, err = s.read(ctx, s.db.Bun(), queries.With("order_of", to.args()), to); err != nil {
		return "", err
	}
	unpriced := s.price(ctx, &r)
	if unpriced != nil && !isFinal(unpriced) {
		return "", unpriced
	}
	var rejected error
	err = s.run(ctx, to, f, func(tx bun.Conn, box *outbox.Outbox) (err error) {
		text, rejected = "the order is changed", unpriced
		if r.order, err = s.read(ctx, tx, queries.With("lock_order", to.args()), to); err != nil {
			return err
		}
		repeated, err := s.isRepeat(ctx, tx, r)
		if err != nil {
			return err
		}
		if repeated {
			text, rejected = "the change is known already, nothing changed", nil
			return nil
		}
		if rejected == nil {
			rejected = r.order.check()
		}
		if rejected != nil {
			return s.storeRevision(ctx, tx, r, order.UpdateSummary{}, core.PublicMessage(rejected))
		}
		return s.revise(ctx, tx, box, r)
	})
	if err == nil {
		err = rejected
	}
	return text, err
}

// isFinal reports whether an error is about the change itself, so that a retry does not resolve it.
func isFinal(err error) bool {
	code := core.CodeOf(err)
	return code == core.Conflict || code == core.Invalid || code == core.NotFound
}

// check returns why the order can no longer change.
func (o storedOrder) check() error {
	if o.erased {
		return errErased
	}
	return o.CheckUpdate()
}

// price checks and prices the changed order.
func (s Store) price(ctx context.Context, r *revision) error {
	if err := r.order.check(); err != nil {
		return err
	}
	draft, err := r.Update.Draft(r.order.Original)
	if err != nil {
		return err
	}
	r.priced, err = intake.Price(ctx, s.db, order.PlaceRequest{Business: r.business, Actor: r.Actor(), Draft: draft},
		r.id, r.order.Created)
	return err
}

// isRepeat reports whether the change was applied before. It returns a Conflict for an order with too many changes.
func (s Store) isRepeat(ctx context.Context, tx bun.Conn, r revision) (repeated bool, err error) {
	var all int
	if err := tx.QueryRowContext(ctx, queries.With("find_revision", postgres.Args{"business": r.business,
		"order": r.id, "change": r.Update.ChangeID})).Scan(&all, &repeated); err != nil {
		return false, fmt.Errorf("finding a change of an order: %w", err)
	}
	if all >= maxRevisions && !repeated {
		return false, core.Errorf(core.Conflict, "the order has changed %d times, the maximum", maxRevisions)
	}
	return repeated, nil
}

// revise stores a change, and publishes the changed order.
func (s Store) revise(ctx context.Context, tx bun.Conn, box *outbox.Outbox, r revision) error {
	before, err := s.present(ctx, tx, r)
	if err != nil {
		return err
	}
	details := &r.priced.Order.Details
	details.PrepMinutes = before.Order.Details.PrepMinutes
	now := s.db.Clock().Now()
	summary := r.Update.Summarise(before, r.priced.Relay)
	body, err := order.Updated(r.priced.Relay, r.order.State, summary)
	if err != nil {
		return fmt.Errorf("writing a changed order: %w", err)
	}
	event := core.Event{ID: core.NewID(now), Business: r.business, Type: core.OrderUpdated, At: now, Body: body,
		OrderID: r.id, Trace: core.TraceFromContext(ctx)}
	r.event = event.ID
	if err := s.storeRevision(ctx, tx, r, summary, ""); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, queries.With("apply_revision", postgres.Args{"business": r.business,
		"order": r.id, "event": event.ID, "flags": details.FlagCount(), "now": now,
		"due": details.ScheduledFor(), "hashes": r.priced.Hashes})); err != nil {
		return fmt.Errorf("changing an order: %w", err)
	}
	return box.Publish(ctx, tx, event)
}

// present returns the content of an order before its change, with its present preparation time.
func (s Store) present(ctx context.Context, tx bun.Conn, r revision) (before order.Relay, err error) {
	var stored []byte
	var prepMinutes *int64
	if err := tx.QueryRowContext(ctx, queries.With("present", postgres.Args{"business": r.business, "order": r.id,
		"event": r.order.content})).Scan(&stored, &prepMinutes); err != nil {
		return before, fmt.Errorf("reading the present content of an order: %w", err)
	}
	body, err := s.db.Decompress(stored)
	if err != nil {
		return before, err
	}
	before, err = order.ReadRelay(body)
	before.Order.Details.PrepMinutes = prepMinutes
	return before, err
}

// storeRevision stores a change, or why it was rejected.
func (s Store) storeRevision(ctx context.Context, tx bun.Conn, r revision, summary order.UpdateSummary,
	note string) error {
	changes, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	var published any
	if r.event != (core.ID{}) {
		published = r.event
	}
	return postgres.Exec(ctx, tx, "storing a change of an order",
		queries.With("store_revision", postgres.Args{"business": r.business,
			"order": r.id, "change": r.Update.ChangeID, "event": published, "reason": r.Update.Reason, "note": note,
			"changes": string(changes), "actor": r.Actor(), "now": s.db.Clock().Now()}))
}
