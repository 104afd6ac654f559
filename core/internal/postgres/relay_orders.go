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
// what it is told of the order already. Nobody is told whose platform no plugin
// serves, nor the platform that made the change itself.
func (db *DB) relayOrderStatus(ctx context.Context, tx bun.Conn, business core.BusinessID, subject order.Subject, change order.Change) error {
	if change.Platform != "" {
		return nil
	}
	var served bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM platforms WHERE business_id = ? AND name = ? AND served_by <> ?)`,
		business, subject.Platform, core.ServedByOwn).Scan(&served); err != nil || !served {
		return err
	}
	now := db.clock.Now()
	payload, err := json.Marshal(relay.OrderStatusPayload{Status: string(change.To), Message: change.Message, At: now.UnixMilli()})
	if err != nil {
		return err
	}
	return db.queueCalls(ctx, tx, []newCall{{
		business: business, id: core.NewID(now), kind: relay.OrderStatus, line: relay.OrderLine(subject.OrderID),
		platform: subject.Platform, order: subject.OrderID, payload: payload, actor: change.Actor, at: now,
	}})
}

// Refuse has the platform's plugin tell the aggregator that an order was not
// taken, once for as long as that waits. The call stays on record as a taken
// order's do.
func (q Calls) Refuse(ctx context.Context, caller relay.Caller, refusal relay.OrderAcknowledgePayload) error {
	payload, err := json.Marshal(refusal)
	if err != nil {
		return err
	}
	err = q.inTx(ctx, func(tx bun.Conn) error {
		line := relay.RefusalLine(caller.Platform, refusal.PlatformOrderID)
		var waits bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM calls WHERE business_id = ? AND line = ? AND state = 'waiting')`,
			caller.Business, line).Scan(&waits); err != nil || waits {
			return err
		}
		now := q.clock.Now()
		return q.queueCalls(ctx, tx, []newCall{{
			business: caller.Business, id: core.NewID(now), kind: relay.OrderAcknowledge, line: line,
			platform: caller.Platform, payload: payload, actor: "platform:" + caller.Platform, at: now,
		}})
	})
	if err != nil {
		return fmt.Errorf("telling that an order was refused: %w", err)
	}
	q.lookForCalls()
	return nil
}
