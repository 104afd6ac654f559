package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/sandbox"
)

// runScenario runs a scenario and prints its report.
func (f simulateFlags) runScenario(ctx context.Context, out output, scenario func(*sandbox.Scenario)) error {
	if f.Seed == 0 {
		f.Seed = rand.Uint64() >> 11 // exact in every JSON parser
	}
	options := sandbox.Options{BaseURL: string(f.BaseURL), DataDir: f.DataDir, Token: f.Token, Business: f.Business,
		Store: f.Store, Platforms: f.Platform, Seed: f.Seed}
	return f.withHub(ctx, out, func(db *hub.Database) error {
		s, err := sandbox.Open(ctx, options, accountsOf(db.DB), db.DB)
		if err != nil {
			return err
		}
		defer s.Close()
		start := time.Now()
		scenario(s)
		took := time.Since(start)
		arrivals, err := s.Report.AwaitArrivals(ctx, consolelists.New(db.DB), core.BusinessID(s.Business), start,
			f.Await)
		if err != nil {
			return err
		}
		if err := s.Print(out.stdout, f.JSON, took, arrivals); err != nil {
			return err
		}
		return s.Report.Failure()
	})
}

// existingOrders returns orders that the hub already has.
func existingOrders(ids []int64) (orders []sandbox.PlacedOrder) {
	for _, id := range slices.Compact(ids) {
		orders = append(orders, sandbox.PlacedOrder{OrderID: id, Status: 200})
	}
	return orders
}
