package jobs

import (
	"cmp"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// filterNames are the query parameters that filter the list.
var filterNames = append([]string{"kind", "state", "about", "text"}, shell.TimeRangeNames...)

// filter holds the parsed filters.
type filter struct {
	console.JobFilter
	times shell.TimeRange
	text  string
}

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f filter, err error) {
	f.JobFilter = console.JobFilter{Kind: get("kind"), State: get("state"), Subject: get("about")}
	if err := cmp.Or(ui.CheckOption(kindOptions, f.Kind), ui.CheckOption(stateOptions, f.State)); err != nil {
		return f, err
	}
	if f.Oldest, err = shell.ParseOldest(get); err != nil {
		return f, err
	}
	f.text, f.times, err = shell.ParseSearch(get, now, zone, shell.AnyTime)
	f.From, f.To = f.times.From, f.times.To
	return f, err
}
