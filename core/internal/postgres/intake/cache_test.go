package intake

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/order"
)

func TestMenuCacheIsVersionedAndBounded(t *testing.T) {
	var p menuCache
	key := cachedMenuKey{business: 1, store: 2}
	dal := entryName{ref: "dal"}
	p.menu(key, menuVersions{"a", 1, 1}).put(dal, menuEntry{item: &order.MenuItem{ID: 7}})
	found, known := p.menu(key, menuVersions{"a", 1, 1}).get(dal)
	require.True(t, known)
	require.EqualValues(t, 7, found.item.ID)
	for _, versions := range []menuVersions{{"a", 1, 2}, {"a", 2, 2}, {"b", 2, 2}} {
		_, known = p.menu(key, versions).get(dal)
		require.False(t, known, "of another version nothing is known")
	}
	require.Equal(t, 1, p.size, "the menu alone")
	for n := range 2 * maxCacheEntries {
		p.menu(cachedMenuKey{store: int64(n % 100)}, menuVersions{}).put(entryName{ref: fmt.Sprint(n)}, menuEntry{})
		require.LessOrEqual(t, p.size, maxCacheEntries)
	}
	size := 0
	for _, s := range p.menus {
		size += 1 + len(s.entries)
	}
	require.LessOrEqual(t, size, maxCacheEntries)
	require.Positive(t, size)
}
