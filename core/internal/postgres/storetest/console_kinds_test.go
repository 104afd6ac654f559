package storetest

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// storeFacts are changes of one store of a chain whose stores are alike, each with the reason that follows.
var storeFacts = []struct {
	change   string // ?0 is the business, ?1 the store
	platform string
	reason   console.PlaceReason
	ofItem   console.PlaceReason // of the item 1i10; "": the same
}{
	{`SELECT`, "web", console.PlaceLive, ""},
	{`UPDATE stores SET active = false WHERE business_id = ?0 AND id = ?1`, "web", console.PlaceInactive, ""},
	{`UPDATE stores SET ordering_enabled = false WHERE business_id = ?0 AND id = ?1`, "web", console.PlaceNoOrders, ""},
	{`UPDATE stores SET hide_from_ui = true WHERE business_id = ?0 AND id = ?1`, "web", console.PlaceHidden, ""},
	{`UPDATE stores SET excluded_platforms = '{web}' WHERE business_id = ?0 AND id = ?1`, "web",
		console.PlaceUnlisted, ""},
	{`UPDATE stores SET excluded_platforms = NULL, included_platforms = '{web}' WHERE business_id = ?0 AND id = ?1`,
		"aggregator-a", console.PlaceUnlisted, ""},
	{`UPDATE stores SET timings = '[{"day":"sunday","slots":[{"start_time":"09:00:00","end_time":"10:00:00"}]}]'
		WHERE business_id = ?0 AND id = ?1`, "web", console.PlaceShut, ""},
	{`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at)
		VALUES (?0, ?1, 'web', false, 'api', '', 'key:pos', gen_random_uuid(), now())`, "web", console.PlaceClosed, ""},
	{`INSERT INTO store_reports (business_id, store_id, platform, state, reason, since, reported_at)
		VALUES (?0, ?1, 'aggregator-a', 'closed', '', now(), now())`, "aggregator-a", console.PlaceClosedThere, ""},
	{`UPDATE store_overrides SET content = (content::jsonb || '{"available":false}')::json
		WHERE business_id = ?0 AND store_id = ?1 AND kind = 1`, "web", console.PlaceNoItems, "unavailable"},
	{`UPDATE publications SET state = 'failed', published_at = NULL WHERE business_id = ?0 AND store_id = ?1`,
		"aggregator-a", console.PlaceMenuFailed, ""},
	{`UPDATE publications SET state = 'failed' WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a",
		console.PlaceOldMenu, ""},
	{`UPDATE publications SET state = 'waiting' WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a",
		console.PlaceFirstMenu, ""},
	{`UPDATE publications SET state = 'skipped' WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a",
		console.PlaceNoMenu, ""},
	{`UPDATE publications SET available_at = now() WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a",
		console.PlaceUpdating, ""},
	{`UPDATE publications SET available_at = now(), note = 'stopped' WHERE business_id = ?0 AND store_id = ?1`,
		"aggregator-a", console.PlaceMenuWaits, ""},
	{`UPDATE publications SET problems = '[{"entity":"item","ref_id":"1i9","code":"c","message":"no image"}]'
		WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a", console.PlaceIncomplete, console.Shown},
	{`UPDATE publications SET problems = '[{"entity":"item","ref_id":"1i10","code":"c","message":"no image"}]'
		WHERE business_id = ?0 AND store_id = ?1`, "aggregator-a", console.PlaceIncomplete, console.ItemRejected},
	{`UPDATE store_overrides SET content = (content::jsonb || '{"current_stock":0}')::json
		WHERE business_id = ?0 AND store_id = ?1 AND id = 1010`, "web", console.PlaceLive, "out_of_stock"},
}

func TestEachFactSetsItsStoreApart(t *testing.T) {
	k := newChain(t, 2*len(storeFacts))
	pgtest.Exec(t, k.db, `UPDATE stores SET active = true, ordering_enabled = true, excluded_platforms = '{}',
		timings = '[]' WHERE business_id = ?`, k.business)
	pgtest.Exec(t, k.db, `UPDATE store_overrides SET content = (content::jsonb || '{"available":true}')::json
		WHERE business_id = ?`, k.business)
	for i, fact := range storeFacts {
		pgtest.Exec(t, k.db, fact.change, k.business, i+1)
	}
	read, working := consolemenus.New(k.db), []string{"aggregator-a"}
	grid, err := read.Grid(t.Context(), k.business, console.GridFilter{WorkingPlugins: working, Local: noon,
		Sort: console.SortRef, Limit: 99, After: console.GridCursor{Key: -1}})
	require.NoError(t, err)
	require.Len(t, grid.Stores, 2*len(storeFacts))
	list, _, err := read.ItemPlaces(t.Context(), k.business, console.Item{ID: 1010, RefID: "1i10"},
		console.ItemPlaceFilter{WorkingPlugins: working, Local: noon, Limit: 999})
	require.NoError(t, err)
	ofItem := map[int64]map[string]console.PlaceReason{}
	for _, place := range list {
		if ofItem[place.Store.ID] == nil {
			ofItem[place.Store.ID] = map[string]console.PlaceReason{}
		}
		ofItem[place.Store.ID][place.Platform] = place.Reason
	}
	for i, s := range grid.Stores {
		if i >= len(storeFacts) {
			require.Equal(t, map[string]console.PlaceReason{"web": "", "app": "", "aggregator-a": ""}, s.Reasons)
			require.Equal(t, s.Reasons, ofItem[s.ID])
			continue
		}
		fact := storeFacts[i]
		require.Equal(t, fact.reason, s.Reasons[fact.platform], fact.change)
		reason := cmp.Or(fact.ofItem, fact.reason)
		if reason == console.Shown {
			reason = console.PlaceLive
		}
		require.Equal(t, reason, ofItem[s.ID][fact.platform], fact.change)
	}
}
