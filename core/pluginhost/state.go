package pluginhost

import (
	"strings"
	"time"

	"github.com/servery-hub/servery/plugins/sdk"
)

// State is the state of a plugin.
type State string

// The states of a plugin. It receives calls in Ready and Degraded.
const (
	Discovered  State = "installed"
	Verified    State = "verified"
	Starting    State = "starting"
	Configuring State = "configuring"
	Ready       State = "ready"
	Degraded    State = "degraded" // it serves, but reports a problem, or missed a health check
	Draining    State = "draining"
	Stopped     State = "stopped"
	Backoff     State = "backoff"     // after a fault, until it is restarted
	Quarantined State = "quarantined" // after too many faults, until it is started or upgraded
)

// reason says for people outside of the hub why a plugin in the state cannot be called.
func (s State) reason() string {
	switch s {
	case Discovered, Verified, Configuring:
		return "it is starting"
	case Backoff:
		return "it restarts after a fault"
	}
	return "it is " + string(s)
}

// Fault is a fault of a plugin, described so that an operator can act on it.
type Fault struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text"`
	Ended bool      `json:"ended"` // it ended the process; too many cause quarantine
	Kind  FaultKind `json:"kind,omitzero"`

	Denied bool `json:"-"` // the system did not permit its start
}

// Status is the status of a plugin.
type Status struct {
	ID          string           `json:"id"`
	Version     string           `json:"version,omitzero"` // the running one, or else the last one tried
	Digest      string           `json:"digest,omitzero"`  // SHA-256 of the running program
	Manifest    string           `json:"-"`                // SHA-256 of the manifest of the running version
	Build       string           `json:"-"`                // of the last version that was ready; "" if it is stopped
	State       State            `json:"state"`
	Since       time.Time        `json:"since"`
	PID         int              `json:"pid,omitzero"`
	InFlight    int              `json:"in_flight"`
	Memory      uint64           `json:"memory,omitzero"` // bytes in use at the last health check
	Health      string           `json:"health,omitzero"` // the problem while it is degraded
	Starts      int              `json:"starts"`
	Faults      []Fault          `json:"faults,omitzero"` // the last ones, newest first
	Description *sdk.Description `json:"-"`               // nil until it was first ready
}

const (
	minBackoff        = 500 * time.Millisecond
	maxBackoff        = 2 * time.Minute
	faultWindow       = 10 * time.Minute
	maxFaults         = 5 // within faultWindow, then quarantine
	maxRecordedFaults = 20
	maxHealthMisses   = 3 // consecutive failed health checks
	maxTimeouts       = 5 // consecutive calls that time out
	healthTimeout     = time.Second
)

// QuarantineRule describes when a plugin is quarantined, when a request is set aside, and what ends that.
const QuarantineRule = "A plugin that cannot start, or crashes on different requests, 5 times in 10 minutes is " +
	"quarantined. It restarts when an operator restarts or enables it, another version is installed, or the hub " +
	"restarts. A request that crashes it twice is set aside, and counts once. It is retried when an operator " +
	"requests that, or another version is installed."

// backoff returns the delay before the next start after one or more faults. It doubles with each. The jitter, from 0
// to 1, takes off up to a quarter, so that plugins that failed together do not restart together.
func backoff(faults int, jitter float64) time.Duration {
	wait := maxBackoff
	if faults < 16 {
		wait = min(wait, minBackoff<<(faults-1))
	}
	return wait - time.Duration(jitter*float64(wait)/4)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
