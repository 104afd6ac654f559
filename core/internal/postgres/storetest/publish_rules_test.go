package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/menu"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

// recheck queues and claims the recheck of a platform.
func (k *menuHarness) recheck(platform string) core.Job {
	k.t.Helper()
	k.enqueue(core.RecheckJob, platform, "{}", false)
	claimed, _, err := jobsdb.New(k.db).Claim(context.Background(), core.ID{7}, 1, k.db.Clock().Now().Add(time.Hour))
	require.NoError(k.t, err)
	require.Len(k.t, claimed, 1)
	return claimed[0]
}

func TestItemRejectedByAPlatformFlagsItsOrders(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, menus := newMenuHarness(t, db, "US"), menusdb.New(db)
	k.store("s1")
	k.send("s1", counter)
	intake := newIntake(t, db)
	const dal = `{"ref_id":"dal","quantity":1}`
	flags := func(id, platform string) any {
		return len(k.placeOrder(intake, k.arrival(id, platform, dal, "")).Order.Details.Flags)
	}
	require.Equal(t, []any{0, 0}, []any{flags("1", "app"), flags("1", "web")})

	items, err := menus.ItemsAfter(t.Context(), k.business, 0, 100)
	require.NoError(t, err)
	require.Len(t, items, 6)
	version, err := menus.CatalogueVersion(t.Context(), k.business)
	require.NoError(t, err)
	work := k.recheck("app")
	found := map[string][]menu.Finding{"dal": {{Platform: "app", Rule: "r", Message: "m"}},
		"naan": {{Platform: "app", Rule: "r", Message: "m"}}}
	k.send("-1", `{"items":[{"ref_id":"naan","title":"Changed meanwhile","price":2}]}`)
	page := menu.CheckedItems{Items: items, Findings: found, Version: version}
	stale, err := menus.ReplaceFindings(t.Context(), work, page, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, 6, stale, "the findings may depend on what has changed")
	require.Equal(t, 0, flags("2", "app"))
	page.Version = 0
	stale, err = menus.ReplaceFindings(t.Context(), work, page, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, 1, stale, "an item that changed since it was read is skipped")
	require.Equal(t, []any{1, 0}, []any{flags("3", "app"), flags("3", "web")})
	full, err := menus.Menu(t.Context(), k.business, 0)
	require.NoError(t, err)
	require.Len(t, full.Blocked["app"], 1)

	require.NoError(t, menus.EndRecheck(t.Context(), work, "", []byte(`{}`), 6))
	_, err = menus.ReplaceFindings(t.Context(), work, menu.CheckedItems{Items: items}, []byte("{}"))
	require.Equal(t, core.Conflict, core.CodeOf(err), "the lease is over")
	require.Equal(t, 1, flags("4", "app"))
}

func TestChangedFindingsRepublishTheirStores(t *testing.T) {
	p := newPublishHarness(t)
	menus := menusdb.New(p.db)
	items, err := menus.ItemsAfter(t.Context(), p.business, 0, 100)
	require.NoError(t, err)
	found := map[string][]menu.Finding{"curry": {{Platform: "a", Rule: "r", Message: "m"}}}
	for _, publicationNames := range [][]string{{"s1/a", "s1/b"}, nil} { // the second run finds nothing new
		work := p.recheck("a")
		require.Equal(t, publicationNames, p.marked(func() {
			_, err := menus.ReplaceFindings(t.Context(), work, menu.CheckedItems{Items: items, Findings: found},
				[]byte("{}"))
			require.NoError(t, err)
		}))
		require.NoError(t, menus.EndRecheck(t.Context(), work, "", []byte(`{}`), 1))
	}
	source := menusdb.NewMenuSource(p.db)
	full, err := menus.Menu(t.Context(), p.business, 0)
	require.NoError(t, err)
	for range 2 { // from the database, then from the cache
		s, err := source.Read(t.Context(), p.business, p.storeID("s1"), "a")
		require.NoError(t, err)
		require.True(t, s.Listed)
		require.Equal(t, []publishing.Problem{{Entity: "item", RefID: "curry", Code: "r", Message: "m"}}, s.LeftOut)
		require.Equal(t, full.Items, s.Menu.Items)
		require.Len(t, s.Menu.Store.Items, 1)
		require.Equal(t, "USD", s.Currency)
	}
	p.send("-1", `{"items":[{"ref_id":"rice","title":"Other","price":3}]}`)
	s, err := source.Read(t.Context(), p.business, p.storeID("s2"), "b")
	require.NoError(t, err)
	require.Empty(t, s.LeftOut)
	require.Contains(t, []string{s.Menu.Items[0].Title, s.Menu.Items[1].Title}, "Other")
	otherBusiness := hubtest.Business(t, p.db)
	_, err = source.Read(t.Context(), otherBusiness.ID, p.storeID("s2"), "b")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestRecheckOfOnePlatformDoesNotBlockAnother(t *testing.T) {
	p := newPublishHarness(t)
	jobs := jobsdb.New(p.db)
	claim := func() (platforms []string, list []core.Job) {
		list, _, err := jobs.Claim(context.Background(), me, 10, p.clock.Now().Add(time.Hour))
		require.NoError(t, err)
		for _, work := range list {
			platforms = append(platforms, work.Subject)
		}
		slices.Sort(platforms)
		return platforms, list
	}
	p.enqueue(core.RecheckJob, "a", "{}", false)
	_, down := claim()
	require.NoError(t, jobs.Retry(context.Background(), down[0], p.clock.Now().Add(5*time.Second), ""))
	p.enqueue(core.RecheckJob, "a", "{}", false)
	p.enqueue(core.RecheckJob, "b", "{}", false)
	platforms, list := claim()
	require.Equal(t, []string{"b"}, platforms)
	require.NoError(t, menusdb.New(p.db).EndRecheck(context.Background(), list[0], "", []byte(`{}`), 0))
	p.clock.Advance(5 * time.Second)
	platforms, list = claim()
	require.Equal(t, []string{"a"}, platforms, "one at a time")
	require.Equal(t, down[0].ID, list[0].ID)
}

// fakeInspector is an inspector for a platform whose plugin is down.
type fakeInspector string

// Platforms returns the platform.
func (a fakeInspector) Platforms(context.Context, core.BusinessID) ([]menu.RulePlatform, error) {
	return []menu.RulePlatform{{Name: string(a)}}, nil
}

// Inspect returns Unavailable.
func (a fakeInspector) Inspect(context.Context, core.BusinessID, string, menu.Check) (menu.Found, error) {
	return nil, core.Errorf(core.Unavailable, "it is down")
}

func TestMenuIngestAndRuleChangesDoNotDeadlock(t *testing.T) {
	p := newPublishHarness(t)
	pgtest.Exec(t, p.db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'b2', 'aggregator-b')`,
		p.business)
	p.stores(`{"ref_id":"s3","name":"N","city":"C","included_platforms":["b2"]}`)
	ctx, plugins := context.Background(), calls.NewPlugins(p.db)
	require.NoError(t, plugins.Add(ctx, []string{"aggregator-b"}))
	handler := menu.Ingestor{Storage: menusdb.New(p.db), Policy: p.rules, Inspector: fakeInspector("b2"),
		Clock: p.clock}
	turn := 1
	sendMenu := func() error {
		p.enqueue(core.MenuJob, "s3", fmt.Sprintf(`{"items":[{"ref_id":"curry","price":%d}]}`, turn), false)
		claimed, _, err := jobsdb.New(p.db).Claim(ctx, core.ID{7}, 1, p.clock.Now().Add(time.Hour))
		if err != nil {
			return err
		}
		return handler.Run(ctx, claimed[0], func(int, int) {})
	}
	setPlatform := func() error {
		return platformsdb.New(p.db).Set(ctx, p.business, core.Platform{Name: "b2", ServedBy: "aggregator-b"},
			func(*relay.Access) error { return nil })
	}
	pluginIsReady := func() error {
		return errors.Join(plugins.SetEnabled(ctx, "aggregator-b", true),
			plugins.ReportStatus(ctx, me, "aggregator-b", `{"state":"ready"}`, []byte("it")))
	}
	for _, both := range [][2]func() error{{sendMenu, setPlatform}, {sendMenu, pluginIsReady},
		{pluginIsReady, sendMenu}} {
		turn++
		pgtest.Exec(t, p.db, `DELETE FROM job_queue`)
		lock, release := pgtest.BeginOther(t, p.db)
		lock(`SELECT pg_advisory_xact_lock(hashtext('job/recheck'), ?)`, int64(p.business))
		ended := make(chan error, 2)
		for n, one := range both {
			go func() { ended <- one() }()
			eventually(t, "it waits", func() bool { return pgtest.Waiters(t, p.db) == n+1 })
		}
		release()
		for range both {
			require.NoError(t, <-ended)
		}
	}
}

func (p *publishHarness) storeID(ref string) int64 {
	p.t.Helper()
	stored, err := stores.New(p.db).Get(context.Background(), p.business, ref)
	require.NoError(p.t, err)
	return stored.ID
}

func TestPlatformStoreIDsMapToStores(t *testing.T) {
	p := newPublishHarness(t)
	callers := platformsdb.NewCallers(p.db)
	name := func(platform string, ids map[string]string) error {
		return pgtest.SetPlatformStoreIDs(context.Background(), p.db, p.business, platform, ids)
	}
	require.Equal(t, []string{"s1/a", "s2/a"},
		p.marked(func() { require.NoError(t, name("a", map[string]string{"s1": "R-1", "s2": "R-2"})) }))
	ref, err := callers.StoreRef(t.Context(), p.business, "a", "R-2")
	require.NoError(t, err)
	require.Equal(t, "s2", ref)
	require.Equal(t, core.Conflict, core.CodeOf(name("a", map[string]string{"s1": "R-2"})))
	require.NoError(t, name("b", map[string]string{"s1": "R-2"}), "ids are per platform")
	require.Equal(t, core.NotFound, core.CodeOf(name("a", map[string]string{"nowhere": "R-3"})))
	require.Equal(t, core.NotFound, core.CodeOf(name("mars", map[string]string{"s1": "R-3"})))
	require.NoError(t, name("a", map[string]string{"s2": ""}))
	_, err = callers.StoreRef(t.Context(), p.business, "a", "R-2")
	require.Equal(t, core.NotFound, core.CodeOf(err))
	otherBusiness := hubtest.Business(t, p.db)
	_, err = callers.StoreRef(t.Context(), otherBusiness.ID, "a", "R-1")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestClockChangeShiftsPendingPublications(t *testing.T) {
	db := hubtest.Open(t, settableClock(t), nil)
	require.NoError(t, db.SyncClock(t.Context()))
	publications.UseDebounce(db, publishing.Debounce{Quiet: time.Hour, Max: 2 * time.Hour})
	k := newMenuHarness(t, db, "US")
	pgtest.Exec(t, db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'a', 'aggregator-a')`,
		k.business)
	k.store("s1")
	for _, leap := range []time.Duration{3 * time.Hour, -5 * time.Hour} {
		setClock(t, db, leap)
		require.NoError(t, db.SyncClock(t.Context()))
		batch, err := publications.New(db).Claim(t.Context(), me, queue.Capacity{Items: 1, OtherKeys: 1},
			db.Clock().Now())
		require.NoError(t, err)
		require.Empty(t, batch.Items)
		require.InDelta(t, time.Hour.Seconds(), batch.NextDue.Sub(db.Clock().Now()).Seconds(), 60)
	}
}
