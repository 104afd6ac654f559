package deliveries

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
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
	ofFailure bool // the times are those of failure, not of creation
	text      string
	sort      webhook.Sort
}

// ofFailure is the value of the parameter "of" for times of failure.
const ofFailure = "failed"

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
	if f.ofFailure = field("of") == ofFailure; f.ofFailure {
		if f.state != "" && f.state != webhook.Failed {
			return f, core.Errorf(core.Invalid, text.FilterOfFailure)
		}
		f.state = webhook.Failed
	}
	if err = f.parseSort(field("sort")); err != nil {
		return f, err
	}
	if f.text, err = console.CheckSearchText(get("text")); err != nil {
		return f, err
	}
	if f.times, err = shell.ParseTimeRange(get, now, zone, shell.AnyTime); err == nil && f.text != "" {
		f.times, err = f.times.Bounded(now, zone)
	}
	return f, err
}

// sorts are the orders of the list.
var sorts = []ui.Sort{{Value: string(webhook.NewestFirst), Column: "created"},
	{Value: string(webhook.OldestFirst), Column: "created", Ascending: true},
	{Value: string(webhook.LatestFailure), Column: "finished", Temporary: true},
	{Value: string(webhook.FirstFailureFirst), Column: "finished", Ascending: true, Temporary: true}}

// parseSort reads the order of the list.
func (f *filter) parseSort(value string) error {
	f.sort = webhook.Sort(value)
	switch {
	case !slices.ContainsFunc(sorts, func(s ui.Sort) bool { return s.Value == value }):
		return core.Errorf(core.Invalid, text.FilterSort, value)
	case f.sort.ByFailure() && !f.ofFailure:
		return core.Errorf(core.Invalid, text.FilterSortOf, value)
	}
	return nil
}

// query returns the filter of a page of the list, after the cursor.
func (f filter) query(cursor string, limit int) webhook.Filter {
	q := webhook.Filter{State: f.state, EventType: f.event, WebhookID: f.webhook, ProblemID: f.problem,
		OrderID: f.order, Reference: f.reference, Status: f.status, From: f.times.From, To: f.times.To,
		OfFailure: f.ofFailure, Sort: f.sort, Limit: limit}
	micros, id, timed := strings.Cut(cursor, "_")
	if !timed {
		id = cursor
	}
	q.Before, _ = uuid.Parse(id)
	at, err := strconv.ParseInt(micros, 10, 64)
	if f.sort.ByFailure() {
		if q.BeforeAt = time.UnixMicro(at).UTC(); err != nil || !timed || at>>57 != 0 {
			q.Before = core.ID{} // the first page
		}
	}
	return q
}

// cursor returns the cursor after a delivery.
func (f filter) cursor(d webhook.DeliveryRecord) string {
	if f.sort.ByFailure() {
		return fmt.Sprintf("%d_%s", d.FinishedAt.UnixMicro(), d.ID)
	}
	return d.ID.String()
}

// checkFilters returns the error of parseFilter.
func checkFilters(get func(string) string, now time.Time, zone *time.Location) error {
	_, err := parseFilter(get, now, zone)
	return err
}

// addFilters adds the filters to a list.
func addFilters(list *ui.List, v *shell.PageContext, f filter) {
	of, label := "", text.Created
	if f.ofFailure {
		of, label = ofFailure, text.TimeFailed
	}
	list.Filters = []ui.Filter{{Name: "state", Label: text.State, Value: string(f.state), Options: stateOptions},
		{Name: "event", Label: text.Event, Value: string(f.event), Options: eventOptions()},
		{Name: "webhook", Label: text.Webhook, Value: v.Query.Get("webhook"), Hint: "id"},
		{Name: "problem", Label: text.ProblemColumn, Value: v.Query.Get("problem"), Hint: "id", Hidden: f.problem == 0},
		{Name: "order", Label: text.Order, Value: v.Query.Get("order"), Hint: "id"},
		{Name: "reference", Label: text.Reference_, Value: f.reference, Hint: text.ReferenceHint},
		{Name: "status", Label: text.LastStatus, Value: v.Query.Get("status"), Hint: "503"},
		{Name: "text", Label: text.TextIn, Value: f.text, Hint: text.TextInHint},
		{Name: "of", Label: text.TimeOf, Value: of, Options: []ui.Option{{Value: "", Label: text.TimeOfCreation},
			{Value: ofFailure, Label: text.TimeOfFailure}}}}
	f.times.AddTo(list, v, label, shell.AnyTime)
	list.Sort = string(f.sort)
	for _, sort := range sorts {
		if f.ofFailure || !sort.Temporary {
			list.Sorts = append(list.Sorts, sort)
		}
	}
}
