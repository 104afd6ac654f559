package menu

import (
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
)

// AvailabilityChange makes items and options of one store available or unavailable. A store-level request with only the
// field available has the same effect.
type AvailabilityChange struct {
	Scope     Scope // of a store
	Items     []string
	Options   []string
	Available bool
}

// ReadSet returns what to load before Decide.
func (s AvailabilityChange) ReadSet() (n ReadSet) {
	n.Entities[Items].Named, n.Entities[Options].Named = s.Items, s.Options
	return n
}

// Decide plans the change. Objects are independent. The result of one that the business does not have, or that the
// store does not sell, has a reason.
func (s AvailabilityChange) Decide(state State) (plan Plan, items, options []core.AvailabilityResult) {
	sold := make(map[int64]bool, len(state.Store.Items)+len(state.Store.Options)) // ids are unique across kinds
	for i := range state.Store.Items {
		sold[state.Store.Items[i].ID] = true
	}
	for i := range state.Store.Options {
		sold[state.Store.Options[i].ID] = true
	}
	request := Request{Scope: s.Scope}
	items = resolveRefs(s.Items, state.Items, sold, "item", func(ref *string) {
		request.Items = append(request.Items,
			Submitted[ItemObject]{Object: ItemObject{RefID: ref, Available: &s.Available}})
	})
	options = resolveRefs(s.Options, state.Options, sold, "option", func(ref *string) {
		request.Options = append(request.Options,
			Submitted[OptionObject]{Object: OptionObject{RefID: ref, Available: &s.Available}})
	})
	return Decide(request, state, func() int64 {
		panic("menu: an availability change cannot create records")
	}), items, options
}

// applyLaterAvailability makes the request keep availability that changed at the store after it was accepted. It also
// sets the field if it was not sent, because the request may add the object to the store.
func (r *Request) applyLaterAvailability(later PerKind[map[string]bool]) []Warning {
	r.laterAvailability = later
	return slices.Concat(
		applyLater(Items, r.Items, later[Items], func(o *ItemObject) **bool { return &o.Available }),
		applyLater(Options, r.Options, later[Options], func(o *OptionObject) **bool { return &o.Available }))
}

func applyLater[T any, P object[T]](kind Kind, submitted []Submitted[T], later map[string]bool,
	available func(*T) **bool) (warnings []Warning) {
	for i := range submitted {
		o := &submitted[i].Object
		current, changed := later[*P(o).refID()]
		if !changed {
			continue
		}
		sent := available(o)
		if *sent != nil && **sent != current {
			warnings = append(warnings, Warning{
				Path: fmt.Sprintf("%s[%d].available", kind, i),
				Message: fmt.Sprintf("available has no effect on %s: it was "+
					"set to %t after this request was accepted", quote(*P(o).refID()), current),
			})
		}
		*sent = &current
	}
	return warnings
}

// resolveRefs looks up ref_ids, calls submit for those that the store sells, and returns the results.
func resolveRefs[R any, P record[R]](refIDs []string, records []R, sold map[int64]bool, noun string,
	submit func(*string)) []core.AvailabilityResult {
	known := make(map[string]int64, len(records))
	for i := range records {
		ref := P(&records[i]).ref()
		known[ref.RefID] = ref.ID
	}
	list := make([]core.AvailabilityResult, len(refIDs))
	for i := range refIDs {
		list[i] = core.AvailabilityResult{ID: known[refIDs[i]], RefID: refIDs[i]}
		switch {
		case list[i].ID == 0:
			list[i].Reason = "there is no " + noun + " with this ref_id"
		case !sold[list[i].ID]:
			list[i].Reason = "the " + noun + " is not sold at this store"
		default:
			submit(&refIDs[i])
		}
	}
	return list
}
