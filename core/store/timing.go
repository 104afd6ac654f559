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
		field      string
	}
	spans := map[string][]span{}
	for i := range list {
		t, field := &list[i], fmt.Sprintf("timings[%d]", i)
		if weekday, ok := weekdayName(t.Day); ok {
			t.Day = weekday
		} else {
			c.fail(field+".day", "day", "must be the name of a weekday: monday to sunday")
			continue
		}
		if len(t.Slots) > maxElements {
			c.fail(field+".slots", "length", fmt.Sprintf("must have at most %d elements", maxElements))
			continue
		}
		for j := range t.Slots {
			slot, field := &t.Slots[j], fmt.Sprintf("%s.slots[%d]", field, j)
			start, startOK := c.clockTime(field+".start_time", &slot.StartTime)
			end, endOK := c.clockTime(field+".end_time", &slot.EndTime)
			switch {
			case !startOK || !endOK:
				continue
			case start == end:
				c.fail(field, "slot", "must not start and end at the same time; a whole day is 00:00:00 to 23:59:59")
				continue
			case end < start: // passes midnight
				end += day
			}
			spans[t.Day] = append(spans[t.Day], span{start, end, field})
		}
	}
	for i := range list {
		ofDay := spans[list[i].Day]
		delete(spans, list[i].Day)
		slices.SortFunc(ofDay, func(a, b span) int { return int(a.start - b.start) })
		for j := 1; j < len(ofDay); j++ {
			if ofDay[j].start < ofDay[j-1].end {
				c.fail(ofDay[j].field, "overlap", "overlaps "+ofDay[j-1].field)
			}
		}
	}
}

// clockTime reads HH:MM:SS or HH:MM and completes the latter.
func (c checker) clockTime(field string, s *string) (time.Duration, bool) {
	if *s == "" {
		c.fail(field, "required", "is required, as HH:MM:SS")
		return 0, false
	}
	if len(*s) == len("15:04") {
		if _, err := time.Parse("15:04", *s); err == nil {
			*s += ":00"
		}
	}
	parsed, err := time.Parse(time.TimeOnly, *s)
	if err != nil || len(*s) != len(time.TimeOnly) {
		c.fail(field, "time", "must be a time of day as HH:MM:SS, from 00:00:00 to 23:59:59")
		return 0, false
	}
	return time.Duration(parsed.Hour())*time.Hour + time.Duration(parsed.Minute())*time.Minute +
		time.Duration(parsed.Second())*time.Second, true
}

func weekdayName(s string) (string, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()) {
			return strings.ToLower(d.String()), true
		}
	}
	return "", false
}
