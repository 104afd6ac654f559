package main

import (
	"context"
	"errors"
	"time"

	"github.com/servery-hub/servery/core/internal/environ"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulateCommand simulates the customers of a business, and its POS.
type simulateCommand struct {
	Order  simulateOrder  `cmd:"" help:"Place orders."`
	Rider  simulateRider  `cmd:"" help:"Place self-delivery orders and move their riders."`
	Cancel simulateCancel `cmd:"" help:"Place orders and cancel some of them."`
	Edit   simulateEdit   `cmd:"" help:"Place orders that their customers change."`
	Rush   simulateRush   `cmd:"" help:"Place many orders at a rate."`
	Faults simulateFaults `cmd:"" help:"List and set faults of simulated aggregators."`
}

// simulateFlags are common to all scenarios.
type simulateFlags struct {
	databaseFlags
	BaseURL  environ.BaseURL `env:"*" default:"http://127.0.0.1:8080" help:"URL of the hub."`
	Token    string          `env:"SERVERY_SIMULATOR_TOKEN" help:"Token of the simulator."`
	Business int64           `help:"Id of the business, by default that of the demo."`
	Store    string          `required:"" help:"The store, by its ref_id."`
	Platform []string        `help:"Platforms of the orders, by default all of the store."`
	Seed     uint64          `help:"Seed of the random choices, to repeat the same orders."`
	Await    time.Duration   `default:"10s" help:"How long to wait for order_placed webhooks at the end."`
	JSON     bool            `help:"Print JSON."`
}

// orderFlags are common to the scenarios that place a number of orders.
type orderFlags struct {
	Count int     `default:"1" help:"Number of orders."`
	Rate  float64 `help:"Orders a second, or 0 for one after the other."`
}

type simulateOrder struct {
	simulateFlags
	orderFlags
	Bulk bool `help:"Place bulk orders."`
}

// Run places orders.
func (c simulateOrder) Run(ctx context.Context, out output) error {
	return c.runScenario(ctx, out, func(s *sandbox.Scenario) {
		s.Place(ctx, simulator.OrderSpec{Bulk: c.Bulk}, c.Count, c.Rate)
	})
}

type simulateRush struct {
	simulateFlags
	Rate  float64       `default:"50" help:"Orders a second."`
	For   time.Duration `default:"10s" help:"Duration, unless --count is set."`
	Count int           `help:"Number of orders."`
}

// Run places orders at a rate.
func (c simulateRush) Run(ctx context.Context, out output) error {
	if c.Rate <= 0 {
		return errors.New("--rate: must be above 0")
	}
	if c.Count == 0 {
		c.Count = max(1, int(c.Rate*c.For.Seconds()))
	}
	return c.runScenario(ctx, out, func(s *sandbox.Scenario) { s.Place(ctx, simulator.OrderSpec{}, c.Count, c.Rate) })
}

type simulateRider struct {
	simulateFlags
	orderFlags
	Order  []int64       `help:"Move the riders of these orders of the hub, and place none."`
	Step   time.Duration `default:"500ms" help:"Time between two moves of a rider."`
	Places int           `default:"5" help:"Number of locations that a rider sends."`
}

// Run places orders and moves their riders.
func (c simulateRider) Run(ctx context.Context, out output) error {
	return c.runScenario(ctx, out, func(s *sandbox.Scenario) {
		orders := existingOrders(c.Order)
		if len(orders) == 0 {
			orders = s.Place(ctx, simulator.OrderSpec{Mode: simulator.Delivery, DeliveredBy: simulator.BySelf}, c.Count,
				c.Rate)
		}
		s.MoveRiders(ctx, orders, c.Places, c.Step)
	})
}

type simulateCancel struct {
	simulateFlags
	orderFlags
	Order []int64 `help:"Cancel these orders of the hub, and place none."`
	Share float64 `default:"1" help:"Share of the placed orders that is cancelled, up to 1."`
}

// Run places orders and cancels some of them.
func (c simulateCancel) Run(ctx context.Context, out output) error {
	if !(c.Share > 0 && c.Share <= 1) {
		return errors.New("--share: must be above 0 and at most 1")
	}
	return c.runScenario(ctx, out, func(s *sandbox.Scenario) {
		for _, o := range existingOrders(c.Order) {
			s.Cancel(ctx, o)
		}
		if len(c.Order) == 0 {
			s.CancelSome(ctx, s.Place(ctx, simulator.OrderSpec{}, c.Count, c.Rate), c.Share)
		}
	})
}

type simulateEdit struct {
	simulateFlags
	orderFlags
}

// Run places orders and changes them.
func (c simulateEdit) Run(ctx context.Context, out output) error {
	return c.runScenario(ctx, out, func(s *sandbox.Scenario) {
		s.Edit(ctx, s.Place(ctx, simulator.OrderSpec{}, c.Count, c.Rate))
	})
}
