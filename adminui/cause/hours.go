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
