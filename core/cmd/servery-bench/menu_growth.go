package main

import (
	"context"
	"fmt"
)

// menuSizes are how many objects the menus hold whose cost is compared; the
// cost of one object in the last is held against that in menuSizes[baseSize].
var menuSizes = []int{100, 400, 1600, 6000, 12000}

const baseSize = 2

// microseconds is the unit of what one object costs.
const microseconds = "µs"

// sizedMenu is a part of the menu and what one of its objects cost in each round.
type sizedMenu struct {
	*menuRows
	body   []byte
	jobs   []float64 // milliseconds
	single []float64 // microseconds an object
}

// measureMenuGrowth posts ever larger parts of the menu to fresh businesses and
// tells what one object costs in each.
func measureMenuGrowth(ctx context.Context, b *bench) ([]figure, error) {
	rows, _, err := readMenu(b.Menu)
	if err != nil {
		return nil, err
	}
	m, err := openMenuBench(ctx, b, "menugrowth")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("menugrowth", b.log)
	defer m.close()
	parts := make([]sizedMenu, len(menuSizes))
	for i, size := range menuSizes {
		parts[i].menuRows = rows.cut(size)
		if parts[i].body, err = parts[i].menuRows.body(); err != nil {
			return nil, err
		}
	}
	if _, err := m.first(ctx, parts[len(parts)-1]); err != nil { // warms hub and database
		return nil, err
	}
	for range pick(b, 7, 3) {
		for i := range parts {
			took, err := m.first(ctx, parts[i])
			if err != nil {
				return nil, fmt.Errorf("a menu of %d objects: %w", parts[i].objects(), err)
			}
			parts[i].jobs = append(parts[i].jobs, took)
			parts[i].single = append(parts[i].single, 1000*took/float64(parts[i].objects()))
		}
	}
	return growthFigures(parts), nil
}

// first posts the menu to a fresh business and tells how many milliseconds its
// job took.
func (m menuBench) first(ctx context.Context, part sizedMenu) (float64, error) {
	who, err := m.business(ctx)
	if err != nil {
		return 0, err
	}
	took, err := m.postMaster(ctx, who, part.body, part.objects(), 0)
	return inMilliseconds(took.job), err
}

func growthFigures(parts []sizedMenu) []figure {
	figures := make([]figure, len(parts))
	for i, part := range parts {
		figures[i] = medianFigure(fmt.Sprintf("menu/growth %d", menuSizes[i]), microseconds, part.single).at(menuSizes[i]).
			noted(fmt.Sprintf("an object; %d objects, %d of them items and options, in %.1f ms", part.objects(), len(part.Items)+len(part.Options), median(part.jobs)))
	}
	last := len(parts) - 1
	figures[last] = figures[last].against(parts[baseSize].single)
	figures[last] = figures[last].judged("<= 1.5x", *figures[last].Ratio <= 1.5)
	figures[last].Note += fmt.Sprintf("; floor: menu/growth %d", menuSizes[baseSize])
	return figures
}
