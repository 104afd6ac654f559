package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHoursOfDatesReplaceThoseOfTheWeek(t *testing.T) {
	slots := func(times ...string) (list []HoursSlot) {
		for i := 0; i < len(times); i += 2 {
			list = append(list, HoursSlot{times[i] + ":00", times[i+1] + ":00"})
		}
		return list
	}
	week := OpeningHours{Week: []DayHours{ // 2026-12-25 is a Friday
		{"thursday", slots("18:00", "02:00")}, {"friday", slots("09:00", "17:00")},
		{"saturday", slots("09:00", "12:00")}}}
	with := func(dates ...DateHours) OpeningHours { return OpeningHours{week.Week, dates} }
	closed := DateHours{Date: "2026-12-25", Closed: true, Reason: "Christmas"}
	late := DateHours{Date: "2026-12-25", Slots: slots("12:00", "14:00", "20:00", "03:00")}
	for _, c := range []struct {
		name  string
		hours OpeningHours
		at    string
		open  bool
		ago   time.Duration
	}{
		{"another date", with(closed), "2026-12-18 10:00", true, time.Hour},
		{"a closed date", with(closed), "2026-12-25 10:00", false, 0},
		{"a closed date, during the slot of the evening before", with(closed), "2026-12-25 01:00", true, 7 * time.Hour},
		{"after a closed date", with(closed), "2026-12-26 10:00", true, time.Hour},
		{"before the slot of a date", with(late), "2026-12-25 10:00", false, 0},
		{"in the slot of a date", with(late), "2026-12-25 13:00", true, time.Hour},
		{"in the evening of a date", with(late), "2026-12-25 23:00", true, 3 * time.Hour},
		{"past midnight after a date", with(late), "2026-12-26 02:59", true, 6*time.Hour + 59*time.Minute},
		{"at the end past midnight", with(late), "2026-12-26 03:00", false, 0},
		{"into a closed date", with(late, DateHours{Date: "2026-12-26", Closed: true}), "2026-12-26 01:00", true,
			5 * time.Hour},
		{"the evening before is closed", with(DateHours{Date: "2026-12-24", Closed: true}), "2026-12-25 01:00", false,
			0},
		{"a past date", with(DateHours{Date: "2025-12-25", Closed: true}), "2026-12-25 10:00", true, time.Hour},
		{"only closed dates", OpeningHours{Dates: []DateHours{closed}}, "2026-12-25 10:00", false, 0},
		{"after the only closed date", OpeningHours{Dates: []DateHours{closed}}, "2026-12-27 01:00", true,
			25 * time.Hour},
		{"only the hours of a date", OpeningHours{Dates: []DateHours{late}}, "2026-12-25 18:00", false, 0},
	} {
		at, err := time.Parse("2006-01-02 15:04", c.at)
		require.NoError(t, err)
		open, ago := c.hours.OpenAt(at)
		require.Equal(t, c.open, open, c.name)
		require.Equal(t, c.ago, ago, c.name)
	}
}

func TestDatesEqualToTheWeekChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := OpeningHours{Week: drawHours(t, "hours")}
		dated := OpeningHours{Week: hours.Week}
		first := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		for _, days := range rapid.SliceOfDistinct(rapid.IntRange(0, 8), rapid.ID).Draw(t, "dates") {
			date := first.AddDate(0, 0, days)
			d := DateHours{Date: date.Format(time.DateOnly), Closed: true}
			for _, h := range hours.Week {
				if name, _ := weekdayName(date.Weekday().String()); h.Day == name {
					d.Slots = append(d.Slots, h.Slots...)
				}
			}
			dated.Dates = append(dated.Dates, d)
		}
		at := first.Add(time.Duration(rapid.IntRange(24*3600, 8*24*3600-1).Draw(t, "at")) * time.Second)
		wantOpen, _ := hours.OpenAt(at)
		open, _ := dated.OpenAt(at)
		require.Equal(t, wantOpen, open)
	})
}

func TestInvalidHoursOfDatesAreReported(t *testing.T) {
	slot := []HoursSlot{{"09:00", "12:00:00"}}
	check := func(list ...DateHours) (wrong []string) {
		CheckDates("special_timings", list, func(place, code, rule string) {
			wrong = append(wrong, place+" "+code+": "+rule)
		})
		return wrong
	}
	require.Empty(t, check(DateHours{Date: "2028-02-29", Slots: slot}, DateHours{Date: "2026-12-25", Closed: true}))
	require.Equal(t, "09:00:00", slot[0].StartTime)
	for want, list := range map[string][]DateHours{
		"special_timings[0].date required: is required, as YYYY-MM-DD": {{Closed: true}},
		`special_timings[0].date format: must be a date as YYYY-MM-DD, not "2026-02-29"`: {{Date: "2026-02-29",
			Closed: true}},
		`special_timings[0].date format: must be a date as YYYY-MM-DD, not "25.12.2026"`: {{Date: "25.12.2026",
			Closed: true}},
		"special_timings[1].date duplicate: is the same as in special_timings[0]": {{Date: "2026-12-25", Closed: true},
			{Date: "2026-12-25", Slots: slot}},
		"special_timings[0].slots required: is required, unless closed is true": {{Date: "2026-12-25"}},
		"special_timings[0].slots conflict: must be empty on a closed date": {{Date: "2026-12-25", Closed: true,
			Slots: slot}},
		"special_timings[0].slots length: must have at most 50 elements, not 51": {{Date: "2026-12-25",
			Slots: make([]HoursSlot, 51)}},
		"special_timings[0].reason length: must be at most 255 characters long, not 256": {{Date: "2026-12-25",
			Closed: true, Reason: fmt.Sprintf("%0256d", 0)}},
		"special_timings[0].slots[1] overlap: overlaps special_timings[0].slots[0]": {{Date: "2026-12-25",
			Slots: []HoursSlot{{"09:00", "12:00"}, {"11:00", "13:00"}}}},
		"special_timings[0].slots[0].end_time time: is required, as HH:MM:SS": {{Date: "2026-12-25",
			Slots: []HoursSlot{{StartTime: "09:00"}}}},
		"special_timings length: must have at most 366 elements, not 367": make([]DateHours, 367),
	} {
		require.Equal(t, []string{want}, check(list...))
	}
}
