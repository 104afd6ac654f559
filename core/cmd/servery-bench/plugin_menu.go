package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// checkedItems is how many items the plugins check.
const checkedItems = 2000

// checkedMenu is a request of that many items, every other one without what A and C ask for.
func checkedMenu() ([]byte, error) {
	items := make([]object, checkedItems)
	for i := range items {
		values := []object{{"key": "fat_mg", "value": "120"}, {"key": "protein_mg", "value": "900"}, {"key": "calorie_kcal", "value": "310"}}
		if i%2 == 0 {
			values = append(values, object{"key": "fiber_mg", "value": "40"})
		}
		items[i] = object{"ref_id": fmt.Sprintf("I-%d", i), "title": fmt.Sprintf("Dish %d", i), "price": 4.5,
			"description": "Slow-cooked and served with rice", "key_value_groups": []object{{"group": "NutritionalInfo", "key_value_data": values}}}
	}
	return json.Marshal(object{"items": items})
}

// measurePluginMenu posts a menu to businesses with and without platforms that
// plugins serve.
func measurePluginMenu(ctx context.Context, b *bench) ([]figure, error) {
	m, err := openMenuBench(ctx, b, "pluginmenu")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("pluginmenu", b.log)
	defer m.close()
	body, err := checkedMenu()
	if err != nil {
		return nil, err
	}
	job := func(platforms []string) (float64, error) {
		who, err := m.business(ctx)
		for _, id := range platforms {
			if err == nil {
				err = postgres.Platforms{DB: m.db}.Set(ctx, who.business, core.Platform{Name: id, ServedBy: id}, func(*relay.Access) error { return nil })
			}
		}
		if err != nil {
			return 0, err
		}
		took, err := m.postMaster(ctx, who, body, checkedItems, 0)
		return inMilliseconds(took.recorded), err
	}
	for range 3 { // hub and database have had such requests
		if _, err := job(nil); err != nil {
			return nil, err
		}
	}
	before, err := m.hub.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	var added, without []float64
	for range pick(b, 7, 3) {
		least, err := job(nil)
		if err != nil {
			return nil, err
		}
		took, err := job(pluginIDs)
		if err != nil {
			return nil, err
		}
		added, without = append(added, took-least), append(without, least)
	}
	found, err := m.floor.count(ctx, `SELECT count(*) FROM platform_findings`)
	if err != nil {
		return nil, err
	}
	if want := int64(len(added) * checkedItems / 2); found < want {
		return nil, fmt.Errorf("the plugins found fault with %d items, not with %d", found, want)
	}
	after, err := m.hub.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	check := medianFigure("plugins/menu check", milliseconds, added)
	memory := figure{Name: "plugins/menu memory", Unit: megabytes, Measured: after - before}
	return []figure{
		check.judged("< 150 ms", check.Measured < 150).noted(fmt.Sprintf(
			"what three plugins add to the job of %d items, which takes %.0f ms without; findings stored", checkedItems, median(without))),
		memory.judged("< 64 MB", memory.Measured < 64).noted("what they add to the hub's memory at most"),
	}, nil
}
