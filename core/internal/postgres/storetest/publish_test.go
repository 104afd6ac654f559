package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

func TestChangeQueuesItsAffectedStoresForPublication(t *testing.T) {
	p := newPublishHarness(t)
	for _, c := range []struct {
		name   string
		change func()
		marked []string
	}{
		{"an item of one store", func() { p.send("-1", `{"items":[{"ref_id":"curry","title":"Other","price":1}]}`) },
			[]string{"s1/a", "s1/b"}},
		{"an option of one store", func() { p.send("-1", `{"options":[{"ref_id":"big","title":"Other","price":1}]}`) },
			[]string{"s1/a", "s1/b"}},
		{"a category", func() { p.send("-1", `{"categories":[{"ref_id":"mains","name":"Other"}]}`) },
			[]string{"s1/a", "s1/b", "s2/a", "s2/b"}},
		{"an item that no store sells", func() {
			p.send("-1",
				`{"options":[{"ref_id":"egg","title":"Other","price":1}]}`)
		},
			nil},
		{"a master price that stores override",
			func() { p.send("-1", `{"items":[{"ref_id":"rice","price":7}]}`) }, []string{"s2/a", "s2/b"}},
		{"a store's price", func() { p.send("s2", `{"items":[{"ref_id":"rice","price":8}]}`) },
			[]string{"s2/a", "s2/b"}},
		{"the same again", func() { p.send("s2", `{"items":[{"ref_id":"rice","price":8}]}`) }, nil},
		{"a dry run", func() {
			p.enqueue(core.MenuJob, "s2", `{"items":[{"ref_id":"rice","price":9}]}`, true)
			require.NoError(t, p.runJobs())
		}, nil},
		{"a store's address", func() { p.stores(`{"ref_id":"s2","address":"There"},{"ref_id":"s1"}`) },
			[]string{"s2/a", "s2/b"}},
		{"a store that is no longer listed on b", func() { p.stores(`{"ref_id":"s2","excluded_platforms":["b"]}`) },
			[]string{"s2/a", "s2/b"}},
		{"a new store", func() { p.stores(`{"ref_id":"s3","name":"N","city":"C","included_platforms":["b"]}`) },
			[]string{"s3/b"}},
		{"a platform's settings", func() {
			require.NoError(t, platformsdb.New(p.db).Set(context.Background(), p.business,
				core.Platform{Name: "a", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
					a.Settings = []byte(`{}`)
					return nil
				}))
		}, []string{"s1/a", "s2/a"}},
	} {
		require.Equal(t, c.marked, p.marked(c.change), c.name)
	}
}

func TestRestartedPluginRepublishesOnlyAfterAChange(t *testing.T) {
	p, hub, _ := newPluginHubs(t)
	require.Empty(t, hub.reportStatus("starting", ""))
	require.Equal(t, allOfB, hub.reportStatus("ready", "one"), "it is new")
	require.Empty(t, hub.reportStatus("degraded", "one"))
	require.Empty(t, hub.reportStatus("starting", ""), "it was started again")
	require.Empty(t, hub.reportStatus("ready", "one"))
	require.Equal(t, allOfB, hub.reportStatus("ready", "two"), "another program renders, whatever it says of itself")
	require.NoError(t, calls.NewPlugins(p.db).SetEnabled(context.Background(), "aggregator-b", true))
	require.Empty(t, hub.reportStatus("starting", ""))
	require.Equal(t, allOfB, hub.reportStatus("ready", "two"), "an operator restarted it")
}

func TestReplicasRepublishOnceTheyRenderAlike(t *testing.T) {
	p, one, other := newPluginHubs(t)
	one.reportReady("old")
	require.Equal(t, allOfB, one.reportStatus("ready", "old"))
	other.reportReady("new")
	for range 2 {
		require.Empty(t, other.reportStatus("ready", "new"), "one hub still has the old renderer")
		require.Empty(t, one.reportStatus("ready", "old"))
	}
	require.Empty(t, p.publishedBy(), "both renderers published menus: both hubs report again")
	require.NoError(t, calls.NewPlugins(p.db).SetEnabled(context.Background(), "aggregator-b", true))
	require.Empty(t, other.reportStatus("ready", "new"), "it waits for the others, whatever an operator wanted")
	one.reportReady("new")
	require.Equal(t, allOfB, other.reportStatus("ready", "new"), "all render alike")
	require.Equal(t, "new", p.publishedBy())
	require.Empty(t, one.reportStatus("ready", "new"))

	other.reportReady("newest")
	require.Empty(t, other.reportStatus("ready", "newest"))
	p.clock.Advance(2 * time.Minute)
	one.reportReady("new")
	require.Equal(t, allOfB, one.reportStatus("ready", "new"), "the newest hub stopped after it had published")
}

// A hub of the previous release reports no renderer.
func TestMenusAreRepublishedAfterAnOldReleaseStops(t *testing.T) {
	p, hub, earlier := newPluginHubs(t)
	before := func() {
		pgtest.Exec(t, p.db, `UPDATE plugins SET status = '{"state":"ready"}', description = 'the same'`)
	}
	before()
	earlier.reportReady("")
	require.Empty(t, hub.reportStatus("ready", "new"), "both run")
	p.clock.Advance(2 * time.Minute)
	hub.reportReady("new")
	require.Equal(t, allOfB, hub.reportStatus("ready", "new"))
	require.Empty(t, hub.reportStatus("ready", "new"))

	before() // the release was rolled back and returned much later
	p.clock.Advance(2 * time.Minute)
	require.Empty(t, hub.reportStatus("starting", ""))
	require.Equal(t, allOfB, hub.reportStatus("ready", "new"))
	require.Empty(t, hub.reportStatus("ready", "new"))
}

func TestPublicationClaimSkipsBusyPlugins(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(time.Minute)
	for _, c := range []struct {
		busy  []string
		names []string
	}{
		{[]string{"aggregator-a", "aggregator-b"}, nil},
		{[]string{"aggregator-b", "another"}, []string{"a"}},
		{[]string{"another"}, []string{"b"}},
	} {
		batch, err := p.queue.Claim(context.Background(), me,
			queue.Capacity{Items: 100, OtherKeys: 100, BusyGroups: c.busy},
			p.clock.Now().Add(time.Minute).Truncate(time.Microsecond))
		require.NoError(t, err)
		require.True(t, batch.NextDue.IsZero() || batch.NextDue.After(p.clock.Now()),
			"due publications of a busy plugin cause no claim")
		var names []string
		for _, w := range batch.Items {
			names = append(names, w.Platform)
		}
		require.Equal(t, c.names, names)
	}
}

func TestDebounceBatchesMenuChanges(t *testing.T) {
	p, random, debounce := newPublishHarness(t), rand.New(rand.NewPCG(1, 2)), publishing.Debounce{}.OrDefault()
	for range 5 {
		first := p.clock.Now()
		latest := first
		for n := range 1 + random.IntN(12) {
			if n > 0 {
				p.clock.Advance(time.Duration(random.IntN(1900)) * time.Millisecond)
			}
			latest = p.clock.Now()
			if !latest.Before(debounce.Due(first, latest)) {
				break
			}
			pgtest.Exec(t, p.db, `UPDATE stores SET updated_at = updated_at`)
			p.send("s1", fmt.Sprintf(`{"items":[{"ref_id":"curry","price":%d}]}`, random.IntN(1e6)))
		}
		due := debounce.Due(first, latest)
		p.clock.Advance(due.Sub(p.clock.Now()) - time.Microsecond)
		_, names := p.claim(me)
		require.Empty(t, names)
		batch, err := p.queue.Claim(context.Background(), me, queue.Capacity{Items: 1, OtherKeys: 1}, due)
		require.NoError(t, err)
		require.True(t, due.Equal(batch.NextDue), "%s %s", due, batch.NextDue)
		p.clock.Advance(time.Microsecond)
		work, names := p.claim(me)
		require.Equal(t, []string{"s1/a", "s1/b"}, names)
		for _, w := range work {
			p.finish(me, p.published(w))
		}
	}
}

func TestChangeDuringRenderingPublishesOnceMore(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(2 * time.Second)
	work, names := p.claim(me)
	require.Len(t, names, 2)
	for n := range 3 {
		p.send("s1", fmt.Sprintf(`{"items":[{"ref_id":"curry","price":%d}]}`, 3+n))
	}
	p.clock.Advance(20 * time.Second)
	_, names = p.claim(other)
	require.Empty(t, names, "a leased publication is not claimed")
	p.finish(me, p.published(work[0]))
	again := p.published(work[1])
	again.State, again.Digest, again.RetryAt = publishing.Waiting, nil, p.clock.Now().Add(time.Hour)
	p.finish(me, again)
	once, names := p.claim(other)
	require.Equal(t, []string{"s1/a", "s1/b"}, names, "a newer content does not wait for the retry of an older one")
	for _, w := range once {
		require.Zero(t, w.Attempts)
		p.finish(other, p.published(w))
	}
	_, names = p.claim(other)
	require.Empty(t, names)
}

func TestExpiredPublicationLeaseIgnoresItsOldOwner(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(2 * time.Second)
	lost, names := p.claim(me)
	require.Len(t, names, 2)
	require.NotNil(t, lost[0].Digest)
	p.clock.Advance(time.Minute)
	for _, owner := range []core.ID{other, me} { // another replica, and the same one again
		taken, names := p.claim(owner)
		require.Len(t, names, 2)
		require.Nil(t, taken[0].Digest, "the state of the platform is unknown")
		failed := p.published(lost[0])
		failed.State, failed.Message = publishing.Failed, "too late"
		p.finish(me, failed)
		require.Equal(t, publishing.Published, p.list("s1")[0].State)
		p.clock.Advance(time.Minute)
	}
}

func TestFinishingAPublicationSurvivesACrash(t *testing.T) {
	p := newPublishHarness(t)
	hubtest.Subscribe(t, p.db, p.business, core.HubMenuPublish, "https://pos.example/hook")
	eventCount := 0
	for n := 1; ; n++ {
		p.send("s2", fmt.Sprintf(`{"items":[{"ref_id":"rice","price":%d}]}`, 100+n))
		p.clock.Advance(2 * time.Second)
		work, _ := p.claim(me)
		require.Len(t, work, 2)
		p.finish(me, p.published(work[1]))
		r := p.published(work[0])
		r.Message = fmt.Sprint("outcome ", n)
		body :=
			fmt.Sprintf(`{"reference_id":%q,"location_ref_id":"s2","platform":"a","status":"success","errors":[],`+
				`"ts_utc":%d}`, core.NewID(r.At), r.At.UnixMilli())
		eventtest.Check(t, core.HubMenuPublish, []byte(body))
		event := core.Event{ID: core.NewID(r.At), Business: p.business, Type: core.HubMenuPublish, At: r.At,
			Body: []byte(body)}
		broken := pgtest.BreakAt(p.db, n)
		err := p.queue.Finish(context.Background(), me, r, []core.Event{event})
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 4)
			return
		}
		if err != nil {
			require.NoError(t, p.queue.Finish(context.Background(), me, r, []core.Event{event}))
		}
		eventCount++
		require.Len(t, pgtest.EventBodies(t, p.db, core.HubMenuPublish), eventCount, "statement %d", n)
		require.Equal(t, r.Message, p.list("s2")[slices.Index([]string{"a", "b"}, r.Platform)].Message)
	}
}

func TestPublishRequestQueuesTheMenusOfItsStores(t *testing.T) {
	p := newPublishHarness(t)
	ask := func(store string, platforms ...string) (core.ID, int, error) {
		reference := core.NewID(p.clock.Now())
		n, err := p.queue.Request(context.Background(), p.business, store, platforms, reference)
		return reference, n, err
	}
	for store, platform := range map[string]string{"nowhere": "a", "s1": "mars"} {
		_, _, err := ask(store, platform)
		require.Equal(t, core.NotFound, core.CodeOf(err))
	}
	first, n, err := ask("s1")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	second, n, err := ask("s1", "b")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	work, names := p.claim(me)
	require.Equal(t, []string{"s1/a", "s1/b"}, names, "a change does not postpone a requested publication")
	third, _, err := ask("s1")
	require.NoError(t, err)
	for _, w := range work {
		require.Equal(t, map[string][]core.ID{"a": {first}, "b": {first, second}}[w.Platform], w.ExplicitRequests)
		p.finish(me, p.published(w))
	}
	work, _ = p.claim(me)
	require.Len(t, work, 2)
	for _, w := range work {
		require.Equal(t, []core.ID{third}, w.ExplicitRequests,
			"a request during the publication waits for the next one")
	}
	p.stores(`{"ref_id":"s2","included_platforms":[]}`)
	p.settleAll()
	_, n, err = ask("s2", "a")
	require.NoError(t, err)
	require.Equal(t, 1, n, "a named platform is published to even if it does not list the store")
}

func TestPublishRequestsAreBoundedAndNeverLost(t *testing.T) {
	p := newPublishHarness(t)
	var requests []core.ID
	ask := func(platforms ...string) error {
		p.clock.Advance(time.Millisecond)
		reference := core.NewID(p.clock.Now())
		_, err := p.queue.Request(context.Background(), p.business, "s1", platforms, reference)
		if err == nil {
			requests = append(requests, reference)
		}
		return err
	}
	for range 100 {
		require.NoError(t, ask("a"))
	}
	for _, platforms := range [][]string{{"a"}, {"a", "b"}, nil} {
		err := ask(platforms...)
		require.Equal(t, core.Conflict, core.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, `100 requests to publish the menu of "s1" on "a" are pending`)
	}
	work, names := p.claim(core.ID{1})
	require.Equal(t, []string{"s1/a"}, names, "a rejected request marks nothing")
	require.Equal(t, requests, work[0].ExplicitRequests)
	require.NoError(t, ask("b"))
}

func TestNothingIsPublishedOnOwnPlatforms(t *testing.T) {
	p := newPublishHarness(t)
	_, err := p.queue.Request(context.Background(), p.business, "s1", []string{"a", "web"}, core.NewID(p.clock.Now()))
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.ErrorContains(t, err, `platforms[1] "web" is your own`)
	_, names := p.claim(core.ID{1})
	require.Empty(t, names)
}

func TestPublicationOutcomesAreStoredAndListed(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(2 * time.Second)
	work, _ := p.claim(me)
	problem := []publishing.Problem{{Entity: "item", RefID: "curry", Code: "x", Message: "it's \\ \"wrong\" \x00"}}
	for _, w := range work {
		r := p.published(w)
		r.Problems, r.Omitted, r.Message = problem, problem, "noted"
		p.finish(me, r)
	}
	read := p.list("s1")
	require.Len(t, read, 2)
	require.Equal(t, []any{"s1", "a", publishing.Published, "noted", 2},
		[]any{read[0].StoreRef, read[0].Platform, read[0].State, read[0].Message, len(read[0].Errors)})
	require.True(t, read[0].DueAt.IsZero() && read[0].PublishedAt.Equal(p.clock.Now()))

	p.send("s1", `{"items":[{"ref_id":"curry","price":3}]}`)
	require.False(t, p.list("s1")[0].DueAt.IsZero())
	p.clock.Advance(2 * time.Second)
	work, _ = p.claim(me)
	same := p.published(work[0])
	same.Unchanged = true
	p.finish(me, same)
	read = p.list("s1")
	require.Len(t, read[slices.IndexFunc(read,
		func(r publishing.Publication) bool { return r.Platform == work[0].Platform })].Errors, 1,
		"problems of the published menu are kept")

	var seen []string
	after := publishing.Cursor{}
	for {
		page, err := p.queue.List(context.Background(), p.business, publishing.Filter{After: after, Limit: 3})
		require.NoError(t, err)
		for _, one := range page {
			seen = append(seen, one.StoreRef+"/"+one.Platform)
			after = publishing.Cursor{StoreRef: one.StoreRef, Platform: one.Platform}
		}
		if len(page) < 3 {
			break
		}
	}
	require.Equal(t, "s1/a s1/b s2/a s2/b", strings.Join(seen, " "))
	waiting, err := p.queue.List(context.Background(), p.business,
		publishing.Filter{State: publishing.Waiting, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, waiting)
	otherBusiness := hubtest.Business(t, p.db)
	foreign, err := p.queue.List(context.Background(), otherBusiness.ID, publishing.Filter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, foreign)
}
