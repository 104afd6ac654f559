package main

import (
	"context"
	"fmt"
)

// storeItems is how many items the request to one store names, and how many
// every store of a full database sells.
const storeItems = 500

// chain is a business with the whole menu, and stores that sell nothing yet.
type chain struct {
	menuBench
	who    tenant
	stores []string
	master int // requests of changes to the master catalogue so far
}

// measureMenuIndependence posts the same requests to a business with thousands
// of stores that sell and to one without, and tells how much longer they take.
func measureMenuIndependence(ctx context.Context, b *bench) ([]figure, error) {
	rows, _, err := readMenu(b.Menu)
	if err != nil {
		return nil, err
	}
	rounds, others := pick(b, 7, 3), pick(b, 2500, 250)
	var chains [2]*chain // the empty one, the full one
	for i, name := range []string{"menuempty", "menufull"} {
		m, err := openMenuBench(ctx, b, name)
		if err != nil {
			return nil, err
		}
		defer b.pg.drop(name, b.log)
		defer m.close()
		if chains[i], err = m.chain(ctx, rows, rounds+1); err != nil {
			return nil, err
		}
	}
	if err := chains[1].fill(ctx, others); err != nil {
		return nil, fmt.Errorf("filling %d stores: %w", others, err)
	}
	var atStore, master [2][]float64
	for round := range rounds {
		for turn := range chains { // another goes first in every round
			i := (round + turn) % 2
			if err := chains[i].round(ctx, rows, round, &atStore[i], &master[i]); err != nil {
				return nil, err
			}
		}
	}
	full := fmt.Sprintf("answer to the callback with %d stores of %d items each; floor: the same without them", others, storeItems)
	return []figure{
		independent("menu/independence store", atStore).noted(fmt.Sprintf("%d items at one store, %s", storeItems, full)),
		independent("menu/independence master", master).noted(rows.shape() + ", 1% changed, " + full),
	}, nil
}

func independent(name string, times [2][]float64) figure {
	f := medianFigure(name, milliseconds, times[1]).against(times[0])
	return f.judged("<= 1.3x", *f.Ratio <= 1.3)
}

// chain makes a business that has the menu and n stores. The hub has had a
// request of each kind then.
func (m menuBench) chain(ctx context.Context, rows *menuRows, n int) (*chain, error) {
	who, err := m.business(ctx)
	if err != nil {
		return nil, err
	}
	c := &chain{menuBench: m, who: who}
	if c.stores, err = m.stores(ctx, who, n); err != nil {
		return nil, err
	}
	body, err := rows.body()
	if err != nil {
		return nil, err
	}
	if _, err := m.postMaster(ctx, who, body, rows.objects(), 0); err != nil {
		return nil, err
	}
	if _, err := c.sell(ctx, rows, n-1); err != nil {
		return nil, err
	}
	_, err = c.change(ctx, rows)
	return c, err
}

// sell has one store sell the first items and tells how many milliseconds the job took.
func (c *chain) sell(ctx context.Context, rows *menuRows, store int) (float64, error) {
	body, err := unescaped(rows.itemsAlone(storeItems))
	if err != nil {
		return 0, err
	}
	took, err := c.post(ctx, c.who, c.stores[store], body, 0, storeItems)
	return inMilliseconds(took.job), err
}

// change changes a hundredth of the master catalogue.
func (c *chain) change(ctx context.Context, rows *menuRows) (float64, error) {
	c.master++
	body, err := rows.changed(c.master).body()
	if err != nil {
		return 0, err
	}
	took, err := c.postMaster(ctx, c.who, body, 0, rows.objects())
	return inMilliseconds(took.job), err
}

// round has one more store sell, and changes the master catalogue.
func (c *chain) round(ctx context.Context, rows *menuRows, store int, atStore, master *[]float64) error {
	took, err := c.sell(ctx, rows, store)
	if err != nil {
		return fmt.Errorf("a request to a store: %w", err)
	}
	*atStore = append(*atStore, took)
	if took, err = c.change(ctx, rows); err != nil {
		return fmt.Errorf("a request to the master catalogue: %w", err)
	}
	*master = append(*master, took)
	return nil
}

// fill adds n stores that sell what the last store of the chain sells.
func (c *chain) fill(ctx context.Context, n int) error {
	pattern := c.stores[len(c.stores)-1]
	for _, statement := range []string{
		`INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active, ordering_enabled, created_at, updated_at)
			SELECT business_id, nextval('store_ids'), 'other-' || n, city, name, hide_from_ui, active, ordering_enabled, created_at, updated_at
			FROM stores, generate_series(1, ?2) n WHERE business_id = ?0 AND ref_id = ?1`,
		`INSERT INTO menu_at_store (business_id, store_id, kind, id, content)
			SELECT a.business_id, other.id, a.kind, a.id, a.content FROM stores s
			JOIN menu_at_store a ON a.business_id = s.business_id AND a.store_id = s.id
			JOIN stores other ON other.business_id = s.business_id AND other.ref_id LIKE 'other-%'
			WHERE s.business_id = ?0 AND s.ref_id = ?1 ORDER BY other.id, a.kind, a.id`,
		`INSERT INTO menu_versions (business_id, store_id, version)
			SELECT business_id, id, 1 FROM stores WHERE business_id = ?0 AND ref_id LIKE 'other-%'`,
	} {
		if _, err := c.floor.bun.ExecContext(ctx, statement, c.who.business, pattern, n); err != nil {
			return err
		}
	}
	stored, err := c.floor.count(ctx, `SELECT count(*) FROM menu_at_store WHERE business_id = ?`, c.who.business)
	if err == nil && stored < int64(n*storeItems) {
		err = fmt.Errorf("only %d references are stored", stored)
	}
	if err == nil { // as upkeep has it after a while
		_, err = c.floor.bun.ExecContext(ctx, `VACUUM (ANALYZE) menu_at_store`)
	}
	if err == nil {
		_, err = c.floor.bun.ExecContext(ctx, `CHECKPOINT`)
	}
	return err
}
