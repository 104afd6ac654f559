package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// hitsRead is how many of each kind a search reads: one more than are shown.
const hitsRead = console.HitsShown + 1

// Search finds what the text may mean in businesses: an id, a ref_id, a part of
// a name or of an address. Of each kind it finds one more than console.HitsShown
// where there are more.
func (c Console) Search(ctx context.Context, businesses []core.BusinessID, text string) ([]console.Hit, error) {
	if id, err := uuid.Parse(text); err == nil {
		return c.searchID(ctx, businesses, id)
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		number = -1
	}
	return c.hits(ctx, `SELECT * FROM (SELECT id AS business_id, 'business' AS kind, id::text AS id, name AS title, country || ' · ' || currency AS detail
				FROM businesses WHERE id = ANY (?0) AND (id = ?1 OR name ILIKE ?2) ORDER BY lower(name) LIMIT ?3) a
		UNION ALL SELECT * FROM (SELECT business_id, 'order', id::text, 'Order ' || id, platform || ' · ' || platform_order_id || ' · ' || state
				FROM (SELECT * FROM orders WHERE business_id = ANY (?0) AND id = ?1 UNION SELECT o.* FROM platforms p
					JOIN orders o ON o.business_id = p.business_id AND o.platform = p.name AND o.platform_order_id = ?4 WHERE p.business_id = ANY (?0)
					UNION SELECT * FROM orders WHERE business_id = ANY (?0) AND reference = ?4) o
				ORDER BY business_id, id DESC LIMIT ?3) o
		UNION ALL SELECT * FROM (SELECT business_id, 'refused', platform_order_id, platform_order_id, platform || ' · ' || store || ' · ' || reason
				FROM refused_orders WHERE business_id = ANY (?0) AND platform_order_id = ?4 ORDER BY last_at DESC LIMIT ?3) r
		UNION ALL SELECT * FROM (SELECT business_id, 'refused at', store, store, count(*)::text
				FROM refused_orders WHERE business_id = ANY (?0) AND store = ?4 GROUP BY business_id, store LIMIT ?3) s
		UNION ALL SELECT * FROM (SELECT business_id, 'webhook', id::text, event_type, url
				FROM webhooks WHERE business_id = ANY (?0) AND (id = ?1 OR url ILIKE ?2 OR event_type = ?4) ORDER BY business_id, id LIMIT ?3) b
		UNION ALL SELECT * FROM (SELECT business_id, 'store', id::text, name, ref_id || ' · ' || city
				FROM stores WHERE business_id = ANY (?0) AND (id = ?1 OR ref_id ILIKE ?2 OR name ILIKE ?2) ORDER BY ref_id <> ?4, business_id, ref_id LIMIT ?3) c
		UNION ALL SELECT * FROM (SELECT business_id, 'item', id::text, coalesce(record->>'title', ''), name
				FROM menu_masters WHERE business_id = ANY (?0) AND kind = ?5 AND (id = ?1 OR name ILIKE ?2 OR record->>'title' ILIKE ?2)
				ORDER BY name <> ?4, business_id, name LIMIT ?3) d
		UNION ALL SELECT * FROM (SELECT business_id, 'key', id::text, username, prefix || '…'
				FROM api_keys WHERE business_id = ANY (?0) AND (username ILIKE ?2 OR prefix = left(?4, 8)) ORDER BY business_id, id LIMIT ?3) e
		UNION ALL SELECT * FROM (SELECT business_id, 'job', id::text, kind, coalesce((SELECT f->>'message' FROM jsonb_array_elements(result->'failed') f WHERE f->>'ref_id' = ?4 LIMIT 1), '')
				FROM jobs WHERE business_id = ANY (?0) AND result->'failed' @> jsonb_build_array(jsonb_build_object('ref_id', ?4::text)) ORDER BY id DESC LIMIT ?3) f`,
		array(businesses), number, part(text), hitsRead, text, int(menu.Items))
}

// searchID finds what bears an id: a job by its reference, a delivery, the
// deliveries of an event by its webhook-id, the order or store that an aggregator
// was told of, and how many events tell of the request.
func (c Console) searchID(ctx context.Context, businesses []core.BusinessID, id core.ID) ([]console.Hit, error) {
	made := core.TimeOf(id)
	from, to := core.FirstID(made), core.FirstID(made.Add(time.Minute))
	return c.hits(ctx, `SELECT business_id, 'job' AS kind, id::text AS id, kind AS title, subject AS detail FROM jobs WHERE business_id = ANY (?0) AND id = ?1
		UNION ALL SELECT * FROM (SELECT business_id, 'delivery', id::text, event_type, url FROM deliveries
			WHERE business_id = ANY (?0) AND (id = ?1 OR id BETWEEN ?2 AND ?3 AND event_id = ?1) LIMIT ?4) d
		UNION ALL SELECT * FROM (SELECT business_id, 'delivery', id::text, event_type, url FROM delivery_queue
			WHERE business_id = ANY (?0) AND (id = ?1 OR id BETWEEN ?2 AND ?3 AND event_id = ?1) LIMIT ?4) q
		UNION ALL SELECT * FROM (SELECT DISTINCT c.business_id, 'order', c.order_id::text, 'Order ' || c.order_id, c.platform || ' · ' || c.kind
			FROM calls c WHERE c.business_id = ANY (?0) AND c.id BETWEEN ?2 AND ?3 AND c.order_id <> 0 AND (c.id = ?1 OR c.payload LIKE ?5) LIMIT ?4) c
		UNION ALL SELECT * FROM (SELECT DISTINCT c.business_id, 'store', s.id::text, s.name, s.ref_id
			FROM calls c JOIN stores s ON s.business_id = c.business_id AND s.id = substring(c.line FROM '^store:.*/([0-9]+)$')::bigint
			WHERE c.business_id = ANY (?0) AND c.id BETWEEN ?2 AND ?3 AND c.order_id = 0 AND (c.id = ?1 OR c.payload LIKE ?5) LIMIT ?4) s
		UNION ALL SELECT business_id, 'reference', ?6, min(event_type), count(*)::text FROM events WHERE business_id = ANY (?0) AND reference = ?6 AND reference <> ''
			AND NOT EXISTS (SELECT FROM jobs j WHERE j.business_id = events.business_id AND j.id = ?1) GROUP BY business_id`,
		array(businesses), id, from, to, hitsRead, part(id.String()), id.String())
}

func (c Console) hits(ctx context.Context, query string, args ...any) ([]console.Hit, error) {
	return listOf(ctx, c.bun, "searching", func(hit *console.Hit) []any {
		return []any{&hit.Business, &hit.Kind, &hit.ID, &hit.Title, &hit.Detail}
	}, query, args...)
}
