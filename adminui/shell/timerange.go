package shell

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// TimeRange is the time filter of a list: a preset such as today, or explicit times.
type TimeRange struct {
	Preset   string    // "" if the times are explicit or open
	From, To time.Time // From is inclusive, To is exclusive; zero: open
	Implied  bool      // Bounded added the beginning
}

// AnyTime is the preset without bounds.
const AnyTime = "any"

// TimeRangeNames are the query parameters of a time range.
var TimeRangeNames = []string{"when", "from", "to"}

// presets are the named time ranges. A range starts at a duration before now, or at a midnight.
var presets = []struct {
	name, label string
	span        time.Duration // before now; 0: whole days
	from, to    int           // days from today, with span 0; to 1 is open
}{
	{"15m", text.Last15Minutes, 15 * time.Minute, 0, 0}, {"1h", text.LastHour, time.Hour, 0, 0},
	{"24h", text.Last24Hours, 24 * time.Hour, 0, 0}, {"today", text.Today, 0, 0, 1},
	{"yesterday", text.Yesterday, 0, -1, 0}, {"7d", text.Last7Days, 7 * 24 * time.Hour, 0, 0},
}

// withOffsets returns a query whose explicit times have offsets. Those without are in the zone. It keeps unreadable
// times.
func withOffsets(query url.Values, zone *time.Location) url.Values {
	exact := maps.Clone(query)
	for _, name := range []string{"from", "to"} {
		at, err := time.ParseInLocation(ui.MomentLayout, strings.TrimSpace(query.Get(name)), zone)
		if err == nil {
			exact.Set(name, at.Format(ui.ExactLayout))
		}
	}
	return exact
}

// inUTC returns a query whose times with offsets are in UTC. Queries with the same times are then equal.
func inUTC(query url.Values) url.Values {
	same := maps.Clone(query)
	for _, name := range []string{"from", "to"} {
		if at, err := time.Parse(ui.ExactLayout, strings.TrimSpace(query.Get(name))); err == nil {
			same.Set(name, at.UTC().Format(ui.ExactLayout))
		}
	}
	return same
}

// ExactURL returns the URL of a list with offsets in its times, for a redirect, because the user may copy it. It
// returns "" if they have offsets.
func (v *PageContext) ExactURL(c *fiber.Ctx) string {
	exact := withOffsets(v.Query, v.Zone)
	if exact.Encode() == v.Query.Encode() {
		return ""
	}
	if done := c.Query("done"); done != "" { // not in v.Query
		exact.Set("done", done)
	}
	return v.Path + "?" + exact.Encode()
}

// localMoment returns a time of a query in MomentLayout and the zone.
func localMoment(value string, zone *time.Location) string {
	if at, err := time.Parse(ui.ExactLayout, strings.TrimSpace(value)); err == nil {
		return at.In(zone).Format(ui.MomentLayout)
	}
	return value
}

// ParseTimeRange reads a time range from a query. Days and times without an offset are in the zone. Explicit times
// replace a preset, and without any parameter it is the fallback, a preset. An unknown preset or an unreadable time is
// Invalid.
func ParseTimeRange(get func(string) string, now time.Time, zone *time.Location,
	fallback string) (r TimeRange, err error) {
	field := func(name string) string { return strings.TrimSpace(get(name)) }
	if field("from") == "" && field("to") == "" {
		if r.Preset = cmp.Or(field("when"), fallback); r.Preset == AnyTime {
			return r, nil
		}
		return r, r.expand(now.In(zone))
	}
	for name, into := range map[string]*time.Time{"from": &r.From, "to": &r.To} {
		if value := field(name); value != "" {
			at, err := time.Parse(ui.ExactLayout, value)
			if err != nil {
				at, err = time.ParseInLocation(ui.MomentLayout, value, zone)
			}
			if err != nil || at.Year() < 1970 { // ids have no earlier times
				return r, core.Errorf(core.Invalid, text.FilterMoment, value)
			}
			*into = at.In(zone)
		}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To) {
		return r, core.Errorf(core.Invalid, text.FilterSpan)
	}
	return r, nil
}

// ParseSearch reads a text to search and a time range, which is Bounded with a text.
func ParseSearch(get func(string) string, now time.Time, zone *time.Location,
	fallback string) (search string, r TimeRange, err error) {
	if search, err = console.CheckSearchText(get("text")); err != nil {
		return "", r, err
	}
	if r, err = ParseTimeRange(get, now, zone, fallback); err == nil && search != "" {
		r, err = r.Bounded(now, zone)
	}
	return search, r, err
}

// searchPreset is the time range of a search without a beginning.
const searchPreset = "7d"

// Bounded returns the range with a beginning, for a search of texts: at most seven days before its end.
func (r TimeRange) Bounded(now time.Time, zone *time.Location) (TimeRange, error) {
	if !r.From.IsZero() {
		return r, nil
	}
	r.Implied = true
	if r.To.IsZero() {
		r.Preset = searchPreset
		return r, r.expand(now.In(zone))
	}
	r.From = r.To.AddDate(0, 0, -7)
	return r, nil
}

// expand sets the times of the preset.
func (r *TimeRange) expand(now time.Time) error {
	midnight := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 0, 0, 0, 0, now.Location())
	}
	for _, p := range presets {
		switch {
		case p.name != r.Preset:
			continue
		case p.span > 0:
			r.From = now.Add(-p.span)
		default:
			if r.From = midnight(p.from); p.to < 1 {
				r.To = midnight(p.to)
			}
		}
		return nil
	}
	return core.Errorf(core.Invalid, text.FilterPreset, r.Preset)
}

// AddTo adds the range to the filters of a list. Label names the times, such as Created.
func (r TimeRange) AddTo(list *ui.List, v *PageContext, label, fallback string) {
	zone := v.Now.In(v.Zone).Format("MST")
	chosen := v.Query.Get("when")
	if chosen == fallback || r.Preset == "" {
		chosen = ""
	}
	list.Filters = append(list.Filters, ui.Filter{Name: "when", Value: chosen, Hidden: true},
		ui.Filter{Name: "from", Label: fmt.Sprintf(text.TimeFrom, label, zone),
			Value: localMoment(v.Query.Get("from"), v.Zone), Moment: true},
		ui.Filter{Name: "to", Label: fmt.Sprintf(text.TimeBefore, label, zone),
			Value: localMoment(v.Query.Get("to"), v.Zone), Moment: true})
	if r.Preset != AnyTime { // older rows may exist
		list.EmptyTitle = fmt.Sprintf(text.NoneInTime, list.EmptyTitle)
		list.EmptyText = text.LongerTime + " " + list.EmptyText
	}
	list.PeriodsLabel = label
	for _, p := range presets {
		list.Periods = append(list.Periods, r.period(v, p.name, p.label, fallback))
	}
	list.Periods = append(list.Periods, r.period(v, AnyTime, text.AnyTime, fallback))
}

func (r TimeRange) period(v *PageContext, name, label, fallback string) ui.Period {
	value := name
	if name == fallback {
		value = ""
	}
	return ui.Period{Link: ui.Link{Label: label, Href: v.urlWith("when", value, "from", "", "to", "", "before", "",
		searchedParam, "")},
		Current: name == r.Preset}
}

// Parameters returns the parameters of the range: its preset, or explicit times.
func (r TimeRange) Parameters(zone *time.Location) map[string]string {
	if r.Preset != "" {
		return map[string]string{"when": r.Preset}
	}
	return r.Explicit(zone)
}

// Explicit returns the parameters of the range with explicit times, to the minute, so that a later page reads the same
// range.
func (r TimeRange) Explicit(zone *time.Location) map[string]string {
	times := map[string]string{}
	for name, at := range map[string]time.Time{"from": r.From, "to": r.To} {
		if !at.IsZero() {
			times[name] = at.In(zone).Format(ui.ExactLayout)
		}
	}
	return times
}
