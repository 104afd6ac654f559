package order

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChargeNamingAnItemPrecedesOneForAll(t *testing.T) {
	charges := []MenuCharge{{Key: "a", All: true}, {Key: "a", Items: map[int64]bool{1: true}}, {Key: "b", All: true},
		{All: true}, {Items: map[int64]bool{1: true}}}
	for item, want := range map[int64][]bool{1: {false, true, true, true, true}, 2: {true, false, true, true, false}} {
		var applies []bool
		for i := range charges {
			applies = append(applies, charges[i].appliesTo(item, charges))
		}
		require.Equal(t, want, applies, "item %d", item)
	}
}
