package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawHours draws hours that CheckHours accepts.
func drawHours(t *rapid.T, label string) []DayHours {
	clock := rapid.Custom(func(t *rapid.T) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, time.Hour, 9 * time.Hour, 12 * time.Hour, 22 * time.Hour,
			fullDay - time.Second}).Draw(t, "at") +
			time.Duration(rapid.IntRange(0, 1).Draw(t, "minutes"))*time.Minute
	})
	day := rapid.Custom(func(t *rapid.T) DayHours {
		d := DayHours{Day: rapid.SampledFrom(weekdays[:]).Draw(t, "day"), Slots: []HoursSlot{}}
		for range rapid.IntRange(0, 2).Draw(t, "slots") {
			d.Slots = append(d.Slots,
				HoursSlot{timeOfDay(clock.Draw(t, "from") % fullDay), timeOfDay(clock.Draw(t, "to") % fullDay)})
		}
		return d
	})
	return rapid.SliceOfN(day, 1, 9).Filter(func(list []DayHours) bool {
		accepted := true
		CheckHours("hours", list, func(string, string, string) { accepted = false })
		return accepted
	}).Draw(t, label)
}

func TestHourUnionAndIntersectionMatchTheirParts(t *testing.T) {
	var instants []time.Time // near the drawn times
	for day := range 7 {
		for _, hour := range []int{0, 1, 9, 12, 22} {
			for _, seconds := range []int{-30, -1, 0, 30, 61} {
				instants = append(instants, time.Date(2026, 11, 23+day, hour, 0, seconds, 0, time.UTC))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawHours(t, "a"), drawHours(t, "b")
		either, both := UnionHours(a, b), IntersectHours(a, b)
		for _, at := range instants {
			inA, _ := WithinHours(a, at)
			inB, _ := WithinHours(b, at)
			inEither, _ := WithinHours(either, at)
			inBoth, _ := WithinHours(both, at)
			if inEither != (inA || inB) || inBoth != (inA && inB) {
				t.Fatalf("%s: a %t, b %t, either %t, both %t", at.Format("Mon 15:04:05"), inA, inB, inEither, inBoth)
			}
		}
		for _, list := range [][]DayHours{either, both} {
			seen := map[string]bool{}
			for _, d := range list {
				require.False(t, seen[d.Day], "each day once")
				seen[d.Day] = true
			}
			require.NotEmpty(t, list)
		}
	})
}

func TestCombinedHoursStayOnTheirStartingDay(t *testing.T) {
	on := func(day string, slots ...HoursSlot) DayHours { return DayHours{day, slots} }
	always := make([]DayHours, 7)
	for i, day := range weekdays {
		always[i] = on(day, HoursSlot{"00:00:00", "23:59:59"})
	}
	night := []DayHours{on("sunday", HoursSlot{"22:00:00", "02:00:00"})}
	for name, c := range map[string]struct{ hours, expected []DayHours }{
		"one night":    {night, night},
		"a whole week": {always, always},
		"two that meet": {[]DayHours{on("friday", HoursSlot{"12:00:00", "16:00:00"},
			HoursSlot{"09:00:00", "12:00:00"})}, []DayHours{on("friday", HoursSlot{"09:00:00", "16:00:00"})}},
		"two of a day": {[]DayHours{on("friday", HoursSlot{"18:00:00", "22:00:00"}),
			on("friday", HoursSlot{"09:00:00", "12:00:00"})},
			[]DayHours{on("friday", HoursSlot{"09:00:00", "12:00:00"}, HoursSlot{"18:00:00", "22:00:00"})}},
		"a night of two days": {[]DayHours{on("monday", HoursSlot{"00:00:00", "02:00:00"}),
			on("sunday", HoursSlot{"22:00:00", "23:59:59"})}, night},
		"more than a day": {[]DayHours{on("friday", HoursSlot{"20:00:00", "23:59:59"}),
			on("saturday", HoursSlot{"00:00:00", "23:59:59"})},
			[]DayHours{on("friday", HoursSlot{"20:00:00", "23:59:59"}),
				on("saturday", HoursSlot{"00:00:00", "23:59:59"})}},
		"days on which it is shut": {[]DayHours{on("friday")}, []DayHours{{"monday", []HoursSlot{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.expected, UnionHours(c.hours, nil))
			require.Equal(t, c.expected, IntersectHours(c.hours, always))
		})
	}
}
