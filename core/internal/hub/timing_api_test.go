package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const timingsRoute = "/external/api/v1/inventory/categories/timing-groups/"

// timingClient is a menuClient with the lunch menu, and an endpoint for outcomes of timings.
type timingClient struct {
	*menuClient
	outcomes *hubtest.Sink
}

func newTimingClient(t *testing.T) *timingClient {
	d := newMenuClient(t, unlimited)
	d.ok("POST", menuRoute+"s1/", lunch)
	d.awaitCallback(2)
	s := &timingClient{d, hubtest.NewEventSink(t, nil)}
	d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"catalogue_timing_grp","url":%q}`, s.outcomes.URL))
	return s
}

// sendGroups sends timing groups and waits for their outcome.
func (s *timingClient) sendGroups(groups string) (outcome map[string]any) {
	s.t.Helper()
	accepted := s.ok("POST", timingsRoute, `{"timing_groups":`+groups+`}`)
	// The outcome may be repeated, because the clock moves past the lease.
	hubtest.WaitUntil(s.t, "an outcome of timings", func() bool {
		arrivals := s.outcomes.Arrivals()
		for i := range arrivals {
			outcome = nil
			require.NoError(s.t, json.Unmarshal(arrivals[i].Body, &outcome))
			if outcome["reference_id"] == accepted.body["reference_id"] {
				return true
			}
		}
		return false
	})
	return outcome
}

// menu reads the effective menu, with an entity tag.
func (s *timingClient) menu(tag string) apiResponse {
	s.t.Helper()
	return s.do(s.t, request{method: "GET", path: channelStoresRoute + "s1/menu/?platform=web",
		authorization: s.tenant.Authorization, headers: map[string]string{"If-None-Match": tag}})
}

func TestCategoryTimingsThroughTheAPI(t *testing.T) {
	s := newTimingClient(t)
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	local := s.clock.Now().In(newYork)
	morning := time.Date(local.Year(), local.Month(), local.Day()+1, 7, 59, 0, 0, newYork)
	s.clock.Advance(morning.Sub(s.clock.Now()))
	untimed := s.menu("")
	require.NotContains(t, untimed.body["categories"].([]any)[0], "timings")

	day := strings.ToUpper(morning.Weekday().String())
	outcome :=
		s.sendGroups(fmt.Sprintf(`[{"title":"Breakfast","note":null,"category_ref_ids":["mains","soups"],`+
			`"day_slots":[{"day":%q,"slots":[{"start_time":"08:00","end_time":"11:30:00"}]}]}]`, day))
	require.Equal(t, []any{map[string]any{"title": "Breakfast", "success": false, "stats": []any{
		map[string]any{"category": "mains", "success": true},
		map[string]any{"category": "soups", "success": false,
			"message": `there is no category with the ref_id "soups"`},
	}}}, outcome["stats"])
	hours := []any{map[string]any{"day": strings.ToLower(day),
		"slots": []any{map[string]any{"start_time": "08:00:00", "end_time": "11:30:00"}}}}
	require.Equal(t, []any{map[string]any{"title": "Breakfast", "note": nil,
		"category_ref_ids": []any{"mains", "soups"},
		"day_slots": []any{map[string]any{"day": day,
			"slots": []any{map[string]any{"start_time": "08:00", "end_time": "11:30:00"}}}}}}, outcome["timing_groups"],
		"as it came")
	require.NotContains(t, outcome, "warnings")
	require.Equal(t, []any{map[string]any{"title": "Breakfast", "category_ref_ids": []any{"mains"},
		"day_slots": hours}}, s.ok("GET", timingsRoute, "").body["timing_groups"])
	job := s.ok("GET", fmt.Sprintf("/external/api/v1/jobs/%s/", outcome["reference_id"]), "")
	require.Equal(t, []any{"timing_groups", "done", 1.0, map[string]any{"groups": 1.0, "errors": 1.0,
		"failed": []any{map[string]any{"entity": "timing_groups", "ref_id": "Breakfast",
			"message": `there is no category with the ref_id "soups"`}}}},
		[]any{job.body["kind"], job.body["state"], job.body["objects_done"], job.body["result"]})

	now := func(r apiResponse) any { return hubtest.Lookup(r.body["categories"].([]any)[0], "available_now") }
	before := s.menu(untimed.header.Get("ETag"))
	require.Equal(t, 200, before.status)
	require.Equal(t, []any{hours, false},
		[]any{hubtest.Lookup(before.body["categories"].([]any)[0], "timings"), now(before)})
	require.Len(t, before.body["items"], 2-1, "it may be ordered for later")
	require.Equal(t, http.StatusNotModified, s.menu(before.header.Get("ETag")).status)
	s.clock.Advance(time.Minute)
	during := s.menu(before.header.Get("ETag"))
	require.Equal(t, []any{200, true}, []any{during.status, now(during)}, "the tag does not outlive the hour")
	s.clock.Advance(time.Hour)
	require.Equal(t, http.StatusNotModified, s.menu(during.header.Get("ETag")).status)
	s.clock.Advance(3 * time.Hour)
	require.Equal(t, false, now(s.menu(during.header.Get("ETag"))))

	require.Equal(t, true, hubtest.Lookup(
		s.sendGroups(`[{"title":"Breakfast","category_ref_ids":[]}]`)["stats"].([]any)[0],
		"success"))
	require.Empty(t, s.ok("GET", timingsRoute, "").body["timing_groups"])
	require.Nil(t, now(s.menu("")))
}

func TestTimingWarningsInResponsesAreBounded(t *testing.T) {
	s := newTimingClient(t)
	var groups []string
	for n := range 60 {
		groups = append(groups, fmt.Sprintf(
			`{"title":"G%d","category_ref_ids":["mains",null,""],"day_slots":[{"day":"sunday"}]}`, n))
	}
	all := `[` + strings.Join(groups, ",") + `]`
	warnings, _ := s.ok("POST", timingsRoute, `{"timing_groups":`+all+`}`).body["warnings"].([]any)
	require.Len(t, warnings, 100)
	require.Equal(t, map[string]any{"path": "timing_groups[0].category_ref_ids",
		"message": "category_ref_ids contains empty references, which are ignored"}, warnings[0])
	require.Len(t, s.sendGroups(all)["warnings"], 120, "the sink checks the event's schema")
}

func TestCategoryTimingsAreSeparatePerBusiness(t *testing.T) {
	s := newTimingClient(t)
	stranger := hubtest.Business(t, s.hub.db)
	const never = `[{"title":"Night","category_ref_ids":["mains"],"day_slots":[{"day":"sunday","slots":null}]}]`
	outcome := s.sendGroups(never)
	require.Equal(t, []any{map[string]any{"path": "timing_groups[0].day_slots",
		"message": `"Night" has no slot on any day, so its categories are never on sale`}},
		outcome["warnings"])
	accepted := s.ok("POST", timingsRoute, `{"timing_groups":`+never+`}`)
	require.Equal(t, outcome["warnings"], accepted.body["warnings"])
	require.NotContains(t, accepted.message(), "day_slots")
	theirs := s.do(t, request{method: "GET", path: timingsRoute, authorization: stranger.Authorization})
	require.Empty(t, theirs.body["timing_groups"])
	requireEnvelope(t, s.send("POST", timingsRoute,
		`{"timing_groups":[{"title":"x","category_ref_ids":["mains"],"day_slots":[{"day":"noday"}]}]}`), 400,
		`timing_groups[0] (title "x"): day_slots[0].day must be the name of a weekday`)
	require.Equal(t, []any{map[string]any{"day": "sunday", "slots": []any{}}},
		hubtest.Lookup(s.ok("GET", timingsRoute, "").body["timing_groups"].([]any)[0], "day_slots"))
}
