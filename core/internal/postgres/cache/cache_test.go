package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCacheIsBoundedBySize(t *testing.T) {
	c := Cache[int, string]{Max: 10, Size: func(value string) int { return len(value) }}
	kept := func() (keys []int) {
		for key := range 5 {
			if _, known := c.Get(key); known {
				keys = append(keys, key)
			}
		}
		return keys
	}
	for key, value := range []string{"four", "four", "more than fits"} {
		c.Put(key, Entry[string]{Value: value})
	}
	require.Empty(t, kept())
	c.Put(0, Entry[string]{Value: "four"})
	for range 3 { // a replaced value counts once
		c.Put(1, Entry[string]{Value: "sixsix"})
	}
	require.Equal(t, []int{0, 1}, kept())
	c.Put(2, Entry[string]{Value: "x"})
	require.Equal(t, []int{2}, kept())
}
