package adminui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
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
