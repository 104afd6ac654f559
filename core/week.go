package core

import (
	"cmp"
	"slices"
	"time"
)

const week = 7 * fullDay

// The days of a week, in the order that spans use.
var weekdays = [7]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// span is a time range within a week, counted from the start of Monday.
type span struct{ start, end time.Duration }

// UnionHours returns the union of two validated lists of hours, with each day once and no overlapping slots.
func UnionHours(a, b []DayHours) []DayHours {
	return toDayHours(union(append(toSpans(a), toSpans(b)...)))
}

// IntersectHours returns the intersection of two validated lists of hours, in the same form. An empty intersection is
// one day without slots, because an empty list means always.
func IntersectHours(a, b []DayHours) []DayHours {
	var both []span
	others := union(toSpans(b))
	for _, one := range union(toSpans(a)) {
		for _, other := range others {
			if start, end := max(one.start, other.start), min(one.end, other.end); start < end {
				both = append(both, span{start, end})
			}
		}
	}
	return toDayHours(both)
}

func toSpans(list []DayHours) (spans []span) {
	for _, hours := range list {
		midnight := time.Duration(slices.Index(weekdays[:], hours.Day)) * fullDay
		for _, slot := range hours.Slots {
			start, end := slot.bounds()
			if end < start {
				end += fullDay
			}
			start, end = midnight+start, midnight+end
			spans = append(spans, span{start, min(end, week)})
			if end > week {
				spans = append(spans, span{0, end - week})
			}
		}
	}
	return spans
}

// union sorts spans and joins those that overlap or touch.
func union(spans []span) (joined []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, next := range spans {
		if last := len(joined) - 1; last >= 0 && next.start <= joined[last].end {
			joined[last].end = max(joined[last].end, next.end)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}

// toDayHours converts joined spans to hours. A span belongs to the day on which it begins, even if it passes midnight.
// It is split at midnight only if it lasts a day or more.
func toDayHours(spans []span) []DayHours {
	if last := len(spans) - 1; last > 0 && spans[0].start == 0 && spans[last].end == week {
		spans[last].end += spans[0].end // it continues from Sunday to Monday
		spans = spans[1:]
	}
	var slots [7][]HoursSlot
	for _, s := range spans {
		for s.start < s.end {
			end, midnight := s.end, s.start-s.start%fullDay+fullDay
			if end-s.start >= fullDay {
				end = midnight
			}
			slot := HoursSlot{timeOfDay(s.start), timeOfDay(end)}
			if end == midnight {
				slot.EndTime = "23:59:59"
			}
			day := s.start / fullDay % 7
			slots[day] = append(slots[day], slot)
			s.start = end
		}
	}
	list := []DayHours{}
	for day, ofDay := range slots {
		if len(ofDay) > 0 {
			slices.SortFunc(ofDay, func(a, b HoursSlot) int { return cmp.Compare(a.StartTime, b.StartTime) })
			list = append(list, DayHours{weekdays[day], ofDay})
		}
	}
	if len(list) == 0 {
		list = append(list, DayHours{weekdays[0], []HoursSlot{}})
	}
	return list
}

func timeOfDay(t time.Duration) string { return time.Time{}.Add(t).Format(time.TimeOnly) }
