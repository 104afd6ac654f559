package order

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

func TestOrderStatesOnlyMoveForward(t *testing.T) {
	allowed := map[State][]State{
		Placed:       {Acknowledged, FoodReady, Dispatched, Completed, Cancelled},
		Acknowledged: {FoodReady, Dispatched, Completed, Cancelled},
		Preparing:    {FoodReady, Dispatched, Completed, Cancelled},
		FoodReady:    {Dispatched, Completed, Cancelled},
		Dispatched:   {Completed, Cancelled},
		Completed:    {},
		Cancelled:    {},
	}
	for _, from := range States() {
		require.Equal(t, allowed[from], from.Next())
		for _, to := range States() {
			changed, err := from.Move(to)
			switch {
			case from == to:
				require.NoError(t, err)
				require.False(t, changed)
			case contained(allowed[from], to) || to == Preparing && contained([]State{Placed, Acknowledged}, from):
				require.NoError(t, err)
				require.True(t, changed)
			default:
				require.Equal(t, core.Conflict, core.CodeOf(err), "%s to %s", from, to)
				require.Contains(t, err.Error(), string(from))
				require.Contains(t, err.Error(), string(to))
			}
		}
	}
}

func contained(list []State, s State) bool {
	for _, other := range list {
		if other == s {
			return true
		}
	}
	return false
}

func TestRejectedStateChangeNamesTheAllowedStates(t *testing.T) {
	_, err := Dispatched.Move(Acknowledged)
	require.EqualError(t, err,
		"the order is Dispatched and cannot become Acknowledged, only Completed, Cancelled")
	_, err = Acknowledged.Move(Placed)
	require.EqualError(t, err, "the order is Acknowledged and cannot become Placed, only Preparing, Food Ready, "+
		"Dispatched, Completed, Cancelled")
	_, err = Completed.Move(Cancelled)
	require.EqualError(t, err, "the order is Completed and cannot become Cancelled: Completed is final")
}

func TestEverySequenceOfStateChangesEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, moves := Placed, 0
		for _, to := range rapid.SliceOf(rapid.SampledFrom(States())).Draw(t, "states") {
			if changed, err := state.Move(to); err == nil && changed {
				state = to
				moves++
			}
		}
		if moves > len(States())-1 {
			t.Fatalf("%d moves", moves)
		}
	})
}

func TestStatesAreReadInAnyLetterCase(t *testing.T) {
	for _, state := range States() {
		for _, text := range []string{string(state), "fOOD rEADY"} {
			read, known := ParseState(text)
			require.True(t, known)
			if text == string(state) {
				require.Equal(t, state, read)
			}
		}
	}
	_, known := ParseState("food_ready")
	require.False(t, known)
}

func TestOnlyACancellationNamesItems(t *testing.T) {
	const items = `"items_oos":[null,{"ref_id":"dal"},{"ref_id":7}],"items_invalid":[{"ref_id":"hot"}]`
	change, err := DecodeChange([]byte(`{"new_status":"cancelled",` + items + `}`))
	require.NoError(t, err)
	require.Equal(t, []string{"dal", "7"}, RefIDs(change.OutOfStock))
	require.Equal(t, []string{"hot"}, RefIDs(change.Invalid))
	for body, want := range map[string]string{
		`{"new_status":"Dispatched",` + items + `}`: "items_oos is only for the status Cancelled (and 1 more)",

		`{"new_status":"Dispatched","items_invalid":[{"ref_id":"hot"}]}`: "items_invalid is only for the status " +
			"Cancelled",
		`{"new_status":"Cancelled","items_oos":[null,{}]}`: "items_oos[1].ref_id is required",
	} {
		_, err := DecodeChange([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err))
		require.ErrorContains(t, err, want)
	}
}
