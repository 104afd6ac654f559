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
	// ref_ids of other stores of the business, of outlets that those of the request may be given
	PlatformStores map[PlatformStore]string
}

// Existing is a stored store, as far as a plan depends on it.
type Existing struct {
	ID int64
	Listing
	PlatformData []PlatformData
}

// Change is one store to write. Its nil fields stay as they are, or take their
// defaults where the store is new.
type Change struct {
	ID     int64
	New    bool
	Object Object
}

// Outcome is what became of one submitted store (spec, Callbacks: upipr_status).
type Outcome struct {
	Action  string // A added, U updated; of a failed store what was attempted
	ID      int64  // 0 on error
	Message string // what was wrong; "" when nothing
	// Warnings name the parts of the store that have no effect.
	Warnings []core.Warning
}

// Stats counts the outcomes of a request.
type Stats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Errors  int `json:"errors"`
}

// Plan is what a request comes to: the stores to write and the outcome of each
// submitted store, in the order of the request.
type Plan struct {
	Changes  []Change
	Outcomes []Outcome
	Stats    Stats
}

// Decide plans a request against the stored state. Each store stands alone: the
// error of one does not stop the others. newID gives the id of a store that is
// to be created.
func Decide(request Request, known State, newID func() int64) Plan {
	plan := Plan{
		Changes:  make([]Change, 0, len(request.Stores)),
		Outcomes: make([]Outcome, 0, len(request.Stores)),
	}
	wrong, objects := make([]string, len(request.Stores)), make([]Object, len(request.Stores))
	warnings := make([][]core.Warning, len(request.Stores))
	for i, submitted := range request.Stores {
		objects[i], warnings[i] = resolve(submitted.Object, known)
		_, exists := known.Stores[*objects[i].RefID]
		wrong[i] = firstProblem(objects[i], exists)
	}
	rejectTakenIDs(objects, known, wrong)
	for i, object := range objects {
		stored, exists := known.Stores[*object.RefID]
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

// firstProblem is what stored state has against a submitted store, "" when nothing.
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

// Failed is the plan of a request that the hub could not carry out at all:
// every store an error with the message, nothing to write. known tells creation
// from update.
func Failed(request Request, known State, message string) Plan {
	plan := Plan{Stats: Stats{Errors: len(request.Stores)}}
	for _, submitted := range request.Stores {
		outcome := Outcome{Action: "A", Message: message}
		if _, exists := known.Stores[*submitted.Object.RefID]; exists {
			outcome.Action = "U"
		}
		plan.Outcomes = append(plan.Outcomes, outcome)
	}
	return plan
}

// Listing is where a store is listed. At most one of the lists is not nil.
type Listing struct {
	Excluded []string
	Included []string
}

// ListedOn tells whether the store is listed on the platform. With neither list it
// is listed nowhere: the spec's default of excluded_platforms is all platforms.
func (l Listing) ListedOn(platform string) bool {
	if l.Excluded != nil {
		return !slices.Contains(l.Excluded, platform)
	}
	return slices.Contains(l.Included, platform)
}

// Filter lists those of the platforms on which the store is listed.
func (l Listing) Filter(platforms []string) []string {
	listed := []string{}
	for _, name := range platforms {
		if l.ListedOn(name) {
			listed = append(listed, name)
		}
	}
	return listed
}
