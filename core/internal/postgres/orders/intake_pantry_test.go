package orders

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/order"
)

func TestMenuCacheIsVersionedAndBounded(t *testing.T) {
	var p pantry
	key := shelfKey{business: 1, store: 2}
	dal := dishName{ref: "dal"}
	p.shelf(key, menuVersions{1, 1}).put(dal, dish{item: &order.MenuItem{ID: 7}})
	found, known := p.shelf(key, menuVersions{1, 1}).get(dal)
	require.True(t, known)
	require.EqualValues(t, 7, found.item.ID)
	for _, versions := range []menuVersions{{1, 2}, {2, 2}} {
		_, known = p.shelf(key, versions).get(dal)
		require.False(t, known, "of another version nothing is known")
	}
	require.Equal(t, 1, p.kept, "the shelf alone")
	for n := range 2 * maxKept {
		p.shelf(shelfKey{store: int64(n % 100)}, menuVersions{}).put(dishName{ref: fmt.Sprint(n)}, dish{})
		require.LessOrEqual(t, p.kept, maxKept)
	}
	kept := 0
	for _, s := range p.shelves {
		kept += 1 + len(s.dishes)
	}
	require.LessOrEqual(t, kept, maxKept)
	require.Positive(t, kept)
}
