package console

import "time"

// Fault is what goes wrong on purpose with the simulated aggregators of a business.
type Fault struct {
	Kind        string        // one of FaultKinds
	Platform    string        // "": all that are simulated
	Call        string        // one of FaultCalls; "": all
	Status      int           // that fail answers; 0: 503
	Delay       time.Duration // of delay
	Probability float64       // up to 1; 0 stands for 1
	Seed        uint64        // of the probability
	Lasts       time.Duration // 0: until it is switched off

	// What the simulator tells of one that is on.
	Until   time.Time // zero: until it is switched off
	Hits    int
	Foreign bool // the simulator was started with it, for everybody: it stays on
}

// The kinds of faults, and what they befall: calls of the hub, and at the end
// messages to it, which duplicate sends twice.
var (
	FaultKinds = []string{"fail", "delay", "hang", "reset", "refuse", "duplicate"}
	FaultCalls = []string{"menu", "decision", "status", "rider_status", "rider_location", "action", "store_state", "item_state", "listing", "items_oos", "order", "cancel", "callback"}
)
