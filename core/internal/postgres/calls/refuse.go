package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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

// isRejection reports whether a call rejects an order, which is not stored and has no id.
func isRejection(c relay.Call) bool { return c.Kind == relay.OrderAcknowledge && c.Order.ID == 0 }

// splitAccepted splits calls into those to send and the rejections of orders that were accepted when they were resent.
func (q Store) splitAccepted(ctx context.Context, calls []relay.Call) (send, accepted []relay.Call, err error) {
	var businesses []int64
	var platforms, refs []string
	for _, c := range calls {
		if isRejection(c) {
			var rejection relay.OrderAcknowledgePayload
			_ = json.Unmarshal(c.Payload, &rejection) // the attempt reports the error
			businesses, platforms, refs = append(businesses, int64(c.Business)), append(platforms, c.Platform),
				append(refs, rejection.PlatformOrderID)
		}
	}
	if len(refs) == 0 {
		return calls, nil, nil
	}
	stored, err := postgres.Collect(ctx, q.db.Bun(), "looking for rejected orders", func(n *int) []any {
		return []any{n}
	}, bun.SafeQuery(queries.With("accepted_since", postgres.Args{
		"businesses": postgres.Array(businesses), "platforms": postgres.Array(platforms), "refs": postgres.Array(refs),
	})))
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for _, c := range calls {
		if isRejection(c) {
			n++
		}
		if isRejection(c) && slices.Contains(stored, n) {
			accepted = append(accepted, c)
		} else {
			send = append(send, c)
		}
	}
	return send, accepted, nil
}
