package storetest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	aliasesdb "github.com/servery-hub/servery/core/internal/postgres/aliases"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	storesdb "github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// noChange leaves the settings of a platform as they are.
func noChange(*relay.Access) error { return nil }

// alias adds an alias.
func (k *menuHarness) alias(alias, platform string, sent *bool) error {
	k.t.Helper()
	return aliasesdb.New(k.db).AddAlias(k.t.Context(), k.business,
		core.NewPlatformAlias{Alias: alias, Platform: platform, InEvents: sent},
		access.Change{Business: k.business, Actor: "test", Action: "platform.alias"})
}

// pushStores sends a store request and returns the stores of the callback.
func (k *menuHarness) pushStores(stores string) []any {
	k.t.Helper()
	reference := k.enqueue(core.StoreJob, "", `{"stores":[`+stores+`]}`, false)
	require.NoError(k.t, k.runJobs())
	var callback struct{ Stores []any }
	require.NoError(k.t, json.Unmarshal(pgtest.EventBody(k.t, k.db, reference), &callback))
	return callback.Stores
}

func (k *menuHarness) stored(ref string) store.Stored {
	k.t.Helper()
	stored, err := storesdb.New(k.db).Get(k.t.Context(), k.business, ref)
	require.NoError(k.t, err)
	return stored
}

func TestUnknownPlatformCountsOnceItIsAdded(t *testing.T) {
	p := newPublishHarness(t)
	pushed := p.pushStores(`{"ref_id":"s9","name":"N","city":"C","included_platforms":["newplatform"],
		"platform_data":[{"name":"newplatform","platform_store_id":"R-9"}]}`)[0].(map[string]any)
	require.Equal(t, false, pushed["upipr_status"].(map[string]any)["error"])
	require.Len(t, pushed["warnings"], 2)
	p.send("-1", `{"items":[{"ref_id":"curry","price":12.5,"included_platforms":["newplatform"]}]}`)
	p.send("s9", `{"items":[{"ref_id":"curry","price":1}]}`)
	_, names := p.claim(me)
	require.NotContains(t, names, "s9/newplatform")
	require.NoError(t, platformsdb.New(p.db).Set(t.Context(), p.business,
		core.Platform{Name: "newplatform", ServedBy: "aggregator-a"}, noChange))
	p.clock.Advance(2 * time.Second)
	_, names = p.claim(me)
	require.Contains(t, names, "s9/newplatform", "its menu is published without a new push")
	ref, err := platformsdb.NewCallers(p.db).StoreRef(t.Context(), p.business, "newplatform", "R-9")
	require.NoError(t, err)
	require.Equal(t, "s9", ref)
	require.Len(t, p.effective("s9", "newplatform").Items, 1)
	require.Empty(t, p.effective("s9", "a").Items)
}

func TestAliasCountsForWhatIsStored(t *testing.T) {
	p := newPublishHarness(t)
	p.pushStores(`{"ref_id":"s9","name":"N","city":"C","included_platforms":["zomato","web"],
		"platform_data":[{"name":"zomato","platform_store_id":"R-9"}]},
		{"ref_id":"s2","excluded_platforms":["zomato"]}`)
	p.send("-1", `{"items":[{"ref_id":"curry","price":12.5,"included_platforms":["zomato"],
			"tags":{"zomato":["x"]},"images":[{"tag":"zomato","url":"https://a.example/1"}],
			"platform_pricing":[{"platform":"zomato","price":20}]}],
		"options":[{"ref_id":"big","price":2,"images":[{"tag":"zomato","url":"https://a.example/2"}]}],
		"charges":[{"code":"PC_F","structure":{"value":0.5,"applicable_on":"item.quantity"},
			"excluded_platforms":["zomato"]}]}`)
	p.clock.Advance(time.Second) // revisions are sorted by time
	p.send("s9", `{"items":[{"ref_id":"curry","price":1,"platform_pricing":[{"platform":"zomato","price":30}]}]}`)
	before := p.revisions(menu.RevisionFilter{})[0].ID
	p.clock.Advance(time.Second)
	p.send("-1", `{"items":[{"ref_id":"curry","price":13}]}`)
	require.Empty(t, p.effective("s9", "a").Items)

	require.NoError(t, p.alias("zomato", "a", nil))
	s9 := p.stored("s9")
	require.Equal(t, []string{"a", "web"}, s9.IncludedPlatforms)
	require.Equal(t, []store.PlatformData{{Name: "a", PlatformStoreID: "R-9"}}, s9.PlatformData)
	require.Equal(t, []string{"a"}, p.stored("s2").ExcludedPlatforms)
	require.Nil(t, p.stored("s2").IncludedPlatforms)
	require.Nil(t, p.stored("s1").PlatformData, "others stay as they are")
	check := func() {
		t.Helper()
		master := p.read("-1")
		item := master["items"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"a"}, item["included_platforms"])
		require.Equal(t, map[string]any{"a": []any{"x"}}, item["tags"])
		require.Equal(t, []any{map[string]any{"platform": "a", "price": 20.0}, map[string]any{"platform": "web",
			"price": 11.0}}, item["platform_pricing"])
		require.Equal(t, "a", item["images"].([]any)[0].(map[string]any)["tag"])
		option := master["options"].([]any)[0].(map[string]any)
		require.Equal(t, "a", option["images"].([]any)[0].(map[string]any)["tag"])
		require.Equal(t, []any{"a"}, master["charges"].([]any)[0].(map[string]any)["excluded_platforms"])
	}
	check()
	shown := p.effective("s9", "zomato")
	require.Equal(t, "30", shown.Items[0].Price.String())
	require.Equal(t, []string{"x"}, shown.Items[0].Tags)
	p.clock.Advance(2 * time.Second)
	work, names := p.claim(me)
	require.Contains(t, names, "s9/a", "the change is published")
	for _, w := range work {
		require.Equal(t, map[string]string{"a": "zomato", "b": "b"}[w.Platform], w.EventPlatform, "for its events")
	}

	p.rollBack(before)
	check() // a rollback restores what is older than the alias
	require.Empty(t, p.effective("s1", "b").Items)
}

func TestAliasesAreDistinctAndOneIsSent(t *testing.T) {
	p := newPublishHarness(t)
	aliases, yes, no := aliasesdb.New(p.db), true, false
	change := access.Change{Business: p.business, Actor: "test", Action: "platform.send_alias", Why: "a test"}
	list := func() []core.PlatformAlias {
		t.Helper()
		list, err := aliases.ListAliases(t.Context(), p.business)
		require.NoError(t, err)
		return list
	}
	require.NoError(t, p.alias("one", "a", nil))
	require.NoError(t, p.alias("two", "a", nil))
	require.NoError(t, p.alias("three", "b", &no))
	require.Equal(t, []core.PlatformAlias{{Alias: "one", Platform: "a", InEvents: true}, {Alias: "two", Platform: "a"},
		{Alias: "three", Platform: "b"}}, list())
	require.NoError(t, p.alias("four", "a", &yes))
	require.NoError(t, aliases.SendAlias(t.Context(), p.business, "three", true, change))
	require.NoError(t, aliases.SendAlias(t.Context(), p.business, "two", true, change))
	require.NoError(t, aliases.SendAlias(t.Context(), p.business, "two", true, change), "as it is already")
	require.Equal(t, []core.PlatformAlias{{Alias: "four", Platform: "a"}, {Alias: "one", Platform: "a"},
		{Alias: "two", Platform: "a", InEvents: true}, {Alias: "three", Platform: "b", InEvents: true}}, list())
	require.NoError(t, aliases.RemoveAlias(t.Context(), p.business, "two", change))
	require.NoError(t, aliases.SendAlias(t.Context(), p.business, "three", false, change))

	otherBusiness := newMenuHarness(t, p.db, "US")
	require.NoError(t, otherBusiness.alias("one", "web", nil), "aliases belong to one business")
	for _, c := range []struct {
		alias, platform string
		code            core.Code
	}{{"", "a", core.Invalid}, {"default", "a", core.Invalid}, {"x", "mars", core.NotFound},
		{"x", "one", core.NotFound},
		{"one", "b", core.Conflict}, {"b", "a", core.Conflict}, {"a", "a", core.Conflict}} {
		require.Equal(t, c.code, core.CodeOf(p.alias(c.alias, c.platform, nil)), "%q of %q", c.alias, c.platform)
	}
	require.Equal(t, core.NotFound, core.CodeOf(aliases.RemoveAlias(t.Context(), p.business, "two", change)))
	require.Equal(t, core.NotFound, core.CodeOf(aliases.SendAlias(t.Context(), p.business, "two", true, change)))
	err := platformsdb.New(p.db).Set(t.Context(), p.business, core.Platform{Name: "one", ServedBy: "own"}, noChange)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.ErrorContains(t, err, `"one" is an alias of the platform "a": remove the alias before you add a platform`)
	err = platformsdb.New(p.db).Set(t.Context(), p.business, core.Platform{Name: "default", ServedBy: "own"}, noChange)
	require.ErrorContains(t, err, `a platform must not be named "default"`)

	entries, err := consolelists.New(p.db).Audit(t.Context(), p.business,
		console.EntryFilter{Object: "platform/a", Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 5, "three added, one sent, one removed")
	var details string
	for _, e := range entries {
		details += string(e.Detail)
	}
	require.Contains(t, details, `"before": {"sent": true, "alias": "two"}`)
}

func TestNewNameRefusesTwoStoresOfOneID(t *testing.T) {
	p := newPublishHarness(t)
	p.pushStores(`{"ref_id":"s1","platform_data":[{"name":"a","platform_store_id":"R-1"}]},
		{"ref_id":"s2","platform_data":[{"name":"zomato","platform_store_id":"R-1"}]}`)
	err := p.alias("zomato", "a", nil)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.ErrorContains(t, err, `the platform "a" would know the stores "s1" and "s2" by "R-1"`)
	require.Equal(t, "zomato", p.stored("s2").PlatformData[0].Name, "nothing was changed")
	p.pushStores(`{"ref_id":"s2","platform_data":[{"name":"zomato","platform_store_id":"R-2"}]}`)
	require.NoError(t, p.alias("zomato", "a", nil))

	p.pushStores(`{"ref_id":"s1","platform_data":[{"name":"new","platform_store_id":"R-1"}]},
		{"ref_id":"s2","platform_data":[{"name":"new","platform_store_id":"R-1"}]}`)
	add := func(served string) error {
		return platformsdb.New(p.db).Set(t.Context(), p.business, core.Platform{Name: "new", ServedBy: served},
			noChange)
	}
	require.ErrorContains(t, add("aggregator-a"), `the platform "new" would know the stores "s1" and "s2" by "R-1"`)
	require.NoError(t, add("own"), "own channels may share ids")
}

func TestAliasAndPlatformOfOneNameExclude(t *testing.T) {
	p := newPublishHarness(t)
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		var both sync.WaitGroup
		var failures [2]error
		both.Go(func() { failures[0] = p.alias(name, "a", nil) })
		both.Go(func() {
			failures[1] = platformsdb.New(p.db).Set(t.Context(), p.business, core.Platform{Name: name, ServedBy: "own"},
				noChange)
		})
		both.Wait()
		failed := slices.IndexFunc(failures[:], func(err error) bool { return err != nil })
		require.NotEqual(t, -1, failed, "one of them fails")
		require.Equal(t, core.Conflict, core.CodeOf(failures[failed]))
		require.NoError(t, failures[1-failed])
	}
}

func TestNewStoresAreListedAsTheBusinessSays(t *testing.T) {
	p := newPublishHarness(t)
	records := storesdb.New(p.db)
	change := access.Change{Business: p.business, Actor: "test", Action: "business.list_stores", Why: "a test"}
	create := func(ref string) store.Stored {
		p.pushStores(`{"ref_id":"` + ref + `","name":"N","city":"C"}`)
		return p.stored(ref)
	}
	require.Nil(t, create("n1").ExcludedPlatforms)
	require.Equal(t, core.Conflict,
		core.CodeOf(records.SetDefaultListing(t.Context(), p.business, store.ListAll, store.ListAll, change)))
	require.NoError(t, records.SetDefaultListing(t.Context(), p.business, store.ListNone, store.ListAll, change))
	require.NoError(t, records.SetDefaultListing(t.Context(), p.business, "", store.ListAll, change),
		"as it is already")
	listing, err := records.DefaultListing(t.Context(), p.business)
	require.NoError(t, err)
	require.Equal(t, store.ListAll, listing)
	require.Equal(t, []string{}, create("n2").ExcludedPlatforms)
	require.Nil(t, create("n1").ExcludedPlatforms, "an update without lists changes no list")
	p.clock.Advance(2 * time.Second)
	_, names := p.claim(me)
	require.Subset(t, names, []string{"n2/a", "n2/b"})
	require.NotContains(t, names, "n1/a")
	require.Equal(t, core.NotFound, core.CodeOf(records.SetDefaultListing(t.Context(), 999, "", store.ListAll, change)))
	entries, err := consolelists.New(p.db).Audit(t.Context(), p.business,
		console.EntryFilter{Actor: "test", Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Contains(t, string(entries[0].Detail), `"after": {"list-stores": "all"}`)
}
