package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
)

// changeManyItems changes so many items of s1, and returns the requests for them once the aggregator has all.
func (n *publishClient) changeManyItems(u *uploadAggregator, count int) (requests []string) {
	n.t.Helper()
	var items []map[string]any
	var refs []string
	for i := range count {
		refs = append(refs, fmt.Sprint("i", i))
		items = append(items, map[string]any{"ref_id": refs[i], "title": refs[i], "price": 5})
	}
	menu, err := json.Marshal(map[string]any{"items": items})
	require.NoError(n.t, err)
	n.ok("POST", menuRoute+"s1/", string(menu))
	n.published("published")
	n.ok("POST", itemsRoute, fmt.Sprintf(`{"location_ref_id":"s1","item_ref_ids":["%s"],"action":"disable"}`,
		strings.Join(refs, `","`)))
	n.advanceUntil("the call is done", func() bool {
		list, err := consolelists.New(n.hub.db).ListCalls(n.t.Context(), n.tenant.ID,
			console.CallFilter{Kind: "item_action", State: "done", Limit: 1})
		require.NoError(n.t, err)
		return len(list) == 1
	})
	all, _, _ := u.seen()
	return slices.DeleteFunc(all, func(r string) bool { return !strings.HasPrefix(r, "POST /items/") })
}

func TestLongPlanSendsEachStepOnce(t *testing.T) {
	const count = 300
	n, u := newUploadClient(t)
	throttled := false
	u.change("POST /items/i120", func() string {
		if !throttled {
			throttled = true
			return `429 {"error":"slow down"}`
		}
		return ""
	})
	interrupted := false
	u.change("POST /items/i200", func() string {
		if !interrupted { // as after a kill -9: another replica ends the lease before the step is stored
			interrupted = true
			_, err := n.hub.db.Bun().ExecContext(t.Context(), `UPDATE call_queue SET owner = NULL,
				available_at = due_at WHERE kind = 'item_action'`)
			if err != nil {
				return "500 " + err.Error()
			}
		}
		return ""
	})
	requests := n.changeManyItems(u, count)
	sent := map[string]int{}
	for _, r := range requests {
		sent[strings.TrimPrefix(r, "POST /items/")]++
	}
	require.Len(t, sent, count, "none is lost")
	for item, times := range sent {
		want := 1
		if item == "i120" || item == "i200" {
			want = 2
		}
		require.Equal(t, want, times, item)
	}
	list, err := consolelists.New(n.hub.db).ListCalls(t.Context(), n.tenant.ID,
		console.CallFilter{Kind: "item_action", Limit: 2})
	require.NoError(t, err)
	require.Len(t, list, 1)
	call, err := consolelists.New(n.hub.db).Call(t.Context(), n.tenant.ID, list[0].ID)
	require.NoError(t, err)
	require.Less(t, len(call.Attempts), 40, "the record is bounded")
	require.Equal(t, "item_299", call.Attempts[len(call.Attempts)-1].Step)
	require.True(t, slices.ContainsFunc(call.Attempts, func(a console.CallAttempt) bool {
		return a.Step == "item_120" && a.Status == 429
	}))
}
