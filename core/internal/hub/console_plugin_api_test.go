package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
)

func TestConsoleControlsPlugins(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	a := newPluginAPI(t, dir, unlimited)
	host := a.hub.config.Host
	a.hub.console = a.hub.newConsole()
	a.hub.mountPages("http://example.com", 0)
	mine, theirs := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	for business, name := range map[core.BusinessID]string{mine.ID: "tasty-of-mine", theirs.ID: "tasty-of-theirs"} {
		require.NoError(t, platforms.New(a.hub.db).Set(t.Context(), business,
			core.Platform{Name: name, ServedBy: "aggregator-b"}, func(*relay.Access) error { return nil }))
	}
	sam, kim, vera := a.user(t, "sam@example.com", access.Admin), a.user(t, "kim@example.com", access.Support, mine.ID),
		a.user(t, "vera@example.com", access.Viewer, mine.ID)
	here := shell.PluginsPath + "aggregator-b/"
	want := func(b *browser, wish string) int {
		return b.post(t, here+wish+"/", url.Values{"why": {"a good reason"}}).status
	}
	for _, b := range []*browser{kim, vera} {
		page := b.get(t, here)
		require.Equal(t, http.StatusOK, page.status)
		require.Contains(t, page.text, "tasty-of-mine")
		require.NotContains(t, page.text, "tasty-of-theirs", "nothing is shown of businesses without a grant")
		require.NotContains(t, page.text, "<summary class=\"button")
		for _, wish := range []string{"enable", "disable", "restart", "upgrade"} {
			require.Equal(t, http.StatusForbidden, want(b, wish))
		}
	}
	_, err := host.Plugin("aggregator-b").CheckSettings(t.Context(), hostSubject(mine.ID))
	require.NoError(t, err)
	a.clock.Advance(10 * time.Second)
	require.NoError(t, host.Refresh(t.Context(), false))
	page := sam.get(t, here).text
	for _, part := range []string{"Plugin aggregator-b has worked since", "tasty-of-theirs", "Plugin.Configure",
		"Restart",
		"Disable"} {
		require.Contains(t, page, part)
	}
	digest := host.Status()[0].Digest
	require.Len(t, digest, 64)
	require.Contains(t, page, digest)
	require.Contains(t, sam.get(t, shell.PluginsPath).text, ">Ready<")

	is := func(state string) func() bool { return func() bool { return string(host.Status()[0].State) == state } }
	pid := host.Status()[0].PID
	require.Equal(t, http.StatusSeeOther, want(sam, "restart"))
	require.NoError(t, host.Refresh(t.Context(), false))
	hubtest.WaitUntil(t, "another process",
		func() bool { s := host.Status()[0]; return s.State == "ready" && s.PID != pid })
	require.Equal(t, http.StatusSeeOther, want(sam, "disable"))
	require.Equal(t, http.StatusConflict, want(sam, "disable"), "somebody was quicker: shown, not lost")
	require.Equal(t, http.StatusConflict, want(sam, "restart"))
	require.NoError(t, host.Refresh(t.Context(), false))
	hubtest.WaitUntil(t, "its end", is("stopped"))
	require.Contains(t, sam.get(t, here).text, "An operator of the hub has disabled plugin")
	require.Equal(t, http.StatusSeeOther, want(sam, "enable"))
	require.NoError(t, host.Refresh(t.Context(), false))
	hubtest.WaitUntil(t, "its start", is("ready"))
	require.Equal(t, http.StatusSeeOther, want(sam, "upgrade"))
	require.Equal(t, http.StatusNotFound,
		sam.post(t, shell.PluginsPath+"nothing/disable/", url.Values{"why": {"x"}}).status)
	require.Equal(t, http.StatusNotFound, sam.get(t, shell.PluginsPath+"nothing/").status)

	entries, err := consolelists.New(a.hub.db).Audit(t.Context(), 0,
		console.EntryFilter{Object: "plugin/aggregator-b", Limit: 50})
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
		require.Contains(t, string(e.Detail), "a good reason")
	}
	slices.Sort(actions)
	require.Equal(t, []string{"plugin.disable", "plugin.enable", "plugin.restart", "plugin.upgrade"}, actions)
}

func TestConsoleEscapesPluginLogs(t *testing.T) {
	a := consoleHub(t)
	records := calls.NewPlugins(a.hub.db)
	require.NoError(t, records.Add(t.Context(), []string{"aggregator-z"}))
	err := records.ReportStatus(t.Context(), core.NewID(a.clock.Now()), "aggregator-z",
		`{"id":"aggregator-z","version":"<img src=x onerror=alert(1)>","state":"quarantined","starts":6,
		"faults":[{"at":"2026-11-21T09:00:00Z","text":"<script>alert(1)</script>","ended":true}],`+
			`"log":["<script>alert(2)</script>","{\"@level\":\"warn\",\"@message\":\"<script>alert(3)</script>\",`+
			`\"x\":\"</code>\"}"]}`, nil)
	require.NoError(t, err)
	require.NoError(t, records.ReportCounts(t.Context(),
		[]console.PluginHub{{Plugin: "aggregator-z", Hub: core.NewID(a.clock.Now()), State: "quarantined"}}))
	sam := a.user(t, "sam@example.com", access.Admin)
	for _, path := range []string{shell.PluginsPath, shell.PluginsPath + "aggregator-z/"} {
		page := sam.get(t, path)
		require.Equal(t, http.StatusOK, page.status)
		require.Contains(t, page.text, "Plugin aggregator-z is stopped since")
		require.NotContains(t, page.text, "<script>alert")
		require.NotContains(t, page.text, "<img src=x")
	}
	vera := a.user(t, "vera@example.com", access.Viewer, hubtest.Business(t, a.hub.db).ID)
	page := vera.get(t, shell.PluginsPath+"aggregator-z/")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.text, text.LogForAdmins)
	require.NotContains(t, page.text, "alert(", "the log and the faults can be about other businesses")
	for range 2 {
		a.clock.Advance(40e9)
	}
	require.Contains(t, sam.get(t, shell.PluginsPath).text, "No running hub has plugin aggregator-z",
		"a hub that has stopped does not count")
}

func TestConsoleShowsAndRetriesPluginFaults(t *testing.T) {
	a := consoleHub(t)
	mine, theirs := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	records, at := calls.NewPlugins(a.hub.db), a.clock.Now()
	require.NoError(t, records.Add(t.Context(), []string{"aggregator-z"}))
	since := at.Add(-time.Minute)
	require.NoError(t, records.ReportCounts(t.Context(), []console.PluginHub{{Plugin: "aggregator-z",
		Hub: core.NewID(at), State: "ready", Version: "1.2.3", Since: since}}))
	for business, about := range map[core.BusinessID]string{mine.ID: "order of mine", theirs.ID: "order of theirs",
		0: "orders of both"} {
		require.NoError(t, records.RecordFaults(t.Context(), []aggregator.FaultCount{{Count: 7, First: since,
			FaultReport: pluginhost.FaultReport{Plugin: "aggregator-z", Group: about, Kind: pluginhost.FaultPanic,
				Text: "<script>alert(4)</script>", Stack: "main.translate", Call: "Orders.Translate",
				Business: business, Platform: "tasty", About: about, At: at}}}))
		if business == 0 {
			continue
		}
		require.NoError(t, records.SetAside(t.Context(), pluginhost.SetAside{Request: pluginhost.Request{
			Plugin: "aggregator-z", Build: "b", Call: "Menu.Render", Business: business, Platform: "tasty", ID: about},
			Version: "1.2.3", Store: "s1", About: "the menu, " + about,
			Fault: "exit status 3, with the last log line: a line"}))
	}
	sam, vera := a.user(t, "sam@example.com", access.Admin), a.user(t, "vera@example.com", access.Viewer, mine.ID)
	here := shell.PluginsPath + "aggregator-z/"
	page := sam.get(t, here).text
	for _, part := range []string{"Orders.Translate order of mine", "order of theirs", "orders of both",
		"main.translate", "the menu, order of", "exit status 3, with the last log line: a line", "Retry",
		"is not called with 2 requests", pluginhost.QuarantineRule} {
		require.Contains(t, page, part)
	}
	require.NotContains(t, page, "<script>alert")
	page = vera.get(t, here).text
	require.Contains(t, page, "order of mine")
	require.Contains(t, page, "exit status 3")
	for _, part := range []string{"order of theirs", "orders of both", "a line"} {
		require.NotContains(t, page, part, "of another business")
	}
	require.NotContains(t, page, ">Retry<")

	aside, err := records.ListSetAside(t.Context(), "aggregator-z")
	require.NoError(t, err)
	retry := func(b *browser, ids ...string) int {
		return b.post(t, here+"retry/", url.Values{"why": {"a good reason"}, "id": ids}).status
	}
	require.Equal(t, http.StatusForbidden, retry(vera, fmt.Sprint(aside[0].ID)))
	require.Equal(t, http.StatusBadRequest, retry(sam))
	require.Equal(t, http.StatusSeeOther, retry(sam, fmt.Sprint(aside[0].ID), fmt.Sprint(aside[1].ID)))
	require.NotContains(t, sam.get(t, here).text, "the menu, order of")
	entries, err := consolelists.New(a.hub.db).Audit(t.Context(), 0,
		console.EntryFilter{Object: "plugin/aggregator-z", Limit: 50})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "plugin.retry", entries[0].Action)
	require.Contains(t, string(entries[0].Detail), "a good reason")
}

func hostSubject(business core.BusinessID) pluginhost.Subject {
	return pluginhost.Subject{Business: business, Platform: "tasty", Settings: []byte(`{}`)}
}
