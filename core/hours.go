package core

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DayHours are the hours of one weekday: when a store is open, or when a category is available.
type DayHours struct {
	Day   string      `json:"day"` // monday … sunday
	Slots []HoursSlot `json:"slots"`
}

// HoursSlot is a time range in 24-hour HH:MM:SS form. A slot whose end is before its start passes midnight.
type HoursSlot struct {
	StartTime string `json:"start_time"`
	EndTime   string `json:"end_time"`
}

const (
	fullDay = 24 * time.Hour
	maxDays = 5000 // bounds the days, and the slots of a day
)

// CheckHours validates hours and normalises them: the day in lower case, HH:MM extended to HH:MM:SS. It reports each
// error with its path, such as timings[2].slots[0].start_time if name is timings.
func CheckHours(name string, list []DayHours, fail func(place, code, rule string)) {
	tooLong := fmt.Sprintf("must have at most %d elements", maxDays)
	if len(list) > maxDays {
		fail(name, "length", tooLong)
		return
	}
	spans := map[string][]slotSpan{}
	for i := range list {
		d, place := &list[i], fmt.Sprintf("%s[%d]", name, i)
		weekday, known := weekdayName(d.Day)
		if !known {
			fail(place+".day", "day", "must be the name of a weekday: monday to sunday")
			continue
		}
		d.Day = weekday
		if len(d.Slots) > maxDays {
			fail(place+".slots", "length", tooLong)
			continue
		}
		for j := range d.Slots {
			place := fmt.Sprintf("%s.slots[%d]", place, j)
			if start, end, ok := checkSlot(&d.Slots[j], place, fail); ok {
				spans[d.Day] = append(spans[d.Day], slotSpan{start, end, place})
			}
		}
	}
	for i := range list {
		checkOverlaps(spans[list[i].Day], fail)
		delete(spans, list[i].Day)
	}
}

// slotSpan is a slot of a day, as durations since midnight.
type slotSpan struct {
	start, end time.Duration
	place      string
}

// checkOverlaps reports the slots of one day that overlap.
func checkOverlaps(ofDay []slotSpan, fail func(place, code, rule string)) {
	slices.SortFunc(ofDay, func(a, b slotSpan) int { return int(a.start - b.start) })
	for j := 1; j < len(ofDay); j++ {
		if ofDay[j].start < ofDay[j-1].end {
			fail(ofDay[j].place, "overlap", "overlaps "+ofDay[j-1].place)
		}
	}
}

// checkSlot returns the start and end of a slot as durations since midnight. The end of a slot that passes midnight is
// on the next day.
func checkSlot(s *HoursSlot, place string, fail func(place, code, rule string)) (start, end time.Duration, ok bool) {
	start, wrongStart := parseTimeOfDay(&s.StartTime)
	end, wrongEnd := parseTimeOfDay(&s.EndTime)
	switch {
	case wrongStart != "":
		fail(place+".start_time", "time", wrongStart)
	case wrongEnd != "":
		fail(place+".end_time", "time", wrongEnd)
	case start == end:
		fail(place, "slot", "must not start and end at the same time: for a whole day send 00:00:00 to 23:59:59")
	case end < start:
		return start, end + fullDay, true
	default:
		return start, end, true
	}
	return 0, 0, false
}

// parseTimeOfDay parses HH:MM:SS or HH:MM and extends the latter. It describes the error in wrong.
func parseTimeOfDay(s *string) (t time.Duration, wrong string) {
	if *s == "" {
		return 0, "is required, as HH:MM:SS"
	}
	if len(*s) == len("15:04") {
		if _, err := time.Parse("15:04", *s); err == nil {
			*s += ":00"
		}
	}
	parsed, err := time.Parse(time.TimeOnly, *s)
	if err != nil || len(*s) != len(time.TimeOnly) {
		return 0, "must be a time of day as HH:MM:SS, from 00:00:00 to 23:59:59"
	}
	return sinceMidnight(parsed), ""
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second
}

func weekdayName(s string) (string, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()) {
			return strings.ToLower(d.String()), true
		}
	}
	return "", false
}

// bounds returns the start and end of a validated slot as durations since midnight. If the slot passes midnight, the
// end is before the start. 23:59:59 means midnight.
func (s HoursSlot) bounds() (start, end time.Duration) {
	start, _ = parseTimeOfDay(&s.StartTime)
	if end, _ = parseTimeOfDay(&s.EndTime); end == fullDay-time.Second {
		end = fullDay
	}
	return start, end
}

// WithinHours reports whether a local time is within validated hours, and how long ago its slot began. A weekday that
// is not listed has no hours. The end of a slot is exclusive.
func WithinHours(list []DayHours, local time.Time) (within bool, ago time.Duration) {
	now := sinceMidnight(local)
	today, yesterday := strings.ToLower(local.Weekday().String()), strings.ToLower(((local.Weekday() + 6) % 7).String())
	for _, hours := range list {
		if hours.Day != today && hours.Day != yesterday {
			continue
		}
		if within, ago := withinSlots(hours.Slots, now, hours.Day == today); within {
			return true, ago
		}
	}
	return false, 0
}

// withinSlots reports whether a time since midnight is within slots of the same day, or else of the day before. It
// also returns how long ago the slot began.
func withinSlots(slots []HoursSlot, now time.Duration, sameDay bool) (within bool, ago time.Duration) {
	for _, slot := range slots {
		start, end := slot.bounds()
		overnight := end < start
		switch {
		case sameDay && now >= start && (now < end || overnight):
			return true, now - start
		case !sameDay && overnight && now < end:
			return true, now + fullDay - start
		}
	}
	return false, 0
}
