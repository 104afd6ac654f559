package main

import (
	"context"
	"fmt"
)

// menuRounds are the values of all rounds, in milliseconds; those of jobs are of
// the first request, of the same again, and of one with a hundredth changed.
type menuRounds struct {
	accept                 []float64
	jobs, floors, recorded [3][]float64
}

// menuTurns names the requests of a round.
var menuTurns = [3]string{"first", "unchanged", "1% changed"}

// menuLoad is what a round sends, and what the hub stores of it.
type menuLoad struct {
	whole, changed    []byte
	rows, changedRows menuRowsStored
	objects           int
}

// measureMenu posts a full menu to fresh businesses, thrice each, and takes the
// same rows in by the shortest way beside it.
func measureMenu(ctx context.Context, b *bench) ([]figure, error) {
	rows, origin, err := readMenu(b.Menu)
	if err != nil {
		return nil, err
	}
	m, err := openMenuBench(ctx, b, "menu")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("menu", b.log)
	defer m.close()
	floor, err := m.floor.menuFloor(ctx)
	if err != nil {
		return nil, err
	}
	defer floor.close()
	load, err := m.load(ctx, floor, rows)
	if err != nil {
		return nil, err
	}
	var rounds menuRounds
	for range pick(b, 7, 3) {
		if err := rounds.add(ctx, m, floor, load); err != nil {
			return nil, err
		}
	}
	peak, err := m.hub.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	return rounds.figures(fmt.Sprintf("%s, %s, %.1f MB", origin, rows.shape(), float64(len(load.whole))/1e6), peak), nil
}

// load has the hub take the menu in once, and keeps the rows that this came to.
// Hub and floor have had their first request then.
func (m menuBench) load(ctx context.Context, floor *menuFloor, rows *menuRows) (load menuLoad, err error) {
	load.objects = rows.objects()
	if load.whole, err = rows.body(); err != nil {
		return load, err
	}
	if load.changed, err = rows.changed(1).body(); err != nil {
		return load, err
	}
	who, err := m.business(ctx)
	if err != nil {
		return load, err
	}
	beside, err := newTenant(ctx, m.db)
	if err != nil {
		return load, err
	}
	if _, err = m.postMaster(ctx, who, load.whole, load.objects, 0); err != nil {
		return load, err
	}
	if load.rows, err = floor.stored(ctx, who.business); err != nil {
		return load, err
	}
	if _, err = m.postMaster(ctx, who, load.changed, 0, load.objects); err != nil {
		return load, err
	}
	if load.changedRows, err = floor.stored(ctx, who.business); err != nil {
		return load, err
	}
	_, err = floor.run(ctx, beside.business, load.whole, load.rows)
	return load, err
}

// add makes one round: first, again, and changed, each beside its floor.
func (r *menuRounds) add(ctx context.Context, m menuBench, floor *menuFloor, load menuLoad) error {
	who, err := m.business(ctx)
	if err != nil {
		return err
	}
	beside, err := newTenant(ctx, m.db)
	if err != nil {
		return err
	}
	for i, turn := range []struct {
		body             []byte
		rows             menuRowsStored
		created, updated int
	}{{load.whole, load.rows, load.objects, 0}, {load.whole, load.rows, 0, load.objects}, {load.changed, load.changedRows, 0, load.objects}} {
		least, err := floor.run(ctx, beside.business, turn.body, turn.rows)
		if err != nil {
			return fmt.Errorf("the floor of menus: %w", err)
		}
		took, err := m.postMaster(ctx, who, turn.body, turn.created, turn.updated)
		if err != nil {
			return fmt.Errorf("menu/job %s: %w", menuTurns[i], err)
		}
		r.accept = append(r.accept, inMilliseconds(took.accept))
		r.jobs[i] = append(r.jobs[i], inMilliseconds(took.job))
		r.floors[i] = append(r.floors[i], inMilliseconds(least))
		r.recorded[i] = append(r.recorded[i], inMilliseconds(took.recorded))
	}
	return nil
}

// figures are those of all rounds; peak is the hub's memory at most, in megabytes.
func (r *menuRounds) figures(what string, peak float64) []figure {
	accept := medianFigure("menu/accept", milliseconds, r.accept)
	figures := []figure{accept.judged("< 300 ms", accept.Measured < 300).noted(what + ", POST to answer")}
	for i, name := range menuTurns {
		job := medianFigure("menu/job "+name, milliseconds, r.jobs[i]).against(r.floors[i])
		figures = append(figures, job.judged("<= 2.5x", *job.Ratio <= 2.5).
			noted(fmt.Sprintf("answer to the callback at the sink (arrival to the job's end %.0f ms); floor: decode, COPY and merge", median(r.recorded[i]))))
	}
	memory := figure{Name: "menu/memory", Unit: megabytes, Measured: peak, Note: "resident at most, over the requests above"}
	return append(figures, memory.judged("< 400 MB", peak < 400))
}
