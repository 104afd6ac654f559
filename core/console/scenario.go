package console

import (
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
)

// Scenario is a run of simulated customers of a business in test mode.
type Scenario struct {
	Kind     string // one of Scenarios
	Store    string // ref_id
	Platform string // "": all that list the store, in rotation
	Count    int    // orders
	Rate     float64
	Seed     uint64 // the same seed places the same orders; 0: random

	Locations   int           // of rider: the locations sent during a ride
	Step        time.Duration // of rider: the interval between updates
	CancelShare float64       // of cancel: the part of the orders that is cancelled
}

// Scenarios are the kinds of scenarios.
var Scenarios = []string{"order", "rider", "cancel", "edit", "rush"}

// Bounds of a scenario. A ride has riderUpdates updates besides the locations.
const (
	MaxRate      = 200
	MaxRush      = time.Minute
	MaxOrders    = 500
	MaxLocations = 500
	MaxRide      = time.Minute
	riderUpdates = 5
)

// Check returns an Invalid error for a scenario that is not valid.
func (s Scenario) Check() error {
	maxCount := MaxOrders
	if s.Kind == "rush" {
		maxCount = int(min(max(s.Rate, 0), MaxRate) * MaxRush.Seconds())
	}
	switch {
	case !slices.Contains(Scenarios, s.Kind):
		return core.Errorf(core.Invalid, "kind must be order, rider, cancel, edit or rush")
	case s.Store == "":
		return core.Errorf(core.Invalid, "store is required")
	case s.Rate < 0 || s.Rate > MaxRate || s.Kind == "rush" && s.Rate == 0:
		return core.Errorf(core.Invalid, "orders a second must be from 0 to %d, and above 0 for a rush", MaxRate)
	case s.Count < 1 || s.Count > maxCount:
		return core.Errorf(core.Invalid, "orders must be from 1 to %d", maxCount)
	case s.Locations < 0 || s.Locations > MaxLocations:
		return core.Errorf(core.Invalid, "locations that each rider sends must be from 0 to %d", MaxLocations)
	case s.Step < 0 || s.Step > MaxRide || time.Duration(s.Locations+riderUpdates)*s.Step > MaxRide:
		return core.Errorf(core.Invalid,
			"seconds between two moves must be fewer: %d locations take %d moves, at most %s in total", s.Locations,
			s.Locations+riderUpdates, MaxRide)
	case s.Kind == "cancel" && !(s.CancelShare > 0 && s.CancelShare <= 1):
		return core.Errorf(core.Invalid, "cancelled orders must be above 0 and at most 100 percent")
	}
	return nil
}

// ScenarioRun is a scenario with its progress.
type ScenarioRun struct {
	Scenario
	RequestedBy        string    // who requested it
	StartedAt, EndedAt time.Time // EndedAt is zero while it runs
	Calls              []ScenarioCall
	Deliveries         ScenarioDeliveries
	Failure            string // the error; "" if there is none
}

// ScenarioDeliveries counts the order_placed deliveries of a scenario's orders so far. Each order has one for each
// subscribed webhook.
type ScenarioDeliveries struct {
	NewOrders   int           // new to the hub
	KnownOrders int           // already known to the hub: they cause no delivery
	Delivered   int           // deliveries with a 2xx response
	Failed      int           // failed deliveries
	Waiting     int           // pending, held, or waiting for a retry
	Retried     int           // of them, with at least one failed attempt
	P50, P99    time.Duration // from the order's acceptance to the response
}

// ScenarioCall is the statistics of the calls of a name.
type ScenarioCall struct {
	Name          string
	Count, Failed int
	LastResponse  string // the latest response
	P50, P99      time.Duration
}
