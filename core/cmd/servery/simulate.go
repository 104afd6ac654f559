package main

import (
	"context"
	"errors"
	"time"

	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulateCommand simulates the customers of a business, and its POS.
type simulateCommand struct {
	Order  simulateOrder  `cmd:"" help:"Place orders."`
	Rider  simulateRider  `cmd:"" help:"Place self-delivery orders and move their riders from the store to the door."`
	Cancel simulateCancel `cmd:"" help:"Place orders and cancel some of them, whatever their state."`
	Edit   simulateEdit   `cmd:"" help:"Place orders that their customers change afterwards."`
	Rush   simulateRush   `cmd:"" help:"Place many orders at a rate."`
	Faults simulateFaults `cmd:"" help:"Show and switch the faults of the simulated aggregators."`
}

// simulateFlags are common to all scenarios.
type simulateFlags struct {
	databaseFlags
	BaseURL  string   `name:"base-url" env:"SERVERY_BASE_URL" default:"http://127.0.0.1:8080" help:"Address of the hub."`
	Token    string   `env:"SERVERY_SIMULATOR_TOKEN" help:"Of the simulator, where it asks for one."`
	Business int64    `help:"Id of the business; the demo's unless it is given."`
	Store    string   `required:"" help:"ref_id of the store."`
	Platform []string `help:"Platforms of the orders, in turn; all on which the store is listed unless given."`
	Seed     uint64   `help:"The same seed places the same orders again, which the hub knows already; drawn by lot unless given."`
	JSON     bool     `help:"Print JSON."`

	Await time.Duration `default:"10s" help:"How long to wait, before the report, for order_placed webhooks that are under way."`
}

type simulateOrder struct {
	simulateFlags
	Count int     `default:"1" help:"How many."`
	Rate  float64 `help:"Orders a second; 0: each as soon as the one before was answered."`
	Bulk  bool    `help:"Bulk orders."`
}

// Run places orders.
func (c simulateOrder) Run(ctx context.Context, out output) error {
	return c.play(ctx, out, func(s *sandbox.Scenario) {
		s.Place(ctx, simulator.Wish{Bulk: c.Bulk}, c.Count, c.Rate)
	})
}

type simulateRush struct {
	simulateFlags
	Rate float64       `default:"50" help:"Orders a second."`
	For  time.Duration `default:"10s" help:"How long; --count goes before it."`

	Count int `help:"How many orders."`
}

// Run places orders at a rate.
func (c simulateRush) Run(ctx context.Context, out output) error {
	if c.Rate <= 0 {
		return errors.New("--rate: must be above 0")
	}
	if c.Count == 0 {
		c.Count = max(1, int(c.Rate*c.For.Seconds()))
	}
	return c.play(ctx, out, func(s *sandbox.Scenario) { s.Place(ctx, simulator.Wish{}, c.Count, c.Rate) })
}

type simulateRider struct {
	simulateFlags
	Count  int           `default:"1" help:"How many orders."`
	Rate   float64       `help:"Orders a second; 0: each as soon as the one before was answered."`
	Order  []int64       `help:"Move the riders of these orders of the hub instead of placing some."`
	Step   time.Duration `default:"500ms" help:"Time between two moves of a rider."`
	Places int           `default:"5" help:"Places that are told on the way."`
}

// Run places orders and moves their riders.
func (c simulateRider) Run(ctx context.Context, out output) error {
	return c.play(ctx, out, func(s *sandbox.Scenario) {
		orders := existing(c.Order)
		if len(orders) == 0 {
			orders = s.Place(ctx, simulator.Wish{Mode: simulator.Delivery, Carrier: simulator.BySelf}, c.Count,
				c.Rate)
		}
		s.MoveRiders(ctx, orders, c.Places, c.Step)
	})
}

type simulateCancel struct {
	simulateFlags
	Count int     `default:"1" help:"How many orders."`
	Rate  float64 `help:"Orders a second; 0: each as soon as the one before was answered."`
	Order []int64 `help:"Cancel these orders of the hub, as they are, instead of placing some."`
	Share float64 `default:"1" help:"Part of the placed orders that is cancelled, up to 1, each in a state drawn by lot."`
}

// Run places orders and cancels some of them.
func (c simulateCancel) Run(ctx context.Context, out output) error {
	if !(c.Share > 0 && c.Share <= 1) {
		return errors.New("--share: must be above 0 and at most 1")
	}
	return c.play(ctx, out, func(s *sandbox.Scenario) {
		for _, o := range existing(c.Order) {
			s.Cancel(ctx, o)
		}
		if len(c.Order) == 0 {
			s.CancelSome(ctx, s.Place(ctx, simulator.Wish{}, c.Count, c.Rate), c.Share)
		}
	})
}

type simulateEdit struct {
	simulateFlags
	Count int     `default:"1" help:"How many orders."`
	Rate  float64 `help:"Orders a second; 0: each as soon as the one before was answered."`
}

// Run places orders and changes them.
func (c simulateEdit) Run(ctx context.Context, out output) error {
	return c.play(ctx, out, func(s *sandbox.Scenario) {
		s.Edit(ctx, s.Place(ctx, simulator.Wish{}, c.Count, c.Rate))
	})
}
