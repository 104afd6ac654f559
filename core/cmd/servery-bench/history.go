package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// measureHistory drains, publishes and takes orders in in an empty database and in one that
// holds millions of deliveries that came to an end, and tells how much of the
// speed is left there.
func measureHistory(ctx context.Context, b *bench) ([]figure, error) {
	ended := pick(b, 5_000_000, 500_000)
	due, n := pick(b, 20000, 5000), pick(b, 6000, 2000)
	var replicas [2]*replica
	for i, name := range historyDatabases {
		r, err := openReplica(ctx, b, name, webhook.Minutes)
		if err != nil {
			return nil, err
		}
		defer b.pg.drop(name, b.log)
		defer r.close()
		if err := r.fillQueue(ctx, due); err != nil {
			return nil, err
		}
		if _, err := r.drain(ctx, b, due); err != nil { // leaves the rows that the history is made of
			return nil, err
		}
		replicas[i] = r
	}
	began := time.Now()
	size, err := replicas[1].floor.fillHistory(ctx, ended)
	if err != nil {
		return nil, fmt.Errorf("filling the history: %w", err)
	}
	filled := time.Since(began)
	var drains, publishes, intakes [2][]float64
	for round := range pick(b, 4, 2) {
		for turn := range replicas { // another goes first in every round
			i := (round + turn) % 2
			if err := replicas[i].historyRound(ctx, b, due, n, &drains[i], &publishes[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := historyOrders(ctx, b, n, &intakes); err != nil {
		return nil, err
	}
	drain := medianFigure("deliveries/history drain", perSecond, drains[1]).at(ended).against(drains[0])
	publish := medianFigure("deliveries/history publish", perSecond, publishes[1]).against(publishes[0])
	intake := medianFigure("orders/history", perSecond, intakes[1]).against(intakes[0])
	return []figure{
		drain.judged(">= 91%", *drain.Ratio >= 1/1.1).noted(fmt.Sprintf(
			"%d due beside %d that ended within %d days (%.1f GB, filled in %.0f s); floor: the same in an empty database",
			due, ended, historyDays, float64(size)/1e9, filled.Seconds())),
		publish.judged(">= 91%", *publish.Ratio >= 1/1.1).noted(fmt.Sprintf("%d events from %d goroutines, first publish to last arrival", n, publishers)),
		intake.judged(">= 91%", *intake.Ratio >= 1/1.1).noted(fmt.Sprintf("%d orders taken in over %d connections, nobody subscribed", n, orderConnections)),
	}, nil
}

// historyDatabases are the one without a history and the one with it.
var historyDatabases = [2]string{"historyless", "history"}

// historyOrders takes n orders in, in either database in turn.
func historyOrders(ctx context.Context, b *bench, n int, intakes *[2][]float64) error {
	var benches [2]*orderBench
	var shops [2]shop
	for i, name := range historyDatabases {
		o, err := orderBenchOn(ctx, b, name)
		if err != nil {
			return err
		}
		defer o.close()
		if shops[i], err = o.shop(ctx); err != nil {
			return err
		}
		benches[i] = o
	}
	for round := range pick(b, 4, 2) {
		for turn := range benches {
			i := (round + turn) % 2
			rate, err := benches[i].place(shops[i].orders, n)
			if err != nil {
				return err
			}
			intakes[i] = append(intakes[i], rate)
		}
	}
	return nil
}

// historyRound works a queue off, then publishes n events while they are delivered.
func (r *replica) historyRound(ctx context.Context, b *bench, due, n int, drains, publishes *[]float64) error {
	if err := r.fillQueue(ctx, due); err != nil {
		return err
	}
	rate, err := r.drain(ctx, b, due)
	if err != nil {
		return err
	}
	*drains = append(*drains, rate)
	if rate, err = r.publishAndDeliver(ctx, b, n); err != nil {
		return err
	}
	*publishes = append(*publishes, rate)
	return nil
}
