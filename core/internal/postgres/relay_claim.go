package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// Calls is the queue of the relay (relay.Queue).
type Calls struct{ *DB }

// ofBusyPlugin tells whether the head of an endpoint's queue is for a platform that
// one of these plugins serves.
func ofBusyPlugin(plugins string) string {
	plugins += "::text[]"
	return `(cardinality(` + plugins + `) > 0 AND EXISTS (SELECT 1 FROM platforms f
		WHERE f.business_id = head.business_id AND f.name = head.platform AND f.served_by = ANY (` + plugins + `)))`
}

// Claim leases due lines, the longest waiting endpoints first, and brings the
// first call of each.
func (q Calls) Claim(ctx context.Context, owner core.ID, limit, share int, busy core.Busy, until time.Time) ([]relay.Call, time.Time, error) {
	now, epoch := q.reading()
	rows, err := q.bun.QueryContext(ctx, `WITH RECURSIVE `+endpointsOf("call_lines", waits)+`,
		heads AS (SELECT e.endpoint FROM endpoints e
			CROSS JOIN LATERAL (SELECT available_at, business_id, platform FROM call_lines WHERE endpoint = e.endpoint AND available_at <= ?0 AND available_at < 'infinity'
				ORDER BY available_at LIMIT 1) head
			WHERE e.endpoint <> ALL (?1) AND NOT `+ofBusyPlugin("?7")+` ORDER BY head.available_at LIMIT ?2),
		due AS (SELECT d.* FROM heads h CROSS JOIN LATERAL (
			SELECT business_id, line FROM call_lines WHERE endpoint = h.endpoint AND available_at <= ?0 AND available_at < 'infinity'
			ORDER BY available_at LIMIT least(?3, greatest(4, ?2 / (SELECT count(*) FROM heads))) FOR UPDATE SKIP LOCKED) d LIMIT ?2)
		UPDATE call_lines l SET owner = ?4, available_at = ?5 FROM due WHERE ?6`+unset+` AND l.business_id = due.business_id AND l.line = due.line
		RETURNING l.business_id, l.line, l.kind, l.platform, l.order_id, l.endpoint, l.payload, l.call_id, l.seen_at, l.attempts, l.due_at, l.version`,
		now, array(busy.Endpoints), limit, share, owner, until, epoch, array(busy.Plugins))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("claiming calls: %w", err)
	}
	defer rows.Close()
	var claimed []relay.Call
	for rows.Next() {
		c := relay.Call{LeasedTo: until}
		var payload string
		if err := rows.Scan(&c.Business, &c.Line, &c.Kind, &c.Platform, &c.Order.ID, &c.Endpoint, &payload, &c.ID, &c.Since, &c.Attempts, &c.DueAt, &c.Version); err != nil {
			return nil, time.Time{}, fmt.Errorf("claiming calls: %w", err)
		}
		c.Payload = []byte(payload)
		claimed = append(claimed, c)
	}
	if err := rows.Err(); err != nil {
		return nil, time.Time{}, fmt.Errorf("claiming calls: %w", err)
	}
	if len(claimed) > 0 {
		if claimed, err = q.load(ctx, owner, claimed); err != nil {
			return nil, time.Time{}, err
		}
	}
	next, err := q.nextOf(ctx, "call_lines", busy)
	return claimed, next, err
}

// waits is the condition under which a line of calls or a publication is to be done.
const waits = `available_at < 'infinity'`

// nextOf is when the earliest of what waits in the table is due.
func (db *DB) nextOf(ctx context.Context, table string, busy core.Busy) (time.Time, error) {
	var next sql.NullTime
	var epoch int64
	err := db.bun.QueryRowContext(ctx, `WITH RECURSIVE `+endpointsOf(table, waits)+`
		SELECT min(head.available_at), (SELECT epoch FROM clock_epoch) FROM endpoints e CROSS JOIN LATERAL (
			SELECT available_at, business_id, platform FROM `+table+` WHERE endpoint = e.endpoint AND available_at < 'infinity' ORDER BY available_at LIMIT 1) head
		WHERE e.endpoint <> ALL (?0) AND NOT `+ofBusyPlugin("?1"), array(busy.Endpoints), array(busy.Plugins)).Scan(&next, &epoch)
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the next of %s: %w", table, err)
	}
	return next.Time, db.follow(ctx, epoch)
}

// load completes claimed lines with their first calls and the orders these are
// about. A line in which nothing waits any more is finished, and so is the place of
// a rider who is nobody's business by now.
func (q Calls) load(ctx context.Context, owner core.ID, claimed []relay.Call) ([]relay.Call, error) {
	n := len(claimed)
	businesses, orders, lines, platforms, located := make([]int64, n), make([]int64, n), make([]string, n), make([]string, n), make([]bool, n)
	for i, c := range claimed {
		businesses[i], orders[i], lines[i], platforms[i], located[i] = int64(c.Business), c.Order.ID, c.Line, c.Platform, c.Kind == relay.RiderLocation
	}
	rows, err := q.bun.QueryContext(ctx, `SELECT r.n, e.body IS NOT NULL, e.body, coalesce(o.platform_order_id, ''), coalesce(o.delivery_type, ''),
			coalesce(o.is_bulk_order, false), coalesce(s.ref_id, ''), coalesce(p.served_by, 'own'), c.id, coalesce(c.kind, ''), coalesce(c.payload, ''), c.created_at, coalesce(c.trace, ''),
			coalesce(o.state, ''), CASE WHEN r.located THEN `+lastRide+` ELSE '' END
		FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::boolean[]) WITH ORDINALITY AS r (business_id, order_id, line, platform, located, n)
		LEFT JOIN orders o ON o.business_id = r.business_id AND o.id = r.order_id
		LEFT JOIN LATERAL (SELECT body FROM events WHERE id = o.placed_event AND business_id = o.business_id LIMIT 1) e ON true
		LEFT JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
		LEFT JOIN platforms p ON p.business_id = r.business_id AND p.name = r.platform
		LEFT JOIN LATERAL (SELECT id, kind, payload, created_at, trace FROM calls WHERE business_id = r.business_id AND line = r.line AND state = 'waiting' ORDER BY place LIMIT 1) c ON true`,
		array(businesses), array(orders), array(lines), array(platforms), array(located))
	if err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	defer rows.Close()
	var calls, empty []relay.Call
	for rows.Next() {
		var i int
		var known bool
		var record []byte
		var first relay.Order
		var plugin, payload string
		var kind relay.Kind
		var id *core.ID
		var since sql.NullTime
		var trace core.Trace
		var state order.State
		var last order.RiderStatus
		if err := rows.Scan(&i, &known, &record, &first.PlatformOrderID, &first.Carrier, &first.Bulk, &first.StoreRefID, &plugin, &id, &kind, &payload, &since, &trace, &state, &last); err != nil {
			return nil, fmt.Errorf("reading calls: %w", err)
		}
		c := claimed[i-1]
		first.ID = c.Order.ID
		c.Order, c.Plugin = first, plugin
		if c.Kind != relay.RiderLocation && id != nil {
			c.ID, c.Kind, c.Payload, c.Since, c.Trace = *id, kind, []byte(payload), since.Time, trace
		}
		if !known && c.Order.ID != 0 || len(c.Payload) == 0 || c.Kind == relay.RiderLocation && !order.Followed(state, last) { // order 0: one that was refused
			empty = append(empty, c)
			continue
		}
		if known {
			if err := q.readOrder(record, &c.Order); err != nil {
				return nil, err
			}
		}
		calls = append(calls, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	if len(empty) > 0 {
		results := make([]relay.Result, len(empty))
		for i, c := range empty {
			results[i] = relay.Result{Call: c, State: relay.Skipped, Message: "nothing waits any more", Executed: q.clock.Now()}
			if c.Kind == relay.RiderLocation {
				results[i].Message = "where the rider is, is nobody's business any more"
			}
		}
		return calls, q.Finish(ctx, owner, results)
	}
	return calls, nil
}

// readOrder reads of a stored order what its columns do not tell.
func (q Calls) readOrder(record []byte, into *relay.Order) error {
	unpacked, err := q.packer.unpack(record)
	if err != nil {
		return err
	}
	var stored struct {
		Order struct {
			Details struct {
				Kind      order.Kind            `json:"order_type"`
				Platforms []order.RelayPlatform `json:"ext_platforms"`
			} `json:"details"`
		} `json:"order"`
	}
	if err := json.Unmarshal(unpacked, &stored); err != nil {
		return fmt.Errorf("a stored order cannot be read: %w", err)
	}
	into.Kind = string(stored.Order.Details.Kind)
	for _, platform := range stored.Order.Details.Platforms {
		into.PlatformStoreID = platform.PlatformStoreID
	}
	return nil
}
