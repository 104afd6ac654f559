package console

import (
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
)

// Scenario is what simulated customers of a business in test mode are to do.
type Scenario struct {
	Kind     string // one of Scenarios
	Store    string // ref_id
	Platform string // "": all on which the store is listed, in turn
	Count    int    // orders
	Rate     float64
	Seed     uint64 // the same one places the same orders again; 0: drawn by lot

	Places int           // of rider: how many are told on the way
	Step   time.Duration // of rider: between two moves
	Share  float64       // of cancel: part of the orders that is cancelled
}

// Scenarios are the kinds of scenarios.
var Scenarios = []string{"order", "rider", "cancel", "edit", "rush"}

// Bounds of a scenario: orders a second, how long a rush may last, how many
// orders another scenario may place, how many places a rider may tell, and how
// long one may be on the way, who moves riderMoves times besides.
const (
	MaxRate    = 200
	MaxRush    = time.Minute
	MaxPlayed  = 500
	MaxPlaces  = 500
	MaxRide    = time.Minute
	riderMoves = 5
)

// Check tells what is wrong with a scenario; Invalid.
func (s Scenario) Check() error {
	most := MaxPlayed
	if s.Kind == "rush" {
		most = int(min(max(s.Rate, 0), MaxRate) * MaxRush.Seconds())
	}
	switch {
	case !slices.Contains(Scenarios, s.Kind):
		return core.Errorf(core.Invalid, "kind must be order, rider, cancel, edit or rush")
	case s.Store == "":
		return core.Errorf(core.Invalid, "store is required")
	case s.Rate < 0 || s.Rate > MaxRate || s.Kind == "rush" && s.Rate == 0:
		return core.Errorf(core.Invalid, "rate must be from 0 to %d orders a second, and above 0 of a rush", MaxRate)
	case s.Count < 1 || s.Count > most:
		return core.Errorf(core.Invalid, "count must be from 1 to %d", most)
	case s.Places < 0 || s.Places > MaxPlaces:
		return core.Errorf(core.Invalid, "places must be from 0 to %d", MaxPlaces)
	case s.Step < 0 || s.Step > MaxRide || time.Duration(s.Places+riderMoves)*s.Step > MaxRide:
		return core.Errorf(core.Invalid, "step is too long: a rider with %d places is on the way for %d steps, which may take %s", s.Places, s.Places+riderMoves, MaxRide)
	case s.Kind == "cancel" && !(s.Share > 0 && s.Share <= 1):
		return core.Errorf(core.Invalid, "share must be above 0, up to 1")
	}
	return nil
}

// Played is a scenario with what came of it so far.
type Played struct {
	Scenario
	By           string    // who asked
	Begun, Ended time.Time // Ended is zero while it goes on
	Calls        []PlayedCall
	Arrivals     Arrivals
	Failure      string // why it is not as it should be; "" while all is well
}

// Arrivals is how the order_placed webhooks of a scenario's orders fared so far.
// There are as many for each order as webhooks are subscribed.
type Arrivals struct {
	Orders   int           // that were new to the hub
	Known    int           // that were not: they bring no webhook
	Arrived  int           // webhooks that were answered with a 2xx
	Failed   int           // that were given up
	Waiting  int           // that are under way, held, or wait for their retry
	Retried  int           // of them, that were refused at least once
	P50, P99 time.Duration // from the order's acceptance to that answer
}

// PlayedCall is how the calls of a name fared.
type PlayedCall struct {
	Name          string
	Count, Failed int
	Said          string // by the latest answer
	P50, P99      time.Duration
}
