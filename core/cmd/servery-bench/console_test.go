package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPageIsMeasuredOrListed(t *testing.T) {
	routes := consoleRoutes()
	require.Greater(t, len(routes), 40)
	for _, route := range routes {
		if parts := ofObject.FindStringSubmatch(strings.Replace(route, ":business", "7", 1)); parts != nil {
			require.Contains(t, queries.Get("page_ids").Text(), "'"+strings.TrimPrefix(parts[1], "b/7/")+"'", route)
			require.NotContains(t, parts[2], ":", route)
		}
	}
}
