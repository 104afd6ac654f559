package hub

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
)

func TestPoisonMenuIsSetAsideOnEveryReplica(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "hostile", "../../pluginhost/testdata/hostile")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "hostile", "")
	inspect := func(h *aggregator.Host, refID string) (err error) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err = h.MenuInspector(nil).Inspect(context.Background(), d.tenant.ID, "tasty",
				menu.Check{Items: []*menu.Item{{Ref: menu.Ref{RefID: refID}}}})
		}()
		hubtest.WaitUntil(t, "the inspection ends", func() bool {
			select {
			case <-ended:
				return true
			default:
				if h.Status()[0].State == pluginhost.Backoff {
					d.clock.Advance(10 * time.Millisecond)
				}
				return false
			}
		})
		return err
	}
	ready := func(h *aggregator.Host) {
		hubtest.WaitUntil(t, "the plugin serves", func() bool {
			now := h.Status()[0]
			if now.State == pluginhost.Backoff {
				d.clock.Advance(10 * time.Millisecond)
			}
			return now.State == pluginhost.Ready && now.PID != 0
		})
	}
	host, records := d.hub.config.Host, calls.NewPlugins(d.hub.db)
	require.True(t, pluginhost.IsSetAside(inspect(host, "crash")))
	aside, err := records.ListSetAside(t.Context(), "hostile")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.Equal(t, "items crash", aside[0].About)
	ready(host)
	require.NoError(t, inspect(host, "version"), "everything else goes on")
	require.NoError(t, host.Refresh(t.Context(), false))
	causes, err := records.Causes(t.Context(), "hostile")
	require.NoError(t, err)
	require.Len(t, causes, 1)
	require.Equal(t, []any{"crash", "Menu.CheckItems", "items crash", "tasty"},
		[]any{causes[0].Kind, causes[0].Call, causes[0].About, causes[0].Platform})

	next, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, d.hub.db)
	require.NoError(t, err)
	ready(next)
	require.NoError(t, next.Refresh(t.Context(), false))
	require.True(t, pluginhost.IsSetAside(inspect(next, "crash")))
	require.Equal(t, 1, next.Status()[0].Starts, "another replica does not call the plugin with it")
	hubs, err := records.Hubs(t.Context())
	require.NoError(t, err)
	require.Len(t, hubs, 2)
	next.Close()
	hubs, err = records.Hubs(t.Context())
	require.NoError(t, err)
	require.Len(t, hubs, 1, "a replica that ended is not listed")

	n, err := plugindir.Dir{Path: dir, DB: d.hub.db}.Retry(t.Context(), "hostile", nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	starts := host.Status()[0].Starts
	require.True(t, pluginhost.IsSetAside(inspect(host, "crash")))
	ready(host)
	require.Greater(t, host.Status()[0].Starts, starts, "the plugin was called with it again")
}
