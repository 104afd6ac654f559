package orders

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
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// Actions stores feature actions (action.Repository). Each action is a call to its aggregator.
type Actions struct{ db *postgres.DB }

// NewActions returns Actions that use db.
func NewActions(db *postgres.DB) Actions { return Actions{db} }

// PlatformOrder returns the properties of an order that determine its allowed actions, and the
// plugin that serves the named platform.
func (a Actions) PlatformOrder(ctx context.Context, business core.BusinessID, platform string,
	orderID int64) (o action.Order, servedBy string, err error) {
	err = a.db.Tenant(business).QueryRowContext(ctx,
		`SELECT served_by FROM platforms WHERE business_id = ? AND name = ?`, business, platform).Scan(&servedBy)
	if err != nil {
		return o, "", postgres.NotFound(err, "there is no platform %q", platform)
	}
	var deliveryMode order.DeliveryMode
	var state order.State
	err = a.db.Tenant(business).QueryRowContext(ctx,
		`SELECT platform, CASE WHEN order_type = 'delivery' THEN delivery_type ELSE '' END, is_bulk_order, state
		FROM orders WHERE business_id = ? AND id = ?`, business, orderID).
		Scan(&o.Platform, &deliveryMode, &o.Bulk, &state)
	o.SelfDelivered, o.Completed, o.Cancelled = deliveryMode == order.SelfDelivery, state == order.Completed,
		state == order.Cancelled
	if errors.Is(err, sql.ErrNoRows) {
		return o, "", unknownOrder(orderID)
	}
	return o, servedBy, err
}

// Submit queues an action and returns its reference. If the same action of the order is pending, it
// returns the reference of that action. Actions do not wait for each other.
func (a Actions) Submit(ctx context.Context, s action.Submission) (reference core.ID, err error) {
	sent := relay.ActionPayload{Action: s.Action, WearingMask: s.WearingMask, Phone: s.Phone, Parameters: s.Parameters,
		SendsEvent: s.SendsEvent}
	if s.Temp != nil {
		sent.Temp = s.Temp.String()
	}
	payload, err := json.Marshal(sent)
	if err != nil {
		return core.ID{}, err
	}
	err = outbox.RunKeyed(ctx, a.db, func(tx bun.Conn, box *outbox.Outbox) error {
		reference = s.Reference
		// Lock the order, so that of two concurrent submissions one sees the other.
		if _, err := tx.ExecContext(ctx, `SELECT 1 FROM orders WHERE business_id = ? AND id = ? FOR UPDATE`, s.Business,
			s.OrderID); err != nil {
			return fmt.Errorf("locking the order of an action: %w", err)
		}
		err := tx.QueryRowContext(ctx, queries.With("pending_action", postgres.Args{
			"business": s.Business, "order": s.OrderID, "kind": relay.Action, "platform": s.Platform,
			"payload": string(payload),
		})).Scan(&reference)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if s.Change != nil {
			if err := audit.Record(ctx, a.db, tx, *s.Change); err != nil {
				return err
			}
		}
		return box.QueueCalls(ctx, tx, []outbox.Call{{
			Business: s.Business, ID: s.Reference, Kind: relay.Action,
			OrderingKey: relay.OrderingKey(relay.Action, s.Reference.String()),
			Platform:    s.Platform, Order: s.OrderID, Payload: payload, Actor: s.Actor, At: s.At,
		}})
	})
	return reference, err
}

// Get returns an action with its attempts, or NotFound.
func (a Actions) Get(ctx context.Context, business core.BusinessID, reference core.ID) (action.Record, error) {
	r := action.Record{Reference: reference, Attempts: []action.Attempt{}}
	var payload string
	var created time.Time
	var finished sql.NullTime
	err := a.db.Tenant(business).QueryRowContext(ctx, queries.With("read_action", postgres.Args{
		"business": business, "reference": reference, "kind": relay.Action,
	})).
		Scan(&r.OrderID, &r.Platform, &r.PlatformOrderID, &payload, &r.State, &r.Message, &r.CustomerPhone, &created,
			&finished)
	if err != nil {
		return r, postgres.NotFound(err, "there is no action with this reference")
	}
	sent, err := payloadOf(payload)
	if err != nil {
		return r, err
	}
	if r.Action = sent.Action; !action.IsSpecified(sent.Action) {
		r.Parameters = sent.Parameters
	}
	r.Created = created.UnixMilli()
	if finished.Valid {
		r.Finished = finished.Time.UnixMilli()
	}
	rows, err := a.db.Tenant(business).QueryContext(ctx, // without the token request of an attempt
		`SELECT DISTINCT ON (n) started_at, status, error_class, error FROM call_attempts
			WHERE business_id = ? AND call_id = ? ORDER BY n, started_at DESC`,
		business, reference)
	if err != nil {
		return r, fmt.Errorf("reading the attempts of an action: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var attempt action.Attempt
		var at time.Time
		if err := rows.Scan(&at, &attempt.Status, &attempt.ErrorClass, &attempt.Error); err != nil {
			return r, fmt.Errorf("reading the attempts of an action: %w", err)
		}
		attempt.At = at.UnixMilli()
		r.Attempts = append(r.Attempts, attempt)
	}
	return r, rows.Err()
}

func payloadOf(payload string) (sent relay.ActionPayload, err error) {
	if err := json.Unmarshal([]byte(payload), &sent); err != nil {
		return sent, fmt.Errorf("reading a stored action: %w", err)
	}
	return sent, nil
}

var errNoAction = core.Errorf(core.NotFound, "the callback belongs to no action that the hub has sent")

// Settle records the outcome that an aggregator reports for an action, and publishes it once.
// It returns NotFound if the platform has no such action.
func (a Actions) Settle(ctx context.Context, business core.BusinessID, platform string, outcome relay.Outcome) error {
	state := relay.Done
	switch outcome.State {
	case relay.OutcomeDone:
	case relay.OutcomeFailed:
		state = relay.Failed
	default: // still pending
		return nil
	}
	return outbox.RunKeyed(ctx, a.db, func(tx bun.Conn, box *outbox.Outbox) error {
		var id core.ID
		for range 2 { // the first locks the order, the second sees what a concurrent callback has settled
			err := tx.QueryRowContext(ctx, queries.With("reported_action", postgres.Args{
				"business": business, "kind": relay.Action, "platform": platform, "call": outcome.CallID,
				"none": core.ID{}, "platform_order": outcome.PlatformOrderID, "action": outcome.Action,
			})).Scan(&id)
			if errors.Is(err, sql.ErrNoRows) {
				return errNoAction
			}
			if err != nil {
				return fmt.Errorf("finding the action of a callback: %w", err)
			}
		}
		now := a.db.Clock().Now()
		ended, err := calls.End(ctx, tx, queries.With("settle_action", postgres.Args{
			"business": business, "id": id, "state": state, "message": postgres.CleanText(outcome.Message),
			"result": postgres.CleanText(outcome.CustomerPhone), "now": now, "ended": calls.EndedColumns,
		}))
		if err != nil {
			return err
		}
		events, err := actionEvents(ctx, tx, now, ended)
		if err != nil {
			return err
		}
		return box.Publish(ctx, tx, events...)
	})
}

// expireBatch is the number of actions that one transaction expires.
const expireBatch = 500

// Expire fails the actions whose outcome has been pending for longer than within. It publishes
// their events and returns their number. Any replica may call it.
func (a Actions) Expire(ctx context.Context, within time.Duration) (n int, err error) {
	var late bool
	if err := a.db.Bun().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM calls WHERE state = 'pending' AND kind = ? AND finished_at <= ?)`, relay.Action,
		a.db.Clock().Now().Add(-within)).Scan(&late); err != nil {
		return 0, fmt.Errorf("finding late actions: %w", err)
	}
	if !late {
		return 0, nil
	}
	for expired := expireBatch; expired == expireBatch; n += expired {
		err := outbox.RunKeyed(ctx, a.db, func(tx bun.Conn, box *outbox.Outbox) error {
			now := a.db.Clock().Now()
			ended, err := calls.End(ctx, tx, queries.With("expire_actions", postgres.Args{
				"state": relay.Failed, "message": "the aggregator has not reported the outcome in time", "now": now,
				"kind": relay.Action, "since": now.Add(-within), "limit": expireBatch, "ended": calls.EndedColumns,
			}))
			if expired = len(ended); err != nil || expired == 0 {
				return err
			}
			events, err := actionEvents(ctx, tx, now, ended)
			if err != nil {
				return err
			}
			return box.Publish(ctx, tx, events...)
		})
		if err != nil {
			return n, fmt.Errorf("failing late actions: %w", err)
		}
	}
	return n, nil
}

// ActionsEnded returns a function that creates the events of ended actions, for those that have one.
func ActionsEnded(db *postgres.DB) calls.OnEnded {
	return func(ctx context.Context, tx bun.Conn, ended []calls.Ended) ([]core.Event, error) {
		return actionEvents(ctx, tx, db.Clock().Now(), ended)
	}
}

func actionEvents(ctx context.Context, tx bun.Conn, now time.Time, ended []calls.Ended) ([]core.Event, error) {
	var events []core.Event
	for _, c := range ended {
		if c.Kind != relay.Action || c.State == string(relay.Pending) {
			continue
		}
		r := action.Record{Reference: c.ID, OrderID: c.Order, Platform: c.SentAs, State: c.State, Message: c.Message,
			CustomerPhone: c.Result}
		sent, err := payloadOf(c.Payload)
		if err != nil {
			return nil, err
		}
		if r.Action = sent.Action; r.Action != action.CustomerData && !sent.SendsEvent {
			continue
		}
		if err := tx.QueryRowContext(ctx, `SELECT platform_order_id FROM orders WHERE business_id = ? AND id = ?`,
			c.Business, c.Order).Scan(&r.PlatformOrderID); err != nil {
			return nil, fmt.Errorf("reading the order of an action: %w", err)
		}
		body, err := action.EventBody(r)
		if err != nil {
			return nil, fmt.Errorf("encoding the event: %w", err)
		}
		at := now.Add(time.Duration(len(events)) * time.Microsecond)
		events = append(events, core.Event{ID: core.NewID(at), Business: c.Business, Type: core.FeatureAction, At: now,
			Body: body, Reference: c.ID.String(), OrderID: c.Order, Trace: c.Trace})
	}
	return events, nil
}
