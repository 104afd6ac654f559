// Package timeline shows the events of an order or a store in time order, with all attempts of calls to aggregators.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
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
	requestBody     ui.Payload
	responseHeaders []ui.Option
	responseBody    ui.Payload
}

// Timeline is a list of events. It is sorted by time when it is shown.
type Timeline struct {
	page    *shell.PageContext
	bodies  string // URL of the bodies of calls, by key
	left    int    // bytes of bodies that the page may still include
	entries []Entry
	// Prefix makes the ids of its elements unique on a page with several timelines.
	Prefix string
	// Open shows the last attempt of each call unfolded.
	Open bool
}

// maxBodies and maxBody limit, in bytes, the bodies that a page includes: of all calls, and of one.
const maxBodies, maxBody = 16 << 10, 8 << 10

// New returns an empty timeline for a page that serves the bodies of calls below the URL bodies.
func New(v *shell.PageContext, bodies string) *Timeline {
	return &Timeline{page: v, bodies: bodies, left: maxBodies}
}

// Add adds an event at its time.
func (l *Timeline) Add(at time.Time, e Entry) {
	e.at, e.clock = l.page.At(at), clockOf(l.page, at)
	l.entries = append(l.entries, e)
}

// AddCall adds a call to an aggregator with its attempts.
func (l *Timeline) AddCall(c console.Call) {
	description := cause.Call(c, l.page.Zone)
	note := description.Text
	if c.Actor != "" {
		note = fmt.Sprintf(text.MovedBy, cause.ActorName(c.Actor)) + " " + note
	}
	l.Add(c.CreatedAt, Entry{State: description.State, Title: cause.CallTitle(c), Words: note, Note: description.Detail,
		attempts: l.attemptsOf(c)})
}

// Len returns the number of events.
func (l *Timeline) Len() int { return len(l.entries) }

func (l *Timeline) sorted() []Entry {
	slices.SortStableFunc(l.entries,
		func(a, b Entry) int { return cmp.Compare(a.at.At.UnixMilli(), b.at.At.UnixMilli()) })
	for i := range l.entries {
		l.entries[i].key = fmt.Sprintf("%sat-%d", l.Prefix, i)
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

func (l *Timeline) attemptsOf(c console.Call) []attempt {
	list := make([]attempt, 0, len(c.Attempts))
	for i, a := range c.Attempts {
		row := attempt{title: attemptTitle(a), url: a.Method + " " + a.URL, state: ui.OK,
			outcome: fmt.Sprint(a.Status), took: ui.Took(a.Took),
			requestHeaders: ui.Headers(a.RequestHeaders), responseHeaders: ui.Headers(a.ResponseHeaders),
			requestBody:  l.payload(bodyKey(c, i, request), text.Request_, a.RequestBody),
			responseBody: l.payload(bodyKey(c, i, response), text.ResponseBody, a.ResponseBody)}
		if a.ErrorClass != "" {
			row.state, row.outcome = ui.Err, cause.PlatformMessage(c.Platform, a.Error, l.page.Zone)
		}
		list = append(list, row)
	}
	return list
}

// attemptTitle returns the number of an attempt, and its step.
func attemptTitle(a console.CallAttempt) string {
	title := fmt.Sprintf(text.Attempt, a.N)
	if a.Step != "" {
		title = fmt.Sprintf(text.AttemptStep, title, a.Step)
	}
	return title
}

// payload returns a body for display. It is short if the page includes enough already.
func (l *Timeline) payload(key, name string, raw []byte) ui.Payload {
	limit := maxBody
	if l.left < maxBody {
		limit = shortBody
	}
	p := ui.PayloadOf(key, name, raw, limit, l.bodies+key)
	l.left -= len(p.Text)
	return p
}

// shortBody is what a page shows of a body when it includes maxBodies already.
const shortBody = 200

// Parts of an attempt.
const request, response = "request", "response"

// bodyKey returns the key of a body. An attempt has several requests if it includes token requests, steps or pages.
func bodyKey(c console.Call, i int, part string) string {
	n, before := c.Attempts[i].N, 0
	for _, a := range c.Attempts[:i] {
		if a.N == n {
			before++
		}
	}
	if before > 0 {
		part = fmt.Sprintf("%d-%s", before+1, part)
	}
	return fmt.Sprintf("call-%s-%d-%s", c.ID, n, part)
}

// Bodies returns the request and response bodies of calls, for comparison.
func Bodies(calls []console.Call, zone *time.Location) (list []compare.Body) {
	for _, c := range calls {
		for i, a := range c.Attempts {
			for _, part := range []struct {
				key, label string
				body       []byte
			}{{request, text.DiffRequest, a.RequestBody}, {response, text.DiffAnswer, a.ResponseBody}} {
				if len(part.body) > 0 {
					list = append(list, compare.Static(bodyKey(c, i, part.key), fmt.Sprintf(text.DiffCall,
						cause.CallTitle(c), a.N, cause.Moment(a.StartedAt, zone), part.label), part.body))
				}
			}
		}
	}
	return list
}
