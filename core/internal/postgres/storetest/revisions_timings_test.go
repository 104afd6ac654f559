package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
)

// set runs a request for category timings.
func (k *menuHarness) set(groups string) {
	k.t.Helper()
	k.enqueue(core.TimingJob, "", `{"timing_groups":`+groups+`}`, false)
	require.NoError(k.t, k.runJobs())
}

// timings returns the category timings of the business as sent.
func (k *menuHarness) timings() []menu.TimingGroup {
	k.t.Helper()
	groups, err := menusdb.New(k.db).TimingGroups(context.Background(), k.business)
	require.NoError(k.t, err)
	return groups
}

// timingRequest draws a request for category timings about a few groups.
func timingRequest(t *rapid.T) (groups string) {
	titles := rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 3, rapid.ID[int]).Draw(t, "titles")
	parts := make([]string, len(titles))
	for i, title := range titles {
		refs, err := json.Marshal(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"c0", "c1", "c2", "c3"}), 0, 4,
			rapid.ID[string]).Draw(t, "categories"))
		require.NoError(t, err)
		parts[i] =
			fmt.Sprintf(`{"title":"T%d","category_ref_ids":%s,"day_slots":[{"day":"monday",`+
				`"slots":[{"start_time":"0%d:00","end_time":"12:00"}]}]}`,
				title, refs, rapid.IntRange(1, 3).Draw(t, "hour"))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestEveryCategoryTimingChangeCreatesARevision(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.send("-1", dinner)
	group := func(title, categories, start string) string {
		return fmt.Sprintf(`{"title":%q,"category_ref_ids":[%s],"day_slots":[{"day":"monday",`+
			`"slots":[{"start_time":%q,"end_time":"12:00:00"}]}]}`, title, categories, start)
	}
	k.set("[" + group("Lunch", `"hot"`, "11:00:00") + "," + group("Late", `"mains"`, "10:00:00") + "]")
	versions := pgtest.MenuVersions(t, k.db)
	k.set("[" + group("Lunch", `"hot"`, "11:00") + "," + group("None", ``, "10:00:00") + "]") // changes nothing
	require.Equal(t, versions, pgtest.MenuVersions(t, k.db))
	k.set("[" + group("Lunch", `"mains","hot"`, "10:30:00") + "," + group("Late", `"mains"`, "10:00:00") + "]")
	k.set("[" + group("Lunch", ``, "10:30:00") + "]")
	all := k.revisions(menu.RevisionFilter{Entity: "timing_groups"})
	require.Len(t, all, 3, "a request without changes makes no revision")
	for n, rows := range []int{1, 1, 2} {
		require.Equal(t, []any{"timing_groups", "", []menu.ChangeCount{{Entity: "timing_groups", Rows: rows}}},
			[]any{all[n].Kind, all[n].Location, all[n].Changes})
	}
	require.Equal(t, all, k.revisions(menu.RevisionFilter{Entity: "timing_groups", RefID: "Lunch"}))
	require.Equal(t, all[2:], k.revisions(menu.RevisionFilter{Entity: "timing_groups", RefID: "Late"}))
	require.Empty(t, k.revisions(menu.RevisionFilter{Entity: "timing_groups", RefID: "None"}))
	require.Len(t, k.revisions(menu.RevisionFilter{Location: "-1"}), 4)
	menus := menusdb.New(k.db)
	names, err := menus.FirstNames(t.Context(), k.business, []core.ID{all[0].ID, all[2].ID})
	require.NoError(t, err)
	require.Equal(t, map[core.ID][]string{all[0].ID: {"Lunch"}, all[2].ID: {"Lunch", "Late"}}, names,
		"also deleted groups")

	late, err := menus.DifferencesOf(t.Context(), k.business, menu.DifferenceQuery{Revisions: []core.ID{all[2].ID},
		Filter: menu.RevisionFilter{Entity: "timing_groups", RefID: "Late"}, Limit: 9})
	require.NoError(t, err)
	require.Len(t, late[all[2].ID], 1)
	differences := func(id core.ID) []menu.Difference {
		list, err := menus.Differences(t.Context(), k.business, id, 0, 10)
		require.NoError(t, err)
		return list
	}
	for n, want := range [][]string{
		{"timing_groups Lunch", group("Lunch", `"hot","mains"`, "10:30:00"), "null"},
		{"timing_groups Lunch", group("Lunch", `"hot"`, "11:00:00"), group("Lunch", `"hot","mains"`, "10:30:00")},
		{"timing_groups Lunch", "null", group("Lunch", `"hot"`, "11:00:00"), "timing_groups Late", "null",
			group("Late", `"mains"`, "10:00:00")},
	} {
		found := differences(all[n].ID)
		require.Len(t, found, len(want)/3)
		for i, d := range found {
			require.Equal(t, want[3*i], d.Entity+" "+d.RefID)
			require.JSONEq(t, want[3*i+1], string(orElse(d.Before, "null")))
			require.JSONEq(t, want[3*i+2], string(orElse(d.After, "null")))
		}
	}

	undoing, err := menus.PreviewRollback(t.Context(), k.business, all[2].ID)
	require.NoError(t, err)
	require.Equal(t, menu.RollbackPreview{Timings: 1, Latest: all[0].ID}, undoing)
	require.Equal(t, 1, undoing.Count())
	stats := func(callback map[string]any) any { return callback["stats"].(map[string]any)["timing_groups"] }
	require.Equal(t, map[string]any{"created": 1.0, "updated": 0.0, "deleted": 0.0, "errors": 0.0},
		stats(k.rollBack(all[2].ID)))
	require.NotEqual(t, versions, pgtest.MenuVersions(t, k.db), "the menu version increases")
	require.Equal(t, map[string]any{"created": 0.0, "updated": 1.0, "deleted": 0.0, "errors": 0.0},
		stats(k.rollBack(all[1].ID)))
	require.Nil(t, stats(k.send("-1", dinner)), "only a rollback reports statistics")

	k.set("[" + group("Lunch", ``, "09:00:00") + "]")
	k.set("[" + group("Lunch", `"hot"`, "09:00:00") + "]")
	undoing, err = menus.PreviewRollback(t.Context(), k.business, all[1].ID)
	require.NoError(t, err)
	require.Equal(t, 1, undoing.Count(), "a recreated group is the same object")
	require.Equal(t, map[string]any{"created": 0.0, "updated": 1.0, "deleted": 0.0, "errors": 0.0},
		stats(k.rollBack(all[1].ID)))
	require.Equal(t, "null", string(orElse(differences(all[0].ID)[0].After, "null")),
		"the past state, not the current one")
}

func orElse(value []byte, otherwise string) []byte {
	if value == nil {
		return []byte(otherwise)
	}
	return value
}

func TestItemHistoryUsesPastCategoryTimings(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	k.send("s1",
		`{"categories":[{"ref_id":"mains","name":"Mains"},{"ref_id":"late","name":"Late"}],"items":[{"ref_id":"dal",`+
			`"title":"Dal","price":5,"category_ref_ids":["mains","late"]}]}`)
	_, scope, err := menusdb.New(k.db).ResolveLocation(t.Context(), k.business, "s1")
	require.NoError(t, err)
	onSale := func(at time.Time) any {
		was, err := menusdb.New(k.db).ItemAsOf(t.Context(), k.business,
			menu.PastItem{Scope: scope, Platform: "web", RefID: "dal", At: at})
		require.NoError(t, err)
		require.True(t, was.Shown)
		if was.OnSale == nil {
			return nil
		}
		return *was.OnSale
	}
	begun := clock.Now()
	today := strings.ToLower(begun.Weekday().String())
	hour := fmt.Sprintf(`[{"day":%q,"slots":[{"start_time":"%s","end_time":"%s"}]}]`, today, begun.Format("15:04:05"),
		begun.Add(time.Hour).Format("15:04:05"))
	for _, groups := range []string{
		`[{"title":"Mains","category_ref_ids":["mains"],"day_slots":` + hour + `}]`,
		`[{"title":"Late","category_ref_ids":["late"],"day_slots":` + hour + `}]`,
		`[{"title":"Mains","category_ref_ids":[]},{"title":"Late","category_ref_ids":[]}]`,
	} {
		clock.Advance(20 * time.Minute)
		k.set(groups)
	}
	clock.Advance(24 * time.Hour)
	for after, want := range map[time.Duration]any{0: nil, 20: true, 40: true, 60: nil} {
		require.Equal(t, want, onSale(begun.Add(after*time.Minute)), "after %d minutes", after)
	}
	made := k.revisions(menu.RevisionFilter{Entity: "timing_groups"})
	k.rollBack(made[2].ID)
	require.Equal(t, true, onSale(clock.Now()), "the other category is always on sale")
	k.rollBack(made[1].ID)
	require.Equal(t, false, onSale(clock.Now()), "both are back, and neither is on sale")
}
