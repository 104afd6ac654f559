package main

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/webhook"
)

// consoleIDs are the queries of an object of each list, by its path. Those of one business begin with b/.
var consoleIDs = map[string]string{
	"audit":        `SELECT id FROM audit WHERE business_id = 0 LIMIT 1`,
	"plugins":      `SELECT id FROM plugins LIMIT 1`,
	"users":        `SELECT id FROM users LIMIT 1`,
	"b/audit":      `SELECT id FROM audit WHERE business_id = ? ORDER BY id DESC LIMIT 1`,
	"b/calls":      `SELECT id FROM calls WHERE business_id = ? AND state = 'failed' LIMIT 1`,
	"b/customers":  `SELECT 'order-' || min(id) FROM orders WHERE business_id = ?`,
	"b/deliveries": `SELECT id FROM deliveries WHERE business_id = ? AND state = 'failed' ORDER BY id DESC LIMIT 1`,
	"b/history":    `SELECT revision_id FROM revision_parts WHERE business_id = ? AND NOT created LIMIT 1`,
	"b/items":      `SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = 1 ORDER BY id LIMIT 1`,
	"b/jobs":       `SELECT id FROM jobs WHERE business_id = ? AND kind = 'menu' ORDER BY id LIMIT 1`,
	"b/orders":     `SELECT min(id) FROM orders WHERE business_id = ?`,
	"b/problems":   `SELECT id FROM problems WHERE business_id = ? ORDER BY last_seen_at DESC LIMIT 1`,
	"b/stores":     `SELECT store_id FROM store_overrides WHERE business_id = ? LIMIT 1`,
	"b/webhooks":   `SELECT id FROM webhooks WHERE business_id = ? AND event_type = 'order_placed'`,
}

// openConsole opens the data of the console, and starts the hub. With --data, a later run finds it again while the
// schema is the same.
func (r *run) openConsole(size consoleSize) *engine {
	if r.Data == "" {
		return r.open().fillConsole(size)
	}
	name := fmt.Sprintf("console_%d_%d_%d", size.deliveries, size.stores, size.items)
	full, found := "schema "+must(hubtest.SchemaHash()), ""
	err := r.admin.Bun().QueryRowContext(r.ctx, `SELECT coalesce(shobj_description(oid, 'pg_database'), '')
		FROM pg_database WHERE datname = ?`, name).Scan(&found)
	verify(err == nil || errors.Is(err, sql.ErrNoRows), "%v", err)
	if found != full {
		r.create(name)
		e := r.use(name).fillConsole(size)
		must(r.admin.Bun().ExecContext(r.ctx, `COMMENT ON DATABASE ? IS ?`, bun.Ident(name), full))
		return e
	}
	e := &engine{fixture: r.use(name)}
	e.scan([]any{&e.business}, `SELECT min(business_id) FROM stores`)
	e.hub = e.startHub()
	return e
}

// fillConsole stores deliveries with three attempts each. One in a hundred failed. All its stores sell the same items
// on two platforms. It also fills the other lists of the console, and starts the hub.
func (f *fixture) fillConsole(size consoleSize) *engine {
	e := f.engine(webhook.Minutes)
	e.fillAndDrain(30) // the pattern of the history
	e.hub = e.startHub()
	e.fillHistory(size.deliveries)
	s := e.shopOf(e.prepare(e.tenant, "IN"))
	e.untilCount(0, `SELECT count(*) FROM delivery_queue`) // so that the next callback is that of the next request
	var item string
	e.scan([]any{&item}, `SELECT name FROM catalogue_entities WHERE business_id = ? AND kind = 1 LIMIT 1`, e.business)
	e.post(s.Tenant, masterPath, fmt.Appendf(nil, `{"items":[{"ref_id":%q,"price":1234}]}`, item), 0, 1)
	e.execute(`INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'market', 'market')`, e.business)
	e.execute(`INSERT INTO plugins (id) VALUES ('market')`)
	e.submit(s.Tenant, storesPath, must(requests.Stores("", size.stores-1)))
	e.untilCount(size.stores, `SELECT count(*) FROM stores`)
	for i := range 200 {
		e.execute(`INSERT INTO problems (business_id, server, error_class, status, webhooks, first_seen_at,
				last_seen_at)
			VALUES (?, ?, 'status', 503, '{}', now() - interval '9 days', now() - ? * interval '1 hour')`, e.business,
			fmt.Sprintf("pos-%d.example", i), i)
	}
	for day := range historyDays { // in parts, so that each ends well before its timeout
		from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -day)
		first, last := core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1))
		e.execute(`UPDATE deliveries SET state = 'failed', status = 503,
				problem_id = 1 + get_byte(uuid_send(id), 14) % 200
			WHERE id >= ? AND id < ? AND get_byte(uuid_send(id), 15) % 100 = 0`, first, last)
		e.execute(`INSERT INTO attempts SELECT business_id, delivery_id, i, started_at, url, request_headers, status,
				error_class, error, response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us
			FROM attempts, generate_series(2, 3) i WHERE delivery_id >= ? AND delivery_id < ? AND n = 1`, first, last)
	}
	const parts = 20
	for part := range parts {
		e.execute(`INSERT INTO store_overrides (business_id, store_id, kind, id, content)
			SELECT a.business_id, s.id, a.kind, a.id, a.content
			FROM store_overrides a JOIN stores s ON s.business_id = a.business_id AND s.id <> a.store_id
			WHERE a.store_id = (SELECT id FROM stores WHERE ref_id = ?) AND s.id % ? = ?`, shopStore, parts, part)
	}
	for _, statement := range consoleRows {
		e.execute(statement, e.business)
	}
	e.execute(`ANALYZE`)
	e.execute(`CHECKPOINT`)
	return e
}

// consoleRows fill the other lists. Most rows are copies of one that the hub stored.
var consoleRows = []string{
	`INSERT INTO attempt_counts (business_id, bucket_seconds, bucket_start, webhook_id, succeeded, failed, total_us,
			max_us)
		SELECT w.business_id, g.grain,
			to_timestamp(floor(extract(epoch FROM now()) / g.grain) * g.grain) - i * g.grain * interval '1 second', x,
			900, 30, 20000000, 900000
		FROM webhooks w, (VALUES (60, 2880), (3600, 2160)) g (grain, spans), generate_series(0, g.spans - 1) i,
			unnest(ARRAY[0, w.id]) x
		WHERE w.business_id = ?
		ON CONFLICT DO NOTHING`,
	`INSERT INTO orders SELECT copy.* FROM orders o, generate_series(1, 200000) i, jsonb_populate_record(o,
			jsonb_build_object('id', 10000000 + i, 'platform_order_id', 'C-' || i,
			'created_at', now() - i * interval '10 seconds', 'updated_at', now())) copy
		WHERE o.business_id = ?0 AND o.id = (SELECT min(id) FROM orders WHERE business_id = ?0)`,
	`INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor, state, message,
			attempts, created_at, finished_at)
		SELECT business_id, gen_random_uuid(), 'order/' || id, 'rider_status', 'market', id, '{"status":"assigned"}',
			'key:pos', CASE WHEN id % 100 = 0 THEN 'failed' ELSE 'done' END, '', 1, created_at, created_at
		FROM orders WHERE business_id = ? AND id % 2 = 0`,
	`INSERT INTO call_attempts SELECT business_id, id, order_id, 1, created_at, 'POST', 'https://market.example/', '{}',
			'', 200, '', '', '{}', '', 90000
		FROM calls WHERE business_id = ?`,
	`INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests, due_at,
			available_at, state, published_at, settled_at)
		SELECT business_id, id, 'market', 1, gen_random_uuid(), '{}', now(), 'infinity', 'published', now(), now()
		FROM stores WHERE business_id = ?`,
	`INSERT INTO sent_menus SELECT business_id, store_id, 'market', gen_random_uuid(), 1, now(),
			convert_to(string_agg(content::text, ','), 'UTF8'), 200000, 200, '{"ok":true}', 'published', ''
		FROM store_overrides WHERE business_id = ? GROUP BY business_id, store_id`,
	`INSERT INTO platform_findings (business_id, platform, item_id, rule, message)
		SELECT business_id, 'market', id, 'photo', 'needs a photo' FROM catalogue_entities
		WHERE business_id = ? AND kind = 1 AND id % 10 = 0`,
	`INSERT INTO rejected_orders SELECT id, 'market', i::text, 'S-1', 'no such item', false, 1, now(),
			now() - i * interval '1 minute'
		FROM businesses, generate_series(1, 500) i WHERE id = ?`,
	`INSERT INTO audit (business_id, id, at, actor, action, object)
		SELECT b, gen_random_uuid(), now() - i * interval '1 minute', 'key:pos', 'store.close', 'store/1'
		FROM generate_series(1, 20000) i, unnest(ARRAY[0, ?]) b`,
	`INSERT INTO jobs SELECT copy.*
		FROM jobs j, generate_series(1, 5000) i,
			jsonb_populate_record(j, jsonb_build_object('id', md5(i::text)::uuid)) copy
		WHERE j.business_id = ?0 AND j.id = (SELECT id FROM jobs WHERE business_id = ?0 ORDER BY length(body) LIMIT 1)`,
	`INSERT INTO revisions SELECT copy.*
		FROM revisions r, generate_series(1, 2000) i,
			jsonb_populate_record(r, jsonb_build_object('id', md5(i::text)::uuid)) copy
		WHERE r.business_id = ?0 AND r.id = (SELECT id FROM revisions WHERE business_id = ?0 ORDER BY id LIMIT 1)`,
	`INSERT INTO api_keys (business_id, username, key_hash, prefix, scope, created_at)
		SELECT id, 'pos-' || i, sha256(i::text::bytea), 'abcd', 'pos', now()
		FROM businesses, generate_series(1, 100) i WHERE id = ?`,
	`INSERT INTO users (email, role, created_at)
		SELECT i || '@example.com', 'viewer', now() FROM businesses, generate_series(1, 200) i WHERE id = ?`,
}
