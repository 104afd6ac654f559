package deliveries

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// filterNames are the query parameters that filter the list and the bulk resend.
var filterNames = append([]string{"state", "event", "webhook", "problem", "order", "reference", "status", "of", "text"},
	shell.TimeRangeNames...)

// filter holds the parsed filters.
type filter struct {
	state     webhook.State
	event     core.EventType
	webhook   int64
	problem   int64
	order     int64
	reference string
	status    int // of the last response; 0: any
	times     shell.TimeRange
	text      string
	shell.FailureOrder
}

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter: without
// it the page would show, and resend, too much.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f filter, err error) {
	field := func(name string) string { return strings.TrimSpace(get(name)) }
	f = filter{state: webhook.State(field("state")), event: core.EventType(field("event")),
		reference: field("reference")}
	if !slices.ContainsFunc(stateOptions, func(o ui.Option) bool { return o.Value == string(f.state) }) {
		return f, core.Errorf(core.Invalid, text.FilterState, f.state)
	}
	for _, number := range []struct {
		name, message string
		into          *int64
	}{{"webhook", text.FilterWebhook, &f.webhook}, {"problem", text.FilterProblem, &f.problem},
		{"order", text.FilterOrder, &f.order}} {
		if value := field(number.name); value != "" {
			if *number.into, err = strconv.ParseInt(value, 10, 64); err != nil || *number.into <= 0 {
				return f, core.Errorf(core.Invalid, number.message, value)
			}
		}
	}
	if value := field("status"); value != "" {
		if f.status, err = strconv.Atoi(value); err != nil || f.status < 100 || f.status > 599 {
			return f, core.Errorf(core.Invalid, text.FilterStatus, value)
		}
	}
	if f.FailureOrder, err = shell.ParseFailureOrder(get); err != nil {
		return f, err
	}
	if f.OfFailure {
		if f.state != "" && f.state != webhook.Failed {
			return f, core.Errorf(core.Invalid, text.FilterOfFailure)
		}
		f.state = webhook.Failed
	}
	f.text, f.times, err = shell.ParseSearch(get, now, zone, shell.AnyTime)
	return f, err
}

// query returns the filter of a page of the list, after the cursor.
func (f filter) query(cursor string, limit int) webhook.Filter {
	q := webhook.Filter{State: f.state, EventType: f.event, WebhookID: f.webhook, ProblemID: f.problem,
		OrderID: f.order, Reference: f.reference, Status: f.status, From: f.times.From, To: f.times.To,
		OfFailure: f.OfFailure, Sort: f.Sort, Limit: limit}
	q.Before, q.BeforeAt = f.After(cursor)
	return q
}

// addFilters adds the filters to a list.
func addFilters(list *ui.List, v *shell.PageContext, f filter) {
	list.Filters = []ui.Filter{{Name: "state", Label: text.State, Value: string(f.state), Options: stateOptions},
		{Name: "event", Label: text.Event, Value: string(f.event), Options: eventOptions()},
		{Name: "webhook", Label: text.Webhook, Value: v.Query.Get("webhook"), Hint: "id"},
		{Name: "problem", Label: text.ProblemColumn, Value: v.Query.Get("problem"), Hint: "id", Hidden: f.problem == 0},
		{Name: "order", Label: text.Order, Value: v.Query.Get("order"), Hint: "id"},
		{Name: "reference", Label: text.Reference_, Value: f.reference, Hint: text.ReferenceHint},
		{Name: "status", Label: text.LastStatus, Value: v.Query.Get("status"), Hint: "503"},
		{Name: "text", Label: text.TextIn, Value: f.text, Hint: text.TextInHint}}
	f.AddTo(list, v, f.times, shell.AnyTime)
}
