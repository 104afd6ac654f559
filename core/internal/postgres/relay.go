package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

const callsChannel = "servery_calls"

// newCall is a call that a transaction queues.
type newCall struct {
	business core.BusinessID
	id       core.ID
	kind     relay.Kind
	line     string
	platform string
	order    int64
	payload  []byte
	actor    string
	at       time.Time
	trace    core.Trace // "": of the context in which it is queued
}

// call stores calls, each at the end of its line. The lines are locked in
// the order of their keys; a call takes its place only then, so that places are
// in the order of commits.
func (o *outbox) call(ctx context.Context, tx bun.Conn, calls []newCall) error {
	if len(calls) == 0 {
		return nil
	}
	slices.SortStableFunc(calls, func(a, b newCall) int {
		return cmp.Or(cmp.Compare(a.business, b.business), cmp.Compare(a.line, b.line))
	})
	n := len(calls)
	businesses, orders, endpoints := make([]int64, n), make([]int64, n), make([]int64, n)
	ids, kinds, lines, platforms := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	payloads, actors, traces, trace := make([]string, n), make([]string, n), make([]string, n), core.TraceOf(ctx)
	for i, c := range calls {
		businesses[i], orders[i], endpoints[i] = int64(c.business), c.order, platformEndpoint(c.business, c.platform)
		ids[i], kinds[i], lines[i], platforms[i] = c.id.String(), string(c.kind), c.line, c.platform
		payloads[i], actors[i], traces[i] = string(c.payload), c.actor, cmp.Or(string(c.trace), string(trace))
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO call_lines AS l (business_id, line, kind, platform, order_id, endpoint, call_id, seen_at, due_at, available_at)
		SELECT DISTINCT ON (business, line) business, line, kind, platform, order_id, endpoint, id, ?0::timestamptz, ?0::timestamptz, ?0::timestamptz
		FROM unnest(?1::bigint[], ?2::text[], ?3::text[], ?4::text[], ?5::bigint[], ?6::bigint[], ?7::uuid[]) AS t (business, line, kind, platform, order_id, endpoint, id)
		ORDER BY business, line
		ON CONFLICT (business_id, line) DO UPDATE SET version = l.version + 1, seen_at = EXCLUDED.seen_at`,
		calls[0].at, array(businesses), array(lines), array(kinds), array(platforms), array(orders), array(endpoints), array(ids)); err != nil {
		return fmt.Errorf("queueing calls: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO calls (business_id, id, line, kind, platform, order_id, payload, actor, state, created_at, trace)
		SELECT business, id, line, kind, platform, order_id, payload, actor, 'waiting', ?, nullif(trace, '')
		FROM unnest(?::bigint[], ?::uuid[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::text[])
			WITH ORDINALITY AS t (business, id, line, kind, platform, order_id, payload, actor, trace, n) ORDER BY n`,
		calls[0].at, array(businesses), array(ids), array(lines), array(kinds), array(platforms), array(orders), array(payloads), array(actors), array(traces)); err != nil {
		return fmt.Errorf("queueing calls: %w", err)
	}
	return o.wakeRelays(ctx, tx)
}

// wakeRelays has the workers of all replicas look at the calls when the transaction
// has committed.
func (o *outbox) wakeRelays(ctx context.Context, tx bun.Conn) error {
	o.called = true
	if !seldom(&o.db.toldCalls) {
		return nil
	}
	return notify(ctx, tx, callsChannel)
}

// seldom keeps notifications to twenty a second: they are a hint, and each makes
// commits wait for one another.
func seldom(told *atomic.Int64) bool {
	now, last := time.Now().UnixNano(), told.Load()
	return now-last > int64(50*time.Millisecond) && told.CompareAndSwap(last, now)
}

// UseRelay has this replica told at once of the calls that it queues.
func (db *DB) UseRelay(wake func()) { db.wakeRelay = wake }
