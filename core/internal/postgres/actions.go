package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// Actions keeps feature actions (action.Records): each is a call to its aggregator.
type Actions struct{ *DB }

// PlatformOrder reads what of an order decides which actions it allows, and
// which plugin serves the platform that was named.
func (a Actions) PlatformOrder(ctx context.Context, business core.BusinessID, platform string, orderID int64) (o action.Order, servedBy string, err error) {
	err = a.of(business).QueryRowContext(ctx, `SELECT served_by FROM platforms WHERE business_id = ? AND name = ?`, business, platform).Scan(&servedBy)
	if err != nil {
		return o, "", notFound(err, "there is no platform %q", platform)
	}
	var carrier order.Carrier
	var state order.State
	err = a.of(business).QueryRowContext(ctx, `SELECT o.platform, `+carriedBy+`, o.is_bulk_order, o.state FROM orders o WHERE o.business_id = ? AND o.id = ?`, business, orderID).
		Scan(&o.Platform, &carrier, &o.Bulk, &state)
	o.SelfDelivered, o.Completed, o.Cancelled = carrier == order.BySelf, state == order.Completed, state == order.Cancelled
	if errors.Is(err, sql.ErrNoRows) {
		return o, "", noOrder(orderID)
	}
	return o, servedBy, err
}

// Submit stores an action to be sent, unless the same of the order is under way,
// and returns its reference. Actions do not wait for each other.
func (a Actions) Submit(ctx context.Context, s action.Submission) (reference core.ID, err error) {
	sent := relay.ActionPayload{Action: s.Action, WearingMask: s.WearingMask, Phone: s.Phone}
	if s.Temp != nil {
		sent.Temp = s.Temp.String()
	}
	payload, err := json.Marshal(sent)
	if err != nil {
		return core.ID{}, err
	}
	err = a.tell(ctx, func(tx bun.Conn, box *outbox) error {
		reference = s.Reference
		// Locked, so that of two at the same time one sees the other.
		if _, err := tx.ExecContext(ctx, `SELECT 1 FROM orders WHERE business_id = ? AND id = ? FOR UPDATE`, s.Business, s.OrderID); err != nil {
			return fmt.Errorf("locking the order of an action: %w", err)
		}
		err := tx.QueryRowContext(ctx, `SELECT id FROM calls WHERE business_id = ? AND order_id = ? AND kind = ? AND platform = ? AND payload = ? AND state IN ('waiting', 'pending')
			ORDER BY place LIMIT 1`, s.Business, s.OrderID, relay.Action, s.Platform, string(payload)).Scan(&reference)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return box.call(ctx, tx, []newCall{{
			business: s.Business, id: s.Reference, kind: relay.Action, line: relay.Line(relay.Action, s.Reference.String()),
			platform: s.Platform, order: s.OrderID, payload: payload, actor: s.Actor, at: s.At,
		}})
	})
	return reference, err
}

// Get reads an action with its attempts; NotFound where the business has none of
// the reference.
func (a Actions) Get(ctx context.Context, business core.BusinessID, reference core.ID) (action.Reading, error) {
	r := action.Reading{Reference: reference, Attempts: []action.Attempt{}}
	var payload string
	var created time.Time
	var finished sql.NullTime
	err := a.of(business).QueryRowContext(ctx, `SELECT c.order_id, c.platform, o.platform_order_id, c.payload, c.state,
			CASE WHEN c.state = 'waiting' THEN coalesce(l.note, '') ELSE c.message END, c.result, c.created_at, c.finished_at
		FROM calls c
		JOIN orders o ON o.business_id = c.business_id AND o.id = c.order_id
		LEFT JOIN call_lines l ON l.business_id = c.business_id AND l.line = c.line
		WHERE c.business_id = ? AND c.id = ? AND c.kind = ?`, business, reference, relay.Action).
		Scan(&r.OrderID, &r.Platform, &r.PlatformOrderID, &payload, &r.State, &r.Message, &r.CustomerPhone, &created, &finished)
	if err != nil {
		return r, notFound(err, "there is no action with this reference")
	}
	if r.Action, err = actionOf(payload); err != nil {
		return r, err
	}
	r.Created = created.UnixMilli()
	if finished.Valid {
		r.Finished = finished.Time.UnixMilli()
	}
	rows, err := a.of(business).QueryContext(ctx, `SELECT started_at, status, error_class, error FROM call_attempts WHERE business_id = ? AND call_id = ? ORDER BY n, started_at`,
		business, reference)
	if err != nil {
		return r, fmt.Errorf("reading the attempts of an action: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var made action.Attempt
		var at time.Time
		if err := rows.Scan(&at, &made.Status, &made.ErrorClass, &made.Error); err != nil {
			return r, fmt.Errorf("reading the attempts of an action: %w", err)
		}
		made.At = at.UnixMilli()
		r.Attempts = append(r.Attempts, made)
	}
	return r, rows.Err()
}

func actionOf(payload string) (string, error) {
	var sent relay.ActionPayload
	if err := json.Unmarshal([]byte(payload), &sent); err != nil {
		return "", fmt.Errorf("a stored action cannot be read: %w", err)
	}
	return sent.Action, nil
}

var errNoAction = core.Errorf(core.NotFound, "the callback answers no action that the hub has sent")

// Settle records what an aggregator tells later of an action, and tells it on;
// once, however often it comes. NotFound where no action of the platform is meant.
func (a Actions) Settle(ctx context.Context, business core.BusinessID, platform string, outcome relay.Outcome) error {
	state := relay.Done
	switch outcome.State {
	case relay.OutcomeDone:
	case relay.OutcomeFailed:
		state = relay.Failed
	default: // it is still under way
		return nil
	}
	return a.tell(ctx, func(tx bun.Conn, box *outbox) error {
		var id core.ID
		err := tx.QueryRowContext(ctx, `SELECT c.id FROM calls c JOIN orders o ON o.business_id = c.business_id AND o.id = c.order_id
			WHERE c.business_id = ?0 AND c.kind = ?1 AND c.platform = ?2 AND CASE WHEN ?3::uuid <> ?4::uuid THEN c.id = ?3::uuid
				ELSE o.platform = ?2 AND o.platform_order_id = ?5 AND c.payload::jsonb ->> 'action' = ?6 END
			ORDER BY c.place DESC LIMIT 1 FOR UPDATE OF o`, business, relay.Action, platform, outcome.CallID, core.ID{}, outcome.PlatformOrderID, outcome.Action).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoAction
		}
		if err != nil {
			return fmt.Errorf("looking for the action that a callback answers: %w", err)
		}
		now := a.clock.Now()
		ended, err := endedBy(ctx, tx, `UPDATE calls c SET state = ?, message = ?, result = ?, finished_at = ?
			WHERE c.business_id = ? AND c.id = ? AND c.state IN ('waiting', 'pending')`,
			state, clean(outcome.Message), clean(outcome.CustomerPhone), now, business, id)
		if err != nil {
			return err
		}
		events, err := actionEvents(ctx, tx, now, ended)
		if err != nil {
			return err
		}
		return box.publish(ctx, tx, events...)
	})
}

// expireAtOnce is how many actions one transaction gives up.
const expireAtOnce = 500

// Expire gives up the actions whose outcome an aggregator owes for longer than the
// given time, tells so, and counts them. Any replica may call it.
func (a Actions) Expire(ctx context.Context, within time.Duration) (n int, err error) {
	for step := expireAtOnce; step == expireAtOnce; n += step {
		err := a.tell(ctx, func(tx bun.Conn, box *outbox) error {
			now := a.clock.Now()
			ended, err := endedBy(ctx, tx, `UPDATE calls c SET state = ?, message = ?, finished_at = ? FROM (
					SELECT c.business_id, c.id FROM calls c JOIN orders o ON o.business_id = c.business_id AND o.id = c.order_id
					WHERE c.state = 'pending' AND c.kind = ? AND c.finished_at <= ? ORDER BY c.finished_at LIMIT ? FOR UPDATE SKIP LOCKED) late
				WHERE c.business_id = late.business_id AND c.id = late.id`, relay.Failed, "the aggregator has not told the outcome in time", now, relay.Action, now.Add(-within), expireAtOnce)
			if step = len(ended); err != nil || step == 0 {
				return err
			}
			events, err := actionEvents(ctx, tx, now, ended)
			if err != nil {
				return err
			}
			return box.publish(ctx, tx, events...)
		})
		if err != nil {
			return n, fmt.Errorf("giving up actions: %w", err)
		}
	}
	return n, nil
}

// endedCall is a call that a transaction brought to its end.
type endedCall struct {
	business                                  core.BusinessID
	id                                        core.ID
	kind                                      relay.Kind
	platform, payload, state, message, result string
	order                                     int64
	trace                                     core.Trace
}

// endedBy runs an update of calls c and returns those that it changed.
func endedBy(ctx context.Context, tx bun.Conn, update string, args ...any) ([]endedCall, error) {
	return listOf(ctx, tx, "ending calls", func(c *endedCall) []any {
		return []any{&c.business, &c.id, &c.kind, &c.platform, &c.order, &c.payload, &c.state, &c.message, &c.result, &c.trace}
	}, update+` RETURNING c.business_id, c.id, c.kind, c.platform, c.order_id, c.payload, c.state, c.message, c.result, coalesce(c.trace, '')`, args...)
}

// actionEvents are the events of ended actions that were to bring the customer's contact.
func actionEvents(ctx context.Context, tx bun.Conn, now time.Time, ended []endedCall) ([]core.Event, error) {
	var events []core.Event
	for _, c := range ended {
		if c.kind != relay.Action || c.state == string(relay.Pending) {
			continue
		}
		r := action.Reading{Reference: c.id, OrderID: c.order, Platform: c.platform, State: c.state, Message: c.message, CustomerPhone: c.result}
		var err error
		if r.Action, err = actionOf(c.payload); err != nil {
			return nil, err
		}
		if r.Action != action.CustomerData {
			continue
		}
		if err := tx.QueryRowContext(ctx, `SELECT platform_order_id FROM orders WHERE business_id = ? AND id = ?`, c.business, c.order).Scan(&r.PlatformOrderID); err != nil {
			return nil, fmt.Errorf("reading the order of an action: %w", err)
		}
		body, err := action.Ended(r)
		if err != nil {
			return nil, fmt.Errorf("writing the event: %w", err)
		}
		at := now.Add(time.Duration(len(events)) * time.Microsecond)
		events = append(events, core.Event{ID: core.NewID(at), Business: c.business, Type: core.FeatureAction, At: now, Body: body, Reference: c.id.String(), Order: c.order, Trace: c.trace})
	}
	return events, nil
}
