package calls

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// defaultPeriod is the time range of the list, because filters scan calls one by one.
const defaultPeriod = "24h"

// filterNames are the query parameters that filter the list.
var filterNames = append([]string{"state", "kind", "platform", "order", "status", "of", "text"},
	shell.TimeRangeNames...)

var stateOptions = []ui.Option{{Value: "", Label: text.Any}, {Value: string(relay.Waiting), Label: text.Pending},
	{Value: string(relay.Done), Label: text.CallState_done}, {Value: string(relay.Failed), Label: text.State_failed},
	{Value: string(relay.Pending), Label: text.CallState_pending},
	{Value: string(relay.Skipped), Label: text.CallState_skipped}}

var kindOptions = []ui.Option{{Value: "", Label: text.Any},
	{Value: string(relay.OrderAcknowledge), Label: text.CallKind_order_acknowledge},
	{Value: string(relay.OrderStatus), Label: text.CallKind_order_status},
	{Value: string(relay.ItemsOOS), Label: text.CallKind_items_oos},
	{Value: string(relay.RiderStatus), Label: text.CallKind_rider_status},
	{Value: string(relay.Action), Label: text.CallKind_action},
	{Value: string(relay.StoreAction), Label: text.CallKind_store_action},
	{Value: string(relay.ItemAction), Label: text.CallKind_item_action},
	{Value: string(relay.InboundFetch), Label: text.CallKind_inbound_fetch}}

// filter holds the parsed filters.
type filter struct {
	console.CallFilter
	order shell.FailureOrder
	times shell.TimeRange
}

// parseFilter parses the filters, with times in the zone. It fails with Invalid on an unreadable filter.
func parseFilter(get func(string) string, now time.Time, zone *time.Location) (f filter, err error) {
	field := func(name string) string { return strings.TrimSpace(get(name)) }
	f.CallFilter = console.CallFilter{State: field("state"), Kind: field("kind"), Platform: field("platform")}
	if err = cmp.Or(ui.CheckOption(stateOptions, f.State), ui.CheckOption(kindOptions, f.Kind)); err != nil {
		return f, err
	}
	if value := field("order"); value != "" {
		if f.OrderID, err = strconv.ParseInt(value, 10, 64); err != nil || f.OrderID <= 0 {
			return f, core.Errorf(core.Invalid, text.FilterOrder, value)
		}
	}
	if value := field("status"); value != "" {
		if f.Status, err = strconv.Atoi(value); err != nil || f.Status < 100 || f.Status > 599 {
			return f, core.Errorf(core.Invalid, text.FilterStatus, value)
		}
	}
	if f.order, err = shell.ParseFailureOrder(get); err != nil {
		return f, err
	}
	f.OfFailure, f.Sort = f.order.OfFailure, f.order.Sort
	if f.OfFailure && f.State != "" && f.State != string(relay.Failed) {
		return f, core.Errorf(core.Invalid, text.FilterOfFailure)
	}
	if f.Text, err = console.CheckSearchText(get("text")); err != nil {
		return f, err
	}
	if f.OrderID != 0 { // all of its calls
		f.times.Preset = shell.AnyTime
		return f, nil
	}
	if f.times, err = shell.ParseTimeRange(get, now, zone, defaultPeriod); err == nil && f.searches() {
		f.times, err = f.times.Bounded(now, zone)
	}
	f.From, f.To = f.times.From, f.times.To
	return f, err
}

// searches reports whether the filter needs a search, because no index has its values.
func (f filter) searches() bool { return f.Text != "" || f.Status != 0 }

// query returns the filter of a page of the list, after the cursor.
func (f filter) query(cursor string, limit int) console.CallFilter {
	q := f.CallFilter
	q.Limit = limit
	q.Before, q.BeforeAt = f.order.After(cursor)
	return q
}

// addFilters adds the filters to a list.
func (f filter) addFilters(list *ui.List, v *shell.PageContext, platforms []ui.Option) {
	list.Filters = []ui.Filter{{Name: "state", Label: text.State, Value: f.State, Options: stateOptions},
		{Name: "kind", Label: text.Kind, Value: f.Kind, Options: kindOptions},
		{Name: "platform", Label: text.Platform, Value: f.Platform, Options: platforms},
		{Name: "order", Label: text.Order, Value: v.Query.Get("order"), Hint: "id"},
		{Name: "status", Label: text.LastStatus, Value: v.Query.Get("status"), Hint: "503"},
		{Name: "text", Label: text.TextInCall, Value: f.Text, Hint: text.TextInHint}}
	f.order.AddTo(list, v, f.times, defaultPeriod)
}
