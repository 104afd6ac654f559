package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestItemWithoutItsRequiredOptionsIsUnlisted(t *testing.T) {
	n := newPublishClient(t, "b")
	n.settle()
	options := func(available bool) string {
		return fmt.Sprintf(`"options":[{"ref_id":"small","title":"Small","price":0,"opt_grp_ref_ids":["size"],`+
			`"available":%t},
			{"ref_id":"large","title":"Large","price":1,"opt_grp_ref_ids":["size"],"available":%[1]t}]`, available)
	}
	last := func() string { all := n.aggregators.requests(); return all[len(all)-1].body }
	n.sendMenu("s1", `{"items":[{"ref_id":"tea","title":"Tea","price":2},{"ref_id":"cake","title":"Cake","price":3}],
		"option_groups":[{"ref_id":"size","title":"Size","min_selectable":1,"max_selectable":1,`+
		`"item_ref_ids":["tea"]}],`+options(true)+`}`)
	n.settle()
	require.Contains(t, last(), `"tea"`)
	reported := len(n.callbacks.Arrivals())

	n.sendMenu("s1", `{`+options(false)+`}`)
	event := n.awaitEvents(reported + 1)["p-b"]
	require.Equal(t, "success", event["status"])
	problem := event["errors"].([]any)[0]
	require.Equal(t, []any{"item", "tea", "options_demanded"},
		[]any{hubtest.Lookup(problem, "entity"), hubtest.Lookup(problem, "ref_id"), hubtest.Lookup(problem, "code")})
	require.NotContains(t, last(), `"tea"`)
	require.Contains(t, last(), `"cake"`)
	refs, _ := n.visibleItems("p-b")
	require.Equal(t, []string{"cake"}, refs)

	n.sendMenu("s1", `{`+options(true)+`}`)
	n.advanceUntil("tea is on sale again", func() bool { return strings.Contains(last(), `"tea"`) })
}
