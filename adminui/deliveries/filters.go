package deliveries

import (
	"fmt"
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
var filterNames = []string{"state", "event", "webhook", "order", "reference", "from", "to"}

// filter holds the parsed filters.
type filter struct {
	state     webhook.State
	event     core.EventType
	webhook   int64
	order     int64
	reference string
	from, to  time.Time // created in [from, to)
}

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter: without
// it the page would show, and resend, too much.
func parseFilter(get func(string) string, zone *time.Location) (f filter, err error) {
	field := func(name string) string { return strings.TrimSpace(get(name)) }
	f = filter{state: webhook.State(field("state")), event: core.EventType(field("event")),
		reference: field("reference")}
	if !slices.ContainsFunc(stateOptions, func(o ui.Option) bool { return o.Value == string(f.state) }) {
		return f, core.Errorf(core.Invalid, text.FilterState, f.state)
	}
	for _, number := range []struct {
		name, message string
		into          *int64
	}{{"webhook", text.FilterWebhook, &f.webhook}, {"order", text.FilterOrder, &f.order}} {
		if value := field(number.name); value != "" {
			if *number.into, err = strconv.ParseInt(value, 10, 64); err != nil || *number.into <= 0 {
				return f, core.Errorf(core.Invalid, number.message, value)
			}
		}
	}
	for name, into := range map[string]*time.Time{"from": &f.from, "to": &f.to} {
		if value := field(name); value != "" {
			if *into, err = time.ParseInLocation(ui.MomentLayout, value, zone); err != nil {
				return f, core.Errorf(core.Invalid, text.FilterMoment, value)
			}
		}
	}
	if !f.from.IsZero() && !f.to.IsZero() && !f.from.Before(f.to) {
		return f, core.Errorf(core.Invalid, text.FilterSpan)
	}
	return f, nil
}

// filterFields returns the filter form.
func filterFields(v *shell.PageContext, f filter) []ui.Filter {
	zone := v.Now.In(v.Zone).Format("MST")
	return []ui.Filter{{Name: "state", Label: text.State, Value: string(f.state), Options: stateOptions},
		{Name: "event", Label: text.Event, Value: string(f.event), Options: eventOptions()},
		{Name: "webhook", Label: text.Webhook, Value: v.Query.Get("webhook"), Hint: "id"},
		{Name: "order", Label: text.Order, Value: v.Query.Get("order"), Hint: "id"},
		{Name: "reference", Label: text.Reference_, Value: f.reference, Hint: "uuid"},
		{Name: "from", Label: fmt.Sprintf(text.CreatedFrom, zone), Value: v.Query.Get("from"), Moment: true},
		{Name: "to", Label: fmt.Sprintf(text.CreatedBefore, zone), Value: v.Query.Get("to"), Moment: true}}
}
