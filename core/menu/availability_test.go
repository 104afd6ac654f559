package menu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// sold returns the state of a store that sells only some of the items and options.
func sold() State {
	var s State
	for i, name := range []string{"dal", "naan", "elsewhere"} {
		item := newItem(name)
		item.ID, item.Active = int64(i+1), name != "naan"
		s.Items = append(s.Items, item)
		if name != "elsewhere" {
			s.Store.Items = append(s.Store.Items,
				AtStore[ItemValues]{ID: item.ID, Values: ItemValues{Available: name == "dal"}})
		}
	}
	option := newOption("hot")
	option.ID = 9
	s.Options = []Option{option}
	s.Store.Options = []AtStore[OptionValues]{{ID: 9, Values: OptionValues{Available: true}}}
	return s
}

func TestSwitchChangesSoldItemsAndNamesMissingOnes(t *testing.T) {
	scope := Scope{LocationRefID: "s1", StoreID: 4}
	plan, items, options := AvailabilityChange{scope, []string{"dal", "nothing", "elsewhere"}, []string{"hot", "cold"},
		false}.Decide(sold())
	require.Equal(t, []core.AvailabilityResult{{ID: 1, RefID: "dal"},
		{RefID: "nothing", Reason: "there is no item with this ref_id"},
		{ID: 3, RefID: "elsewhere", Reason: "the item is not sold at this store"}}, items)
	require.Equal(t, []core.AvailabilityResult{{ID: 9, RefID: "hot"},
		{RefID: "cold", Reason: "there is no option with this ref_id"}}, options)
	require.Equal(t, []any{1, 1, 0}, []any{len(plan.Store.Items), len(plan.Store.Options), len(plan.Items)},
		"the master is left alone")
	require.Equal(t, []int64{4}, plan.StaleMenus())

	plan, _, _ = AvailabilityChange{scope, []string{"naan"}, nil, true}.Decide(sold())
	require.True(t, plan.Store.Items[0].Record.Values.Available)
	require.True(t, plan.Items[0].Record.Active, "what is disabled in the master is enabled there too")
	require.Equal(t, []int64{0, 4}, plan.StaleMenus())
}

func TestRepeatedSwitchChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := AvailabilityChange{Scope: Scope{LocationRefID: "s1", StoreID: 4}, Available: rapid.Bool().Draw(t, "on"),
			Items: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"dal", "naan", "elsewhere", "nothing"}),
				rapid.ID).Draw(t, "items")}
		state := sold()
		first, _, _ := s.Decide(state)
		for _, change := range first.Store.Items {
			at := slices.IndexFunc(state.Store.Items,
				func(a AtStore[ItemValues]) bool { return a.ID == change.Record.ID })
			state.Store.Items[at] = change.Record
		}
		for _, change := range first.Items {
			at := slices.IndexFunc(state.Items, func(i Item) bool { return i.ID == change.Record.ID })
			state.Items[at] = change.Record
		}
		again, _, _ := s.Decide(state)
		require.False(t, again.HasChanges())
	})
}
