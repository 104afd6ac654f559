package outbox

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// CallsChannel notifies replicas of queued calls.
const CallsChannel = "servery_calls"

// Call is a call to an aggregator that a transaction queues.
type Call struct {
	Business    core.BusinessID
	ID          core.ID
	Kind        relay.Kind
	OrderingKey string
	Platform    string
	Order       int64
	Payload     []byte
	Actor       string
	At          time.Time
	Trace       core.Trace // "" means the trace of the context
	Digest      []byte     // of an inbound request, to find repeats; nil: none
}

// QueueCalls appends calls to the sequences of their ordering keys. It locks the keys in sorted
// order before it assigns sequence numbers, so that these follow the order of commits.
func (o *Outbox) QueueCalls(ctx context.Context, tx bun.Conn, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := queueKeys(ctx, tx, calls); err != nil {
		return err
	}
	n := len(calls)
	businesses, orders := make([]int64, n), make([]int64, n)
	ids, kinds, keys, platforms := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	payloads, actors, traces, trace := make([]string, n), make([]string, n), make([]string, n),
		core.TraceFromContext(ctx)
	var digests [][]byte // up to the last call that has one: the statement adds nulls
	for i, c := range calls {
		if c.Digest != nil {
			digests = append(digests, make([][]byte, i-len(digests))...)
			digests = append(digests, c.Digest)
		}
		businesses[i], orders[i] = int64(c.Business), c.Order
		ids[i], kinds[i], keys[i], platforms[i] = c.ID.String(), string(c.Kind), c.OrderingKey, c.Platform
		payloads[i], actors[i], traces[i] = string(c.Payload), c.Actor, cmp.Or(string(c.Trace), string(trace))
	}
	if _, err := tx.ExecContext(ctx, queries.With("insert_calls", postgres.Args{
		"now": calls[0].At, "businesses": postgres.Array(businesses), "ids": postgres.Array(ids),
		"ordering_keys": postgres.Array(keys), "kinds": postgres.Array(kinds), "platforms": postgres.Array(platforms),
		"orders": postgres.Array(orders), "payloads": postgres.Array(payloads), "actors": postgres.Array(actors),
		"traces": postgres.Array(traces), "digests": postgres.Array(digests),
	})); err != nil {
		return fmt.Errorf("queueing calls: %w", err)
	}
	return o.WakeRelays(ctx, tx)
}

// queueKeys queues the ordering keys of calls, in key order, and sorts the calls by them.
func queueKeys(ctx context.Context, tx bun.Conn, calls []Call) error {
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Business, b.Business), cmp.Compare(a.OrderingKey, b.OrderingKey))
	})
	n := len(calls)
	businesses, orders, endpoints := make([]int64, n), make([]int64, n), make([]int64, n)
	ids, kinds, keys, platforms := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, c := range calls {
		businesses[i], orders[i], endpoints[i] = int64(c.Business), c.Order, PlatformEndpoint(c.Business, c.Platform)
		ids[i], kinds[i], keys[i], platforms[i] = c.ID.String(), string(c.Kind), c.OrderingKey, c.Platform
	}
	return postgres.Exec(ctx, tx, "queueing calls", queries.With("queue_ordering_keys", postgres.Args{
		"now": calls[0].At, "businesses": postgres.Array(businesses), "ordering_keys": postgres.Array(keys),
		"kinds": postgres.Array(kinds), "platforms": postgres.Array(platforms), "orders": postgres.Array(orders),
		"endpoints": postgres.Array(endpoints), "ids": postgres.Array(ids),
	}))
}

// RequeueCalls queues the ordering keys of stored calls, which the caller lets wait again.
func (o *Outbox) RequeueCalls(ctx context.Context, tx bun.Conn, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	if err := queueKeys(ctx, tx, calls); err != nil {
		return err
	}
	return o.WakeRelays(ctx, tx)
}

// WakeRelays wakes the relay workers of all replicas when the transaction commits.
func (o *Outbox) WakeRelays(ctx context.Context, tx bun.Conn) error {
	o.callsQueued = true
	return o.notify(ctx, tx, CallsChannel)
}

// PlatformEndpoint returns the endpoint id for fair scheduling of calls: one per business and
// platform.
func PlatformEndpoint(business core.BusinessID, platform string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", business, platform)
	return int64(h.Sum64())
}
