package main

import (
	"context"
	"fmt"
	"time"
)

// measureIdle tells what the built hub costs while nothing is asked of it.
func measureIdle(ctx context.Context, b *bench) ([]figure, error) {
	settled, span := pick(b, 10*time.Second, 4*time.Second), pick(b, 20*time.Second, 6*time.Second)
	address, err := b.pg.fresh(ctx, "idle")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("idle", b.log)
	hub, err := startHub(ctx, b, "idle", address)
	if err != nil {
		return nil, err
	}
	defer hub.stop()
	if err := pause(ctx, time.Until(hub.began.Add(settled))); err != nil {
		return nil, err
	}
	memory, err := hub.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	before, err := hub.processorTime()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, span); err != nil {
		return nil, err
	}
	after, err := hub.processorTime()
	if err != nil {
		return nil, err
	}
	share := 100 * float64(after-before) / float64(span)
	resident := figure{Name: "idle/memory", Unit: megabytes, Measured: memory,
		Note: fmt.Sprintf("resident %v after the start", settled)}
	busy := figure{Name: "idle/cpu", Unit: percent, Measured: share, Note: fmt.Sprintf("of a core, over %v", span)}
	return []figure{resident.judged("< 80 MB", memory < 80), busy.judged("< 1%", share < 1)}, nil
}

// pause waits, or fails when the run ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
