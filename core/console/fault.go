package console

import "time"

// Fault is a fault that the simulated aggregators of a business inject.
type Fault struct {
	Kind        string        // one of FaultKinds
	Platform    string        // "": every simulated one
	Call        string        // one of FaultCalls; "": all
	Status      int           // the status of fail; 0: 503
	Delay       time.Duration // of delay
	Probability float64       // up to 1; 0 means 1
	Seed        uint64        // of the probability
	Duration    time.Duration // 0: until it is disabled

	// Set by the simulator for an active fault.
	Until  time.Time // zero: until it is disabled
	Hits   int
	Global bool // set at the simulator's start, for all businesses: it cannot be disabled
}

// The kinds of faults, and the calls that they apply to: calls of the hub, then messages to it, which duplicate sends
// twice.
var (
	FaultKinds = []string{"fail", "delay", "hang", "reset", "refuse", "duplicate"}
	FaultCalls = []string{"menu", "decision", "status", "rider_status", "rider_location", "action", "store_state",
		"item_state", "listing", "items_oos", "order", "cancel", "callback"}
)
