package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// FailureOrder is the order of a list of deliveries or calls. Those that failed can also be sorted by their failure.
type FailureOrder struct {
	OfFailure bool // the times are those of failure, not of creation
	Sort      webhook.Sort
}

// OfFailure is the value of the parameter "of" for times of failure.
const OfFailure = "failed"

var failureSorts = []ui.Sort{{Value: string(webhook.NewestFirst), Column: "created"},
	{Value: string(webhook.OldestFirst), Column: "created", Ascending: true},
	{Value: string(webhook.LatestFailure), Column: "finished", Temporary: true},
	{Value: string(webhook.FirstFailureFirst), Column: "finished", Ascending: true, Temporary: true}}

// ParseFailureOrder reads the order of a list. Any other order is Invalid.
func ParseFailureOrder(get func(string) string) (FailureOrder, error) {
	value := strings.TrimSpace(get(sortParam))
	o := FailureOrder{OfFailure: strings.TrimSpace(get("of")) == OfFailure, Sort: webhook.Sort(value)}
	switch {
	case !slices.ContainsFunc(failureSorts, func(s ui.Sort) bool { return s.Value == value }):
		return o, core.Errorf(core.Invalid, text.FilterSort, value)
	case o.Sort.ByFailure() && !o.OfFailure:
		return o, core.Errorf(core.Invalid, text.FilterSortOf, value)
	}
	return o, nil
}

// After returns the position of a cursor: an id and, in an order by failure, a time. The zero id is the first page.
func (o FailureOrder) After(cursor string) (id core.ID, at time.Time) {
	micros, rest, timed := strings.Cut(cursor, "_")
	if !timed {
		rest = cursor
	}
	id, _ = uuid.Parse(rest)
	if !o.Sort.ByFailure() {
		return id, at
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || !timed || n>>57 != 0 {
		id = core.ID{}
	}
	return id, time.UnixMicro(n).UTC()
}

// Cursor returns the cursor after an object.
func (o FailureOrder) Cursor(id core.ID, finished time.Time) string {
	if o.Sort.ByFailure() {
		return fmt.Sprintf("%d_%s", finished.UnixMicro(), id)
	}
	return id.String()
}

// Searched returns how far a search came whose last object is given.
func (o FailureOrder) Searched(id core.ID, created, finished time.Time) Searched {
	s := Searched{Until: created, Cursor: o.Cursor(id, finished),
		Oldest: o.Sort == webhook.OldestFirst || o.Sort == webhook.FirstFailureFirst}
	if o.OfFailure {
		s.Until = finished
	}
	return s
}

// AddTo adds the choice between the times, the time range and the orders to a list.
func (o FailureOrder) AddTo(list *ui.List, v *PageContext, times TimeRange, period string) {
	of, label := "", text.Created
	if o.OfFailure {
		of, label = OfFailure, text.TimeFailed
	}
	list.Filters = append(list.Filters, ui.Filter{Name: "of", Label: text.TimeOf, Value: of,
		Options: []ui.Option{{Value: "", Label: text.TimeOfCreation}, {Value: OfFailure, Label: text.TimeOfFailure}}})
	times.AddTo(list, v, label, period)
	list.Sort = string(o.Sort)
	for _, sort := range failureSorts {
		if o.OfFailure || !sort.Temporary {
			list.Sorts = append(list.Sorts, sort)
		}
	}
}
