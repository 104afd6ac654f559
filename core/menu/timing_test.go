package menu

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

const oneTiming = `{"timing_groups":[{"title":"Breakfast","category_ref_ids":["c1"],"day_slots":[{"day":"Monday",` +
	`"slots":[{"start_time":"08:00","end_time":"11:30:00"}]}]}]}`

func TestTimingGroupsAreDecodedAndNormalized(t *testing.T) {
	request, err :=
		DecodeTimings([]byte(`{"extra":null,"callback_url":null,"timing_groups":[{"title":"Gone",` +
			`"category_ref_ids":[],"day_slots":null},
		{"title":"Breakfast","note":1,"category_ref_ids":["c1",""," ","c2"],"day_slots":[{"day":"Monday",` +
			`"slots":[{"start_time":"22:00","end_time":"02:00"}]},{"day":"sunday","slots":null}]}]}`))
	require.NoError(t, err)
	require.Equal(t, []TimingGroup{
		{Title: "Gone", CategoryRefIDs: []string{}, DaySlots: []core.DayHours{}},
		{Title: "Breakfast", CategoryRefIDs: []string{"c1", "c2"}, DaySlots: []core.DayHours{
			{Day: "monday", Slots: []core.HoursSlot{{StartTime: "22:00:00", EndTime: "02:00:00"}}},
			{Day: "sunday", Slots: []core.HoursSlot{}},
		}},
	}, request.Groups)
	require.Equal(t, []Warning{{"timing_groups[1].category_ref_ids",
		"category_ref_ids contains empty references, which are ignored"}}, request.Warnings)
}

func TestInvalidTimingGroupErrorsNameTheirPath(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(oneTiming, old, new, 1) }
	for body, message := range map[string]string{
		`{}`: "timing_groups must have at least one group",
		`{"timing_groups":[` + strings.Repeat(`{},`, 500) + `{}]}`: "at most 500 groups, not 501",
		`{"timing_groups":[7]}`:                               "timing_groups[0]: must be an object",
		with(`"Breakfast"`, `" "`):                            "timing_groups[0]: title is required",
		with(`"Breakfast"`, `"`+strings.Repeat("x", 256)+`"`): "title must be at most 255",
		with(`["c1"]`,
			`null`): "category_ref_ids is required: an empty list deletes the group",
		with(`["c1"]`, `[""," "]`):     "category_ref_ids must name a category",
		with(`["c1"]`, `["c1","c1"]`):  "category_ref_ids[1] is given twice",
		with(`["c1"]`, `["","a","a"]`): "category_ref_ids[2] is given twice",
		with(`Monday`,
			`Someday`): `timing_groups[0] (title "Breakfast"): day_slots[0].day must be the name of a weekday`,
		with(`11:30:00`, `11:30:61`): "day_slots[0].slots[0].end_time must be a time of day",
		with(`11:30:00`,
			`08:00:00`): "day_slots[0].slots[0] must not start and end at the same time",
		with(`}]}]}]}`,
			`},{"start_time":"11:00","end_time":"12:00"}]}]}]}`): "day_slots[0]." +
			"slots[1] overlaps day_slots[0].slots[0]",
		with(`}]}]}]}`,
			`}]}]},{"title":"Breakfast","category_ref_ids":[]}]}`): `timing_groups[1] (title "Breakfast"): title is ` +
			`the same as in timing_groups[0]`,
		`{"timing_groups":[{"title":"x","category_ref_ids":["c1"],"day_slots":[]}]}`: "day_slots must have at least " +
			"one day",
		strings.Replace(oneTiming, `{`, `{"callback_url":"ftp://x",`, 1): "callback_url",
	} {
		_, err := DecodeTimings([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err), "%.200s", body)
		require.Contains(t, err.Error(), message)
	}
}

func TestUnchangedTimingsAreNotWritten(t *testing.T) {
	hours := func(start string) []core.DayHours {
		return []core.DayHours{{Day: "monday", Slots: []core.HoursSlot{{StartTime: start, EndTime: "12:00:00"}}}}
	}
	stored := Timings{{Title: "Late", Hours: hours("09:00:00"), Categories: []int64{4, 7}}}
	for _, c := range []struct {
		change  TimingChange
		changes bool
	}{
		{TimingChange{"Late", hours("09:00:00"), []int64{7, 4}}, false},
		{TimingChange{"Late", hours("09:30:00"), []int64{4, 7}}, true},
		{TimingChange{"Late", append(hours("09:00:00"), core.DayHours{Day: "sunday"}), []int64{4, 7}}, true},
		{TimingChange{"Late", hours("09:00:00"), []int64{4}}, true},
		{TimingChange{"Late", hours("09:00:00"), nil}, true},
		{TimingChange{"New", hours("09:00:00"), []int64{4}}, true},
		{TimingChange{"New", hours("09:00:00"), nil}, false},
	} {
		require.Equal(t, c.changes, len(stored.Changes([]TimingChange{c.change})) == 1, "%+v", c.change)
	}
}

func TestTimingGroupNeverOnSaleCausesAWarning(t *testing.T) {
	for slots, warned := range map[string]bool{
		`[{"day":"monday","slots":null},{"day":"sunday","slots":[]}]`: true, `[{"day":"monday"}]`: true,
		`[{"day":"monday","slots":null},{"day":"sunday","slots":[{"start_time":"08:00","end_time":"09:00"}]}]`: false,
	} {
		request, err :=
			DecodeTimings([]byte(`{"timing_groups":[{"title":"Gone","category_ref_ids":[]},{"title":"Tea",` +
				`"category_ref_ids":["c1"],"day_slots":` + slots + `}]}`))
		require.NoError(t, err)
		if !warned {
			require.Empty(t, request.Warnings, slots)
			continue
		}
		require.Equal(t, []Warning{{"timing_groups[1].day_slots",
			`"Tea" has no slot on any day, so its categories are never on sale`}}, request.Warnings, slots)
	}
}

// oneTimingJobStorage is the TimingStorage of a job.
type oneTimingJobStorage struct{ result TimingIngestResult }

func (s *oneTimingJobStorage) IngestTimings(_ context.Context, _ core.Job, _ []string,
	decide func(map[string]int64) (TimingIngestResult, error)) (err error) {
	s.result, err = decide(nil)
	return err
}

func TestUnreadableTimingRequestReportsEveryGroup(t *testing.T) {
	storage := &oneTimingJobStorage{}
	i := TimingIngestor{Storage: storage, Clock: core.NewSystemClock(nil)}
	job := core.Job{ID: core.NewID(time.Now()), Body: []byte(`{"timing_groups":[
		{"title":"Breakfast","category_ref_ids":["c1"],"day_slots":[]},
		{"title":"Lunch","category_ref_ids":[],"day_slots":[]}]}`)}
	err := i.Run(t.Context(), job, func(int, int) {})
	require.ErrorAs(t, err, new(core.FinalError))
	require.Empty(t, storage.result.Event.Body, "nothing was stored")

	require.NoError(t, i.Fail(t.Context(), job, err))
	require.Contains(t, storage.result.Failure, "reading a stored request")
	require.Empty(t, storage.result.Groups)
	eventtest.Check(t, core.CatalogueTimingGroup, storage.result.Event.Body)
	require.Contains(t, string(storage.result.Event.Body), `{"title":"Breakfast","success":false,`+
		`"stats":[{"category":"c1","success":false,"message":"the hub could not process the request`)
	require.Contains(t, string(storage.result.Event.Body), `{"title":"Lunch","success":false,"stats":[]}`)
}

func TestUnknownCategoryFailsAlone(t *testing.T) {
	hours := []core.DayHours{{Day: "monday"}}
	changes, stats := DecideTimings([]TimingGroup{
		{"Breakfast", []string{"c1", "c9"}, hours}, {"Lunch", []string{"c9"}, hours}, {"Gone", []string{}, nil},
	}, map[string]int64{"c1": 1})
	require.Equal(t, []TimingChange{{"Breakfast", hours, []int64{1}}, {"Gone", nil, nil}}, changes,
		"a group without any category stays as it was")
	wrong := CategoryTimingStat{"c9", false, `there is no category with the ref_id "c9"`}
	require.Equal(t, []TimingStats{
		{"Breakfast", false, []CategoryTimingStat{{"c1", true, ""}, wrong}},
		{"Lunch", false, []CategoryTimingStat{wrong}}, {"Gone", true, []CategoryTimingStat{}},
	}, stats)
}

// timedMenu has a parent with a sub-category that contains an item, and another category.
func timedMenu(t Timings) Menu {
	category := func(id int64, refID string, parent int64) Category {
		return Category{Ref: Ref{ID: id, RefID: refID, Active: true},
			CategoryDetails: CategoryDetails{Name: refID}, ParentID: parent}
	}
	item := func(id int64, refID string) Item {
		return Item{Ref: Ref{ID: id, RefID: refID, Active: true}, ItemDetails: ItemDetails{Title: refID}}
	}
	inStock := newItem("").ItemValues
	return Menu{
		Categories: []Category{category(1, "above", 0), category(2, "below", 1), category(3, "apart", 0)},
		Items:      []Item{item(7, "dal"), item(8, "naan")},
		Links:      PerRelation[[]Link]{ItemCategory: {{From: 7, To: 2}, {From: 8, To: 3}}},
		Store:      StoreValues{Items: []AtStore[ItemValues]{{ID: 7, Values: inStock}, {ID: 8, Values: inStock}}},
		Timings:    t,
	}
}

func TestEffectiveMenuShowsCategoryAvailability(t *testing.T) {
	at := func(day, from, to string) []core.DayHours {
		return []core.DayHours{{Day: day, Slots: []core.HoursSlot{{StartTime: from, EndTime: to}}}}
	}
	monday := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	always := core.Platform{Name: "web", ServedBy: core.ServedByMerchant}
	yes, no := true, false
	for _, c := range []struct {
		name                string
		timings             Timings
		above, below, apart *bool
	}{
		{"no timings", nil, nil, nil, nil},
		{"open", Timings{{Hours: at("monday", "08:00:00", "10:00:00"), Categories: []int64{3}}}, nil, nil, &yes},
		{"shut", Timings{{Hours: at("monday", "10:00:00", "11:00:00"), Categories: []int64{3}}}, nil, nil, &no},
		{"one of two is open", Timings{{Hours: at("sunday", "08:00:00", "10:00:00"), Categories: []int64{3}},
			{Hours: at("monday", "08:00:00", "10:00:00"), Categories: []int64{3}}}, nil, nil, &yes},
		{"that above is shut", Timings{{Hours: at("sunday", "08:00:00", "10:00:00"), Categories: []int64{1}}}, &no, &no,
			nil},
		{"that above is shut, this one open",
			Timings{{Hours: at("sunday", "08:00:00", "10:00:00"), Categories: []int64{1}},
				{Hours: at("monday", "08:00:00", "10:00:00"), Categories: []int64{2}}}, &no, &no, nil},
		{"this one is shut", Timings{{Hours: at("sunday", "08:00:00", "10:00:00"), Categories: []int64{2}}}, nil, &no,
			nil},
	} {
		c.timings.UpdateOpen(monday)
		seen := Effective("s1", timedMenu(c.timings), always, nil)
		require.Len(t, seen.Items, 2, "what is not on sale now may be ordered for later")
		found := map[string]*bool{}
		for _, category := range seen.Categories {
			found[category.RefID] = category.AvailableNow
		}
		require.Equal(t, map[string]*bool{"above": c.above, "below": c.below, "apart": c.apart}, found, c.name)
	}
}

func TestCategoryHoursAreLimitedByTheParent(t *testing.T) {
	on := func(day string, times ...string) []core.DayHours {
		slots := []core.HoursSlot{}
		for i := 0; i < len(times); i += 2 {
			slots = append(slots, core.HoursSlot{StartTime: times[i], EndTime: times[i+1]})
		}
		return []core.DayHours{{Day: day, Slots: slots}}
	}
	above, below := []int64{1}, []int64{2}
	for name, c := range map[string]struct {
		timings Timings
		below   []core.DayHours
	}{
		"neither has any": {nil, nil},
		"its own": {Timings{{Hours: on("friday", "09:00:00", "14:00:00"), Categories: below}},
			on("friday", "09:00:00", "14:00:00")},
		"its parent's": {Timings{{Hours: on("friday", "18:00:00", "22:00:00"), Categories: above}},
			on("friday", "18:00:00", "22:00:00")},
		"its own within its parent's": {Timings{{Hours: on("friday", "18:00:00", "22:00:00"), Categories: above},
			{Hours: on("friday", "09:00:00", "19:30:00"), Categories: below}}, on("friday", "18:00:00", "19:30:00")},
		"never": {Timings{{Hours: on("friday", "18:00:00", "22:00:00"), Categories: above},
			{Hours: on("sunday", "09:00:00", "19:30:00"), Categories: below}}, on("monday")},
		"in two groups": {Timings{{Hours: on("friday", "09:00:00", "14:00:00"), Categories: below},
			{Hours: on("friday", "12:00:00", "16:00:00"), Categories: below}}, on("friday", "09:00:00", "16:00:00")},
	} {
		t.Run(name, func(t *testing.T) {
			seen := Effective("s1", timedMenu(c.timings), web, nil)
			at := slices.IndexFunc(seen.Categories, func(c EffectiveCategory) bool { return c.RefID == "below" })
			require.Equal(t, c.below, seen.Categories[at].Timings)
		})
	}
}

func TestMenuETagChangesWithCategoryAvailability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "one")
		other := rapid.SliceOfN(rapid.Bool(), len(one), len(one)).Draw(t, "other")
		state := func(open []bool) string {
			timings := make(Timings, len(open))
			for i := range open {
				timings[i].Open = open[i]
			}
			return Versions{Timings: timings.OpenState()}.ETag()
		}
		same := true
		for i := range one {
			same = same && one[i] == other[i]
		}
		require.Equal(t, same, state(one) == state(other))
	})
}
