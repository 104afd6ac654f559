package store

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// State is the stored state that a plan depends on.
type State struct {
	Stores    map[string]Existing // by ref_id, of those the request names
	Platforms []core.Platform     // of the business
	Names     core.PlatformNames  // of these
	Default   DefaultListing      // of the business
	// PlatformStores holds the ref_ids of other stores of the business by the identities that the request may assign.
	PlatformStores map[PlatformStore]string
	// TakenElsewhere holds those of other businesses, at plugins with a shared URL.
	TakenElsewhere map[PlatformStore]bool
}

// Existing is the part of a stored store that a plan depends on.
type Existing struct {
	ID     int64
	Active bool
	Listing
	PlatformData []PlatformData
}

// Change is one store to write. Its nil fields stay unchanged. For a new store they get their defaults.
type Change struct {
	ID     int64
	New    bool
	Object Object
}

// Outcome is the result of one submitted store.
type Outcome struct {
	Action  string // A added, U updated; for a failed store the attempted action
	ID      int64  // 0 on error
	Message string // the error; "" if there is none
	// Warnings name the parts of the store that have no effect, or were read otherwise than they were sent.
	Warnings []core.Warning
}

// Stats counts the outcomes of a request.
type Stats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Errors  int `json:"errors"`
}

// Plan is the result of planning a request: the stores to write, and the outcome of each submitted store in the order
// of the request.
type Plan struct {
	Changes  []Change
	Outcomes []Outcome
	Stats    Stats
}

// Decide plans a request against the stored state. Stores are independent: the error of one does not stop the others.
// The function newID returns the id of a store to create.
func Decide(request Request, state State, newID func() int64) Plan {
	plan := Plan{
		Changes:  make([]Change, 0, len(request.Stores)),
		Outcomes: make([]Outcome, 0, len(request.Stores)),
	}
	wrong, objects := make([]string, len(request.Stores)), make([]Object, len(request.Stores))
	warnings := make([][]core.Warning, len(request.Stores))
	for i, submitted := range request.Stores {
		var resolved []core.Warning
		objects[i], resolved = resolve(submitted.Object, state)
		warnings[i] = slices.Concat(submitted.Warnings, resolved)
		_, exists := state.Stores[*objects[i].RefID]
		if wrong[i] = firstProblem(objects[i], exists); wrong[i] == "" {
			wrong[i] = takenElsewhere(objects[i], state)
		}
	}
	rejectTakenIDs(objects, state, wrong)
	for i, object := range objects {
		stored, exists := state.Stores[*object.RefID]
		id, outcome := stored.ID, Outcome{Action: "U", Message: wrong[i]}
		if !exists {
			outcome.Action = "A"
		}
		switch {
		case outcome.Message != "":
			plan.Stats.Errors++
		case exists:
			plan.Stats.Updated++
		default:
			plan.Stats.Created++
			id = newID()
		}
		if outcome.Message == "" {
			outcome.ID, outcome.Warnings = id, warnings[i]
			plan.Changes = append(plan.Changes, Change{ID: id, New: !exists, Object: object})
		}
		plan.Outcomes = append(plan.Outcomes, outcome)
	}
	return plan
}

// firstProblem returns why a submitted store cannot be created, or "".
func firstProblem(o Object, exists bool) string {
	if exists {
		return ""
	}
	for _, required := range []struct {
		field string
		value *string
	}{{"city", o.City}, {"name", o.Name}} {
		if required.value == nil {
			return required.field + " is required to create a store"
		}
	}
	return ""
}

// Failed returns the plan of a request that the hub could not execute: every store fails with the message, and nothing
// is written. The state distinguishes creations from updates.
func Failed(request Request, state State, message string) Plan {
	plan := Plan{Stats: Stats{Errors: len(request.Stores)}}
	for _, submitted := range request.Stores {
		outcome := Outcome{Action: "A", Message: message}
		if _, exists := state.Stores[*submitted.Object.RefID]; exists {
			outcome.Action = "U"
		}
		plan.Outcomes = append(plan.Outcomes, outcome)
	}
	return plan
}

// Listing holds the platform lists of a store. At most one of them is not nil.
type Listing struct {
	Excluded []string
	Included []string
}

// ListedOn reports whether the store is listed on the platform. With neither list it is listed nowhere, because
// excluded_platforms defaults to all platforms.
func (l Listing) ListedOn(platform string) bool {
	if l.Excluded != nil {
		return !slices.Contains(l.Excluded, platform)
	}
	return slices.Contains(l.Included, platform)
}

// Filter returns the platforms on which the store is listed.
func (l Listing) Filter(platforms []string) []string {
	listed := []string{}
	for _, name := range platforms {
		if l.ListedOn(name) {
			listed = append(listed, name)
		}
	}
	return listed
}
