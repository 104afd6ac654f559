// Package outcome has the outcomes that aggregators report after their response: accepted, then pending, then done or
// failed. Menus, availability changes and acknowledgements have them.
package outcome

import (
	"cmp"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// State is the state of an outcome.
type State string

// The states of an outcome.
const (
	Done    State = "done"
	Failed  State = "failed"  // permanently
	Pending State = "pending" // the outcome follows later
	Retry   State = "retry"   // failed, and may be resent
)

// Problem is an object that could not be published or changed as intended, with the reason.
type Problem struct {
	Entity  string `json:"entity"` // menu, store, category, item, option_group, option, tax or charge
	RefID   string `json:"ref_id"` // empty if it concerns the whole menu
	Code    string `json:"code"`   // identifies the rule, for programs
	Message string `json:"message"`
	// "" is an error; Warning means that the platform lists the object.
	Severity string `json:"severity,omitempty"`
}

// Warning is the severity of a problem that does not keep an object off the platform.
const Warning = "warning"

// Split separates errors from warnings.
func Split(list []Problem) (problems, warnings []Problem) {
	for _, p := range list {
		if p.Severity == Warning {
			warnings = append(warnings, p)
		} else {
			problems = append(problems, p)
		}
	}
	return problems, warnings
}

// Menu is the kind of a published menu. The other kinds are those of calls.
const Menu = "menu"

// Report is an outcome that an aggregator reports later. It names the task by its reference, or else by kind and store.
type Report struct {
	Reference       string    `json:"reference,omitzero"`
	Kind            string    `json:"kind,omitzero"`
	StoreRefID      string    `json:"store_ref_id,omitzero"`
	PlatformStoreID string    `json:"platform_store_id,omitzero"`
	State           State     `json:"state"`
	Message         string    `json:"message,omitzero"`
	Problems        []Problem `json:"problems,omitempty"`
}

// Reason returns the message of a report, or else that of its first problem, or else a general one.
func (r Report) Reason() string {
	first := ""
	if len(r.Problems) > 0 {
		first = r.Problems[0].Message
	}
	return cmp.Or(r.Message, first, "the aggregator reported that it failed")
}

// Task is a request that the aggregator has accepted, and whose outcome it reports later.
type Task struct {
	Business  core.BusinessID
	Platform  string
	Reference string // the aggregator's id of it
	Kind      string
	StoreID   int64 // 0: of no store
	CallID    core.ID
	Deadline  time.Time
}

// Effect is what a report changed.
type Effect string

// The effects of a report.
const (
	Settled    Effect = "settled"    // the request is done or failed
	Retried    Effect = "retried"    // the request is resent
	Early      Effect = "early"      // stored, because its request is not known yet
	Repeated   Effect = "repeated"   // the outcome is known
	Superseded Effect = "superseded" // a newer request has replaced it
	Nothing    Effect = "pending"    // the report has no outcome yet
)

// Text describes the effect for people.
func (e Effect) Text() string {
	switch e {
	case Settled:
		return "outcome recorded"
	case Retried:
		return "outcome recorded: the hub sends the request again"
	case Early:
		return "outcome stored: its request is not known yet"
	case Repeated:
		return "nothing to do: the outcome is known"
	case Superseded:
		return "nothing to do: a newer request has replaced this one"
	}
	return "nothing to do: it is no outcome yet"
}

// Overdue is the message of a request whose outcome is overdue.
func Overdue(what, reference string, since, deadline time.Time) string {
	return fmt.Sprintf("the aggregator accepted %s at %s, but did not report the outcome by %s (its reference: %s)",
		what, since.UTC().Format(time.RFC3339), deadline.UTC().Format(time.RFC3339), reference)
}
