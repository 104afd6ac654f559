package overview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestDryRunIsNoProblem(t *testing.T) {
	warned := console.Job{State: "done", Kind: core.MenuJob, Total: 1, CreatedAt: now,
		Result: []byte(`{"stats":{},"warnings":[{"path":"flush_items","message":"flush_items was not applied"}]}`)}
	fine := []ui.Cause{{State: ui.OK, Text: "fine"}}
	v := &shell.PageContext{Now: now}
	require.Equal(t, ui.Warn, withWarnedJob(v, fine, []console.Job{warned})[0].State)
	warned.DryRun = true
	require.Equal(t, fine, withWarnedJob(v, fine, []console.Job{warned}))
}

func TestPageIsHealthyOnlyWithoutUndeliveredEvents(t *testing.T) {
	one := &shell.PageContext{Now: now, Business: core.Business{ID: 7}}
	busy, all := console.Count{Succeeded: 1}, &shell.PageContext{Now: now}
	require.Equal(t, ui.OK, withoutCauses(one, busy, console.Figures{}).State)
	require.Equal(t, ui.OK, withoutCauses(one, console.Count{}, console.Figures{}).State)

	failed := withoutCauses(one, busy, console.Figures{FailedDeliveries: 1, Held: 2})
	require.Equal(t, ui.Warn, failed.State)
	require.Contains(t, failed.Text, "Failed in the last 24 hours: 1 event delivery.")
	require.Equal(t, "/console/b/7/deliveries/?state=failed&of=failed&when=24h", failed.Link.Href)
	require.Equal(t, shell.ProblemsPath+"?state=any",
		withoutCauses(all, busy, console.Figures{FailedDeliveries: 1}).Link.Href)

	held := withoutCauses(one, console.Count{}, console.Figures{Held: 2})
	require.Equal(t, ui.Held, held.State)
	require.Contains(t, held.Text, "Waiting: 2 event deliveries.")
	require.Equal(t, "/console/b/7/deliveries/?state=held", held.Link.Href)
}

func TestOpenProblemsAreReported(t *testing.T) {
	figures := console.Figures{OpenProblems: 2, Undelivered: 430}
	one := openProblems(&shell.PageContext{Now: now, Business: core.Business{ID: 7}}, figures)
	require.Equal(t, ui.Cause{State: ui.Warn,
		Text: "2 problems with deliveries are not resolved. Not delivered: 430 event deliveries.",
		Link: ui.Link{Href: "/console/b/7/problems/", Label: "View problems"}}, one)
	require.Equal(t, shell.ProblemsPath, openProblems(&shell.PageContext{Now: now}, figures).Link.Href)
}

func TestOpenProblemsFollowErrors(t *testing.T) {
	warning := ui.Cause{State: ui.Warn, Text: "problems"}
	require.Equal(t, []ui.Cause{{State: ui.Err, Text: "first"}, {State: ui.Err}, warning, {State: ui.Warn}},
		insertAfterErrors([]ui.Cause{{State: ui.Err, Text: "first"}, {State: ui.Err}, {State: ui.Warn}}, warning))
	require.Equal(t, []ui.Cause{warning, {State: ui.OK}}, insertAfterErrors([]ui.Cause{{State: ui.OK}}, warning))
	require.Equal(t, []ui.Cause{warning}, insertAfterErrors(nil, warning))
}

func TestNoticesLinkWhatTheyCount(t *testing.T) {
	about := console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}}}
	n := notices{v: &shell.PageContext{Now: now, Zone: time.UTC},
		plugins:  map[string]*console.Plugin{"a": {About: about}},
		withName: func(_ core.BusinessID, c ui.Cause) ui.Cause { return c }}
	calls := func(message string) console.FailedCalls {
		return console.FailedCalls{Business: 7, Platform: "a b", ServedBy: "a", Orders: true, Message: message}
	}
	n.addAll(console.Notices{Menus: []console.RejectedMenus{{Business: 7, Platform: "a b", ServedBy: "a", Count: 5}},
		Calls:        []console.FailedCalls{calls("responded with 500"), calls("responded with 401")},
		PartlyFailed: []console.PartlyFailedJobs{{Business: 7, Count: 2}},
		Closed:       []console.ClosedStores{{Business: 7, Count: 2, StoreID: 1040}}})
	var links [][]string
	for _, c := range n.causes {
		links = append(links, []string{c.Link.Href, c.SecondLink.Href})
	}
	const root, failed = "/console/b/7/", "calls/?state=failed&of=failed&when=24h&platform=a+b"
	require.Equal(t, [][]string{
		{root + "grid/?reason=menu_refused&platform=a+b", ""},
		{root + failed, root + "orders/?state=rejected_by_platform&platform=a+b"},
		{root + failed, shell.PlatformLink(7, "a b")},
		{root + "jobs/00000000-0000-0000-0000-000000000000/", root + "jobs/?state=refused&when=24h"},
		{root + "stores/1040/", root + "grid/?reason=closed"}}, links)
}

func TestFailedDeliveriesLinkWhatTheyCount(t *testing.T) {
	failed := func(v *shell.PageContext) ui.Metric {
		return figureList(v, console.Count{}, console.Figures{FailedDeliveries: 3})[3]
	}
	one := failed(&shell.PageContext{Now: now, Business: core.Business{ID: 7}})
	require.Equal(t, "/console/b/7/deliveries/?state=failed&of=failed&when=24h", one.Href)
	v := &shell.PageContext{Now: now, Business: core.Business{ID: 7}}
	jobs := figureList(v, console.Count{}, console.Figures{})[4]
	require.Equal(t, "/console/b/7/jobs/?state=failed&when=24h", jobs.Href)
	all := failed(&shell.PageContext{Now: now})
	require.Equal(t, shell.ProblemsPath, all.Href)
	require.Contains(t, all.Note, "opens the problems of all days")
}
