package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	publishing "github.com/servery-hub/servery/core/publish"
)

// storesOf returns the ref_ids of the stores that a filter selects, and their statuses.
func storesOf(t *testing.T, read consolemenus.Store, business core.BusinessID,
	f console.StoreFilter) (listed []string, statuses []console.StoreStatus) {
	t.Helper()
	f.Limit = 100
	list, err := read.ListStores(t.Context(), business, f)
	require.NoError(t, err)
	for _, s := range list {
		listed, statuses = append(listed, s.RefID), append(statuses, s.Status)
	}
	return listed, statuses
}

func TestStoreFilterUsesTheMostSevereStatus(t *testing.T) {
	p := newPublishHarness(t)
	read := consolemenus.New(p.db)
	monday := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	change := map[console.StoreStatus]string{
		console.StoreInactive: `active = false, hide_from_ui = true`,
		console.StoreUnlisted: `included_platforms = '{}', excluded_platforms = NULL`,
		console.StoreNoOrders: `ordering_enabled = false`, console.StoreClosed: `hide_from_ui = true`,
		console.StoreHidden: `hide_from_ui = true, timings = '[]'`,
		console.StoreShut:   `timings = '[{"day":"monday","slots":[{"start_time":"09:00:00","end_time":"10:00:00"}]}]'`,
		console.StoreOpen:   `timings = NULL`, console.StoreNoItems: `hide_from_ui = true`,
	}
	for standing, set := range change {
		p.store(string(standing))
		available := standing != console.StoreNoItems
		p.send(string(standing), fmt.Sprintf(`{"items":[{"ref_id":"rice","price":1,"available":%t}]}`, available))
		pgtest.Exec(t, p.db, `UPDATE stores SET `+set+` WHERE business_id = ? AND ref_id = ?`, p.business,
			string(standing))
	}
	for _, ref := range []string{"closed", "unlisted"} {
		pgtest.Exec(t, p.db,
			`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at)
			SELECT business_id, id, 'b', false, 'api', '', 'key:pos', ?, now() FROM stores WHERE business_id = ?
			AND ref_id = ?`, core.NewID(monday), p.business, ref)
	}
	for standing := range change {
		listed, statuses := storesOf(t, read, p.business, console.StoreFilter{Status: standing, Local: monday})
		want := []string{string(standing)}
		if standing == console.StoreOpen {
			want = append(want, "s1", "s2")
		}
		require.Equal(t, want, listed)
		require.Equal(t, standing, statuses[0])
	}
	listed, _ := storesOf(t, read, p.business, console.StoreFilter{Text: "S1", Local: monday})
	require.Equal(t, []string{"s1"}, listed)
	listed, _ = storesOf(t, read, p.business, console.StoreFilter{Status: "none of them", Local: monday})
	require.Empty(t, listed)
}

func TestStoreFilterFindsStoresThatAreNotLive(t *testing.T) {
	p := newPublishHarness(t)
	read := consolemenus.New(p.db)
	with := func(reason console.PlaceReason, working ...string) (shown []string) {
		grid, err := read.Grid(t.Context(), p.business, console.GridFilter{Reason: reason, WorkingPlugins: working,
			Local: p.clock.Now(), After: console.ParseGridCursor(""), Limit: 9})
		require.NoError(t, err)
		require.Equal(t, 2, grid.Total)
		for _, s := range grid.Stores {
			shown = append(shown, s.RefID)
		}
		return shown
	}
	notLive := func(working ...string) []string { return with(console.PlaceNotLive, working...) }
	require.Empty(t, notLive("aggregator-a", "aggregator-b"))
	require.ElementsMatch(t, []string{"s1", "s2"}, notLive("aggregator-a"))
	require.ElementsMatch(t, []string{"s1", "s2"}, notLive([]string{}...))

	pgtest.Exec(t, p.db, `UPDATE publications SET state = 'failed' WHERE business_id = ?`, p.business)
	require.Empty(t, notLive("aggregator-a", "aggregator-b"), "the platforms show an earlier menu")
	pgtest.Exec(t, p.db, `UPDATE publications SET published_at = NULL WHERE business_id = ? AND platform = 'a'
		AND store_id = (SELECT id FROM stores WHERE business_id = ? AND ref_id = 's2')`, p.business, p.business)
	require.Equal(t, []string{"s2"}, notLive("aggregator-a", "aggregator-b"))
	require.Equal(t, []string{"s2", "s1"}, with(console.PlaceMenuRejected, "aggregator-a", "aggregator-b"))

	pgtest.Exec(t, p.db,
		`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at)
		SELECT business_id, id, 'a', false, 'api', '', 'key:pos', ?, now() FROM stores WHERE business_id = ?
		AND ref_id = 's2'`, core.NewID(p.clock.Now()), p.business)
	require.Empty(t, notLive("aggregator-a", "aggregator-b"), "a closed store has its own status")
	require.ElementsMatch(t, []string{"s1", "s2"}, with(console.PlaceMenuRejected, "aggregator-a", "aggregator-b"))
	pgtest.Exec(t, p.db, `UPDATE stores SET hide_from_ui = true WHERE business_id = ?`, p.business)
	require.ElementsMatch(t, []string{"s1", "s2"}, with(console.PlaceMenuRejected, "aggregator-a", "aggregator-b"),
		"its menu was rejected all the same")
	pgtest.Exec(t, p.db, `UPDATE stores SET hide_from_ui = false WHERE business_id = ?`, p.business)
	pgtest.Exec(t, p.db, `UPDATE stores SET active = false WHERE business_id = ? AND ref_id = 's1'`, p.business)
	require.Equal(t, []string{"s2"}, notLive("aggregator-a"))
}

// drawOpeningHours draws the hours of a store around 2026-11-22, a Sunday.
func drawOpeningHours(r *rapid.T) (hours core.OpeningHours) {
	clock := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"00:00:00", "23:59:59",
			fmt.Sprintf("%02d:%02d:00", rapid.IntRange(0, 23).Draw(t, "hour"),
				rapid.IntRange(0, 59).Draw(t, "minute"))}).Draw(t, "clock")
	})
	slots := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) core.HoursSlot {
		return core.HoursSlot{StartTime: clock.Draw(t, "start"), EndTime: clock.Draw(t, "end")}
	}), 0, 2)
	for range rapid.IntRange(0, 3).Draw(r, "days") {
		hours.Week = append(hours.Week, core.DayHours{
			Day:   rapid.SampledFrom([]string{"sunday", "monday", "tuesday"}).Draw(r, "day"),
			Slots: slots.Draw(r, "slots")})
	}
	for _, day := range rapid.SliceOfNDistinct(rapid.IntRange(19, 30), 0, 5, rapid.ID).Draw(r, "dates") {
		date := core.DateHours{Date: fmt.Sprintf("2026-11-%d", day), Slots: slots.Draw(r, "slots")}
		date.Closed = len(date.Slots) == 0
		hours.Dates = append(hours.Dates, date)
	}
	fail := func(string, string, string) { r.Skip("no such hours are stored") }
	core.CheckHours("", hours.Week, fail)
	core.CheckDates("", hours.Dates, fail)
	return hours
}

// nextOpening returns the minute at which a closed store opens, found by trying the starts of all slots.
func nextOpening(hours core.OpeningHours, local time.Time) (next time.Time) {
	starts := []string{"00:00:00"}
	for _, d := range hours.Week {
		for _, slot := range d.Slots {
			starts = append(starts, slot.StartTime)
		}
	}
	for _, d := range hours.Dates {
		for _, slot := range d.Slots {
			starts = append(starts, slot.StartTime)
		}
	}
	for day := range 60 {
		for _, start := range starts {
			at, _ := time.Parse(time.DateTime, local.AddDate(0, 0, day).Format(time.DateOnly)+" "+start)
			open, _ := hours.OpenAt(at)
			if open && at.After(local) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next.Truncate(time.Minute)
}

func TestDatabaseAndGoAgreeOnOpeningHours(t *testing.T) {
	p := newPublishHarness(t)
	read := consolemenus.New(p.db)
	rapid.Check(t, func(r *rapid.T) {
		hours := drawOpeningHours(r)
		timings, err := json.Marshal(hours.Week)
		require.NoError(r, err)
		var special any
		if hours.Dates != nil {
			text, err := json.Marshal(hours.Dates)
			require.NoError(r, err)
			special = string(text)
		}
		pgtest.Exec(t, p.db, `UPDATE stores SET timings = ?, special_timings = ?
			WHERE business_id = ? AND ref_id = 's1'`, string(timings), special, p.business)
		local := time.Date(2026, 11, 22, 0, 0, rapid.IntRange(0, 3*86400-1).Draw(r, "second"), 0, time.UTC)
		want, opens := console.StoreShut, nextOpening(hours, local)
		if open, _ := hours.OpenAt(local); open {
			want, opens = console.StoreOpen, time.Time{}
		}
		list, err := read.ListStores(t.Context(), p.business, console.StoreFilter{Text: "s1", Local: local, Limit: 1})
		require.NoError(r, err)
		require.Equal(r, want, list[0].Status, "%s, %s at %s", timings, special, local)
		grid, err := read.Grid(t.Context(), p.business, console.GridFilter{Text: "s1", Local: local, Limit: 1,
			WorkingPlugins: []string{"aggregator-a", "aggregator-b"}, After: console.ParseGridCursor("")})
		require.NoError(r, err)
		require.Equal(r, want == console.StoreShut, grid.Stores[0].Reasons["a"] == console.PlaceShut)
		require.Equal(r, opens, grid.Stores[0].OpensAt, "%s, %s at %s", timings, special, local)
	})
}

func TestMenuRequestShowsItsStatusOnEachPlatform(t *testing.T) {
	p := newPublishHarness(t)
	read := consolemenus.New(p.db)
	send := func(price int) core.ID {
		body :=
			fmt.Sprintf(`{"items":[{"ref_id":"curry","title":"Curry","price":%[1]d},{"ref_id":"rice","title":"Rice",`+
				`"price":%[1]d}]}`, price)
		return uuid.MustParse(p.send("-1", body)["reference"].(string))
	}
	reference := send(9)
	stands := func() []console.Publishing {
		list, err := read.PublishingOfRequest(t.Context(), p.business, reference)
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []console.Publishing{{Platform: "a", State: "waiting", Stores: 2},
		{Platform: "b", State: "waiting", Stores: 2}}, stands())
	p.clock.Advance(time.Minute)
	work, names := p.claim(me)
	require.Equal(t, []string{"s1/a", "s1/b", "s2/a", "s2/b"}, names)
	for _, w := range work {
		result := p.published(w)
		if w.Platform == "b" && w.StoreRef == "s1" {
			result = publishing.Result{Work: w, State: publishing.Failed, Message: "failed on purpose",
				At: p.clock.Now()}
		} else if w.Platform == "b" {
			result = publishing.Result{Work: w, State: publishing.Waiting, Uncounted: true,
				Message: "the plugin is not running", RetryAt: p.clock.Now().Add(time.Hour), At: p.clock.Now()}
		}
		p.finish(me, result)
	}
	require.Equal(t, []console.Publishing{{Platform: "a", State: "published", Stores: 2},
		{Platform: "b", State: "failed", Stores: 1, Message: "failed on purpose"},
		{Platform: "b", State: "waiting", Stores: 1, Message: "the plugin is not running"}}, stands())
	later := send(10)
	require.Equal(t, []console.Publishing{{Platform: "a", State: "published", Stores: 2},
		{Platform: "b", State: "failed", Stores: 1, Message: "failed on purpose"},
		{Platform: "b", State: "waiting", Stores: 1}}, stands())
	list, err := read.PublishingOfRequest(t.Context(), p.business, later)
	require.NoError(t, err)
	require.Equal(t, []console.Publishing{{Platform: "a", State: "waiting", Stores: 2},
		{Platform: "b", State: "waiting", Stores: 2}}, list)
}
