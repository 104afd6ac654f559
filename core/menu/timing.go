package menu

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Bounds of one request for category timings, in elements.
const (
	maxTimingGroups     = 500
	maxTimingCategories = 5000 // of one group
)

// TimingGroup assigns categories the times at which they are available.
type TimingGroup struct {
	Title          string          `json:"title"`
	CategoryRefIDs []string        `json:"category_ref_ids"` // empty: the group is deleted
	DaySlots       []core.DayHours `json:"day_slots"`
}

// TimingRequest is a request for category timings that passed the structural checks.
type TimingRequest struct {
	Groups      []TimingGroup
	Sent        []jsontext.Value // the groups in raw form
	Warnings    []Warning
	CallbackURL string
}

// timingEnvelope is the body of a request for category timings.
type timingEnvelope struct {
	Groups      core.Array `json:"timing_groups"`
	CallbackURL string     `json:"callback_url"`
}

func newTimingEnvelope() timingEnvelope {
	return timingEnvelope{Groups: core.Array{Limit: maxTimingGroups}}
}

// DecodeTimings decodes the body of a request for category timings. Any violation rejects it with an Invalid error that
// names the group and the field. Times follow the rules for opening hours of stores.
func DecodeTimings(body []byte) (TimingRequest, error) {
	sent := newTimingEnvelope()
	if err := core.DecodeJSON(body, &sent); err != nil {
		return TimingRequest{}, err
	}
	var v core.Violations
	if sent.CallbackURL != "" {
		if wrong := core.CheckURL(sent.CallbackURL); wrong != "" {
			v.AddBody("callback_url", "url", wrong)
		}
	}
	switch {
	case sent.Groups.Count == 0:
		v.AddBody("timing_groups", "required", "must have at least one group")
	case sent.Groups.Count > maxTimingGroups:
		v.AddBody("timing_groups", "limit",
			fmt.Sprintf("must have at most %d groups, not %d", maxTimingGroups, sent.Groups.Count))
		return TimingRequest{}, v.Err()
	}
	raws := sent.Groups.Elements(body)
	groups, titles, warnings := make([]TimingGroup, len(raws)), map[string]int{}, []Warning(nil)
	failures := core.DecodeObjects(raws, func(i int) any { return &groups[i] })
	for i := range groups {
		at := core.Object{Array: "timing_groups", Index: i, RefID: strings.TrimSpace(groups[i].Title),
			RefIDField: "title"}
		if failures[i] != nil {
			v.AddFailure(at, raws[i], failures[i])
			continue
		}
		groups[i].check(at, &v) // before an entry changes its index
		warnings = append(warnings, groups[i].dropBlank(at, &v)...)
		if first, twice := titles[groups[i].Title]; twice {
			v.Add(at, "title", "duplicate", fmt.Sprintf("is the same as in timing_groups[%d]", first))
		}
		titles[groups[i].Title] = i
	}
	return TimingRequest{groups, raws, append(warnings, emptyWeekWarnings(groups)...), sent.CallbackURL}, v.Err()
}

// decodeTimingsUnchecked decodes the body of a stored request without checking its groups, to report them as failed.
// Only their titles and categories are decoded.
func decodeTimingsUnchecked(body []byte) (TimingRequest, error) {
	sent := newTimingEnvelope()
	if err := core.DecodeJSON(body, &sent); err != nil {
		return TimingRequest{}, err
	}
	raws := sent.Groups.Elements(body)
	named := make([]struct {
		Title          string   `json:"title"`
		CategoryRefIDs []string `json:"category_ref_ids"`
	}, len(raws))
	failures := core.DecodeObjects(raws, func(i int) any { return &named[i] })
	var v core.Violations
	request := TimingRequest{Groups: make([]TimingGroup, len(raws)), Sent: raws}
	for i, group := range named {
		request.Groups[i] = TimingGroup{Title: group.Title, CategoryRefIDs: group.CategoryRefIDs}
		if failures[i] != nil {
			v.AddFailure(core.Object{Array: "timing_groups", Index: i}, raws[i], failures[i])
		}
	}
	return request, v.Err()
}

// emptyWeekWarnings warns about groups with categories but no time at all. A day without slots is valid, but a week
// without any may be a mistake.
func emptyWeekWarnings(groups []TimingGroup) (warnings []Warning) {
	for i, g := range groups {
		if len(g.CategoryRefIDs) > 0 &&
			!slices.ContainsFunc(g.DaySlots, func(d core.DayHours) bool { return len(d.Slots) > 0 }) {
			warnings = append(warnings, Warning{fmt.Sprintf("timing_groups[%d].day_slots", i),
				fmt.Sprintf("%q has no slot on any day, so its categories are never on sale", g.Title)})
		}
	}
	return warnings
}

// dropBlank removes blank references with a warning. A group with nothing else is invalid: without references it would
// be deleted.
func (g *TimingGroup) dropBlank(at core.Object, v *core.Violations) []Warning {
	sent := len(g.CategoryRefIDs)
	g.CategoryRefIDs = core.DropBlank(g.CategoryRefIDs)
	switch len(g.CategoryRefIDs) {
	case sent:
		return nil
	case 0:
		v.Add(at, "category_ref_ids", "required", "must name a category: an empty list deletes the group")
	}
	return []Warning{{fmt.Sprintf("timing_groups[%d].category_ref_ids", at.Index),
		"category_ref_ids contains empty references, which are ignored"}}
}

func (g *TimingGroup) check(at core.Object, v *core.Violations) {
	fail := func(field, code, rule string) { v.Add(at, field, code, rule) }
	text := func(field, s string) {
		if strings.TrimSpace(s) == "" {
			fail(field, "required", "is required")
		} else if rule := core.TooLong(s, maxRefID); rule != "" {
			fail(field, "length", rule)
		}
	}
	text("title", g.Title)
	switch {
	case g.CategoryRefIDs == nil:
		fail("category_ref_ids", "required", "is required: an empty list deletes the group")
	case len(g.CategoryRefIDs) > maxTimingCategories:
		fail("category_ref_ids", "length", fmt.Sprintf("must have at most %d elements", maxTimingCategories))
		return
	case len(g.CategoryRefIDs) > 0 && len(g.DaySlots) == 0:
		fail("day_slots", "required", "must have at least one day")
	}
	seen := make(map[string]bool, len(g.CategoryRefIDs))
	for i, refID := range g.CategoryRefIDs {
		if strings.TrimSpace(refID) == "" {
			continue // see dropBlank
		}
		field := fmt.Sprintf("category_ref_ids[%d]", i)
		if text(field, refID); seen[refID] {
			fail(field, "duplicate", "is given twice")
		}
		seen[refID] = true
	}
	if g.DaySlots == nil {
		g.DaySlots = []core.DayHours{}
	}
	core.CheckHours("day_slots", g.DaySlots, fail)
	for i := range g.DaySlots {
		if g.DaySlots[i].Slots == nil {
			g.DaySlots[i].Slots = []core.HoursSlot{}
		}
	}
}

// Timing is a stored group: categories, and when they are available.
type Timing struct {
	Title      string
	Hours      []core.DayHours
	Categories []int64 // ascending
	Open       bool    // now
}

// UpdateOpen sets for each group whether its categories are available at a local time of the business.
func (t Timings) UpdateOpen(local time.Time) {
	for i := range t {
		t[i].Open, _ = core.WithinHours(t[i].Hours, local)
	}
}

// Timings are the groups of a business, by title.
type Timings []Timing

// Changes returns the changes that alter the groups.
func (t Timings) Changes(changes []TimingChange) (list []TimingChange) {
	sameDay := func(a, b core.DayHours) bool { return a.Day == b.Day && slices.Equal(a.Slots, b.Slots) }
	for _, change := range changes {
		slices.Sort(change.Categories)
		at := slices.IndexFunc(t, func(stored Timing) bool { return stored.Title == change.Title })
		switch {
		case at < 0 && len(change.Categories) == 0:
		case at >= 0 && slices.Equal(t[at].Categories, change.Categories) &&
			slices.EqualFunc(t[at].Hours, change.Hours, sameDay):
		default:
			list = append(list, change)
		}
	}
	return list
}

// OpenState encodes which groups are open. As long as it is the same, so is the current availability in the menu. It is
// "" if there are no groups.
func (t Timings) OpenState() string {
	var state strings.Builder
	for at := 0; at < len(t); at += 4 { // a hexadecimal digit holds four
		digit := 0
		for i, timing := range t[at:min(at+4, len(t))] {
			if timing.Open {
				digit |= 1 << i
			}
		}
		fmt.Fprintf(&state, "%x", digit)
	}
	return state.String()
}

// byCategory returns the groups of each category.
func (t Timings) byCategory() map[int64]Timings {
	named := map[int64]Timings{}
	for _, timing := range t {
		for _, category := range timing.Categories {
			named[category] = append(named[category], timing)
		}
	}
	return named
}

// OnSale returns when a category is available by these groups, given its own and those of its parent (0 for none). A
// nil list means always.
func (t Timings) OnSale(category, parent int64) []core.DayHours {
	named := t.byCategory()
	return effectiveHours(named[category].hours(), named[parent].hours())
}

// hours returns the union of the groups' times. It returns nil if there are no groups, which means always.
func (t Timings) hours() []core.DayHours {
	if len(t) == 0 {
		return nil
	}
	hours := t[0].Hours
	for _, timing := range t[1:] {
		hours = core.UnionHours(hours, timing.Hours)
	}
	return hours
}

// open reports whether one of the groups is open now, or there are none.
func (t Timings) open() bool {
	return len(t) == 0 || slices.ContainsFunc(t, func(timing Timing) bool { return timing.Open })
}
