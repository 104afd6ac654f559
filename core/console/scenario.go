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
}

// Scenarios are the kinds of scenarios.
var Scenarios = []string{"order", "rider", "cancel", "rush"}

// Bounds of a scenario: orders a second, how long a rush may last, and how many
// orders another scenario may place.
const (
	MaxRate   = 200
	MaxRush   = time.Minute
	MaxPlayed = 500
)

// Check tells what is wrong with a scenario; Invalid.
func (s Scenario) Check() error {
	most := MaxPlayed
	if s.Kind == "rush" {
		most = int(min(max(s.Rate, 0), MaxRate) * MaxRush.Seconds())
	}
	switch {
	case !slices.Contains(Scenarios, s.Kind):
		return core.Errorf(core.Invalid, "kind must be order, rider, cancel or rush")
	case s.Store == "":
		return core.Errorf(core.Invalid, "store is required")
	case s.Rate < 0 || s.Rate > MaxRate || s.Kind == "rush" && s.Rate == 0:
		return core.Errorf(core.Invalid, "rate must be from 0 to %d orders a second, and above 0 of a rush", MaxRate)
	case s.Count < 1 || s.Count > most:
		return core.Errorf(core.Invalid, "count must be from 1 to %d", most)
	}
	return nil
}

// Played is a scenario with what came of it so far.
type Played struct {
	Scenario
	By           string    // who asked
	Begun, Ended time.Time // Ended is zero while it goes on
	Calls        []PlayedCall
	Failure      string // why it is not as it should be; "" while all is well
}

// PlayedCall is how the calls of a name fared.
type PlayedCall struct {
	Name          string
	Count, Failed int
	P50, P99      time.Duration
}
