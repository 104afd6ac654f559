package console

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// PlatformSettings is the configuration of a platform of a business. It contains the names of secrets, never their
// values.
type PlatformSettings struct {
	core.Platform
	Settings   []byte               // a JSON object, or empty
	Addresses  map[string]string    // by endpoint name
	Secrets    map[string]time.Time // when each was set; zero if unknown
	Accept     string               // who accepts its orders: hub or pos
	Keys       []time.Time          // when its callback keys were created, newest first
	RejectedAt time.Time            // when a call in its name was last rejected; zero: unknown
	Rejection  string               // the reason
	Version    string               // changes with every update
	Aliases    []core.PlatformAlias // its other names
	Tokens     []PlatformToken      // of the credentials of its plugin
	Polls      []PlatformPoll       // those that fail first
	Values     []PlatformValue      // that its plugin keeps, up to a limit
}

// PlatformValue is a value that a plugin keeps for later calls.
type PlatformValue struct {
	Store       string // ref_id; "": of the platform
	Name, Value string
	At          time.Time // when it was set
}

// PlatformPoll is the state of a poll of an aggregator.
type PlatformPoll struct {
	Poll        string
	Store       string    // ref_id; "": of the platform
	AttemptedAt time.Time // zero: never
	Failed      bool      // the last attempt
	Message     string    // its result
	DueAt       time.Time // when it is due next; zero: it is not scheduled
	Running     bool
}

// PlatformToken is the state of an access token. It has no token.
type PlatformToken struct {
	Credential string
	Store      string    // ref_id of a store with own secrets; "": all others
	RenewedAt  time.Time // zero: never
	ExpiresAt  time.Time // zero: unknown
	FailedAt   time.Time // when the renewal last failed, if it has not succeeded since; zero otherwise
	Failure    string    // the reason
}

// MonitoringRules is the monitoring configuration of a business. In a duration, nil means the hub's default and 0 means
// never.
type MonitoringRules struct {
	AckWithin   *time.Duration // how long an order may wait for its acknowledgement
	SilentAfter *time.Duration // how long a POS may be silent
	CloseSilent bool           // stores are closed on the platforms while their POS is silent
}

// HubDefault is the text for the hub's default.
const HubDefault = "hub"

// Bounds of the durations of MonitoringRules. An order must be placed and stored within minAck. POSes are checked once
// a minute.
const (
	minAck, maxAck         = 10 * time.Second, 24 * time.Hour
	minSilence, maxSilence = time.Minute, 7 * 24 * time.Hour
)

// SetAckWithin parses a duration such as 5m, 0 or hub. It returns Invalid for any other text, with the name of its
// field.
func (w *MonitoringRules) SetAckWithin(field, text string) error {
	return parseSpan(&w.AckWithin, field, text, minAck, maxAck)
}

// SetSilentAfter is SetAckWithin for a duration such as 15m.
func (w *MonitoringRules) SetSilentAfter(field, text string) error {
	return parseSpan(&w.SilentAfter, field, text, minSilence, maxSilence)
}

func parseSpan(into **time.Duration, field, text string, shortest, longest time.Duration) error {
	if text == HubDefault {
		*into = nil
		return nil
	}
	value, err := time.ParseDuration(text)
	if err != nil || value != 0 && (value < shortest || value > longest || value%time.Second != 0) {
		return core.Errorf(core.Invalid, "%s: must be %s, 0 or whole seconds between %v and %v, such as 5m", field,
			HubDefault, shortest, longest)
	}
	*into = &value
	return nil
}

// Flags returns the rules by the names of their command-line flags.
func (w MonitoringRules) Flags() map[string]any {
	return map[string]any{"acknowledge-within": FormatSpan(w.AckWithin), "pos-silent-after": FormatSpan(w.SilentAfter),
		"close-silent-stores": w.CloseSilent}
}

// FormatSpan formats a duration in the form that SetAckWithin parses.
func FormatSpan(span *time.Duration) string {
	switch {
	case span == nil:
		return HubDefault
	case *span == 0:
		return "0"
	case *span%time.Hour == 0:
		return fmt.Sprintf("%dh", *span/time.Hour)
	case *span%time.Minute == 0:
		return fmt.Sprintf("%dm", *span/time.Minute)
	}
	return span.String()
}
