package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// DayHours formats the opening hours of a day.
func DayHours(slots []core.HoursSlot) string {
	spans := make([]string, len(slots))
	for i, slot := range slots {
		spans[i] = strings.TrimSuffix(slot.StartTime, ":00") + "–" + strings.TrimSuffix(slot.EndTime, ":00")
	}
	return strings.Join(spans, ", ")
}

// Date formats the hours of a date, and names it.
func Date(d core.DateHours) (name, hours string) {
	name, hours = d.Date, DayHours(d.Slots)
	if at, err := time.Parse(time.DateOnly, d.Date); err == nil {
		name = at.Format("Mon 2 Jan 2006")
	}
	if d.Reason != "" {
		name += " (" + d.Reason + ")"
	}
	return name, cmp.Or(hours, text.ClosedAllDay)
}

// closedDetail describes the hours of a store that is closed at a local time.
func closedDetail(hours core.OpeningHours, now time.Time) string {
	if today := hours.On(now); today != nil {
		name, open := Date(*today)
		return fmt.Sprintf(text.DateHours, name, open)
	}
	return fmt.Sprintf(text.StoreHours, WeekHours(hours.Week))
}

// WeekHours formats the hours of a week. Days with equal hours are grouped.
func WeekHours(week []core.DayHours) string {
	var days, hours []string
	for _, d := range week {
		if len(d.Slots) == 0 {
			continue
		}
		day, spans := Capital(d.Day[:3]), DayHours(d.Slots)
		if at := slices.Index(hours, spans); at >= 0 {
			days[at] += ", " + day
			continue
		}
		days, hours = append(days, day), append(hours, spans)
	}
	for i := range days {
		days[i] += " " + hours[i]
	}
	return cmp.Or(strings.Join(days, "; "), text.NoTime)
}

// notOnSaleReason lists the sale hours of an item that no category sells at now, in the local time of the
// business. It is "" if a category sells it, or if it has no category.
func notOnSaleReason(i console.ItemDetail, now time.Time) string {
	var times []string
	for _, category := range i.Categories {
		if on, _ := core.WithinHours(category.SaleHours, now); on || category.SaleHours == nil {
			return ""
		}
		times = append(times, fmt.Sprintf(text.CategoryOnSale, cmp.Or(category.Name, category.RefID),
			WeekHours(category.SaleHours)))
	}
	if len(times) == 0 {
		return ""
	}
	return fmt.Sprintf(text.NotOnSaleNow, strings.Join(times, "; "))
}
