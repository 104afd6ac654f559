package pluginhost

import (
	"strings"
	"time"

	"github.com/servery-hub/servery/plugins/sdk"
)

// State is where a plugin is in its life.
type State string

// The states of a plugin. It is called in Ready and Degraded.
const (
	Discovered  State = "installed"
	Verified    State = "verified"
	Starting    State = "starting"
	Configuring State = "configuring"
	Ready       State = "ready"
	Degraded    State = "degraded" // it serves, but says that something is wrong, or missed a health check
	Draining    State = "draining"
	Stopped     State = "stopped"
	Backoff     State = "backoff"     // after a fault, until it is started again
	Quarantined State = "quarantined" // after too many faults, until an operator says so or another version is installed
)

// Fault is something that went wrong with a plugin, in words that an operator
// can act on.
type Fault struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
	Ended bool      `json:"ended"` // the plugin's process was ended by it, or did not begin; too many of these put it in quarantine, repeats of one late call apart
}

// Status is how a plugin is.
type Status struct {
	ID       string           `json:"id"`
	Version  string           `json:"version,omitzero"` // that is running, else that was tried last
	Digest   string           `json:"digest,omitzero"`  // SHA-256 of the program that is running
	Manifest string           `json:"-"`                // SHA-256 of the manifest of what is running
	State    State            `json:"state"`
	Since    time.Time        `json:"since"`
	PID      int              `json:"pid,omitzero"`
	InFlight int              `json:"in_flight"`
	Memory   uint64           `json:"memory,omitzero"` // bytes in use when its health was last asked for
	Health   string           `json:"health,omitzero"` // what is wrong with it while it is degraded
	Starts   int              `json:"starts"`
	Faults   []Fault          `json:"faults,omitzero"` // the last ones, newest first
	About    *sdk.Description `json:"-"`               // nil until it was ready once
}

const (
	firstBackoff = 500 * time.Millisecond
	longBackoff  = 2 * time.Minute
	faultWindow  = 10 * time.Minute
	mostFaults   = 5 // within faultWindow: quarantine
	keptFaults   = 20
	mostMisses   = 3 // health checks in a row
	mostLate     = 5 // calls in a row that are not answered in time
	healthWithin = time.Second
)

// backoff is the wait before the next start after a number of faults, of which
// there is at least one: doubled each time. jitter is from 0 to 1 and takes off up
// to a quarter, so that plugins that fell together do not rise together.
func backoff(faults int, jitter float64) time.Duration {
	wait := longBackoff
	if faults < 16 {
		wait = min(wait, firstBackoff<<(faults-1))
	}
	return wait - time.Duration(jitter*float64(wait)/4)
}

func inOneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
