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
	p.menu(key, menuVersions{"a", 1, 1}).put(dal, menuEntry{item: &order.MenuItem{ID: 7}}, 100)
	found, known := p.menu(key, menuVersions{"a", 1, 1}).get(dal)
	require.True(t, known)
	require.EqualValues(t, 7, found.item.ID)
	for _, versions := range []menuVersions{{"a", 1, 2}, {"a", 2, 2}, {"b", 2, 2}} {
		_, known = p.menu(key, versions).get(dal)
		require.False(t, known, "of another version nothing is known")
	}
	require.Equal(t, entryBytes, p.bytes, "the menu alone")
	const large = 1 << 20
	for n := range 2 * maxCacheBytes / large {
		p.menu(cachedMenuKey{store: int64(n % 100)}, menuVersions{}).
			put(entryName{ref: fmt.Sprint(n)}, menuEntry{}, large)
		require.LessOrEqual(t, p.bytes, maxCacheBytes)
	}
	bytes := 0
	for _, s := range p.menus {
		bytes += s.bytes
	}
	require.LessOrEqual(t, bytes, p.bytes)
	require.Positive(t, bytes)
	p.menu(key, menuVersions{}).put(dal, menuEntry{}, 2*maxCacheBytes)
	p.menu(key, menuVersions{})
	require.LessOrEqual(t, p.bytes, maxCacheBytes, "an entry that exceeds the bound is forgotten")
}
