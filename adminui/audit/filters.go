package audit

import (
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
)

// filterNames are the query parameters that filter the list.
var filterNames = append([]string{"actor", "action", "object"}, shell.TimeRangeNames...)

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f console.EntryFilter,
	times shell.TimeRange, err error) {
	times, err = shell.ParseTimeRange(get, now, zone, shell.AnyTime)
	return console.EntryFilter{Actor: get("actor"), Action: get("action"), Object: get("object"), From: times.From,
		To: times.To}, times, err
}

// checkFilters returns the error of parseFilter.
func checkFilters(get func(string) string, now time.Time, zone *time.Location) error {
	_, _, err := parseFilter(get, now, zone)
	return err
}
