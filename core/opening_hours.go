package core

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OpeningHours are the hours of a store: those of the week, and those of single dates that replace them. Without any, a
// store is always open.
type OpeningHours struct {
	Week  []DayHours
	Dates []DateHours
}

// DateHours are the hours of one date, in the time zone of the store. A closed date has no slots.
type DateHours struct {
	Date   string      `json:"date"` // YYYY-MM-DD
	Closed bool        `json:"closed,omitzero"`
	Reason string      `json:"reason,omitzero"` // for people
	Slots  []HoursSlot `json:"slots"`
}

// Bounds of the hours of dates.
const (
	MaxDates      = 366
	maxDateSlots  = 50
	maxDateReason = 255 // characters
)

// CheckDates validates the hours of dates and normalises their slots. It reports each error with its path, such as
// special_timings[2].date if name is special_timings.
func CheckDates(name string, list []DateHours, fail func(place, code, rule string)) {
	if len(list) > MaxDates {
		fail(name, "length", fmt.Sprintf("must have at most %d elements, not %d", MaxDates, len(list)))
		return
	}
	seen := map[string]int{}
	for i := range list {
		d, place := &list[i], fmt.Sprintf("%s[%d]", name, i)
		first, twice := seen[d.Date]
		_, err := time.Parse(time.DateOnly, d.Date)
		switch {
		case d.Date == "":
			fail(place+".date", "required", "is required, as YYYY-MM-DD")
		case err != nil:
			fail(place+".date", "format", "must be a date as YYYY-MM-DD, not "+Quote(d.Date))
		case twice:
			fail(place+".date", "duplicate", fmt.Sprintf("is the same as in %s[%d]", name, first))
		default:
			seen[d.Date] = i
		}
		d.check(place, fail)
	}
}

// check validates everything but the date.
func (d *DateHours) check(place string, fail func(place, code, rule string)) {
	switch {
	case d.Closed && len(d.Slots) > 0:
		fail(place+".slots", "conflict", "must be empty on a closed date")
	case !d.Closed && len(d.Slots) == 0:
		fail(place+".slots", "required", "is required, unless closed is true")
	case len(d.Slots) > maxDateSlots:
		fail(place+".slots", "length", fmt.Sprintf("must have at most %d elements, not %d", maxDateSlots, len(d.Slots)))
		return
	}
	if rule := TooLong(d.Reason, maxDateReason); rule != "" {
		fail(place+".reason", "length", rule)
	}
	var spans []slotSpan
	for j := range d.Slots {
		place := fmt.Sprintf("%s.slots[%d]", place, j)
		if start, end, ok := checkSlot(&d.Slots[j], place, fail); ok {
			spans = append(spans, slotSpan{start, end, place})
		}
	}
	checkOverlaps(spans, fail)
}

// OpenAt reports whether a store with validated hours is open at a local time, and how long ago it opened. A slot that
// passes midnight belongs to the date on which it begins. The end of a slot is exclusive.
func (h OpeningHours) OpenAt(local time.Time) (open bool, ago time.Duration) {
	now, yesterday := sinceMidnight(local), local.AddDate(0, 0, -1)
	today := h.On(local)
	switch {
	case len(h.Dates) == 0 && len(h.Week) == 0:
		return true, local.Sub(time.Time{})
	case len(h.Dates) == 0:
		return WithinHours(h.Week, local)
	case today == nil && len(h.Week) == 0:
		return true, now + fullDay*time.Duration(h.daysWithoutDate(local))
	case today == nil:
		open, ago = withinWeekday(h.Week, local, now, true)
	default:
		open, ago = withinSlots(today.Slots, now, true)
	}
	if open {
		return open, ago
	}
	if before := h.On(yesterday); before != nil {
		return withinSlots(before.Slots, now, false)
	}
	return withinWeekday(h.Week, yesterday, now, false)
}

// On returns the hours that replace those of the week on the date of a local time, or nil.
func (h OpeningHours) On(local time.Time) *DateHours {
	date := local.Format(time.DateOnly)
	for i := range h.Dates {
		if h.Dates[i].Date == date {
			return &h.Dates[i]
		}
	}
	return nil
}

// DatesFrom returns the hours of the dates from that of a local time on, sorted.
func (h OpeningHours) DatesFrom(local time.Time) []DateHours {
	first := local.Format(time.DateOnly)
	list := slices.DeleteFunc(slices.Clone(h.Dates), func(d DateHours) bool { return d.Date < first })
	slices.SortFunc(list, func(a, b DateHours) int { return strings.Compare(a.Date, b.Date) })
	return list
}

// daysWithoutDate returns how many days before a local time were not listed, at most MaxDates.
func (h OpeningHours) daysWithoutDate(local time.Time) (days int) {
	for days < MaxDates && h.On(local.AddDate(0, 0, -days-1)) == nil {
		days++
	}
	return days
}

// withinWeekday is withinSlots for the weekday of a date.
func withinWeekday(week []DayHours, date time.Time, now time.Duration, sameDay bool) (within bool, ago time.Duration) {
	day := strings.ToLower(date.Weekday().String())
	for _, hours := range week {
		if hours.Day == day {
			if within, ago := withinSlots(hours.Slots, now, sameDay); within {
				return true, ago
			}
		}
	}
	return false, 0
}
