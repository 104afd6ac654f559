package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// acknowledgement has a platform's plugin tell the aggregator that an order
// was taken.
func acknowledgement(business core.BusinessID, placed *placedOrder) newCall {
	return newCall{
		business: business, id: core.NewID(placed.event.At), kind: relay.OrderAcknowledge, line: relay.OrderLine(placed.id),
		platform: placed.key.platform, order: placed.id, payload: []byte(`{"accepted":true}`), actor: "hub", at: placed.event.At,
	}
}

// relayOrderStatus has the platform of an order told of its new state, behind
// what it is told of the order already. Where it was not told yet whether the
// order is taken, that comes first: an order that the POS cancels while it is
// Placed is refused. Nobody is told whose platform no plugin serves, nor the
// platform that made the change itself.
func (db *DB) relayOrderStatus(ctx context.Context, tx bun.Conn, box *outbox, business core.BusinessID, subject order.Subject, from order.State, change order.Change) error {
	if change.Platform != "" {
		return nil
	}
	var served, owed bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM platforms WHERE business_id = ?0 AND name = ?1 AND served_by <> ?2),
			?3 AND NOT EXISTS (SELECT 1 FROM calls WHERE business_id = ?0 AND order_id = ?4 AND kind = ?5)`,
		business, subject.Platform, core.ServedByOwn, from == order.Placed, subject.OrderID, relay.OrderAcknowledge).Scan(&served, &owed); err != nil || !served {
		return err
	}
	now := db.clock.Now()
	var calls []newCall
	tell := func(kind relay.Kind, payload any) error {
		encoded, err := json.Marshal(payload)
		calls = append(calls, newCall{
			business: business, id: core.NewID(now), kind: kind, line: relay.OrderLine(subject.OrderID),
			platform: subject.Platform, order: subject.OrderID, payload: encoded, actor: change.Actor, at: now,
		})
		return err
	}
	var minutes int64
	if change.PrepMinutes != nil {
		minutes = *change.PrepMinutes
	}
	if owed {
		answer := relay.OrderAcknowledgePayload{Accepted: true, PrepMinutes: minutes}
		if change.To == order.Cancelled {
			answer = relay.OrderAcknowledgePayload{Reason: change.Message, ReasonCode: change.ReasonCode}
		}
		if err := tell(relay.OrderAcknowledge, answer); err != nil {
			return err
		}
	}
	if !owed || change.To != order.Acknowledged && change.To != order.Cancelled {
		if err := tell(relay.OrderStatus, relay.OrderStatusPayload{
			Status: string(change.To), Message: change.Message, PrepMinutes: minutes, ReasonCode: change.ReasonCode, At: now.UnixMilli(),
		}); err != nil {
			return err
		}
	}
	return box.call(ctx, tx, calls)
}

// Refuse has the platform's plugin tell the aggregator that an order was not
// taken, once for as long as that waits. The call stays on record as a taken
// order's do.
func (q Calls) Refuse(ctx context.Context, caller relay.Caller, refusal relay.OrderAcknowledgePayload) error {
	payload, err := json.Marshal(refusal)
	if err != nil {
		return err
	}
	err = q.tell(ctx, func(tx bun.Conn, box *outbox) error {
		line := relay.RefusalLine(caller.Platform, refusal.PlatformOrderID)
		var waits bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM calls WHERE business_id = ? AND line = ? AND state = 'waiting')`,
			caller.Business, line).Scan(&waits); err != nil || waits {
			return err
		}
		now := q.clock.Now()
		return box.call(ctx, tx, []newCall{{
			business: caller.Business, id: core.NewID(now), kind: relay.OrderAcknowledge, line: line,
			platform: caller.Platform, payload: payload, actor: "platform:" + caller.Platform, at: now,
		}})
	})
	if err != nil {
		return fmt.Errorf("telling that an order was refused: %w", err)
	}
	return nil
}
