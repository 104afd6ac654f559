package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const day = 24 * time.Hour

// timings checks opening hours and brings them into canonical form.
func (c checker) timings(list []Timing) {
	if len(list) > maxElements {
		c.fail("timings", "length", fmt.Sprintf("must have at most %d elements", maxElements))
		return
	}
	type span struct {
		start, end time.Duration
		at, slot   int
	}
	spans := map[string][]span{}
	for i := range list {
		t := &list[i]
		if weekday, ok := weekdayName(t.Day); ok {
			t.Day = weekday
		} else {
			c.fail(fmt.Sprintf("timings[%d].day", i), "day", "must be the name of a weekday: monday to sunday")
			continue
		}
		if len(t.Slots) > maxElements {
			c.fail(fmt.Sprintf("timings[%d].slots", i), "length", fmt.Sprintf("must have at most %d elements", maxElements))
			continue
		}
		for j := range t.Slots {
			if start, end, ok := c.slot(i, j, &t.Slots[j]); ok {
				spans[t.Day] = append(spans[t.Day], span{start, end, i, j})
			}
		}
	}
	for i := range list {
		ofDay := spans[list[i].Day]
		delete(spans, list[i].Day)
		slices.SortFunc(ofDay, func(a, b span) int { return int(a.start - b.start) })
		for j := 1; j < len(ofDay); j++ {
			if ofDay[j].start < ofDay[j-1].end {
				c.fail(slotField(ofDay[j].at, ofDay[j].slot), "overlap", "overlaps "+slotField(ofDay[j-1].at, ofDay[j-1].slot))
			}
		}
	}
}

func slotField(timing, slot int) string { return fmt.Sprintf("timings[%d].slots[%d]", timing, slot) }

// slot checks a slot and tells when it begins and ends, counted from midnight;
// one that passes midnight ends on the next day.
func (c checker) slot(timing, n int, s *Slot) (start, end time.Duration, ok bool) {
	start, wrongStart := clockTime(&s.StartTime)
	end, wrongEnd := clockTime(&s.EndTime)
	switch {
	case wrongStart != "":
		c.fail(slotField(timing, n)+".start_time", "time", wrongStart)
	case wrongEnd != "":
		c.fail(slotField(timing, n)+".end_time", "time", wrongEnd)
	case start == end:
		c.fail(slotField(timing, n), "slot", "must not start and end at the same time; a whole day is 00:00:00 to 23:59:59")
	case end < start:
		return start, end + day, true
	default:
		return start, end, true
	}
	return 0, 0, false
}

// clockTime reads HH:MM:SS or HH:MM, completes the latter, and tells what is wrong.
func clockTime(s *string) (t time.Duration, wrong string) {
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
	return time.Duration(parsed.Hour())*time.Hour + time.Duration(parsed.Minute())*time.Minute +
		time.Duration(parsed.Second())*time.Second, ""
}

func weekdayName(s string) (string, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()) {
			return strings.ToLower(d.String()), true
		}
	}
	return "", false
}
