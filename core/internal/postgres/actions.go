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
	err = a.of(business).QueryRowContext(ctx, `SELECT platform, delivery_type, is_bulk_order FROM orders WHERE business_id = ? AND id = ?`, business, orderID).
		Scan(&o.Platform, &carrier, &o.Bulk)
	o.SelfDelivered = carrier == order.BySelf
	if errors.Is(err, sql.ErrNoRows) {
		return o, "", core.Errorf(core.NotFound, "order_id %d: there is no order with this id", orderID)
	}
	return o, servedBy, err
}

// Submit stores an action to be sent. Actions do not wait for each other.
func (a Actions) Submit(ctx context.Context, s action.Submission) error {
	sent := relay.ActionPayload{Action: s.Action, WearingMask: s.WearingMask, Phone: s.Phone}
	if s.Temp != nil {
		sent.Temp = s.Temp.String()
	}
	payload, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	err = a.inTx(ctx, func(tx bun.Conn) error {
		return a.queueCalls(ctx, tx, []newCall{{
			business: s.Business, id: s.Reference, kind: relay.Action, line: relay.Line(relay.Action, s.Reference.String()),
			platform: s.Platform, order: s.OrderID, payload: payload, actor: s.Actor, at: s.At,
		}})
	})
	if err == nil {
		a.lookForCalls()
	}
	return err
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
	box := outbox{db: a.DB}
	defer box.rolledBack()
	err := a.inTx(ctx, func(tx bun.Conn) error {
		var id core.ID
		err := tx.QueryRowContext(ctx, `SELECT c.id FROM calls c JOIN orders o ON o.business_id = c.business_id AND o.id = c.order_id
			WHERE c.business_id = ?0 AND c.kind = ?1 AND c.platform = ?2 AND CASE WHEN ?3::uuid <> ?4::uuid THEN c.id = ?3::uuid
				ELSE o.platform = ?2 AND o.platform_order_id = ?5 AND c.payload::jsonb ->> 'action' = ?6 END
			ORDER BY c.place DESC LIMIT 1`, business, relay.Action, platform, outcome.CallID, core.ID{}, outcome.PlatformOrderID, outcome.Action).Scan(&id)
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
	if err == nil {
		box.committed()
	}
	return err
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
func endedBy(ctx context.Context, tx bun.Conn, update string, args ...any) (ended []endedCall, err error) {
	rows, err := tx.QueryContext(ctx, update+` RETURNING c.business_id, c.id, c.kind, c.platform, c.order_id, c.payload, c.state, c.message, c.result, coalesce(c.trace, '')`, args...)
	if err != nil {
		return nil, fmt.Errorf("ending calls: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c endedCall
		if err := rows.Scan(&c.business, &c.id, &c.kind, &c.platform, &c.order, &c.payload, &c.state, &c.message, &c.result, &c.trace); err != nil {
			return nil, fmt.Errorf("ending calls: %w", err)
		}
		ended = append(ended, c)
	}
	return ended, rows.Err()
}

// actionEvents are the events of ended actions that brought the customer's contact.
func actionEvents(ctx context.Context, tx bun.Conn, now time.Time, ended []endedCall) ([]core.Event, error) {
	var events []core.Event
	for _, c := range ended {
		if c.kind != relay.Action || c.state != string(relay.Done) || c.result == "" {
			continue
		}
		r := action.Reading{Reference: c.id, OrderID: c.order, Platform: c.platform, CustomerPhone: c.result}
		var err error
		if r.Action, err = actionOf(c.payload); err != nil {
			return nil, err
		}
		if err := tx.QueryRowContext(ctx, `SELECT platform_order_id FROM orders WHERE business_id = ? AND id = ?`, c.business, c.order).Scan(&r.PlatformOrderID); err != nil {
			return nil, fmt.Errorf("reading the order of an action: %w", err)
		}
		body, err := action.Brought(r)
		if err != nil {
			return nil, fmt.Errorf("writing the event: %w", err)
		}
		at := now.Add(time.Duration(len(events)) * time.Microsecond)
		events = append(events, core.Event{ID: core.NewID(at), Business: c.business, Type: core.FeatureAction, At: now, Body: body, Reference: c.id.String(), Trace: c.trace})
	}
	return events, nil
}
