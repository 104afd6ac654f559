package stores

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// hoursView shows the opening hours of a store.
type hoursView struct {
	week, dates []ui.Option
	more        string // how many dates are not shown; "": none
}

// datesShown bounds the dates on the page of a store.
const datesShown = 20

// hoursOf shows the hours of the week, and those of dates from today on.
func hoursOf(hours core.OpeningHours, now time.Time) (view hoursView) {
	for _, d := range hours.Week {
		view.week = append(view.week, ui.Option{Label: cause.Capital(d.Day), Value: cause.DayHours(d.Slots)})
	}
	coming := hours.DatesFrom(now)
	if hidden := len(coming) - datesShown; hidden > 0 {
		view.more = fmt.Sprintf(text.MoreDates, ui.Number(hidden))
		coming = coming[:datesShown]
	}
	for _, d := range coming {
		name, open := cause.Date(d)
		view.dates = append(view.dates, ui.Option{Label: name, Value: open})
	}
	return view
}
