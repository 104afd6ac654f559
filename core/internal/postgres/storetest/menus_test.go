package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/webhook"
)

// menuHarness is a business with stores and menus.
type menuHarness struct {
	t        *testing.T
	db       *postgres.DB
	business core.BusinessID
	rules    menu.IngestPolicy
}

// pluginGroups are sample declarations of plugins.
var pluginGroups = []menu.Declaration{
	{Group: "NutritionalInfo", On: menu.OnItem, Platform: "aggregator-a",
		Keys: keysNamed("caffeine_mg", "msg_mg", "carbohydrate_mg", "protein_mg",
			"cholesterol_mg", "saturatedfat_mg", "fat_mg", "transfat_mg", "sodium_mg", "calorie_kcal", "fiber_mg",
			"sugar_mg")},
	{Group: "Additional Info", On: menu.OnItem, Platform: "aggregator-b",
		Keys: []menu.Key{{Name: "accompaniments"}, {Name: "quantity"},
			{Name: "quantity_unit", Rule: menu.OneOf,
				Allowed: []string{"kg", "ounces", "pounds", "pieces", "scoop", "litre", "ml", "gram", "inches",
					"slices"}}}},
}

func keysNamed(names ...string) (keys []menu.Key) {
	for _, name := range names {
		keys = append(keys, menu.Key{Name: name})
	}
	return keys
}

func newMenuHarness(t *testing.T, db *postgres.DB, country string) *menuHarness {
	t.Helper()
	accounts := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
	b, err := accounts.CreateBusiness(context.Background(),
		core.Business{Name: "K", Country: country, Timezone: "UTC", Currency: "USD"}, webhook.NewSecret(), nil)
	require.NoError(t, err)
	vocabulary, err := menu.NewVocabulary(pluginGroups...)
	require.NoError(t, err)
	return &menuHarness{t, db, b.ID, menu.IngestPolicy{Vocabulary: vocabulary}}
}

func (k *menuHarness) handlers() map[core.JobKind]job.Handler {
	return map[core.JobKind]job.Handler{
		core.StoreJob: store.Ingestor{Storage: stores.New(k.db), Clock: k.db.Clock()},
		core.MenuJob: menu.Ingestor{Storage: menus.New(k.db), Policy: k.rules, RollbackStorage: menus.New(k.db),
			Clock: k.db.Clock()},
		core.RecheckJob: menu.Rechecker{Storage: menus.New(k.db), Clock: k.db.Clock()},
		core.TimingJob:  menu.TimingIngestor{Storage: menus.New(k.db), Clock: k.db.Clock()},
	}
}

// enqueue queues a job.
func (k *menuHarness) enqueue(kind core.JobKind, location, body string, dryRun bool) core.ID {
	now := k.db.Clock().Now()
	work := core.Job{ID: core.NewID(now), Business: k.business, Kind: kind, Subject: location, Body: []byte(body),
		CreatedAt: now, DryRun: dryRun}
	require.NoError(k.t, jobsdb.New(k.db).Enqueue(context.Background(), work, ""))
	return work.ID
}

// runJobs runs the queued jobs one by one, like a runner.
func (k *menuHarness) runJobs() error {
	jobs := jobsdb.New(k.db)
	for {
		claimed, _, err := jobs.Claim(context.Background(), core.ID{7}, 1, k.db.Clock().Now().Add(time.Hour))
		if err != nil || len(claimed) == 0 {
			return err
		}
		if claimed[0].Size > 0 {
			claimed[0], err = jobs.Load(context.Background(), claimed[0])
			require.NoError(k.t, err)
		}
		if err := k.handlers()[claimed[0].Kind].Run(context.Background(), claimed[0], func(int, int) {}); err != nil {
			return errors.Join(err, jobs.Retry(context.Background(), claimed[0], k.db.Clock().Now(), "again"))
		}
	}
}

// send runs a menu request and returns its callback.
func (k *menuHarness) send(location, body string) (callback map[string]any) {
	k.t.Helper()
	reference := k.enqueue(core.MenuJob, location, body, false)
	require.NoError(k.t, k.runJobs())
	require.NoError(k.t, json.Unmarshal(pgtest.EventBody(k.t, k.db, reference), &callback))
	require.Equal(k.t, reference.String(), callback["reference"])
	return callback
}

func (k *menuHarness) store(ref string) {
	k.enqueue(core.StoreJob, "",
		fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"N","city":"C","excluded_platforms":[]}]}`, ref), false)
	require.NoError(k.t, k.runJobs())
}

// read returns the read-back of a location as JSON.
func (k *menuHarness) read(location string) map[string]any {
	k.t.Helper()
	records := menus.New(k.db)
	_, scope, err := records.ResolveLocation(context.Background(), k.business, location)
	require.NoError(k.t, err)
	full, err := records.Menu(context.Background(), k.business, scope.StoreID)
	require.NoError(k.t, err)
	return asObject(k.t, menu.ReadBack(scope, full, menu.View{}))
}

func asObject(t *testing.T, v any) (object map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &object))
	return object
}

const dinner = `{"categories":[{"ref_id":"mains","name":"Mains"},{"ref_id":"hot","name":"Hot","parent_ref_id":"mains"}],
	"items":[{"ref_id":"curry","title":"Curry 🍛","price":12.50,"category_ref_ids":["hot"],` +
	`"tags":{"default":["spicy"]},"platform_pricing":[{"platform":"web","price":11}]},
	         {"ref_id":"rice","title":"Rice","price":3}],
	"option_groups":[{"ref_id":"size","title":"Size","min_selectable":1,"max_selectable":1,` +
	`"item_ref_ids":["curry"]},{"ref_id":"extra","title":"Extra"}],
	"options":[{"ref_id":"big","title":"Big","price":2,"opt_grp_ref_ids":["size"],"nested_opt_grps":["extra"]},` +
	`{"ref_id":"egg","title":"Egg","price":1,"opt_grp_ref_ids":["extra"]}],
	"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":7.25},"item_ref_ids":["all"]}],
	"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":0.5,"applicable_on":"item.quantity"},` +
	`"item_ref_ids":["curry"]}]}`

func TestStoredMenuReadsBackAsSent(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	callback := k.send("-1", dinner)
	require.Equal(t, map[string]any{"created": 2.0, "updated": 0.0, "deleted": 0.0, "errors": 0.0},
		callback["stats"].(map[string]any)["items"])
	master := k.read("-1")
	curry := master["items"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"hot"}, curry["category_ref_ids"])
	require.Equal(t, []any{"size"}, curry["option_group_ref_ids"])
	require.Equal(t, 12.5, curry["price"])
	require.Equal(t, []any{"all"}, master["taxes"].([]any)[0].(map[string]any)["item_ref_ids"])
	require.Equal(t, []any{"curry"}, master["charges"].([]any)[0].(map[string]any)["item_ref_ids"])
	require.Empty(t, k.read("s1")["items"])

	k.send("s1",
		`{"items":[{"ref_id":"curry","price":13},{"ref_id":"soup","title":"Soup","price":5}],`+
			`"options":[{"ref_id":"big","price":2.5},{"ref_id":"egg","price":1}]}`)
	k.send("-1", `{"items":[{"ref_id":"curry","title":"Curry","price":99}]}`)
	atStore := k.read("s1")["items"].([]any)
	require.Len(t, atStore, 2)
	require.Equal(t, 13.0, atStore[0].(map[string]any)["price"], "a change of the master is never seen at a store")
	require.Equal(t, "Curry", atStore[0].(map[string]any)["title"], "the version of the catalogue, which stores share")

	again := k.read("-1")
	require.Equal(t, []int64{}, touched(t, k, "-1", `{"items":[{"ref_id":"curry","title":"Curry","price":99}]}`))
	require.Equal(t, again, k.read("-1"))
}

// touched returns the stores whose menu versions a request changes.
func touched(t *testing.T, k *menuHarness, location, body string) []int64 {
	before := pgtest.MenuVersions(t, k.db)
	k.send(location, body)
	list := []int64{}
	for store, version := range pgtest.MenuVersions(t, k.db) {
		if before[store] != version {
			list = append(list, store)
		}
	}
	return list
}

func TestFlushDeactivatesItemsAtMasterAndStore(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.store("s2")
	k.send("-1", dinner)
	for _, location := range []string{"s1", "s2"} {
		k.send(location,
			`{"categories":[{"ref_id":"mains"}],"items":[{"ref_id":"curry","price":1},{"ref_id":"rice","price":1}],`+
				`"options":[{"ref_id":"big","price":1}]}`)
	}
	k.send("s1", `{"flush_items":true,"items":[{"ref_id":"rice","price":1}]}`)
	require.Len(t, k.read("s1")["items"], 1)
	require.Len(t, k.read("s2")["items"], 2)

	preview := k.enqueue(core.MenuJob, "-1",
		`{"flush_items":true,"items":[{"ref_id":"curry","price":1}],"flush_categories":true,"categories":[]}`, true)
	require.NoError(t, k.runJobs())
	status, err := jobsdb.New(k.db).Status(context.Background(), k.business, preview)
	require.NoError(t, err)
	var changes menu.Preview
	require.NoError(t, json.Unmarshal(status.Result, &changes))
	require.Equal(t, []string{"rice"}, changes.Kinds["items"].Deactivated)
	require.Equal(t, []menu.Disassociation{{RefID: "curry", Stores: 1}, {RefID: "rice", Stores: 2}},
		changes.Kinds["items"].Disassociated)
	require.Equal(t, []menu.Disassociation{{RefID: "mains", Stores: 2}}, changes.Kinds["categories"].Disassociated)
	require.Len(t, k.read("s2")["items"], 2, "a dry run writes nothing")

	callback := k.send("-1", `{"flush_items":true,"items":[{"ref_id":"curry","price":1}]}`)
	require.Equal(t, 2.0, callback["stats"].(map[string]any)["items"].(map[string]any)["deleted"])
	require.Empty(t, k.read("s2")["items"])
	require.Empty(t, k.read("s1")["items"])
	require.Len(t, k.read("s1")["options"], 1)
	active := map[string]bool{}
	for _, item := range k.read("-1")["items"].([]any) {
		active[item.(map[string]any)["ref_id"].(string)] = item.(map[string]any)["active"].(bool)
	}
	require.Equal(t, map[string]bool{"curry": true, "rice": false}, active)
}

func TestFlushedOptionsDoNotCauseGroupCycles(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.send("-1", `{"option_groups":[{"ref_id":"A","title":"a"},{"ref_id":"B","title":"b"}],
		"options":[{"ref_id":"x","title":"x","price":0,"opt_grp_ref_ids":["A"],"nested_opt_grps":["B"]}]}`)
	k.send("-1", `{"flush_options":true,"options":[]}`)
	callback := k.send("-1",
		`{"options":[{"ref_id":"z","title":"z","price":0,"opt_grp_ref_ids":["B"],"nested_opt_grps":["A"]}]}`)
	require.Contains(t, callback["warnings"].([]any)[0].(map[string]any)["message"],
		`nested_opt_grps of "x", which is inactive, are cleared`)
	nested := map[string]any{}
	for _, option := range k.read("-1")["options"].([]any) {
		nested[option.(map[string]any)["ref_id"].(string)] = option.(map[string]any)["nested_opt_grps"]
	}
	require.Equal(t, map[string]any{"x": []any{}, "z": []any{"A"}}, nested)

	callback = k.send("-1", `{"options":[{"ref_id":"x","price":0,"available":true,"nested_opt_grps":["B"]}]}`)
	status := callback["options"].([]any)[0].(map[string]any)["upipr_status"].(map[string]any)
	require.Equal(t, `nested_opt_grps makes a cycle of option groups: "A" > "B" > "A" (by option "z")`,
		status["err_msg"])
}

// TestMenuIngestSurvivesACrashAtEveryStatement breaks the connection before each statement of
// an ingest. The job must leave nothing half done, and must succeed afterwards.
func TestMenuIngestSurvivesACrashAtEveryStatement(t *testing.T) {
	const change = `{"flush_items":true,"items":[{"ref_id":"curry","title":"New","price":1},{"ref_id":"tea",` +
		`"title":"Tea","price":2,"category_ref_ids":["mains2"]}],
		"categories":[{"ref_id":"mains2","name":"M2"}],"option_groups":[{"ref_id":"size","title":"S2",` +
		`"clear_items":true}],
		"options":[{"ref_id":"egg","price":9,"clear_opt_grps":true}],"taxes":[{"code":"ST_P","title":"Sales Tax",` +
		`"structure":{"value":8},"item_ref_ids":["curry"]}]}`
	db := hubtest.Database(t, nil)
	for n := 1; ; n++ {
		k := newMenuHarness(t, db, "US")
		k.store("s1")
		k.send("-1", dinner)
		k.send("s1", `{"items":[{"ref_id":"curry","price":1},{"ref_id":"rice","price":1}]}`)
		master, atStore := k.read("-1"), k.read("s1")
		reference := k.enqueue(core.MenuJob, "-1", change, false)
		broken := pgtest.BreakAt(db, n)
		err := k.runJobs()
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 15, "the ingest has that many statements")
			return
		}
		if state, _ := jobState(t, db, reference); state != "done" {
			require.Error(t, err)
			require.Equal(t, master, k.read("-1"), "statement %d", n)
			require.Equal(t, atStore, k.read("s1"), "statement %d", n)
			// The lost statement may have been a claim that the database has committed.
			pgtest.Exec(t, db, `UPDATE job_queue SET available_at = ?`, db.Clock().Now())
		}
		require.NoError(t, k.runJobs())
		require.Contains(t, string(pgtest.EventBody(t, db, reference)), `"tea"`)
		require.Empty(t, k.read("s1")["items"])
		require.Len(t, k.read("-1")["items"], 3)
	}
}

func TestRealMenusReadBackAsSent(t *testing.T) {
	if testing.Short() {
		t.Skip(oneGoroutine)
	}
	for name, country := range map[string]string{
		"menu-fastfood.json": "US", "menu-drinks.json": "US", "menu-indian-foods.json": "IN",
		"menu-square-sample.json": "US", "menu-max.json": "IN",
	} {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("../../../../../shared/data", name))
			if err != nil {
				t.Skip("the large data files are not beside this checkout")
			}
			k := newMenuHarness(t, hubtest.Database(t, nil), country)
			var sent map[string][]map[string]any
			require.NoError(t, json.Unmarshal(body, &sent))
			for _, outcome := range []string{"created", "updated"} {
				callback := k.send("-1", string(body))
				for kind, objects := range sent {
					stats := callback["stats"].(map[string]any)[kind].(map[string]any)
					require.Equal(t, float64(len(objects)), stats[outcome], "%s %s: %v", kind, outcome, stats)
				}
			}
			requireEqualToSent(t, sent, k.read("-1"))
		})
	}
}

// requireEqualToSent compares each object in the read-back with the sent one. It ignores fields
// that the hub adds.
func requireEqualToSent(t *testing.T, sent map[string][]map[string]any, read map[string]any) {
	t.Helper()
	key := func(object map[string]any) string {
		if ref, has := object["ref_id"]; has {
			return ref.(string)
		}
		return fmt.Sprint(object["code"], object["structure"])
	}
	for kind, objects := range sent {
		back := map[string]map[string]any{}
		for _, object := range read[kind].([]any) {
			back[key(object.(map[string]any))] = object.(map[string]any)
		}
		for _, want := range objects {
			got := back[key(want)]
			require.NotNil(t, got, "%s %s", kind, key(want))
			for field, value := range want {
				if strings.HasPrefix(field, "clear_") || value == nil ||
					strings.HasSuffix(field, "_ref_ids") && len(value.([]any)) == 0 {
					continue
				}
				require.Equal(t, value, got[field], "%s %s: %s", kind, key(want), field)
			}
		}
	}
}
