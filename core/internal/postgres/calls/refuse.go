package calls

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/relay"
)

// Reject queues a call that rejects an order at the aggregator now, unless one is waiting or the order is stored.
// The call is recorded like that of an accepted order.
func (q Store) Reject(ctx context.Context, caller relay.Caller, rejection relay.OrderAcknowledgePayload) error {
	now := q.db.Clock().Now()
	rejection.At = now.UnixMilli()
	payload, err := json.Marshal(rejection)
	if err != nil {
		return err
	}
	err = outbox.Run(ctx, q.db, func(tx bun.Conn, box *outbox.Outbox) error {
		key := relay.RejectionKey(caller.Platform, rejection.PlatformOrderID)
		var needless bool
		if err := tx.QueryRowContext(ctx, queries.With("needs_no_rejection", postgres.Args{
			"business": caller.Business, "ordering_key": key, "platform": caller.Platform,
			"ref": rejection.PlatformOrderID,
		})).Scan(&needless); err != nil || needless {
			return err
		}
		return box.QueueCalls(ctx, tx, []outbox.Call{{
			Business: caller.Business, ID: core.NewID(now), Kind: relay.OrderAcknowledge, OrderingKey: key,
			Platform: caller.Platform, Payload: payload, Actor: "platform:" + caller.Platform, At: now,
		}})
	})
	if err != nil {
		return fmt.Errorf("queueing the rejection of an order: %w", err)
	}
	return nil
}
