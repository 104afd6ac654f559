// Package timeline shows what happened to something as a line of time, with
// every try of what aggregators were told.
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

// Entry is something that happened.
type Entry struct {
	State ui.State
	Title string
	Href  string // where more of it is; "" nowhere
	Words string
	Note  string

	key   string
	at    ui.Instant
	clock string
	tries []try
}

// try is an attempt of a call to the aggregator.
type try struct {
	title    string
	address  string // with the method
	state    ui.State
	verdict  string
	took     string
	sentHead []ui.Option
	sent     string
	gotHead  []ui.Option
	got      string
}

// Line is what happened, in the order of time once it is shown.
type Line struct {
	visit   *shell.PageContext
	entries []Entry
}

// Of begins a line for a visit.
func Of(v *shell.PageContext) *Line { return &Line{visit: v} }

// Add puts something at its time.
func (l *Line) Add(at time.Time, e Entry) {
	e.at, e.clock = l.visit.At(at), clockOf(l.visit, at)
	l.entries = append(l.entries, e)
}

// Call puts what an aggregator was or is to be told, with its tries.
func (l *Line) Call(c console.Call) {
	told := cause.Call(c)
	words := told.Text
	if c.Actor != "" {
		words = fmt.Sprintf(text.MovedBy, cause.Who(c.Actor)) + " " + words
	}
	l.Add(c.CreatedAt, Entry{State: told.State, Title: cause.CallTitle(c), Words: words, Note: told.Detail,
		tries: tries(c.Attempts)})
}

// Len is how many things happened.
func (l *Line) Len() int { return len(l.entries) }

func (l *Line) sorted() []Entry {
	slices.SortStableFunc(l.entries,
		func(a, b Entry) int { return cmp.Compare(a.at.At.UnixMilli(), b.at.At.UnixMilli()) })
	for i := range l.entries {
		l.entries[i].key = fmt.Sprintf("at-%d", i)
	}
	return l.entries
}

// clockOf is the time of day, with the day where that is not today.
func clockOf(v *shell.PageContext, at time.Time) string {
	at, now := at.In(v.Zone), v.Now.In(v.Zone)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2 Jan " + time.TimeOnly)
}

func tries(attempts []console.CallAttempt) []try {
	list := make([]try, 0, len(attempts))
	for _, a := range attempts {
		one := try{title: fmt.Sprintf(text.Attempt, a.N), address: a.Method + " " + a.URL, state: ui.OK,
			verdict: fmt.Sprint(a.Status), took: ui.Took(a.Took),
			sentHead: ui.Headers(a.RequestHeaders), gotHead: ui.Headers(a.ResponseHeaders),
			sent: ui.Pretty(a.RequestBody, 8<<10), got: ui.Pretty(a.ResponseBody, 8<<10)}
		if a.ErrorClass != "" {
			one.state, one.verdict = ui.Err, a.Error
		}
		list = append(list, one)
	}
	return list
}
