package orders

import (
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// defaultPeriod is the time range of the list, because filters scan orders one by one.
const defaultPeriod = "24h"

// Filters listed among the states: orders overdue for acknowledgement, not received by any webhook, or with an
// update that the platform rejected.
const (
	Unacknowledged = "unacknowledged"
	Unnotified     = "not_received"
	CallFailed     = "rejected_by_platform"
)

func stateOptions() []ui.Option {
	options := []ui.Option{{Value: "", Label: text.Any}, {Value: Unacknowledged, Label: text.Unacknowledged},
		{Value: Unnotified, Label: text.Unnotified}, {Value: CallFailed, Label: text.RejectedByPlatform}}
	for _, state := range order.States() {
		options = append(options, ui.Option{Value: string(state), Label: string(state)})
	}
	return options
}

// filterNames are the query parameters that filter the list.
var filterNames = append([]string{"state", "platform", "store", "id", "text"}, shell.TimeRangeNames...)

// filter holds the parsed filters.
type filter struct {
	console.OrderFilter
	times shell.TimeRange
	text  string
}

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f filter, err error) {
	f.OrderFilter = console.OrderFilter{State: get("state"), Platform: get("platform"), Store: get("store"),
		ID: strings.TrimSpace(get("id"))}
	if err := ui.CheckOption(stateOptions(), f.State); err != nil {
		return f, err
	}
	if f.Oldest, err = shell.ParseOldest(get); err != nil {
		return f, err
	}
	if state := f.State; state == Unacknowledged || state == Unnotified || state == CallFailed {
		f.State, f.Unacknowledged, f.Unnotified, f.CallFailed = "", state == Unacknowledged, state == Unnotified,
			state == CallFailed
	}
	f.text, f.times, err = shell.ParseSearch(get, now, zone, defaultPeriod)
	if f.ID == "" || f.text != "" {
		f.From, f.To = f.times.From, f.times.To
	}
	return f, err
}
