package adminui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func TestJobsPageCountsDaysWithFailedObjects(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root+"b/7/jobs/")
	require.Contains(t, page, "12 jobs had failed entries, on 4 of the last 7 days.")
	require.Contains(t, page, `href="/console/b/7/jobs/?state=refused"`)
	f.week = console.FailureWeek{Days: 1, Jobs: 3}
	_, page = getPage(t, client, base+shell.Root+"b/7/jobs/")
	require.NotContains(t, page, "of the last 7 days")
}

func TestJobIsComparedOnlyWithOtherBodies(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	preview := &f.jobs[3]
	for name, row := range map[string]struct {
		change   func()
		compares bool
	}{
		"queued":        {func() {}, false},
		"with a repeat": {func() { preview.Repeats = []core.ID{f.jobs[0].Reference} }, true},
		"a repeat":      {func() { preview.RepeatOf = f.jobs[0].Reference }, true},
		"dry run": {func() { preview.State, preview.Result = "done", []byte(`{"creates":{"items":["dal"]}}`) },
			true},
	} {
		t.Run(name, func(t *testing.T) {
			before := *preview
			defer func() { *preview = before }()
			row.change()
			at := base + shell.Root + "b/7/jobs/" + preview.Reference.String() + "/"
			_, page := getPage(t, client, at)
			require.Equal(t, row.compares, strings.Contains(page, "/diff/"))
			if preview.Result != nil {
				_, page = getPage(t, client, at+"diff/")
				require.Contains(t, page, "creates")
			}
		})
	}
}

func TestJobPageSaysWhyNoCallbackWasSent(t *testing.T) {
	const section, unsubscribed = "Message to the POS with the result", "No active webhook was subscribed"
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	shown := func(change func(*console.JobDetail)) string {
		before := f.jobs[0]
		defer func() { f.jobs[0] = before }()
		change(&f.jobs[0])
		_, page := getPage(t, client, base+shell.Root+"b/7/jobs/"+before.Reference.String()+"/")
		return page
	}
	page := shown(func(*console.JobDetail) {})
	require.Contains(t, page, section)
	require.Contains(t, page, "Result sent to the POS")
	require.NotContains(t, page, unsubscribed)
	require.Equal(t, webhook.OldestFirst, f.filter.Sort, "events of publications follow the callback")

	page = shown(func(j *console.JobDetail) { j.Event = idAt(9999) })
	require.Contains(t, page, unsubscribed)
	require.NotContains(t, page, "Result sent to the POS")
	require.NotContains(t, page, "expired")
	page = shown(func(j *console.JobDetail) { j.Event, j.Outcome = idAt(9999), nil })
	require.Contains(t, page, "The deliveries of this callback have expired")
	require.NotContains(t, page, unsubscribed)
	require.Contains(t, shown(func(j *console.JobDetail) { j.Event, j.FinishedAt = core.ID{}, time.Time{} }),
		"No attempt yet.")
	for _, kind := range []core.JobKind{core.BulkResendJob, core.ProblemResendJob, core.RecheckJob} {
		require.NotContains(t, shown(func(j *console.JobDetail) { j.Kind, j.Event = kind, core.ID{} }), section)
	}
	require.NotContains(t, shown(func(j *console.JobDetail) { j.DryRun, j.Event = true, core.ID{} }), section)
}

func TestCallbackURLHasNoPreviousDeliveries(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	at := base + shell.Root + "b/7/deliveries/" + f.deliveries[4].ID.String() + "/diff/"
	_, page := getPage(t, adminClient(t, base), at)
	require.NotContains(t, page, "of this webhook")
	require.Contains(t, page, "Select two ")
}

func TestFiltersOfferTheStatesThatPagesShow(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	for path, option := range map[string]string{
		"b/7/jobs/": `<option value="warned">Done, with warnings</option>`,
		"b/7/grid/": `<option value="not_live">Not live</option>`,
	} {
		_, page := getPage(t, client, base+shell.Root+path)
		require.Contains(t, page, option)
	}
}

func TestListShowsOrdersThatFailedAgain(t *testing.T) {
	v := &shell.PageContext{Zone: time.UTC}
	for _, row := range []struct {
		result        string
		state         ui.State
		words, failed string
	}{
		{`{"retried":12,"failed":12}`, ui.Err, "Done, 12 of 12 failed again", "12"},
		{`{"retried":12,"failed":1}`, ui.Warn, "Done, 1 of 12 failed again", "1"},
		{`{"retried":12,"failed":0}`, ui.OK, "Done", ""},
	} {
		list := jobs.Table(v, []console.Job{{Kind: core.OrderRetryJob, State: "done", Total: 12,
			Result: []byte(row.result)}})
		cells := list.Rows[0].Cells
		require.Equal(t, ui.StateCell(row.state, row.words), cells[1])
		require.Equal(t, row.failed, cells[4].Text)
	}
}

func TestListShowsDeliveriesThatResendsMissed(t *testing.T) {
	v := &shell.PageContext{Zone: time.UTC}
	for _, row := range []struct {
		kind           core.JobKind
		result         string
		state          ui.State
		words, missing string
	}{
		{core.ProblemResendJob, `{"selected":430,"sent":430,"delivered":0,"failed":430}`, ui.Err,
			"Done, 430 of 430 not delivered", "430"},
		{core.ProblemResendJob, `{"selected":9,"sent":7,"delivered":6,"failed":1}`, ui.Warn,
			"Done, 3 of 9 not delivered", "3"},
		{core.ProblemResendJob, `{"selected":9,"sent":9,"delivered":9,"failed":0}`, ui.OK, "Done", ""},
		{core.BulkResendJob, `{"resent":9,"skipped":3}`, ui.Warn, "Done, 3 of 12 not resent", "3"},
		{core.BulkResendJob, `{"resent":9,"skipped":0}`, ui.OK, "Done", ""},
	} {
		list := jobs.Table(v, []console.Job{{Kind: row.kind, State: "done", Total: 12, Result: []byte(row.result)}})
		cells := list.Rows[0].Cells
		require.Equal(t, ui.StateCell(row.state, row.words), cells[1], row.result)
		require.Equal(t, row.missing, cells[4].Text, row.result)
	}
}
