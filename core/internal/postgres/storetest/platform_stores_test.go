package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
)

func TestDuplicatePlatformStoreIDIsRejected(t *testing.T) {
	p := newPublishHarness(t)
	pgtest.Exec(t, p.db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'site', 'own')`, p.business)
	platforms, callers := platformsdb.New(p.db), platformsdb.NewCallers(p.db)
	sendStores := func(stores string) string {
		reference := p.enqueue(core.StoreJob, "", `{"stores":[`+stores+`]}`, false)
		require.NoError(t, p.runJobs())
		return string(pgtest.EventBody(t, p.db, reference))
	}
	require.Contains(t,
		sendStores(`{"ref_id":"s1","platform_data":[{"name":"a","platform_store_id":"R-1"},{"name":"site",`+
			`"platform_store_id":"7"}]}`), `"errors":0`)
	body :=
		sendStores(`{"ref_id":"s2","name":"Renamed","platform_data":[{"name":"a","platform_store_id":"R-1"}]},` +
			`{"ref_id":"s3","name":"N","city":"C","platform_data":[{"name":"b","platform_store_id":"s2"}]}`)
	require.Contains(t, body, `"errors":2`)
	require.Contains(t, body, `platform_data: platform \"a\" already has store \"s1\" under the id \"R-1\"`)
	require.Contains(t, body, `platform_data: platform \"b\" already has store \"s2\" under the id \"s2\"`)
	require.Contains(t,
		sendStores(`{"ref_id":"s2","platform_data":[{"name":"site","platform_store_id":"7"},{"name":"b",`+
			`"platform_store_id":"R-1"}]}`), `"errors":0`, "ids are per platform")
	err := platforms.Set(t.Context(), p.business, core.Platform{Name: "site", ServedBy: "aggregator-a"},
		func(*relay.Access) error { return nil })
	require.ErrorContains(t, err, `the platform "site" would know the stores "s1" and "s2" by "7"`)
	require.Contains(t,
		sendStores(`{"ref_id":"s1","platform_data":[{"name":"a","platform_store_id":"R-2"}]},{"ref_id":"s2",`+
			`"platform_data":[{"name":"a","platform_store_id":"R-1"}]}`), `"errors":0`, "one that another gives up")

	name := func(platform, ref, id string) error {
		return pgtest.SetPlatformStoreIDs(t.Context(), p.db, p.business, platform, map[string]string{ref: id})
	}
	require.Equal(t, core.Invalid, core.CodeOf(name("b", "s2", "..")))
	require.Equal(t, core.Conflict, core.CodeOf(name("b", "s2", "s1")), "the ref_id by which it is known")
	require.NoError(t, name("a", "s2", "s1"), "the other store has its own id there")
	require.Equal(t, core.Conflict, core.CodeOf(name("a", "s1", "")), "and cannot give it up")
	for id, ref := range map[string]string{"s1": "s2", "R-2": "s1"} {
		found, err := callers.StoreRef(t.Context(), p.business, "a", id)
		require.NoError(t, err)
		require.Equal(t, ref, found)
	}
	found, err := callers.StoreRef(t.Context(), p.business, "b", "s1")
	require.NoError(t, err)
	require.Equal(t, "s1", found, "it is known by its ref_id")
	pgtest.Exec(t, p.db,
		`UPDATE stores SET platform_data = platform_data || '[{"name":"c"},{"name":"b",`+
			`"platform_store_id":""}]' WHERE ref_id = 's1'`)
	for _, unknown := range []string{"", "R-1", "s1"} { // R-1 is an id on platform b
		_, err = callers.StoreRef(t.Context(), p.business, "c", unknown)
		require.Equal(t, core.NotFound, core.CodeOf(err), "there is no such platform")
		_, err = callers.StoreRef(t.Context(), p.business, "a", map[string]string{"s1": "s3"}[unknown])
		require.Equal(t, core.NotFound, core.CodeOf(err))
	}
}

func TestListedStoreKeepsItsPublishedStoreID(t *testing.T) {
	p := newPublishHarness(t)
	source := menus.NewMenuSource(p.db)
	onSale := func(ref string) string {
		s, err := source.Read(t.Context(), p.business, p.storeID(ref), "a")
		require.NoError(t, err)
		return s.PublishedStoreID
	}
	finishAs := func(state publishing.State) {
		p.clock.Advance(2 * time.Second)
		work, _ := p.claim(me)
		for _, w := range work {
			s, err := source.Read(t.Context(), p.business, w.StoreID, w.Platform)
			require.NoError(t, err)
			r := p.published(w)
			if r.PlatformStoreID = s.PlatformStoreID; r.PlatformStoreID == "" {
				r.PlatformStoreID = w.StoreRef
			}
			r.State = state
			p.finish(me, r)
		}
	}
	require.Equal(t, "s1", onSale("s1"), "no id was stored: the current one")
	p.stores(`{"ref_id":"s1","platform_data":[{"name":"a","platform_store_id":"R-1"}]}`)
	finishAs(publishing.Published)
	p.stores(`{"ref_id":"s1","platform_data":[{"name":"a","platform_store_id":"R-2"}]}`)
	require.Equal(t, "R-1", onSale("s1"))
	finishAs(publishing.Failed)
	require.Equal(t, "R-1", onSale("s1"), "the other id took no menu")
	p.stores(`{"ref_id":"s2","platform_data":[{"name":"a","platform_store_id":"R-1"}]}`)
	require.Empty(t, onSale("s1"), "the id belongs to another store now")
	p.stores(`{"ref_id":"s2","platform_data":[],"included_platforms":[]}`)
	p.stores(`{"ref_id":"s1","platform_data":[],"included_platforms":["b"]}`)
	require.Equal(t, "R-1", onSale("s1"), "it is unlisted under the published id")
	finishAs(publishing.Unlisted)
	require.Equal(t, "R-1", onSale("s1"))
	p.stores(`{"ref_id":"s1","included_platforms":["a"]}`)
	require.Empty(t, onSale("s1"), "it was unlisted")
}

func TestChangingPluginsForgetsPublishedMenus(t *testing.T) {
	p := newPublishHarness(t)
	served := func(by string) {
		require.NoError(t, platformsdb.New(p.db).Set(t.Context(), p.business, core.Platform{Name: "a", ServedBy: by},
			func(*relay.Access) error { return nil }))
	}
	onSale := func() string {
		s, err := menus.NewMenuSource(p.db).Read(t.Context(), p.business, p.storeID("s1"), "a")
		require.NoError(t, err)
		return s.PublishedStoreID
	}
	served("aggregator-a")
	p.clock.Advance(2 * time.Second)
	former, names := p.claim(me)
	require.Equal(t, []string{"s1/a", "s2/a"}, names)
	require.NotNil(t, former[0].Digest)
	require.Equal(t, "s1", onSale(), "it is the same plugin")

	served("aggregator-b")
	require.Empty(t, onSale())
	p.finish(me, p.published(former[0]))
	p.clock.Advance(2 * time.Second)
	fresh, names := p.claim(other)
	require.Equal(t, []string{"s1/a", "s2/a"}, names, "a running publication of the former plugin blocks nothing")
	p.finish(me, p.published(former[1]))
	require.Empty(t, onSale(), "nor does it count")
	for _, one := range append(p.list("s1"), p.list("s2")...) {
		if one.Platform == "a" {
			require.Equal(t, publishing.Waiting, one.State)
			require.Zero(t, one.PublishedAt)
		}
	}
	for _, w := range fresh {
		require.Equal(t, "aggregator-b", w.Plugin)
		require.Nil(t, w.Digest)
		p.finish(other, p.published(w))
	}
	require.Equal(t, "s1", onSale())
}
