package adminui_test

import (
	"context"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

func (f *fake) CallsOfStore(_ context.Context, _ core.BusinessID, id int64, _ int) ([]console.Call, error) {
	if id != 1040 {
		return nil, f.broken
	}
	return f.storeCalls, f.broken
}

func (f *fake) CallsOfOrder(_ context.Context, _ core.BusinessID, id int64) ([]console.Call, error) {
	if id != f.orders[0].ID {
		return nil, nil
	}
	return f.calls, nil
}

// callRows returns the calls of the first order and of store 1040 as rows.
func (f *fake) callRows() (rows []console.CallRow) {
	for _, call := range f.calls {
		rows = append(rows, console.CallRow{Call: call, OrderID: f.orders[0].ID, Tries: len(call.Attempts)})
	}
	for _, call := range f.storeCalls {
		rows = append(rows, console.CallRow{Call: call, StoreID: 1040, Tries: len(call.Attempts)})
	}
	for i, row := range rows {
		if len(row.Attempts) > 0 {
			last := row.Attempts[len(row.Attempts)-1]
			rows[i].Status, rows[i].URL = last.Status, last.URL
		}
	}
	return rows
}

func (f *fake) ListCalls(_ context.Context, _ core.BusinessID,
	filter console.CallFilter) (list []console.CallRow, err error) {
	for _, row := range f.callRows() {
		if filter.State == "" || row.State == filter.State {
			list = append(list, row)
		}
	}
	return firstN(list, filter.Limit), f.broken
}

func (f *fake) SearchCalls(_ context.Context, _ core.BusinessID,
	filter console.CallFilter) ([]console.CallRow, console.SearchProgress[console.CallRow], error) {
	var rows []console.CallRow
	for _, row := range f.callRows() {
		if filter.Status == 0 || row.Status == filter.Status {
			rows = append(rows, row)
		}
	}
	return searchRows(f, rowSearch{filter.Text, filter.Limit, filter.Before}, rows,
		func(row console.CallRow) (core.ID, string) {
			return row.ID, string(row.Payload) + row.Message
		})
}

func (f *fake) Call(_ context.Context, _ core.BusinessID, id core.ID) (console.CallRow, error) {
	for _, row := range f.callRows() {
		if row.ID == id {
			return row, nil
		}
	}
	return console.CallRow{}, notFound()
}

func sampleCalls() []console.Call {
	attempt := func(n, status int, message string) console.CallAttempt {
		return console.CallAttempt{N: n, Attempt: relay.Attempt{StartedAt: minutesAgo(15), Method: "POST",
			URL: "https://api.aggregator-a.example/v1/riders/" + strings.Repeat("segment/", 14), Status: status,
			ErrorClass: message, Error: message, Took: 84 * time.Millisecond,
			RequestHeaders:  map[string]string{"X-Key": "••••••", "Content-Type": "application/json"},
			RequestBody:     []byte(`{"status":"ASSIGNED"}`),
			ResponseHeaders: map[string]string{"X-Evil": hostile}, ResponseBody: []byte("<html>" + hostile)}}
	}
	upload := attempt(2, 200, "")
	upload.Step = "upload"
	return []console.Call{
		{ID: idAt(15), Kind: "rider_status", Platform: "aggregator-a", Payload: []byte(`{"status":"ASSIGNED"}`),
			State: "done", CreatedAt: minutesAgo(15), FinishedAt: minutesAgo(14),
			Attempts: []console.CallAttempt{attempt(1, 500, "the aggregator responded with 500 Internal Server Error"),
				upload}},
		{ID: idAt(9), Kind: "rider_status", Platform: "aggregator-a", Payload: []byte(`{"status":"AT-STORE"}`),
			State: "failed", Message: "the aggregator responded with 400 Bad Request: " + long,
			CreatedAt: minutesAgo(9),
			Attempts:  []console.CallAttempt{attempt(1, 400, "the aggregator responded with 400 Bad Request")}},
		{ID: idAt(8), Kind: "action", Platform: "aggregator-a", Payload: []byte(`{"action":"fetch_customer_data"}`),
			State: "done", Result: "+1 415 555 0199", CreatedAt: minutesAgo(8)},
		{ID: idAt(7), Kind: "action", Platform: "aggregator-a", Payload: []byte(`{"action":"rider_with_mask"}`),
			State: "pending", CreatedAt: minutesAgo(7)}}
}
