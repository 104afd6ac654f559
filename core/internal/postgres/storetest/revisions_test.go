package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
)

// revisions returns the revisions of the business, the newest first.
func (k *menuHarness) revisions(f menu.RevisionFilter) []menu.Revision {
	k.t.Helper()
	f.Limit = 1000
	list, err := menus.New(k.db).Revisions(context.Background(), k.business, f)
	require.NoError(k.t, err)
	return list
}

// rollBack rolls back to a revision and returns the callback.
func (k *menuHarness) rollBack(to core.ID) map[string]any {
	k.t.Helper()
	return k.send("-1", string(menu.RollbackBody(to)))
}

// state returns the menus of the business at every location and its category timings.
func (k *menuHarness) state() string {
	k.t.Helper()
	all := []any{k.timings()}
	for _, location := range []string{"-1", "s1", "s2"} {
		all = append(all, k.read(location))
	}
	encoded, err := json.Marshal(all)
	require.NoError(k.t, err)
	return string(encoded)
}

// withoutIDs removes the hub's ids from a state, because recreated entities get new ones.
func withoutIDs(t *testing.T, state string) string {
	t.Helper()
	var root any
	require.NoError(t, json.Unmarshal([]byte(state), &root))
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "id")
			for _, inner := range v {
				strip(inner)
			}
		case []any:
			for _, inner := range v {
				strip(inner)
			}
		}
	}
	strip(root)
	encoded, err := json.Marshal(root)
	require.NoError(t, err)
	return string(encoded)
}

// menuRequest draws a menu request about a few entities, so that requests collide.
func menuRequest(t *rapid.T) (location, body string) {
	location = rapid.SampledFrom([]string{"-1", "s1", "s2"}).Draw(t, "location")
	of := func(prefix string) string { return fmt.Sprintf("%s%d", prefix, rapid.IntRange(0, 3).Draw(t, prefix)) }
	refs := func(prefix string) string {
		list := rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 3, rapid.ID[int]).Draw(t, "list of "+prefix)
		parts := make([]string, len(list))
		for i, n := range list {
			parts[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, n))
		}
		return strings.Join(parts, ",")
	}
	price := func() int { return rapid.IntRange(1, 9).Draw(t, "price") }
	var arrays []string
	flush := func(kind string) {
		if rapid.IntRange(0, 4).Draw(t, "flush") == 0 {
			arrays = append(arrays, fmt.Sprintf(`"flush_%s":true`, kind))
		}
	}
	if rapid.Bool().Draw(t, "categories") {
		arrays = append(arrays, fmt.Sprintf(`"categories":[{"ref_id":%q,"name":"N%d","active":%t}]`, of("c"), price(),
			rapid.Bool().Draw(t, "active")))
		flush("categories")
	}
	if rapid.Bool().Draw(t, "groups") {
		arrays = append(arrays, fmt.Sprintf(`"option_groups":[{"ref_id":%q,"title":"T%d","item_ref_ids":[%s]}]`,
			of("g"), price(), refs("i")))
		flush("option_groups")
	}
	if rapid.Bool().Draw(t, "options") {
		arrays = append(arrays,
			fmt.Sprintf(`"options":[{"ref_id":%q,"title":"T%d","price":%d,"opt_grp_ref_ids":[%s],"clear_opt_grps":%t}]`,
				of("o"), price(), price(), refs("g"), rapid.Bool().Draw(t, "clear")))
		flush("options")
	}
	if rapid.Bool().Draw(t, "taxes") {
		arrays = append(arrays,
			fmt.Sprintf(`"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":%d},"item_ref_ids":[%s]}]`,
				price(), refs("i")))
	}
	arrays = append(arrays,
		fmt.Sprintf(`"items":[{"ref_id":%q,"title":"T%d","price":%d,"category_ref_ids":[%s],"available":%t,`+
			`"sold_at_store":%t}]`,
			of("i"), price(), price(), refs("c"), rapid.Bool().Draw(t, "available"),
			rapid.IntRange(0, 4).Draw(t, "sold") > 0))
	flush("items")
	return location, "{" + strings.Join(arrays, ",") + "}"
}

func TestRollbackIsExactAndCanBeUndone(t *testing.T) {
	db := hubtest.Database(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		k := newMenuHarness(t, db, "US")
		k.store("s1")
		k.store("s2")
		type step struct {
			location, body string
			timings        bool
		}
		var steps []step
		do := func(s step) {
			if s.timings {
				k.set(s.body)
			} else {
				k.send(s.location, s.body)
			}
		}
		states, revisions := []string{k.state()}, []core.ID{k.revisions(menu.RevisionFilter{})[0].ID}
		for range rapid.IntRange(1, 8).Draw(r, "requests") {
			s := step{timings: rapid.IntRange(0, 2).Draw(r, "kind") == 0}
			if s.timings {
				s.body = timingRequest(r)
			} else {
				s.location, s.body = menuRequest(r)
			}
			steps = append(steps, s)
			do(s)
			states, revisions = append(states, k.state()), append(revisions, k.revisions(menu.RevisionFilter{})[0].ID)
		}
		last := len(steps)
		to := rapid.IntRange(0, last).Draw(r, "revision")
		k.rollBack(revisions[to])
		require.Equal(t, states[to], k.state(), "back at the revision, ids and all")
		k.rollBack(revisions[last])
		require.Equal(t, states[last], k.state(), "a rollback is a change like others, and can be undone")
		k.rollBack(revisions[to])
		for _, s := range steps[to:] {
			do(s)
		}
		require.Equal(t, withoutIDs(t, states[last]), withoutIDs(t, k.state()), "done again")
	})
}

func TestRollbackIsRecordedAsChanges(t *testing.T) {
	clock := clocktest.New()
	k := newMenuHarness(t, hubtest.Database(t, clock), "US")
	k.store("s1")
	k.send("-1", dinner)
	clock.Advance(time.Hour)
	k.send("s1", `{"items":[{"ref_id":"curry","price":7}]}`)
	before := k.revisions(menu.RevisionFilter{})[0]
	clock.Advance(time.Hour)
	k.send("-1", `{"items":[{"ref_id":"curry","price":9},{"ref_id":"naan","title":"Naan","price":4,`+
		`"category_ref_ids":["hot"]}]}`)
	k.send("s1", `{"items":[{"ref_id":"curry","price":8}]}`)
	k.send("-1", `{"items":[{"ref_id":"rice","price":99}]}`)
	k.send("-1", `{"items":[{"ref_id":"rice","price":3}]}`) // as it was
	clock.Advance(time.Hour)
	callback := k.rollBack(before.ID)
	require.Equal(t, map[string]any{"created": 0.0, "updated": 1.0, "deleted": 1.0, "errors": 0.0},
		callback["stats"].(map[string]any)["items"])

	latest := k.revisions(menu.RevisionFilter{})[0]
	require.Equal(t, "rollback", latest.Kind)
	differences, err := menus.New(k.db).Differences(t.Context(), k.business, latest.ID, 0, 100)
	require.NoError(t, err)
	var changes []string
	for _, d := range differences {
		change := "changed"
		switch {
		case d.Before == nil:
			change = "created"
		case d.After == nil:
			change = "deleted"
		}
		changes = append(changes, strings.Join(strings.Fields(d.RefID+" "+d.Relation+" "+d.Location+" "+change), " "))
	}
	slices.Sort(changes)
	require.Equal(t, []string{"category_ref_ids deleted", "curry changed", "curry s1 changed", "naan deleted"}, changes)
	var changedAt time.Time
	pgtest.Row(t, k.db, &changedAt, `SELECT updated_at FROM catalogue_entities WHERE name = 'curry'`)
	require.WithinDuration(t, clock.Now(), changedAt, time.Second)
}

func TestRollbacksAndConcurrentRequestsAreSerializable(t *testing.T) {
	hubs := twoHubs(t)
	k := newMenuHarness(t, hubs[0], "US")
	k.store("s1")
	k.store("s2")
	k.send("-1", dinner)
	k.send("s1", `{"items":[{"ref_id":"curry","price":7}],"options":[{"ref_id":"big","price":1}]}`)
	to, then := k.revisions(menu.RevisionFilter{})[0].ID, k.state()
	breakfast := func(categories, hour string) string {
		return `{"timing_groups":[{"title":"Breakfast","category_ref_ids":[` + categories +
			`],"day_slots":[{"day":"monday","slots":[{"start_time":"` + hour + `","end_time":"12:00"}]}]}]}`
	}
	bodies := []struct{ location, body string }{
		{"-1", `{"flush_items":true,"items":[{"ref_id":"rice","price":1}]}`},
		{"s1", `{"items":[{"ref_id":"rice","price":9}]}`},
		{"-1", string(menu.RollbackBody(to))},
		{"s2", `{"items":[{"ref_id":"curry","price":8},{"ref_id":"tea","title":"Tea","price":2}]}`},
		{"-1", `{"options":[{"ref_id":"big","price":1,"clear_opt_grps":true}]}`}, {"-1", string(menu.RollbackBody(to))},
		{"", breakfast(`"mains","hot"`, "08:00")}, {"", breakfast(`"hot"`, "09:00")}, {"", breakfast(``, "09:00")},
		{"", breakfast(`"mains"`, "10:00")},
	}
	kind := func(location string) core.JobKind {
		if location == "" {
			return core.TimingJob
		}
		return core.MenuJob
	}
	jobs := map[core.ID]int{}
	var mu sync.Mutex
	w := newJobRecorder(len(bodies))
	var sending sync.WaitGroup
	for n, b := range bodies {
		sending.Go(func() {
			id := k.enqueue(kind(b.location), b.location, b.body, false)
			mu.Lock()
			defer mu.Unlock()
			jobs[id] = n
		})
	}
	sending.Wait()
	var stops []func()
	for _, db := range hubs {
		hub := *k
		hub.db = db
		stops = append(stops, w.start(t, db, hub.handlers()))
	}
	requireClosed(t, "all requests done", w.done)
	for _, stop := range stops {
		stop()
	}
	require.Empty(t, w.errors)
	concurrently, changes := k.state(), k.revisions(menu.RevisionFilter{})

	k.rollBack(to)
	require.Equal(t, then, k.state())
	for _, change := range slices.Backward(changes) {
		if n, is := jobs[change.Reference]; is {
			k.enqueue(kind(bodies[n].location), bodies[n].location, bodies[n].body, false)
			require.NoError(t, k.runJobs())
		}
	}
	require.Equal(t, withoutIDs(t, concurrently), withoutIDs(t, k.state()), "one after the other, in the same order")
}

func TestRevisionsShowTheirChanges(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.send("-1", dinner)
	reference := k.enqueue(core.MenuJob, "s1", `{"items":[{"ref_id":"curry","price":7}]}`, false)
	require.NoError(t, k.runJobs())
	k.send("s1", `{"items":[{"ref_id":"curry","price":7}]}`) // changes nothing
	k.send("s1", `{"items":[{"ref_id":"curry","price":8}]}`)
	all := k.revisions(menu.RevisionFilter{})
	require.Len(t, all, 4, "a request without changes makes no revision")
	made := all[1]
	require.Equal(t, []any{reference, "menu", "s1", []menu.ChangeCount{{Entity: "items", Location: "s1", Rows: 1}}},
		[]any{made.Reference, made.Kind, made.Location, made.Changes})
	require.Equal(t, []menu.ChangeCount{{Entity: "stores", Rows: 1}}, all[3].Changes)

	ids := func(f menu.RevisionFilter) (found []int) {
		for _, r := range k.revisions(f) {
			found = append(found, slices.IndexFunc(all, func(a menu.Revision) bool { return a.ID == r.ID }))
		}
		return found
	}
	require.Equal(t, []int{0, 1, 2}, ids(menu.RevisionFilter{Entity: "items", RefID: "curry"}))
	require.Equal(t, []int{2}, ids(menu.RevisionFilter{Entity: "items", RefID: "rice"}))
	require.Empty(t, ids(menu.RevisionFilter{Entity: "items", RefID: "none"}))
	require.Equal(t, []int{3}, ids(menu.RevisionFilter{Entity: "stores", RefID: "s1"}))
	require.Empty(t, ids(menu.RevisionFilter{Entity: "stores", RefID: "s9"}))
	require.Equal(t, []int{0, 1}, ids(menu.RevisionFilter{Location: "s1"}))
	require.Equal(t, []int{2}, ids(menu.RevisionFilter{Location: "-1"}))
	require.Equal(t, []int{2, 3}, ids(menu.RevisionFilter{After: all[1].ID}))
	require.Empty(t, ids(menu.RevisionFilter{To: k.db.Clock().Now().Add(-time.Hour)}))

	differences := func(n int) []menu.Difference {
		r, err := menus.New(k.db).Revision(context.Background(), k.business, all[n].ID)
		require.NoError(t, err)
		list, err := menus.New(k.db).Differences(context.Background(), k.business, r.ID, 0, 100)
		require.NoError(t, err)
		require.Equal(t, all[n], r)
		return list
	}
	ofRice, err := menus.New(k.db).DifferencesOf(t.Context(), k.business,
		menu.DifferenceQuery{Revisions: []core.ID{all[0].ID, all[2].ID, all[3].ID},
			Filter: menu.RevisionFilter{Entity: "items", RefID: "rice"}, Limit: 9})
	require.NoError(t, err)
	require.Len(t, ofRice, 1, "the differences of one object")
	for _, d := range ofRice[all[2].ID] {
		require.Equal(t, []string{"items", "rice"}, []string{d.Entity, d.RefID})
	}
	require.Less(t, len(ofRice[all[2].ID]), len(differences(2)))
	ofCurry, err := menus.New(k.db).DifferencesOf(t.Context(), k.business,
		menu.DifferenceQuery{Revisions: []core.ID{all[0].ID, all[1].ID, all[2].ID},
			Filter: menu.RevisionFilter{Entity: "items", RefID: "curry"}, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1}, []int{len(ofCurry[all[0].ID]), len(ofCurry[all[1].ID]), len(ofCurry[all[2].ID])},
		"the limit applies to each revision")
	ofStore, err := menus.New(k.db).DifferencesOf(t.Context(), k.business,
		menu.DifferenceQuery{Revisions: []core.ID{all[2].ID, all[3].ID},
			Filter: menu.RevisionFilter{Entity: "stores", RefID: "s1"}, Limit: 9})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{len(ofStore[all[2].ID]), len(ofStore[all[3].ID])})
	changed := differences(0)
	require.Len(t, changed, 1)
	require.Equal(t, []any{"items", "curry", "s1"}, []any{changed[0].Entity, changed[0].RefID, changed[0].Location})
	price := func(raw []byte) any {
		var values map[string]any
		require.NoError(t, json.Unmarshal(raw, &values))
		return values["price"]
	}
	require.Equal(t, []any{7.0, 8.0}, []any{price(changed[0].Before), price(changed[0].After)})
	changed = differences(1)
	require.Nil(t, changed[0].Before)
	require.Equal(t, 7.0, price(changed[0].After), "the past state, not the current one")
	links := 0
	for _, d := range differences(2) {
		require.Nil(t, d.Before)
		require.NotNil(t, d.After, "%+v", d)
		if d.Relation != "" {
			links++
		}
	}
	require.Equal(t, 6, links)
	require.Equal(t, "s1", differences(3)[0].RefID)

	otherBusiness := newMenuHarness(t, k.db, "US")
	foreign, err := menus.New(k.db).Differences(context.Background(), otherBusiness.business, all[0].ID, 0, 1)
	require.NoError(t, err)
	require.Empty(t, foreign)
	_, err = menus.New(k.db).Revision(context.Background(), otherBusiness.business, all[0].ID)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	otherBusiness.enqueue(core.MenuJob, "-1", string(menu.RollbackBody(all[1].ID)), false)
	require.Equal(t, core.NotFound, core.CodeOf(otherBusiness.runJobs()))
}
