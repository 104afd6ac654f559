package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/store"
)

// feast is a catalogue with option groups that are nested two deep.
const feast = `{"categories":[{"ref_id":"meals","name":"Meals"},{"ref_id":"hot","name":"Hot","parent_ref_id":"meals"},
		{"ref_id":"sides","name":"Sides"}],
	"items":[{"ref_id":"curry","title":"Curry","price":12,"category_ref_ids":["hot"]},
		{"ref_id":"rice","title":"Rice","price":3,"category_ref_ids":["sides"]},
		{"ref_id":"tea","title":"Tea","price":2}],
	"option_groups":[{"ref_id":"size","title":"Size","min_selectable":1,"item_ref_ids":["curry","rice"]},
		{"ref_id":"extra","title":"Extra","min_selectable":1,"item_ref_ids":["curry"]},
		{"ref_id":"dips","title":"Dips","min_selectable":1},{"ref_id":"heat","title":"Heat","min_selectable":1}],
	"options":[{"ref_id":"big","title":"Big","price":2,"opt_grp_ref_ids":["size"],"nested_opt_grps":["dips"]},
		{"ref_id":"small","title":"Small","price":1,"opt_grp_ref_ids":["size","extra"]},
		{"ref_id":"egg","title":"Egg","price":1,"opt_grp_ref_ids":["extra"],"nested_opt_grps":["dips","heat"]},
		{"ref_id":"mint","title":"Mint","price":1,"opt_grp_ref_ids":["dips"],"nested_opt_grps":["heat"]},
		{"ref_id":"mild","title":"Mild","price":1,"opt_grp_ref_ids":["heat"]}]}`

// soldFeast sells all of the feast at a store.
const soldFeast = `{"items":[{"ref_id":"curry","price":12},{"ref_id":"rice","price":3},{"ref_id":"tea","price":2}],
	"options":[{"ref_id":"big","price":2},{"ref_id":"small","price":1},{"ref_id":"egg","price":1},
		{"ref_id":"mint","price":1},{"ref_id":"mild","price":1}]}`

// newFeast returns a business with four platforms and two stores that sell the feast.
func newFeast(t *testing.T) *menuHarness {
	k := newTwoStores(t, hubtest.Database(t, nil))
	k.send("-1", feast)
	k.send("s1", soldFeast)
	k.send("s2", soldFeast)
	pgtest.Exec(t, k.db, `CREATE TABLE sold AS SELECT * FROM store_overrides`)
	return k
}

// scramble changes the business at random.
func (k *menuHarness) scramble(rt *rapid.T) {
	k.t.Helper()
	change := func(statement string, args ...any) {
		pgtest.Exec(k.t, k.db, statement, append([]any{k.business}, args...)...)
	}
	often := func(name string) bool { return rapid.IntRange(0, 9).Draw(rt, name) > 0 }
	for _, ref := range []string{"meals", "hot", "sides", "curry", "rice", "tea", "size", "extra", "dips", "heat",
		"big", "small",
		"egg", "mint", "mild"} {
		change(`UPDATE catalogue_entities SET active = ?1 WHERE business_id = ?0 AND name = ?2`,
			often(ref+" active"), ref)
	}
	for _, group := range []string{"size", "extra", "dips", "heat"} {
		change(`UPDATE catalogue_entities SET record = (record::jsonb || jsonb_build_object('min_selectable', ?1::int,
			'multi_options_enabled', ?2::boolean))::json WHERE business_id = ?0 AND kind = 2 AND name = ?3`,
			rapid.IntRange(0, 2).Draw(rt, group+" least"), rapid.Bool().Draw(rt, group+" multi"), group)
	}
	change(`UPDATE catalogue_entities SET record = (record::jsonb - 'included_platforms')::json WHERE business_id = ?0
		AND kind = 1`)
	change(`DELETE FROM platform_findings WHERE business_id = ?0`)
	for _, item := range []string{"curry", "rice", "tea"} {
		if !often(item + " on all") {
			listed, err := json.Marshal(rapid.SliceOfDistinct(rapid.SampledFrom([]string{"web", "aggregator-a"}),
				rapid.ID).Draw(rt, item+" on"))
			require.NoError(k.t, err)
			change(`UPDATE catalogue_entities SET record = (record::jsonb || jsonb_build_object('included_platforms',
				?1::jsonb))::json WHERE business_id = ?0 AND kind = 1 AND name = ?2`, string(listed), item)
		}
		if !often(item + " finding") {
			change(`INSERT INTO platform_findings SELECT business_id, ?1, id, 'r', 'm' FROM catalogue_entities
				WHERE business_id = ?0 AND kind = 1 AND name = ?2`,
				rapid.SampledFrom([]string{"web", "aggregator-a"}).Draw(rt, "platform"), item)
		}
	}
	change(`DELETE FROM store_overrides WHERE business_id = ?0`)
	change(`INSERT INTO store_overrides SELECT * FROM sold WHERE business_id = ?0`)
	for _, ref := range []string{"curry", "rice", "tea", "big", "small", "egg", "mint", "mild"} {
		const at = ` FROM stores s, catalogue_entities e WHERE s.business_id = ?0 AND s.ref_id = ?1
			AND e.business_id = ?0 AND e.name = ?2 AND o.business_id = ?0 AND o.store_id = s.id AND o.kind = e.kind
			AND o.id = e.id`
		for _, ref1 := range []string{"s1", "s2"} {
			switch {
			case !often(ref + " sold"):
				change(`DELETE FROM store_overrides o USING`+at[len(" FROM"):], ref1, ref)
			default:
				change(`UPDATE store_overrides o SET content = (o.content::jsonb || jsonb_build_object('available',
					?3::boolean) || CASE WHEN o.kind = 1 THEN jsonb_build_object('current_stock', ?4::int)
					ELSE '{}' END)::json`+at, ref1, ref, often(ref+" available"),
					rapid.SampledFrom([]int{-1, 7, 0}).Draw(rt, "stock"))
			}
		}
	}
	k.scrambleStores(rt, change, often)
	change(`INSERT INTO menu_versions AS v (business_id, store_id, version) VALUES (?0, 0, 1)
		ON CONFLICT (business_id, store_id) DO UPDATE SET version = v.version + 1`)
}

// scrambleStores changes the stores and their publications at random.
func (k *menuHarness) scrambleStores(rt *rapid.T, change func(string, ...any), often func(string) bool) {
	change(`DELETE FROM store_switches WHERE business_id = ?0`)
	change(`DELETE FROM store_reports WHERE business_id = ?0`)
	change(`DELETE FROM publications WHERE business_id = ?0`)
	for _, ref := range []string{"s1", "s2"} {
		slots := "[]"
		if !often("always open") {
			slots = fmt.Sprintf(`[{"day":%q,"slots":[{"start_time":"09:00:00","end_time":%q}]}]`,
				rapid.SampledFrom([]string{"monday", "sunday", "friday"}).Draw(rt, "day"),
				rapid.SampledFrom([]string{"08:00:00", "15:00:00", "23:59:59"}).Draw(rt, "end"))
		}
		special := rapid.SampledFrom([]any{nil, `[]`, `[{"date":"2026-11-23","closed":true,"slots":[]}]`,
			`[{"date":"2026-11-22","slots":[{"start_time":"20:00:00","end_time":"13:00:00"}]}]`}).Draw(rt, "special")
		change(`UPDATE stores SET active = ?1, ordering_enabled = ?2, hide_from_ui = NOT ?3, excluded_platforms = ?4,
			included_platforms = NULL, timings = ?5, special_timings = ?7 WHERE business_id = ?0 AND ref_id = ?6`,
			often("store active"), often("ordering"), often("shown"),
			rapid.SampledFrom([]string{"{}", "{web}", "{aggregator-a}"}).Draw(rt, "excluded"), slots, ref, special)
		if !often("open on web") {
			change(`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference,
				at, turn_on_at) SELECT business_id, id, 'web', false, 'api', '', 'key:pos', ?1, now(), NULL FROM stores
				WHERE business_id = ?0 AND ref_id = ?2`, core.NewID(noon), ref)
		}
		if !often("not reported") {
			change(`INSERT INTO store_reports (business_id, store_id, platform, state, reason, since, until_at,
				reported_at)
				SELECT business_id, id, ?1, ?2, '', now(), ?3::timestamptz, now() FROM stores
				WHERE business_id = ?0 AND ref_id = ?4`,
				rapid.SampledFrom([]string{"web", "aggregator-a"}).Draw(rt, "reporter"),
				rapid.SampledFrom([]string{"open", "closed", "paused"}).Draw(rt, "reported"),
				rapid.SampledFrom([]any{nil, noon.Add(-time.Minute), noon.Add(time.Minute)}).Draw(rt, "until"), ref)
		}
		if !often("no menu") {
			continue
		}
		problems, note, published, due := "[]", "", "2026-11-20", "infinity"
		if !often("complete") {
			problems = `[{"entity":"item","ref_id":"curry","code":"c","message":"no image"}]`
		}
		if !often("no note") {
			note = "the plugin is not running"
		}
		if !often("earlier menu") {
			published = ""
		}
		if !often("no changes") {
			due = "2026-11-23"
		}
		change(`INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests,
			due_at, available_at, note, state, problems, published_at)
			SELECT business_id, id, 'aggregator-a', 1, ?1, '{}', ?2, ?2, ?3, ?4, ?5, nullif(?6, '')::timestamptz
			FROM stores WHERE business_id = ?0 AND ref_id = ?7`,
			core.NewID(noon), due, note, rapid.SampledFrom([]string{"waiting", "published", "published", "failed",
				"unlisted", "skipped"}).Draw(rt, "state"), problems, published, ref)
	}
}

// noon is a Monday.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// offers returns the reasons of menu.Orderability for the items at a store on a platform.
func (k *menuHarness) offers(rt *rapid.T, ref string, platform core.Platform, id int64) map[string]menu.Reason {
	m, err := menus.New(k.db).Menu(context.Background(), k.business, id)
	require.NoError(rt, err)
	reasons := menu.Reasons(m, platform)
	require.Len(rt, menu.Effective(ref, m, platform, m.Blocked[platform.Name]).Items,
		count(reasons, menu.Orderable), "the effective menu agrees")
	return reasons
}

func count(reasons map[string]menu.Reason, which menu.Reason) (n int) {
	for _, reason := range reasons {
		if reason == which {
			n++
		}
	}
	return n
}

func TestDatabaseAndGoAgreeOnOrderability(t *testing.T) {
	k := newFeast(t)
	read := consolemenus.New(k.db)
	ctx := context.Background()
	platforms, err := read.Platforms(ctx, k.business)
	require.NoError(t, err)
	items, err := read.ListItems(ctx, k.business, console.ItemFilter{Limit: 9})
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		k.scramble(rt)
		working := rapid.SampledFrom([][]string{{"aggregator-a", "aggregator-b"}, {"aggregator-b"}}).Draw(rt, "working")
		grid, err := read.Grid(ctx, k.business, console.GridFilter{WorkingPlugins: working, Local: noon, Limit: 9,
			After: console.GridCursor{Key: -1}})
		require.NoError(rt, err)
		require.Len(rt, grid.Stores, 2)
		for _, s := range grid.Stores {
			stored, err := stores.New(k.db).Get(ctx, k.business, s.RefID)
			require.NoError(rt, err)
			published, err := read.StorePublications(ctx, k.business, []int64{s.ID})
			require.NoError(rt, err)
			open, _ := stored.OpeningHours().OpenAt(noon)
			sells := false
			offered, err := read.StoreOffers(ctx, k.business, s.ID)
			require.NoError(rt, err)
			for _, platform := range platforms {
				reasons := k.offers(rt, s.RefID, platform, s.ID)
				for _, reason := range []menu.Reason{menu.Orderable, menu.NotListed, menu.BreaksRule, menu.Inactive,
					menu.CategoryInactive, menu.Unavailable, menu.OutOfStock, menu.OptionsMissing} {
					require.Equal(rt, count(reasons, reason), offered[platform.Name][reason], "%s: %s on %s", reason,
						s.RefID, platform.Name)
				}
				place := console.Place{Listed: store.Listing{Excluded: s.Excluded,
					Included: s.Included}.ListedOn(platform.Name), Active: s.Active, Ordering: s.Ordering,
					Closed:      stored.ClosureOn(platform.Name) != nil,
					ClosedThere: stored.ClosedBy(platform.Name, noon) != nil,
					NoItems:     count(reasons, menu.Orderable) == 0,
					PluginDown: platform.ServedBy != core.ServedByMerchant && !slices.Contains(working,
						platform.ServedBy),
					Hidden: s.Hidden, Open: open}
				if p, found := published[s.ID][platform.Name]; found {
					place.Menu = &p
				}
				require.Equal(rt, place.Reason(), s.Reasons[platform.Name], "%s on %s", s.RefID, platform.Name)
				sells = sells || place.Listed && !place.NoItems
				for _, item := range items {
					requireItemPlace(rt, read, k.business, wantedPlace{item, place,
						console.ItemPlaceFilter{Store: s.RefID, Platform: platform.Name, WorkingPlugins: working,
							Local: noon, Limit: 9}, reasons[item.RefID]})
				}
			}
			listed, err := read.ListStores(ctx, k.business, console.StoreFilter{Text: s.RefID, Local: noon, Limit: 1})
			require.NoError(rt, err)
			if s.Active && s.Ordering {
				require.Equal(rt, !sells, listed[0].Status == console.StoreNoItems, s.RefID)
			}
		}
	})
}

// wantedPlace is what ItemPlaces must say of an item at a store on a platform.
type wantedPlace struct {
	item   console.Item
	place  console.Place
	filter console.ItemPlaceFilter
	reason menu.Reason
}

// requireItemPlace checks the reason of an item: its own, or else that of the place.
func requireItemPlace(rt *rapid.T, read consolemenus.Store, business core.BusinessID, want wantedPlace) {
	item := want.item
	list, counts, err := read.ItemPlaces(context.Background(), business, item, want.filter)
	require.NoError(rt, err)
	require.Len(rt, list, 1)
	reason := console.PlaceReason(want.reason)
	if want.reason == menu.Orderable {
		reason = itemReason(want.place, item.RefID)
	}
	require.Equal(rt, reason, list[0].Reason, "%s at %s on %s", item.RefID, want.filter.Store, want.filter.Platform)
	require.Equal(rt, want.reason == menu.OptionsMissing, list[0].UnmetGroup != "")
	require.Contains(rt, counts, console.ItemPlaceCount{Platform: want.filter.Platform, Reason: reason, Stores: 1})
}

// itemReason returns the first reason why customers cannot order an item there, or PlaceLive. It is for an item that
// can be ordered by the rule of menu.Orderability.
func itemReason(p console.Place, refID string) console.PlaceReason {
	reason := p.Reason()
	switch reason {
	case console.PlaceLive, console.PlaceMenuWaits, console.PlaceIncomplete, console.PlaceUpdating:
		if p.Menu != nil && p.Menu.Lacks(refID) != nil {
			return console.ItemRejected
		}
	}
	if reason == console.PlaceIncomplete { // it lacks another item
		return console.PlaceLive
	}
	return reason
}

func TestOptionsBarredByNestedGroupsHideItems(t *testing.T) {
	k := newFeast(t)
	read := consolemenus.New(k.db)
	id, err := read.ItemID(t.Context(), k.business, "rice")
	require.NoError(t, err)
	k.send("s1", `{"options":[{"ref_id":"small","price":1,"available":false}]}`)
	for _, c := range []struct {
		options string
		unmet   string
	}{
		{`{"ref_id":"mild","price":1,"available":true}`, ""},
		{`{"ref_id":"mild","price":1,"available":false}`, "size"}, // so no mint, no dips, no big
		{`{"ref_id":"small","price":1,"available":true}`, ""},
	} {
		k.send("s1", `{"options":[`+c.options+`]}`)
		places, _, err := read.ItemPlaces(t.Context(), k.business, console.Item{ID: id, RefID: "rice"},
			console.ItemPlaceFilter{Store: "s1", Platform: "web", Local: noon, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, c.unmet, places[0].UnmetGroup)
		require.Equal(t, c.unmet != "", places[0].Reason == console.PlaceReason(menu.OptionsMissing))
	}
}

func TestItemsAreFoundByTheirProblem(t *testing.T) {
	k := newFeast(t)
	other := newMenuHarness(t, k.db, "US")
	read := consolemenus.New(k.db)
	change := func(statement string, args ...any) {
		pgtest.Exec(t, k.db, statement, append([]any{k.business}, args...)...)
	}
	change(`INSERT INTO platform_findings SELECT business_id, 'aggregator-a', id, rule, 'm' FROM catalogue_entities,
		unnest(ARRAY['r1', 'r2', 'r3']) rule WHERE business_id = ?0 AND kind = 1 AND name = 'curry'`)
	change(`UPDATE catalogue_entities SET active = false WHERE business_id = ?0 AND name = 'sides'`)
	change(`DELETE FROM publications WHERE business_id = ?0`)
	change(`INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests, due_at,
		available_at, state, problems) SELECT business_id, id, 'aggregator-a', 1, ?1, '{}', now(), 'infinity',
		'published', '[{"entity":"item","ref_id":"tea"},
		{"entity":"option","ref_id":"rice"},{"entity":"item","ref_id":"curry"}]'
		FROM stores WHERE business_id = ?0 AND ref_id = 's1'`, core.NewID(noon))
	change(`UPDATE catalogue_entities SET record = (record::jsonb || '{"included_platforms":["app"]}')::json
		WHERE business_id = ?0 AND name = 'tea'`)
	for _, c := range []struct {
		filter console.ItemFilter
		want   []string
	}{
		{console.ItemFilter{}, []string{"curry", "rice", "tea"}},
		{console.ItemFilter{Platform: "web"}, []string{"curry", "rice"}},
		{console.ItemFilter{Platform: "app"}, []string{"curry", "rice", "tea"}},
		{console.ItemFilter{Problem: console.ItemBreaksRule}, []string{"curry"}},
		{console.ItemFilter{Problem: console.ItemBreaksRule, Platform: "web"}, nil},
		{console.ItemFilter{Problem: console.ItemInactive}, []string{"rice"}},
		{console.ItemFilter{Problem: console.ItemLacking}, []string{"curry", "tea"}},
		{console.ItemFilter{Problem: console.ItemLacking, Store: "s1", Platform: "aggregator-a"}, []string{"curry",
			"tea"}},
		{console.ItemFilter{Problem: console.ItemLacking, Store: "s2"}, nil},
		{console.ItemFilter{Problem: console.ItemLacking, Platform: "web"}, nil},
	} {
		c.filter.Limit = 9
		list, err := read.ListItems(t.Context(), k.business, c.filter)
		require.NoError(t, err)
		var names []string
		for _, item := range list {
			names = append(names, item.RefID)
			require.Equal(t, item.RefID == "rice", item.CategoryInactive)
			require.Equal(t, item.RefID == "curry", item.Findings == 3)
		}
		require.Equal(t, c.want, names, "%+v", c.filter)
		c.filter.Limit = 9
		list, err = read.ListItems(t.Context(), other.business, c.filter)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	id, err := read.ItemID(t.Context(), k.business, "curry")
	require.NoError(t, err)
	places, counts, err := read.ItemPlaces(t.Context(), other.business, console.Item{ID: id, RefID: "curry"},
		console.ItemPlaceFilter{Local: noon, Limit: 9})
	require.NoError(t, err)
	require.Empty(t, places, "of another business")
	require.Empty(t, counts)
}
