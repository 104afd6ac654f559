package storetest

import (
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// newChain returns a business with many stores that sell the same items on web, app and aggregator-a.
func newChain(t testing.TB, storeCount int) *menuHarness {
	t.Helper()
	db := hubtest.Database(t, nil)
	k := &menuHarness{db: db, business: hubtest.Business(t, db).ID}
	change := func(statement string, args ...any) {
		pgtest.Exec(t, db, statement, append([]any{k.business}, args...)...)
	}
	change(`INSERT INTO platforms (business_id, name, served_by) VALUES (?0, 'aggregator-a', 'aggregator-a')
		ON CONFLICT DO NOTHING`)
	change(`INSERT INTO catalogue_entities (business_id, kind, id, name, active, parent_id, all_items, record,
			updated_at) SELECT ?0, kind, 1000 * kind + n, kind || 'i' || n, true, 0, false,
			json_build_object('title', 'Item ' || n, 'price', 9, 'description', repeat('fine ', 60),
			'min_selectable', 1), now()
		FROM generate_series(1, 40) n, unnest(ARRAY[1, 2, 3]) kind WHERE kind = 1 OR n <= 8`)
	change(`INSERT INTO menu_links SELECT ?0, 1, 2000 + n, 1000 + n, 0 FROM generate_series(1, 4) n`)
	change(`INSERT INTO menu_links SELECT ?0, 2, 3000 + n, 2001 + n % 4, 0 FROM generate_series(1, 8) n`)
	change(`INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active, ordering_enabled,
		excluded_platforms, timings, created_at, updated_at)
		SELECT ?0, n, 'S-' || to_char(n, 'FM0000'), 'C', 'Store ' || n, false, n % 50 > 0, n % 7 > 0,
			CASE WHEN n % 100 = 1 THEN '{web}' ELSE '{}' END::text[], (SELECT jsonb_agg(jsonb_build_object('day', day,
			'slots', jsonb_build_array(jsonb_build_object('start_time', to_char(6 + n % 12, 'FM00') || ':00:00',
			'end_time', '22:00:00')))) FROM unnest(ARRAY['monday', 'tuesday', 'wednesday', 'thursday', 'friday',
			'saturday', 'sunday']) day), now(), now() FROM generate_series(1, ?1) n`, storeCount)
	change(`INSERT INTO store_overrides SELECT ?0, s, e.kind, e.id, json_build_object('price', 9, 'available',
			s % 9 > 0, 'current_stock', -1) FROM generate_series(1, ?1) s, catalogue_entities e
			WHERE e.business_id = ?0 AND e.kind IN (1, 3)`, storeCount)
	change(`INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests, due_at,
			available_at, state, published_at) SELECT ?0, n, 'aggregator-a', 1, gen_random_uuid(), '{}', now(),
			'infinity', 'published', now() FROM generate_series(1, ?1) n`, storeCount)
	pgtest.Exec(t, db, `ANALYZE`)
	return k
}
