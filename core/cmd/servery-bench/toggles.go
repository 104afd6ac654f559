package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// toggledItems is how many items a request switches.
const toggledItems = 400

// measureToggles switches items of a store while the menus of all stores are
// published, and lets thousands of stores open by themselves in the same second.
func measureToggles(ctx context.Context, b *bench) ([]figure, error) {
	m, err := openMenuBench(ctx, b, "toggles")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("toggles", b.log)
	defer m.close()
	stores := pick(b, 2500, 500)
	var late []float64
	for range pick(b, 3, 2) {
		last, err := m.openTogether(ctx, stores)
		if err != nil {
			return nil, err
		}
		late = append(late, last)
	}
	p, err := m.publishBench(ctx, pick(b, 300, 100))
	if err != nil {
		return nil, err
	}
	var took []float64
	for n := range pick(b, 60, 20) {
		if n%5 == 0 { // the menus of all stores are due a moment later, and take longer than five switches
			if _, err := p.hub.postMenu(ctx, p.who, "-1", p.menu()); err != nil {
				return nil, err
			}
		}
		one, err := p.toggle(ctx, n%2 == 1)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	middle := figure{Name: "toggles/items", Unit: milliseconds, Measured: percentile(took, 50)}
	slow := figure{Name: "toggles/items p99", Unit: milliseconds, Measured: percentile(took, 99)}
	opened := medianFigure("toggles/stores", milliseconds, late)
	return []figure{
		middle.judged("< 1000 ms", middle.Measured < 1000).noted(fmt.Sprintf("%d items of a store, from the request to its arrival at the aggregator, while %d menus are published", toggledItems, p.stores)),
		slow.judged("< 3000 ms", slow.Measured < 3000).noted(fmt.Sprintf("of %d", len(took))),
		opened.judged("< 5000 ms", opened.Measured < 5000).noted(fmt.Sprintf("%d stores due in the same second, until the last has arrived at the aggregator", stores)),
	}, nil
}

// toggle switches items and tells how many milliseconds later the aggregator heard it.
func (p *publishBench) toggle(ctx context.Context, on bool) (float64, error) {
	refs := make([]string, toggledItems)
	for i := range refs {
		refs[i] = fmt.Sprintf("I-%d", i)
	}
	body, err := json.Marshal(object{"location_ref_id": p.chain.stores[0], "item_ref_ids": refs, "action": map[bool]string{true: "enable", false: "disable"}[on]})
	if err != nil {
		return 0, err
	}
	if err := p.sink.reset(0); err != nil {
		return 0, err
	}
	posted, err := p.hub.postTo(ctx, p.who, "/hub/api/v1/items/", body)
	if err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		came, err := p.sink.arrivals()
		if err != nil {
			return 0, err
		}
		for _, a := range came {
			if strings.HasSuffix(a.Path, "/stock") {
				return inMilliseconds(time.Unix(0, a.At).Sub(posted.sent)), nil
			}
		}
	}
	return 0, fmt.Errorf("the aggregator heard of no items")
}

// openTogether has the stores of a business due at one time, and tells how many
// milliseconds later the last of them was open at the aggregator.
func (m menuBench) openTogether(ctx context.Context, n int) (float64, error) {
	who, err := m.business(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := m.stores(ctx, who, n); err != nil {
		return 0, err
	}
	if err := m.played(ctx, who.business); err != nil {
		return 0, err
	}
	if err := m.sink.reset(0); err != nil {
		return 0, err
	}
	due := time.Now().Add(2 * time.Second)
	if _, err := m.floor.bun.ExecContext(ctx, `INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at, turn_on_at)
		SELECT business_id, id, ?, false, 'api', '', 'bench', gen_random_uuid(), now(), ? FROM stores WHERE business_id = ?`, publishPlatform, due, who.business); err != nil {
		return 0, err
	}
	for deadline := due.Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		came, err := m.sink.arrivals()
		if err != nil {
			return 0, err
		}
		opened, last := map[string]bool{}, due
		for _, a := range came {
			if strings.HasSuffix(a.Path, "/opening") {
				opened[a.Path] = true
				if at := time.Unix(0, a.At); at.After(last) {
					last = at
				}
			}
		}
		if len(opened) == n {
			return inMilliseconds(last.Sub(due)), nil
		}
	}
	return 0, fmt.Errorf("not all of %d stores were opened in time", n)
}
