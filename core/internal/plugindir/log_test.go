package plugindir

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
)

func TestAddedLinesOfALog(t *testing.T) {
	for name, c := range map[string]struct {
		before, after, added []string
		missing              bool
	}{
		"first lines":       {nil, []string{"a", "b"}, []string{"a", "b"}, false},
		"nothing new":       {[]string{"a", "b"}, []string{"a", "b"}, []string{}, false},
		"a line":            {[]string{"a", "b"}, []string{"a", "b", "c"}, []string{"c"}, false},
		"the same line":     {[]string{"a", "a"}, []string{"a", "a", "a"}, []string{"a"}, false},
		"old lines dropped": {[]string{"a", "b", "c"}, []string{"c", "d", "e"}, []string{"d", "e"}, false},
		"all lines dropped": {[]string{"a", "b"}, []string{"c", "d"}, []string{"c", "d"}, true},
	} {
		added, missing := addedLines(c.before, c.after)
		require.Equal(t, c.added, added, name)
		require.Equal(t, c.missing, missing, name)
	}
}

func TestFollowedLogPrintsLinesOfEachHubOnce(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	plugins, records := Dir{Path: t.TempDir(), DB: db}, calls.NewPlugins(db)
	require.NoError(t, records.Add(t.Context(), []string{"tasty"}))
	first, second := core.NewID(clock.Now()), core.NewID(clock.Now())
	fault := func(text string) pluginhost.Fault { return pluginhost.Fault{At: clock.Now(), Text: text} }
	slow, lost := fault("it is slow"), fault("it is lost")
	ctx, interrupt := context.WithCancel(t.Context())
	shown, ended := make(chan string), make(chan error, 1)
	go func() {
		ended <- plugins.FollowLog(ctx, "tasty", func(log Log) error { shown <- log.String(); return nil })
	}()
	at := clock.Now().Format(time.RFC3339)
	for _, step := range []struct {
		hub    core.ID
		faults []pluginhost.Fault
		lines  []string
		want   string
	}{
		{first, []pluginhost.Fault{slow}, []string{"a"},
			"==> hub " + first.String() + " <==\n" + at + " fault: it is slow\na\n"},
		{second, nil, []string{"x"}, "==> hub " + second.String() + " <==\nx\n"},
		{first, []pluginhost.Fault{lost, slow}, []string{"a", "b"},
			"==> hub " + first.String() + " <==\n" + at + " fault: it is lost\nb\n"},
		{first, []pluginhost.Fault{lost, slow}, []string{"c"},
			"… lines are missing: the plugin logs faster than the hub reports\nc\n"},
	} {
		status, err := json.Marshal(aggregator.StatusReport{Hub: step.hub, Log: step.lines,
			Status: pluginhost.Status{ID: "tasty", State: pluginhost.Ready, Faults: step.faults}})
		require.NoError(t, err)
		require.NoError(t, records.ReportStatus(t.Context(), step.hub, "tasty", string(status), nil))
		var got string
		hubtest.WaitUntil(t, "the log to be shown", func() bool {
			clock.Advance(reportPollInterval)
			select {
			case got = <-shown:
				return true
			default:
				return false
			}
		})
		require.Equal(t, step.want, got)
	}
	interrupt()
	require.NoError(t, <-ended)
}
