package intake

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrderIDsAreAlwaysAscending(t *testing.T) {
	var ids orderIDs
	for _, first := range []int64{3 * orderIDBlock, orderIDBlock, 2 * orderIDBlock} {
		ids.add(first)
	}
	one, err := ids.take(t.Context(), nil, orderIDBlock+1)
	require.NoError(t, err)
	ids.add(0)
	other, err := ids.take(t.Context(), nil, 2*orderIDBlock)
	require.NoError(t, err)
	for _, taken := range [][]int64{one, other} {
		require.True(t, slices.IsSorted(taken))
	}
	all := slices.Concat(one, other, ids.free)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 4*orderIDBlock)
}
