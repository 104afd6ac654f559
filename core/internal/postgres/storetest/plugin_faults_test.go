package storetest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
)

func TestPluginFaultsAreGroupedByCause(t *testing.T) {
	db := hubtest.Database(t, nil)
	plugins, at := calls.NewPlugins(db), time.Now().UTC().Truncate(time.Millisecond)
	report := func(group, about string, count int64, after time.Duration) aggregator.FaultCount {
		return aggregator.FaultCount{Count: count, First: at.Add(after), FaultReport: pluginhost.FaultReport{
			Plugin: "tasty", Version: "1.0.0", Kind: pluginhost.FaultPanic, Group: group, Text: "it panicked\x00",
			Stack: "main.translate", Call: "Orders.Translate", Business: 7, Platform: "b", About: about,
			At: at.Add(after + time.Second)}}
	}
	require.NoError(t, plugins.RecordFaults(t.Context(), []aggregator.FaultCount{report("a", "order 1", 2, 0)}))
	require.NoError(t, plugins.RecordFaults(t.Context(),
		[]aggregator.FaultCount{report("a", "order 2", 3, time.Minute), report("b", "order 3", 1, time.Hour)}))
	causes, err := plugins.Causes(t.Context(), "tasty")
	require.NoError(t, err)
	require.Len(t, causes, 2)
	require.Equal(t, "order 3", causes[0].About, "the latest first")
	late := report("a", "order 0", 1, -time.Hour) // a hub whose report failed before
	require.NoError(t, plugins.RecordFaults(t.Context(), []aggregator.FaultCount{late}))
	causes, err = plugins.Causes(t.Context(), "tasty")
	require.NoError(t, err)
	first := causes[1]
	require.Equal(t, []any{"panic", int64(6), "order 2", core.BusinessID(7), "main.translate", "Orders.Translate"},
		[]any{first.Kind, first.Count, first.About, first.Business, first.Stack, first.Call})
	require.True(t, first.First.Equal(at.Add(-time.Hour)) && first.Last.Equal(at.Add(time.Minute+time.Second)))

	var many []aggregator.FaultCount
	for n := range 210 {
		many = append(many, report(fmt.Sprintf("c%03d", n), "", 1, 2*time.Hour+time.Duration(n)*time.Second))
	}
	require.NoError(t, plugins.RecordFaults(t.Context(), many))
	causes, err = plugins.Causes(t.Context(), "tasty")
	require.NoError(t, err)
	require.Len(t, causes, 200, "the oldest are deleted")
}

// asideRequest returns a request of a business to the plugin of platform b.
func asideRequest(business core.BusinessID, call, id string) pluginhost.SetAside {
	return pluginhost.SetAside{Request: pluginhost.Request{Plugin: "aggregator-b", Build: "one", Call: call,
		Business: business, Platform: "b", ID: id}, Version: "1.0.0", Store: "s1", About: "order 12",
		Fault: "exit status 3"}
}

// setAside fails a call as a request that is set aside.
func (d *riderHarness) setAside(plugins calls.Plugins) relay.Call {
	d.t.Helper()
	d.submit(d.order("b", ""), action.WithMask)
	claimed := d.claim(me)
	require.Len(d.t, claimed, 1)
	request := asideRequest(d.business, "Actions.PlanAction", claimed[0].ID.String())
	require.NoError(d.t, plugins.SetAside(context.Background(), request))
	failed := d.done(claimed[0])
	failed.State, failed.Attempt, failed.Message = relay.Failed, nil, "set aside"
	d.finish(me, failed)
	return claimed[0]
}

func TestRetriedRequestQueuesItsCallAgain(t *testing.T) {
	d := newRiderHarness(t)
	plugins := calls.NewPlugins(d.db)
	require.NoError(t, plugins.Add(t.Context(), []string{"aggregator-b"}))
	first, second := d.setAside(plugins), d.setAside(plugins)
	request := asideRequest(d.business, "Actions.PlanAction", first.ID.String())
	require.NoError(t, plugins.SetAside(t.Context(), request), "another replica may find it too")
	aside, err := plugins.ListSetAside(t.Context(), "aggregator-b")
	require.NoError(t, err)
	require.Len(t, aside, 2)
	list, err := plugins.List(t.Context())
	require.NoError(t, err)
	shared, err := list[0].RequestsSetAside()
	require.NoError(t, err)
	require.Contains(t, shared, request.Request)
	require.Empty(t, d.claim(me))

	change := access.Change{Actor: "user:1", Action: "plugin.retry", Why: "corrected"}
	_, err = plugins.RetrySetAside(t.Context(), "aggregator-b", []int64{aside[1].ID, -1}, change)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	d.clock.Advance(25 * time.Hour)
	n, err := plugins.RetrySetAside(t.Context(), "aggregator-b", []int64{aside[1].ID}, change)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	is, err := plugins.IsSetAside(t.Context(), request.Request)
	require.NoError(t, err)
	require.False(t, is)
	again := d.claim(me)
	require.Len(t, again, 1)
	require.Equal(t, first.ID, again[0].ID)
	require.Equal(t, d.clock.Now(), again[0].Since.UTC(), "it waits anew")
	d.finish(me, d.done(again[0]))
	require.Equal(t, "done", d.action(first.ID).State)

	n, err = plugins.RetrySetAside(t.Context(), "aggregator-b", nil, change)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	again = d.claim(me)
	require.Len(t, again, 1)
	require.Equal(t, second.ID, again[0].ID)
	entries, err := consolelists.New(d.db).Audit(t.Context(), 0,
		console.EntryFilter{Object: "plugin/aggregator-b", Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Contains(t, string(entries[0].Detail), "Actions.PlanAction order 12")
}

func TestOutdatedCallsAreNotSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		kind     relay.Kind
		later    relay.State // of a later call of its ordering key; "": there is none
		other    relay.Kind  // of the later call; "": the same
		action   string
		workload string      // JSON; "": none
		state    order.State // of the order; "": placed
		retried  bool
	}{
		"alone":                 {kind: relay.OrderStatus, retried: true},
		"a later one failed":    {kind: relay.OrderStatus, later: relay.Failed, retried: true},
		"a later one was sent":  {kind: relay.OrderStatus, later: relay.Done},
		"a later one waits":     {kind: relay.OrderStatus, later: relay.Waiting},
		"another kind was sent": {kind: relay.StoreAction, other: relay.ItemAction, later: relay.Done, retried: true},
		"a busy store":          {kind: relay.StoreAction, workload: `{"busy":true}`},
		"a normal store":        {kind: relay.StoreAction, workload: `{"busy":false}`, retried: true},
		"an acknowledgement":    {kind: relay.OrderAcknowledge, other: relay.OrderStatus, later: relay.Done},
		"a request":             {kind: relay.InboundFetch, later: relay.Done, retried: true},
		"an action":             {kind: relay.Action, action: action.WithMask, retried: true},
		"of a cancelled order":  {kind: relay.Action, action: action.CustomerData, state: order.Cancelled},
		"of a completed order":  {kind: relay.Action, action: action.WithMask, state: order.Completed},
		"contact after delivery": {kind: relay.Action, action: action.CustomerData, state: order.Completed,
			retried: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRiderHarness(t)
			plugins, id := calls.NewPlugins(d.db), d.order("b", "")
			var queued []outbox.Call
			for n := range 2 {
				queued = append(queued, outbox.Call{Business: d.business, ID: core.NewID(d.clock.Now()), Kind: c.kind,
					OrderingKey: "key", Platform: "b", Order: id, At: d.clock.Now(),
					Payload: fmt.Appendf(nil, `{"action":%q,"n":%d,"workload":%s}`, c.action, n,
						cmp.Or(c.workload, "null"))})
			}
			if queued[1].Kind = cmp.Or(c.other, c.kind); c.later == "" {
				queued = queued[:1]
			}
			require.NoError(t, outbox.Run(t.Context(), d.db, func(tx bun.Conn, box *outbox.Outbox) error {
				return box.QueueCalls(t.Context(), tx, queued)
			}))
			first := d.claim(me)[0]
			d.finish(me, relay.Result{Call: first, State: relay.Failed, FinishedAt: d.clock.Now()})
			if c.later != "" && c.later != relay.Waiting {
				d.finish(me, relay.Result{Call: d.claim(me)[0], State: c.later, FinishedAt: d.clock.Now()})
			}
			if c.state != "" {
				pgtest.Exec(t, d.db, `UPDATE orders SET state = ? WHERE id = ?`, c.state, id)
			}
			require.NoError(t, plugins.SetAside(t.Context(), asideRequest(d.business, "a call", first.ID.String())))
			_, err := plugins.RetrySetAside(t.Context(), "aggregator-b", nil, access.Change{Action: "plugin.retry"})
			require.NoError(t, err)
			again := d.claim(me)
			require.Equal(t, c.retried, len(again) > 0 && again[0].ID == first.ID)
		})
	}
}

func TestAnotherBuildEndsWhatIsSetAside(t *testing.T) {
	d := newRiderHarness(t)
	plugins, other := calls.NewPlugins(d.db), core.NewID(d.clock.Now())
	require.NoError(t, plugins.Add(t.Context(), []string{"aggregator-b"}))
	report := func(hub core.ID, build, state string) {
		t.Helper()
		require.NoError(t, plugins.ReportCounts(t.Context(),
			[]console.PluginHub{{Plugin: "aggregator-b", Hub: hub, State: state, Build: build, Since: d.clock.Now()}}))
	}
	call := d.setAside(plugins)
	report(me, "one", "ready")
	report(other, "two", "starting")
	require.Empty(t, d.claim(me))
	report(other, "two", "ready")
	require.Empty(t, d.claim(me), "a hub still runs the build")
	require.NoError(t, plugins.RemoveHub(t.Context(), me))
	report(other, "two", "quarantined")
	require.Empty(t, d.claim(me), "no hub serves the other build")
	report(other, "two", "ready")
	again := d.claim(me)
	require.Len(t, again, 1)
	require.Equal(t, call.ID, again[0].ID)
	aside, err := plugins.ListSetAside(t.Context(), "aggregator-b")
	require.NoError(t, err)
	require.Empty(t, aside)
}

func TestRetriedMenuIsPublishedAgain(t *testing.T) {
	p, one, _ := newPluginHubs(t)
	one.reportReady("")
	plugins := calls.NewPlugins(p.db)
	require.NoError(t, plugins.SetAside(t.Context(), asideRequest(p.business, "Menu.Render", "0123456789abcdef")))
	marked := p.marked(func() {
		_, err := plugins.RetrySetAside(t.Context(), "aggregator-b", nil, access.Change{Action: "plugin.retry"})
		require.NoError(t, err)
	})
	require.Equal(t, []string{"s1/b"}, marked)
}

func TestEndedHubsArePluginStatesNoMore(t *testing.T) {
	d := newRiderHarness(t)
	plugins, stopped, killed := calls.NewPlugins(d.db), core.NewID(d.clock.Now()), core.NewID(d.clock.Now())
	since := d.clock.Now().Add(-time.Hour).Truncate(time.Microsecond)
	list := func() (names []string) {
		t.Helper()
		hubs, err := plugins.Hubs(t.Context())
		require.NoError(t, err)
		for _, h := range hubs {
			require.True(t, h.Since.Equal(since))
			names = append(names, h.Version+" "+h.State+" "+h.Reason)
		}
		return names
	}
	for hub, version := range map[core.ID]string{stopped: "1", killed: "2"} {
		require.NoError(t, plugins.ReportCounts(t.Context(), []console.PluginHub{{Plugin: "aggregator-b", Hub: hub,
			Version: version, State: "quarantined", Since: since, Reason: "exit status 7"}}))
	}
	require.ElementsMatch(t, strings.Split("1 quarantined exit status 7,2 quarantined exit status 7", ","), list())
	require.NoError(t, plugins.RemoveHub(t.Context(), stopped))
	require.Equal(t, []string{"2 quarantined exit status 7"}, list())
	d.clock.Advance(61 * time.Second)
	require.Empty(t, list(), "it has not reported for some time")
}
