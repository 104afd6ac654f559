package orders

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// acknowledgement returns the call that accepts an order at its aggregator.
func acknowledgement(business core.BusinessID, placed *placedOrder) outbox.Call {
	return outbox.Call{
		Business: business, ID: core.NewID(placed.event.At), Kind: relay.OrderAcknowledge,
		OrderingKey: relay.OrderKey(placed.id),
		Platform:    placed.key.platform, Order: placed.id, Payload: []byte(`{"accepted":true}`), Actor: "hub",
		At: placed.event.At,
	}
}

// statusRelay is a change of an order's state.
type statusRelay struct {
	business core.BusinessID
	subject  order.Subject
	from     order.State
	change   order.Change
}

// relayOrderStatus queues calls that report an order's new state to its platform, after earlier
// calls about the order.
//
// If the order was not acknowledged yet, it first queues the acknowledgement. An order that the POS
// cancels in state Placed is rejected. It queues nothing for a platform without a plugin, or for
// the platform that made the change.
func (o Store) relayOrderStatus(ctx context.Context, tx bun.Conn, box *outbox.Outbox, r statusRelay) error {
	business, subject, change := r.business, r.subject, r.change
	if change.Platform != "" {
		return nil
	}
	var served, unacknowledged bool
	if err := tx.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM platforms WHERE business_id = ?0 AND name = ?1 AND served_by <> ?2),
			?3 AND NOT EXISTS (SELECT 1 FROM calls WHERE business_id = ?0 AND order_id = ?4 AND kind = ?5)`,
		business, subject.Platform, core.ServedByMerchant, r.from == order.Placed, subject.OrderID,
		relay.OrderAcknowledge).Scan(&served, &unacknowledged); err != nil || !served {
		return err
	}
	now := o.db.Clock().Now()
	var calls []outbox.Call
	addCall := func(kind relay.Kind, payload any) error {
		encoded, err := json.Marshal(payload)
		calls = append(calls, outbox.Call{
			Business: business, ID: core.NewID(now), Kind: kind, OrderingKey: relay.OrderKey(subject.OrderID),
			Platform: subject.Platform, Order: subject.OrderID, Payload: encoded, Actor: change.Actor, At: now,
		})
		return err
	}
	var minutes int64
	if change.PrepMinutes != nil {
		minutes = *change.PrepMinutes
	}
	if unacknowledged {
		reply := relay.OrderAcknowledgePayload{Accepted: true, PrepMinutes: minutes}
		if change.To == order.Cancelled {
			reply = relay.OrderAcknowledgePayload{Reason: change.Message, ReasonCode: change.ReasonCode}
		}
		if err := addCall(relay.OrderAcknowledge, reply); err != nil {
			return err
		}
	}
	if !unacknowledged || change.To != order.Acknowledged && change.To != order.Cancelled {
		if err := addCall(relay.OrderStatus, relay.OrderStatusPayload{
			Status: string(change.To), Message: change.Message, PrepMinutes: minutes, ReasonCode: change.ReasonCode,
			At: now.UnixMilli(),
		}); err != nil {
			return err
		}
	}
	return box.QueueCalls(ctx, tx, calls)
}
