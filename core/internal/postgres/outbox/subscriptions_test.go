package outbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
)

func TestCachedHeadersAreBoundedInBytes(t *testing.T) {
	var c cache.Cache[Route, subscribers]
	boundSubscriptions(&c)
	large := subscribers{targets: make([]Target, 100)}
	for i := range large.targets {
		large.targets[i].headers = map[string]string{"X-Token": strings.Repeat("x", 16<<10)}
	}
	var known int
	const routes = 200 // of 1.6 MiB each
	for id := range core.BusinessID(routes) {
		c.Put(Route{Business: id}, cache.Entry[subscribers]{Value: large})
	}
	for id := range core.BusinessID(routes) {
		if _, found := c.Get(Route{Business: id}); found {
			known++
		}
	}
	require.Positive(t, known)
	require.Less(t, known, 41)
}
