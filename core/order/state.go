package order

import (
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// State is the state of an order.
type State string

// The states of an order.
const (
	Placed       State = "Placed"
	Acknowledged State = "Acknowledged"
	Preparing    State = "Preparing" // optional: only receivers that use it know it
	FoodReady    State = "Food Ready"
	Dispatched   State = "Dispatched"
	Completed    State = "Completed"
	Cancelled    State = "Cancelled"
)

// States returns every state, in the order in which an order passes through them.
func States() []State {
	return []State{Placed, Acknowledged, Preparing, FoodReady, Dispatched, Completed, Cancelled}
}

// ParseState parses the name of a state, ignoring case.
func ParseState(s string) (State, bool) {
	for _, state := range States() {
		if strings.EqualFold(s, string(state)) {
			return state, true
		}
	}
	return "", false
}

// Next returns the states that may follow, the usual one first. These are all later ones, because transitions may skip
// states, and Cancelled. Completed and Cancelled are final. It omits Preparing, which existing clients do not know.
func (s State) Next() []State {
	return slices.DeleteFunc(s.following(), func(next State) bool { return next == Preparing })
}

// following returns the states that may follow, with Preparing.
func (s State) following() []State {
	if s == Completed || s == Cancelled {
		return []State{}
	}
	all := States()
	return all[slices.Index(all, s)+1:]
}

// Move reports whether a transition changes the state. A transition that is not allowed is a Conflict, and the error
// lists those that are.
func (s State) Move(to State) (changed bool, err error) {
	switch next := s.following(); {
	case s == to:
		return false, nil
	case slices.Contains(next, to):
		return true, nil
	case len(next) == 0:
		return false, core.Errorf(core.Conflict, "the order is %s and cannot become %s: %s is final", s, to, s)
	default:
		return false, core.Errorf(core.Conflict, "the order is %s and cannot become %s, only %s", s, to,
			core.Join(next))
	}
}

// HasPrepTime reports whether an order in the state can get another preparation time.
func (s State) HasPrepTime() bool { return s == Acknowledged || s == Preparing }
