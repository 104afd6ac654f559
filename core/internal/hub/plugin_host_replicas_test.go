package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestReplicaWithoutAPluginSkipsItsWork(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "aggregator-a", "")
	with := d.hub.config.Host
	without, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: t.TempDir(), Log: hubtest.Logger()}, d.hub.db)
	require.NoError(t, err)
	defer without.Close()
	call := relay.Call{Business: d.tenant.ID, Platform: "tasty", Plugin: "aggregator-a", Kind: relay.Action,
		Payload: []byte(`{"action":"rider_with_mask"}`)}
	source := menus.NewMenuSource(d.hub.db)
	ask := func(h *aggregator.Host) (plan, inspect error) {
		_, plan = h.Plan(t.Context(), call, nil)
		_, inspect = h.MenuInspector(nil).Inspect(t.Context(), d.tenant.ID, "tasty", menu.Check{})
		return plan, inspect
	}
	publishes := func(h *aggregator.Host) error {
		_, err := aggregator.Renderer{Host: h, Source: source}.Render(t.Context(),
			publish.Work{Business: d.tenant.ID, Platform: "tasty", Plugin: "aggregator-a", StoreID: 1, StoreRef: "s1"})
		return err
	}

	plan, inspect := ask(without)
	for _, err := range []error{plan, inspect} {
		require.Equal(t, core.Unavailable, core.CodeOf(err))
		require.ErrorContains(t, err, "plugin aggregator-a is not installed at this replica",
			"no worker is known to have it, and the answer says so")
	}
	require.ErrorContains(t, publishes(without), "plugin aggregator-a is not running")

	require.NoError(t, with.Refresh(t.Context(), true))
	require.NoError(t, without.Refresh(t.Context(), false))
	require.NoError(t, with.Refresh(t.Context(), true))
	plan, inspect = ask(without)
	for _, err := range []error{plan, inspect, publishes(without)} {
		require.Equal(t, core.Snooze{Until: d.clock.Now().Add(5 * time.Second)}, err,
			"the worker that has it does the work")
	}
	_, inspect = ask(with)
	require.NoError(t, inspect)
	require.NoError(t, publishes(with))

	with.Stop("aggregator-a")
	hubtest.WaitUntil(t, "the plugin to end", func() bool { return !with.Plugin("aggregator-a").Serves() })
	plan, _ = ask(with)
	require.Equal(t, core.Unavailable, core.CodeOf(plan), "its own word does not send work elsewhere")

	d.clock.Advance(30 * time.Second)
	plan, _ = ask(without)
	require.Equal(t, core.Unavailable, core.CodeOf(plan), "what was said long ago does not count")
}

func TestReplicaWithThePluginPublishesTheMenu(t *testing.T) {
	n := newPublishClient(t, "a")
	n.settle()
	before := len(n.aggregators.requests())
	with := n.hub.config.Host
	without, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: t.TempDir(), Log: hubtest.Logger()}, n.hub.db)
	require.NoError(t, err)
	defer without.Close()
	require.NoError(t, with.Refresh(t.Context(), true))
	require.NoError(t, without.Refresh(t.Context(), false))
	queue := publications.New(n.hub.db)
	beside := publish.NewEngine(publish.Config{}, publish.Dependencies{
		Queue: queue, Clock: n.clock, Observer: noPublications{t}, Busy: func() bool { return false },
		Log:      hubtest.Logger(),
		Renderer: aggregator.Renderer{Host: without, Source: menus.NewMenuSource(n.hub.db)},
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); beside.Run(ctx) }()
	defer func() { stop(); <-ended }()
	n.sendMenu("s1", soup)
	n.advanceUntil("it is published", func() bool {
		beside.Wake()
		return len(n.aggregators.requests()) == before+1
	})
	n.settle()
}

// noPublications fails the test for a publication on a replica without plugins.
type noPublications struct{ t *testing.T }

// Published must not be called, because another replica publishes.
func (n noPublications) Published(r publish.Result, _ time.Duration) {
	n.t.Errorf("a replica without the plugin recorded %s", r.State)
}

func TestHangingPluginLeavesCapacityForOtherJobs(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "hostile", "../../pluginhost/testdata/hostile")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "hostile", "")
	host := d.hub.config.Host
	ctx, stop := context.WithCancel(t.Context())
	inspectBy := func(inspector aggregator.Inspector, refID string) error {
		description := "/nowhere"
		_, err := inspector.Inspect(ctx, d.tenant.ID, "tasty",
			menu.Check{Items: []*menu.Item{{Ref: menu.Ref{RefID: refID},
				ItemDetails: menu.ItemDetails{Description: &description}}}})
		return err
	}
	inspect := func(refID string) error { return inspectBy(host.MenuInspector(nil), refID) }
	const atOnce = 2
	ended := make(chan error, atOnce)
	for n := range atOnce {
		go func() { ended <- inspect("wait") }()
		hubtest.WaitUntil(t, "a place is taken", func() bool { return host.Status()[0].InFlight == n+1 })
		require.Equal(t, core.Snooze{Until: d.clock.Now().Add(2 * time.Second)},
			inspectBy(host.RecheckInspector(nil), "version"), "a recheck leaves room for a menu")
	}
	require.Equal(t, core.Snooze{Until: d.clock.Now().Add(2 * time.Second)}, inspect("version"))
	stop()
	for range atOnce {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	ctx = t.Context()
	require.NoError(t, inspect("version"))
}

func TestRendererIDChangesOnlyWithThePlugin(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	db, clock := newDatabase(t)
	start := func() aggregator.Plugin {
		clock.Advance(2 * time.Minute) // the test does not wait for the previous hub
		host, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, db)
		require.NoError(t, err)
		defer host.Close()
		hubtest.WaitUntil(t, "the plugin is ready", func() bool { return host.Status()[0].State == pluginhost.Ready })
		require.NoError(t, host.Refresh(t.Context(), false))
		list, err := calls.NewPlugins(db).List(t.Context())
		require.NoError(t, err)
		return list[0]
	}
	first := start()
	require.Len(t, first.Renderer, 64)
	require.Equal(t, first.Renderer, start().Renderer)
	manifest, err := os.OpenFile(filepath.Join(dir, "aggregator-a", sdk.ManifestName), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = manifest.WriteString("# packaged anew\n")
	require.NoError(t, errors.Join(err, manifest.Close()))
	another := start()
	require.Equal(t, first.Description, another.Description, "it says the same of itself")
	require.Len(t, another.Renderer, 64)
	require.NotEqual(t, first.Renderer, another.Renderer)
}
