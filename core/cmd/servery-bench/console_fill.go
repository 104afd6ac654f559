package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// consoleSizes is what the pages of the console are measured with.
type consoleSizes struct{ deliveries, stores, items int }

// fillConsole makes a business of that size: deliveries with three attempts each,
// of which one in a hundred failed, and stores that all have all items.
func (r *replica) fillConsole(ctx context.Context, hub *hubProcess, sizes consoleSizes) error {
	if _, err := r.floor.fillHistory(ctx, sizes.deliveries); err != nil {
		return fmt.Errorf("filling the history: %w", err)
	}
	accounts := access.Access{Records: postgres.Access{DB: r.db}, Clock: r.db.Clock()}
	_, secret, err := accounts.CreateKey(ctx, access.Key{Business: r.business, Username: "pos", Scope: core.ScopePOS})
	if err != nil {
		return err
	}
	who := tenant{r.business, "apikey pos:" + secret}
	stores, err := generatedStores(sizes.stores)
	if err != nil {
		return err
	}
	if _, err := hub.postStores(ctx, who, stores); err != nil {
		return err
	}
	if err := r.await(ctx, `SELECT count(*) FROM stores`, sizes.stores); err != nil {
		return err
	}
	var ref string
	if err := r.floor.bun.QueryRowContext(ctx, `SELECT min(ref_id) FROM stores`).Scan(&ref); err != nil {
		return err
	}
	items := make([]object, sizes.items)
	for i := range items {
		items[i] = object{"ref_id": itemRef(i), "title": fmt.Sprintf("Dish %d", i), "price": 10, "available": true}
	}
	menu, err := json.Marshal(object{"items": items})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hub.base+"/external/api/v1/inventory/locations/"+ref+"/", strings.NewReader(string(menu)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", who.authorization)
	request.Header.Set("Content-Type", "application/json")
	if _, err := hub.do(request); err != nil {
		return err
	}
	if err := r.await(ctx, `SELECT count(*) FROM menu_at_store`, sizes.items); err != nil {
		return err
	}
	// In parts, each of which ends well before a connection loses patience.
	for day := range historyDays {
		from := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -day)
		first, last := core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1))
		if err := r.execute(ctx, `UPDATE deliveries SET state = 'failed', status = 503 WHERE id >= ? AND id < ? AND get_byte(uuid_send(id), 15) % 100 = 0`, first, last); err != nil {
			return err
		}
		if err := r.execute(ctx, `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('n', i))).*
			FROM attempts a, generate_series(2, 3) i WHERE delivery_id >= ? AND delivery_id < ? AND n = 1`, first, last); err != nil {
			return err
		}
	}
	const parts = 20
	for part := range parts {
		if err := r.execute(ctx, `INSERT INTO menu_at_store (business_id, store_id, kind, id, content) SELECT a.business_id, s.id, a.kind, a.id, a.content
			FROM menu_at_store a JOIN stores s ON s.business_id = a.business_id AND s.id <> a.store_id WHERE a.store_id = (SELECT id FROM stores WHERE ref_id = ?) AND s.id % ? = ?`,
			ref, parts, part); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`INSERT INTO attempt_counts (business_id, grain, at, webhook_id, accepted, refused, took_us, slow_us)
			SELECT w.business_id, g.grain, to_timestamp(floor(extract(epoch FROM now()) / g.grain) * g.grain) - i * g.grain * interval '1 second', x, 900, 30, 20000000, 900000
			FROM webhooks w, (VALUES (60, 2880), (3600, 2160)) g (grain, spans), generate_series(0, g.spans - 1) i, unnest(ARRAY[0, w.id]) x
			ON CONFLICT DO NOTHING`,
		`ANALYZE`, `CHECKPOINT`,
	} {
		if err := r.execute(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (r *replica) execute(ctx context.Context, statement string, args ...any) error {
	if _, err := r.floor.bun.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("filling the console: %w", err)
	}
	return nil
}

// await waits until a count is as wanted.
func (r *replica) await(ctx context.Context, query string, want int) error {
	for until := time.Now().Add(2 * time.Minute); ; {
		n, err := r.floor.count(ctx, query)
		if err != nil || n == int64(want) {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s is %d, not %d", query, n, want)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
