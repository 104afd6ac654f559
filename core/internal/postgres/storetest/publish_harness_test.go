package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
)

// publishHarness is a menuHarness whose stores s1 and s2 are listed on the platforms a and b.
type publishHarness struct {
	*menuHarness
	clock *clocktest.Clock
	queue publications.Store
}

func newPublishHarness(t *testing.T) *publishHarness {
	t.Helper()
	clock := clocktest.New()
	return newPublishHarnessIn(t, hubtest.Database(t, clock), clock)
}

func newPublishHarnessIn(t *testing.T, db *postgres.DB, clock *clocktest.Clock) *publishHarness {
	t.Helper()
	p := &publishHarness{menuHarness: newMenuHarness(t, db, "US"), clock: clock, queue: publications.New(db)}
	for _, platform := range []string{"a", "b"} {
		pgtest.Exec(t, db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)`, p.business,
			platform, "aggregator-"+platform)
	}
	p.store("s1")
	p.store("s2")
	p.send("-1", dinner)
	p.send("s1", `{"items":[{"ref_id":"curry","price":1}],"options":[{"ref_id":"big","price":1}]}`)
	p.send("s2", `{"items":[{"ref_id":"rice","price":1}]}`)
	p.settleAll()
	return p
}

// claim claims due publications for an owner and returns their names as store/platform.
func (p *publishHarness) claim(owner core.ID) (work []publishing.Work, names []string) {
	p.t.Helper()
	batch, err := p.queue.Claim(context.Background(), owner, queue.Capacity{Items: 100, OtherKeys: 100},
		p.clock.Now().Add(time.Minute).Truncate(time.Microsecond))
	require.NoError(p.t, err)
	for _, w := range batch.Items {
		names = append(names, w.StoreRef+"/"+w.Platform)
	}
	slices.Sort(names)
	return batch.Items, names
}

func (p *publishHarness) published(w publishing.Work) publishing.Result {
	return publishing.Result{Work: w, State: publishing.Published, Digest: []byte("now"), At: p.clock.Now()}
}

func (p *publishHarness) finish(owner core.ID, r publishing.Result) {
	p.t.Helper()
	require.NoError(p.t, p.queue.Finish(context.Background(), owner, r, nil))
}

// settleAll publishes all queued publications.
func (p *publishHarness) settleAll() {
	p.t.Helper()
	p.clock.Advance(time.Minute)
	work, _ := p.claim(me)
	for _, w := range work {
		p.finish(me, p.published(w))
	}
	_, names := p.claim(me)
	require.Empty(p.t, names)
}

// marked returns the publications that a change has marked.
func (p *publishHarness) marked(change func()) []string {
	p.t.Helper()
	change()
	p.clock.Advance(2 * time.Second)
	work, names := p.claim(me)
	for _, w := range work {
		p.finish(me, p.published(w))
	}
	return names
}

func (p *publishHarness) stores(body string) {
	p.enqueue(core.StoreJob, "", `{"stores":[`+body+`]}`, false)
	require.NoError(p.t, p.runJobs())
}

// pluginHub is a hub that runs the plugin of platform b.
type pluginHub struct {
	*publishHarness
	hub core.ID
}

func newPluginHubs(t *testing.T) (p *publishHarness, one, other pluginHub) {
	p = newPublishHarness(t)
	require.NoError(t, calls.NewPlugins(p.db).Add(context.Background(), []string{"aggregator-b"}))
	return p, pluginHub{p, me}, pluginHub{p, core.NewID(p.clock.Now())}
}

// reportReady reports the hub's renderer, as the hub does periodically.
func (p pluginHub) reportReady(renderer string) {
	require.NoError(p.t, calls.NewPlugins(p.db).ReportCounts(context.Background(),
		[]console.PluginHub{{Plugin: "aggregator-b", Hub: p.hub, State: "ready", Renderer: renderer}}))
}

// reportStatus reports a status change of the plugin and returns what that marks.
func (p pluginHub) reportStatus(state, renderer string) []string {
	return p.marked(func() {
		require.NoError(p.t, calls.NewPlugins(p.db).ReportStatus(context.Background(), p.hub, "aggregator-b",
			fmt.Sprintf(`{"state":%q,"renderer":%q}`, state, renderer), []byte("the same")))
	})
}

// publishedBy returns the renderer of all menus, as hubs read it.
func (p *publishHarness) publishedBy() string {
	list, err := calls.NewPlugins(p.db).List(context.Background())
	require.NoError(p.t, err)
	return list[0].Renderer
}

var allOfB = []string{"s1/b", "s2/b"}

func (p *publishHarness) list(store string) []publishing.Publication {
	p.t.Helper()
	list, err := p.queue.List(context.Background(), p.business, publishing.Filter{StoreRef: store, Limit: 100})
	require.NoError(p.t, err)
	return list
}
