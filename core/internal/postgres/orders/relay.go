package orders

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// statusCalls returns the calls that report a change of an order to its platform.
//
// If the order was not acknowledged yet, the first one acknowledges it. An order that the POS
// cancels in state Placed is rejected. There are no calls for a platform without a plugin, or for
// a change by the channel of the order.
func statusCalls(o *changedOrder, r *ChangeRequest, at time.Time) (calls []outbox.Call, err error) {
	if r.ByChannel || o.servedBy == core.ServedByMerchant {
		return nil, nil
	}
	addCall := func(kind relay.Kind, payload any) {
		encoded, encodingErr := json.Marshal(payload)
		err = errors.Join(err, encodingErr)
		calls = append(calls, outbox.Call{
			Business: r.Business, ID: core.NewID(at), Kind: kind, OrderingKey: relay.OrderKey(r.OrderID),
			Platform: o.Platform, Order: r.OrderID, Payload: encoded, Actor: r.Actor, At: at, Trace: r.Trace,
		})
	}
	var minutes int64
	if r.PrepMinutes != nil {
		minutes = *r.PrepMinutes
	}
	items := relay.RejectedRefIDs{OutOfStock: order.RefIDs(r.OutOfStock), Invalid: order.RefIDs(r.Invalid)}
	unacknowledged := o.State == order.Placed && !o.acknowledged
	if unacknowledged {
		reply := relay.OrderAcknowledgePayload{Accepted: true, PrepMinutes: minutes}
		if r.To == order.Cancelled {
			reply = relay.OrderAcknowledgePayload{Reason: r.Message, ReasonCode: r.ReasonCode, RejectedRefIDs: items}
		}
		reply.At = at.UnixMilli()
		addCall(relay.OrderAcknowledge, reply)
	}
	if !unacknowledged || r.To != order.Acknowledged && r.To != order.Cancelled {
		addCall(relay.OrderStatus, relay.OrderStatusPayload{
			Status: string(r.To), Message: r.Message, PrepMinutes: minutes, ReasonCode: r.ReasonCode,
			At: at.UnixMilli(), RejectedRefIDs: items,
		})
	}
	return calls, err
}
