package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const revisionsRoute = "/external/api/v1/revisions/"

func TestRevisionsThroughTheAPI(t *testing.T) {
	d := newMenuClient(t, unlimited)
	done := func(accepted apiResponse) {
		hubtest.WaitUntil(t, "the job to be done", func() bool {
			return d.ok("GET", fmt.Sprintf("/external/api/v1/jobs/%s/", accepted.body["reference"]),
				"").body["state"] == "done"
		})
	}
	change := func(location, body string) apiResponse {
		accepted := d.ok("POST", menuRoute+location+"/", body)
		done(accepted)
		d.clock.Advance(time.Minute)
		return accepted
	}
	d.clock.Advance(time.Minute) // revisions are sorted by time
	change("s1", lunch)
	before := d.clock.Now().Add(-time.Second)
	dearer := change("s1", `{"items":[{"ref_id":"dal","price":11,"title":"Dear Dal"}]}`)

	page := d.ok("GET", revisionsRoute+"?limit=1", "")
	latest := page.body["revisions"].([]any)[0]
	require.Equal(t, []any{"menu", "s1", "key:pos", dearer.body["reference"]},
		[]any{hubtest.Lookup(latest, "kind"), hubtest.Lookup(latest, "location_ref_id"), hubtest.Lookup(latest,
			"actor"),
			hubtest.Lookup(latest, "reference")})
	next := d.ok("GET", revisionsRoute+"?limit=1&after="+hubtest.Lookup(page.body, "meta.next").(string),
		"").body["revisions"].([]any)[0]
	require.Len(t, d.ok("GET", revisionsRoute+"?entity=items&ref_id=dal&location_ref_id=s1", "").body["revisions"], 2)
	require.Len(t, d.ok("GET", revisionsRoute+"?entity=stores", "").body["revisions"], 1)
	require.Len(t, d.ok("GET", fmt.Sprintf("%s?from=%d", revisionsRoute, before.UnixMilli()), "").body["revisions"], 1)

	one := d.ok("GET", revisionsRoute+hubtest.Lookup(latest, "id").(string)+"/", "")
	differences := one.body["differences"].([]any)
	require.Len(t, differences, 2)
	require.Equal(t, []any{"items", "dal", "Dal", "Dear Dal"},
		[]any{hubtest.Lookup(differences[0], "entity"), hubtest.Lookup(differences[0], "ref_id"),
			hubtest.Lookup(differences[0], "before.record.title"), hubtest.Lookup(differences[0],
				"after.record.title")})
	require.Equal(t, []any{"s1", 10.0, 11.0},
		[]any{hubtest.Lookup(differences[1], "location_ref_id"), hubtest.Lookup(differences[1], "before.price"),
			hubtest.Lookup(differences[1], "after.price")})
	require.Len(t, d.ok("GET", revisionsRoute+hubtest.Lookup(latest, "id").(string)+"/?offset=1",
		"").body["differences"],
		1)

	item := func(query string) apiResponse {
		return d.ok("GET", menuRoute+"s1/items/dal/at/?platform=web"+query, "")
	}
	require.Equal(t, []any{true, 11.0, "Dear Dal"},
		[]any{item("").body["shown"], hubtest.Lookup(item("").body, "item.price"),
			hubtest.Lookup(item("").body, "record.title")})
	then := item(fmt.Sprintf("&time=%d", before.UnixMilli()))
	require.Equal(t, []any{10.0, "Dal"},
		[]any{hubtest.Lookup(then.body, "item.price"), hubtest.Lookup(then.body, "item.title")})

	accepted := d.ok("POST", revisionsRoute+hubtest.Lookup(next, "id").(string)+"/rollback/", "")
	done(accepted)
	var callback map[string]any
	hubtest.WaitUntil(t, "the callback", func() bool { // others may be repeated, because their leases have expired
		return slices.ContainsFunc(d.sink.Arrivals(), func(arrival hubtest.Arrival) bool {
			callback = nil
			require.NoError(t, json.Unmarshal(arrival.Body, &callback))
			return callback["reference"] == accepted.body["reference"]
		})
	})
	require.Equal(t, []any{"-1", 1.0}, []any{callback["location_ref_id"], hubtest.Lookup(callback,
		"stats.items.updated")})
	require.Equal(t, 10.0, hubtest.Lookup(item("").body, "item.price"))
	undone := d.ok("GET", revisionsRoute+"?limit=1", "").body["revisions"].([]any)[0]
	require.Equal(t, []any{"rollback", hubtest.Lookup(next, "id")},
		[]any{hubtest.Lookup(undone, "kind"), hubtest.Lookup(undone, "back_to")})
}

func TestCategoryTimingsAreRolledBackThroughTheAPI(t *testing.T) {
	s := newTimingClient(t)
	week := func(start string) []any {
		return []any{map[string]any{"day": "monday",
			"slots": []any{map[string]any{"start_time": start, "end_time": "15:00:00"}}}}
	}
	lunchTime := func(start string) map[string]any {
		return map[string]any{"title": "Lunch", "category_ref_ids": []any{"mains"}, "day_slots": week(start)}
	}
	for _, start := range []string{"11:00:00", "12:00:00", "12:00:00"} { // the last one changes nothing
		s.clock.Advance(time.Minute)
		s.sendGroups(fmt.Sprintf(`[{"title":"Lunch","category_ref_ids":["mains"],"day_slots":[{"day":"monday",`+
			`"slots":[{"start_time":%q,"end_time":"15:00:00"}]}]}]`, start))
	}
	found := s.ok("GET", revisionsRoute+"?entity=timing_groups&ref_id=Lunch", "").body["revisions"].([]any)
	require.Len(t, found, 2)
	require.Equal(t, []any{"timing_groups", "key:pos", []any{map[string]any{"entity": "timing_groups", "rows": 1.0}}},
		[]any{hubtest.Lookup(found[0], "kind"), hubtest.Lookup(found[0], "actor"), hubtest.Lookup(found[0], "changes")})
	one := s.ok("GET", revisionsRoute+hubtest.Lookup(found[0], "id").(string)+"/", "")
	require.Equal(t, []any{map[string]any{"entity": "timing_groups", "ref_id": "Lunch", "before": lunchTime("11:00:00"),
		"after": lunchTime("12:00:00")}}, one.body["differences"])
	require.Contains(t, s.ok("GET", menuRoute+"s1/items/dal/at/?platform=web", "").body, "on_sale")

	accepted := s.ok("POST", revisionsRoute+hubtest.Lookup(found[1], "id").(string)+"/rollback/", "")
	job := func() map[string]any {
		return s.ok("GET", fmt.Sprintf("/external/api/v1/jobs/%s/", accepted.body["reference"]), "").body
	}
	hubtest.WaitUntil(t, "the rollback to be done", func() bool { return job()["state"] == "done" })
	require.Equal(t, 1.0, hubtest.Lookup(job(), "result.stats.timing_groups.updated"))
	require.Equal(t, []any{lunchTime("11:00:00")}, s.ok("GET", timingsRoute, "").body["timing_groups"])
}

func TestInvalidRevisionRequestsAreRejected(t *testing.T) {
	d := newMenuClient(t, unlimited)
	id := hubtest.Lookup(d.ok("GET", revisionsRoute, "").body["revisions"].([]any)[0], "id").(string)
	stranger := hubtest.Business(t, d.hub.db)
	for _, c := range []struct{ method, path string }{{"GET", id + "/"}, {"POST", id + "/rollback/"}} {
		requireEnvelope(t, d.do(t,
			request{method: c.method, path: revisionsRoute + c.path, authorization: stranger.Authorization}), 404,
			"no revision")
	}
	require.Empty(t, d.do(t,
		request{method: "GET", path: revisionsRoute, authorization: stranger.Authorization}).body["revisions"])
	requireEnvelope(t, d.send("GET", revisionsRoute+"nonsense/", ""), 404, "no revision")
	for query, message := range map[string]string{
		"entity=dishes": "entity must be one of", "ref_id=dal": "entity is required with ref_id",
		"after=x": "after must be", "limit=0": "limit must be", "from=x": "from must be",
	} {
		requireEnvelope(t, d.send("GET", revisionsRoute+"?"+query, ""), 400, message)
	}
	requireEnvelope(t, d.send("GET", menuRoute+"s1/items/dal/at/", ""), 400, "platform is required")
	requireEnvelope(t, d.send("GET", menuRoute+"s1/items/dal/at/?platform=mars", ""), 404, `no platform "mars"`)
	requireEnvelope(t, d.send("GET", menuRoute+"s9/items/dal/at/?platform=web", ""), 404, "no location")
	require.Equal(t, false, d.ok("GET", menuRoute+"s1/items/dal/at/?platform=web", "").body["shown"])
}
