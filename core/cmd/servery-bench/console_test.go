package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPageIsMeasuredOrListed(t *testing.T) {
	routes := consoleRoutes()
	require.Greater(t, len(routes), 40)
	for _, route := range routes {
		if parameter.MatchString(strings.Replace(route, ":business", "7", 1)) {
			require.Contains(t, consoleIDs, consoleKey(route), "an id for %s", route)
		}
	}
	require.Subset(t, routes, slices.Collect(maps.Keys(pageQueries)))
	require.Subset(t, routes, slices.Collect(maps.Keys(unmeasuredPages)))
}
