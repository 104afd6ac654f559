package hub

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const checklistRoute = "/external/api/v1/checklist/"

func TestChecklistShowsOnlyOneBusiness(t *testing.T) {
	s := newOrderClient(t, func(c *Config) { c.Identity.BaseURL = "https://hub.example" })
	s.sendAsChannel("POST", channelOrdersRoute, orderOf("W-1", ""))
	s.awaitOrderEvents(1)
	done := func(authorization string) (names []any) {
		t.Helper()
		r := s.do(t, request{method: "GET", path: checklistRoute, authorization: authorization})
		require.Equal(t, 200, r.status, r.text)
		require.Equal(t, 10.0, r.body["total"])
		require.Contains(t, r.text, "https://hub.example/external/")
		require.NotContains(t, r.text, "//example.com", "the host of the request")
		for _, step := range r.body["steps"].([]any) {
			if hubtest.Lookup(step, "done") == true {
				names = append(names, hubtest.Lookup(step, "name"))
				require.NotContains(t, step, "command", "what is done asks for nothing")
			}
		}
		require.Len(t, names, int(r.body["done"].(float64)))
		return names
	}
	hubtest.WaitUntil(t, "the order's delivery on record",
		func() bool { return len(done(s.tenant.Authorization)) == 6 })
	require.Equal(t, []any{"authenticated_call", "stores_synced", "menu_synced", "webhook_configured",
		"order_accepted", "objects_accepted"}, done(s.tenant.Authorization))
	require.Equal(t, []any{"authenticated_call"}, done(hubtest.Business(t, s.hub.db).Authorization),
		"by this very call")

	s.ok("POST", menuRoute+"-1/?dry_run=true",
		`{"items":[{"ref_id":"pie","title":"Pie","price":3,"category_ref_ids":["none"]}]}`)
	require.Len(t, done(s.tenant.Authorization), 6, "a dry run breaks nothing")
}

func TestActionStepCompletesWhenTheAggregatorAccepts(t *testing.T) {
	f := newRelayClient(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	id := f.order("a", "A-1", `,"delivery_type":"self"`)
	for _, state := range []string{"failed", "done"} {
		asked := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask","wearing_mask":true}`, id))
		require.Equal(t, 200, asked.status, asked.text)
		f.awaitAction(asked.body["reference"], state)
		step := f.ok("GET", checklistRoute, "").body["steps"].([]any)[8]
		require.Equal(t, []any{"action_used", state == "done"},
			[]any{hubtest.Lookup(step, "name"), hubtest.Lookup(step, "done")})
	}
}
