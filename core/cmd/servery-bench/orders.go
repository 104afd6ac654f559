package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// orderConnections is from how many connections orders come at once.
const orderConnections = 64

// orderBench posts orders to the built hub, and to the floor beside it on the
// same database.
type orderBench struct {
	menuBench
	floor  *intakeFloor // with a connection to the database for each request that comes at once
	single *intakeFloor // with one
	bodies [][]byte
	sent   int // orders so far: none is sent twice
}

// shop is a business with a menu that takes orders.
type shop struct {
	tenant
	orders *poster
}

const orderedStore = "S-ordered"

// openOrderBench brings up a fresh database with the hub and the floor on it.
func openOrderBench(ctx context.Context, b *bench, name string) (*orderBench, error) {
	if _, err := b.pg.fresh(ctx, name); err != nil {
		return nil, err
	}
	return orderBenchOn(ctx, b, name)
}

// orderBenchOn is openOrderBench on a database that is there.
func orderBenchOn(ctx context.Context, b *bench, name string) (o *orderBench, err error) {
	o = &orderBench{}
	if o.storeBench, err = storeBenchOn(ctx, b, name); err != nil {
		return o, err
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	address, err := b.pg.address(name)
	if err != nil {
		return o, err
	}
	if o.floor, err = startIntakeFloor(ctx, address, orderConnections); err != nil {
		return o, err
	}
	if o.single, err = startIntakeFloor(ctx, address, 1); err != nil {
		return o, err
	}
	o.bodies, err = orderBodies(orderedStore)
	return o, err
}

func (o *orderBench) close() {
	for _, floor := range []*intakeFloor{o.floor, o.single} {
		if floor != nil {
			floor.close()
		}
	}
	o.menuBench.close()
}

// shop makes a business whose only store sells the menu on its own platform,
// and which has had its first orders.
func (o *orderBench) shop(ctx context.Context) (s shop, err error) {
	if s.tenant, err = o.business(ctx); err != nil {
		return s, err
	}
	store := fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"Harbour Street","city":"Pune","address":"14 Harbour Street","active":true,
		"ordering_enabled":true,"excluded_platforms":[]}]}`, orderedStore)
	if _, err = o.storeBench.post(ctx, s.tenant, []byte(store), 1, 0); err != nil {
		return s, err
	}
	menu := orderedMenu()
	objects := 0
	for _, list := range menu {
		objects += len(list.([]object))
	}
	body, err := json.Marshal(menu)
	if err != nil {
		return s, err
	}
	if _, err = o.postMaster(ctx, s.tenant, body, objects, 0); err != nil {
		return s, err
	}
	if body, err = json.Marshal(map[string]any{"items": menu["items"], "options": menu["options"]}); err != nil {
		return s, err
	}
	if _, err = o.post(ctx, s.tenant, orderedStore, body, 0, len(menu["items"].([]object))+len(menu["options"].([]object))); err != nil {
		return s, err
	}
	accounts := access.Access{Records: postgres.Access{DB: o.db}, Clock: o.db.Clock()}
	_, secret, err := accounts.CreateKey(ctx, access.Key{Business: s.business, Username: "shop", Scope: core.ScopeChannel})
	if err != nil {
		return s, fmt.Errorf("making a key: %w", err)
	}
	s.orders = newPoster(strings.TrimPrefix(o.hub.base, "http://"), "/channel/api/v1/orders/", "apikey shop:"+secret, orderConnections)
	// Statistics are there within minutes of a menu.
	if _, err = o.menuBench.floor.bun.ExecContext(ctx, `ANALYZE stores, menu_masters, menu_links, menu_at_store`); err == nil {
		_, err = o.place(s.orders, warmOrders)
	}
	return s, err
}

// warmOrders is how many orders a business has had before anything is measured.
const warmOrders = 500

// listen has the orders of a business told to the sink.
func (o *orderBench) listen(ctx context.Context, s shop) error {
	_, err := subscribe(ctx, o.db, s.business, core.OrderPlaced, o.sink.url, webhook.Minutes)
	return err
}

// place posts n orders as fast as they are taken and tells how many a second.
func (o *orderBench) place(to *poster, n int) (float64, error) {
	from := o.sent
	o.sent += n
	began := time.Now()
	err := inParallel(n, orderConnections, func(i int) error { return to.post(orderBody(o.bodies, from+i)) })
	return float64(n) / time.Since(began).Seconds(), err
}

// stored makes sure that a business has so many orders and that nothing is odd about them.
func (o *orderBench) stored(ctx context.Context, s shop, want int) error {
	for query, want := range map[string]int{
		`SELECT count(*) FROM orders WHERE business_id = ?`:                                 want,
		`SELECT count(*) FROM orders WHERE business_id = ? AND flags > 0`:                   0,
		`SELECT count(*) FROM events WHERE business_id = ? AND event_type = 'order_placed'`: want,
		`SELECT count(DISTINCT platform_order_id) FROM orders WHERE business_id = ?`:        want,
	} {
		got, err := o.menuBench.floor.count(ctx, query, s.business)
		if err != nil {
			return err
		}
		if got != int64(want) {
			return fmt.Errorf("%s is %d, not %d", query, got, want)
		}
	}
	return nil
}

// postRetry has the orders since an instant sent again that no endpoint has accepted.
func (h *hubProcess) postRetry(ctx context.Context, who tenant, since time.Time) (accepted, error) {
	body := fmt.Appendf(nil, `{"event_type":18,"start_time":%d,"end_time":%d}`, since.UnixMilli(), time.Now().Add(time.Second).UnixMilli())
	return h.postTo(ctx, who, "/external/api/v1/webhooks/retry/", body)
}
