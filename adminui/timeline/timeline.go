// Package timeline shows the events of an order or a store in time order, with all attempts of calls to aggregators.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// Entry is an event.
type Entry struct {
	State ui.State
	Title string
	Href  string // of its page; "": none
	Words string
	Note  string

	key      string
	at       ui.Instant
	clock    string
	attempts []attempt
}

// attempt is an attempt of a call to an aggregator.
type attempt struct {
	title           string
	url             string // with the method
	state           ui.State
	outcome         string
	took            string
	requestHeaders  []ui.Option
	requestBody     string
	responseHeaders []ui.Option
	responseBody    string
}

// Timeline is a list of events. It is sorted by time when it is shown.
type Timeline struct {
	page    *shell.PageContext
	entries []Entry
}

// New returns an empty timeline for a page.
func New(v *shell.PageContext) *Timeline { return &Timeline{page: v} }

// Add adds an event at its time.
func (l *Timeline) Add(at time.Time, e Entry) {
	e.at, e.clock = l.page.At(at), clockOf(l.page, at)
	l.entries = append(l.entries, e)
}

// AddCall adds a call to an aggregator with its attempts.
func (l *Timeline) AddCall(c console.Call) {
	description := cause.Call(c)
	note := description.Text
	if c.Actor != "" {
		note = fmt.Sprintf(text.MovedBy, cause.ActorName(c.Actor)) + " " + note
	}
	l.Add(c.CreatedAt, Entry{State: description.State, Title: cause.CallTitle(c), Words: note, Note: description.Detail,
		attempts: attemptsOf(c)})
}

// Len returns the number of events.
func (l *Timeline) Len() int { return len(l.entries) }

func (l *Timeline) sorted() []Entry {
	slices.SortStableFunc(l.entries,
		func(a, b Entry) int { return cmp.Compare(a.at.At.UnixMilli(), b.at.At.UnixMilli()) })
	for i := range l.entries {
		l.entries[i].key = fmt.Sprintf("at-%d", i)
	}
	return l.entries
}

// clockOf returns the time of day, with the date unless it is today.
func clockOf(v *shell.PageContext, at time.Time) string {
	at, now := at.In(v.Zone), v.Now.In(v.Zone)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2 Jan " + time.TimeOnly)
}

func attemptsOf(c console.Call) []attempt {
	list := make([]attempt, 0, len(c.Attempts))
	for _, a := range c.Attempts {
		row := attempt{title: fmt.Sprintf(text.Attempt, a.N), url: a.Method + " " + a.URL, state: ui.OK,
			outcome: fmt.Sprint(a.Status), took: ui.Took(a.Duration),
			requestHeaders: ui.Headers(a.RequestHeaders), responseHeaders: ui.Headers(a.ResponseHeaders),
			requestBody: ui.Pretty(a.RequestBody, 8<<10), responseBody: ui.Pretty(a.ResponseBody, 8<<10)}
		if a.ErrorClass != "" {
			row.state, row.outcome = ui.Err, cause.PlatformMessage(c.Platform, a.Error)
		}
		list = append(list, row)
	}
	return list
}
