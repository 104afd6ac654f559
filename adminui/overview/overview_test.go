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

func TestFailedDeliveriesLinkWhatTheyCount(t *testing.T) {
	failed := func(v *shell.PageContext) ui.Metric {
		return figureList(v, console.Count{}, console.Figures{FailedDeliveries: 3})[3]
	}
	one := failed(&shell.PageContext{Now: now, Business: core.Business{ID: 7}})
	require.Equal(t, "/console/b/7/deliveries/?state=failed&when=24h", one.Href)
	all := failed(&shell.PageContext{Now: now})
	require.Equal(t, shell.ProblemsPath, all.Href)
	require.Contains(t, all.Note, "opens the problems of all days")
}
