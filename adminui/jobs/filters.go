package jobs

import (
	"cmp"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// filterNames are the query parameters that filter the list.
var filterNames = append([]string{"kind", "state", "about"}, shell.TimeRangeNames...)

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f console.JobFilter,
	times shell.TimeRange, err error) {
	f = console.JobFilter{Kind: get("kind"), State: get("state"), Subject: get("about")}
	if err := cmp.Or(ui.CheckOption(kindOptions, f.Kind), ui.CheckOption(stateOptions, f.State)); err != nil {
		return f, times, err
	}
	times, err = shell.ParseTimeRange(get, now, zone, shell.AnyTime)
	f.From, f.To = times.From, times.To
	return f, times, err
}

// checkFilters returns the error of parseFilter.
func checkFilters(get func(string) string, now time.Time, zone *time.Location) error {
	_, _, err := parseFilter(get, now, zone)
	return err
}
