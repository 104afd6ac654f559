package hub

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/presence"
)

func TestSilenceUsesTheHoursOfDates(t *testing.T) {
	noon := time.Date(2026, 12, 25, 12, 0, 0, 0, time.UTC)
	s := presence.Store{LocalTime: noon, Timings: []byte(`[]`),
		SpecialTimings: []byte(`[{"date":"2026-12-25","slots":[{"start_time":"11:00:00","end_time":"13:00:00"}]}]`)}
	open, ago, err := storeHours(s)
	require.NoError(t, err)
	require.True(t, open)
	require.Equal(t, time.Hour, ago)
	s.LocalTime = noon.Add(2 * time.Hour)
	open, _, err = storeHours(s)
	require.NoError(t, err)
	require.False(t, open)
	s.SpecialTimings = []byte(`{`)
	_, _, err = storeHours(s)
	require.Error(t, err)
}

func TestHoursOfDatesReachOrdersAndAggregators(t *testing.T) {
	n := newPublishClient(t, "a")
	s := newOrderClientAt(n.menuClient)
	n.settle()
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	date := func(days int) string { return n.clock.Now().In(zone).AddDate(0, 0, days).Format(time.DateOnly) }
	dates := fmt.Sprintf(`[{"date":%q,"slots":[{"start_time":"09:00","end_time":"13:00"}]},{"date":%q,"closed":true,`+
		`"reason":"Inventory"},{"date":%q,"closed":true}]`, date(7), date(0), date(-7))
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","special_timings":`+dates+`}]}`)
	n.awaitCallback(3)
	n.settle()
	sent := n.aggregators.requests()
	require.Contains(t, sent[len(sent)-1].body, fmt.Sprintf(`"dates":[{"date":%q,"hours":[],"note":"Inventory"},`+
		`{"date":%q,"hours":[{"from":"09:00:00","to":"13:00:00"}]}]`, date(0), date(7)), "without past dates")

	read, err := json.Marshal(n.ok("GET", storesRoute+"s1/", "").body["special_timings"])
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`[{"date":%q,"slots":[{"start_time":"09:00:00","end_time":"13:00:00"}]},{"date":%q,`+
		`"closed":true,"reason":"Inventory","slots":[]},{"date":%q,"closed":true,"slots":[]}]`, date(7), date(0),
		date(-7)), string(read))
	shown := s.sendAsChannel("GET", channelStoresRoute, "").body["stores"].([]any)[0]
	require.Equal(t, false, hubtest.Lookup(shown, "open_now"))
	require.Len(t, hubtest.Lookup(shown, "special_timings"), 3)
	placed := s.sendAsChannel("POST", channelOrdersRoute, orderOf("1", ""))
	require.Equal(t, 200, placed.status, placed.text)
	flags := n.ok("GET", fmt.Sprintf("%s%v/", ordersRoute, placed.body["order_id"]), "").body["flags"].([]any)
	require.Equal(t, "store_closed", hubtest.Lookup(flags[0], "code"))

	r := n.send("POST", storesRoute, `{"stores":[{"ref_id":"s1","special_timings":[{"date":"2026-12-25"}]}]}`)
	requireEnvelope(t, r, 400, `stores[0] (ref_id "s1"): special_timings[0].slots is required, unless closed is true`)
	n.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","special_timings":[]}]}`)
	n.awaitCallback(4)
	n.settle()
	sent = n.aggregators.requests()
	require.NotContains(t, sent[len(sent)-1].body, "dates")
	placed = s.sendAsChannel("POST", channelOrdersRoute, orderOf("2", ""))
	require.Empty(t, n.ok("GET", fmt.Sprintf("%s%v/", ordersRoute, placed.body["order_id"]), "").body["flags"])
}
