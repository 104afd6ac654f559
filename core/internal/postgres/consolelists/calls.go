package consolelists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// ListCalls returns calls of a business in the order of the filter, without its Text and Status. It returns Invalid for
// an order that no index serves.
func (c Store) ListCalls(ctx context.Context, business core.BusinessID,
	f console.CallFilter) ([]console.CallRow, error) {
	var only postgres.Conditions
	only.Add(f.State != "", "call.state = ?", f.State)
	only.Add(f.Kind != "", "call.kind = ?", f.Kind)
	only.Add(f.Platform != "", "call.platform = ?", f.Platform)
	only.Add(f.OrderID != 0, "call.order_id = ?", f.OrderID)
	only.Add(f.ID != core.ID{}, "call.id = ?", f.ID)
	oldest := f.Sort == webhook.OldestFirst || f.Sort == webhook.FirstFailureFirst
	order, after := sortOrder(oldest)
	sorted := "call.id " + order
	switch {
	case f.Sort.ByFailure() && !f.OfFailure, f.Sort != "" && !oldest && f.Sort != webhook.LatestFailure:
		return nil, core.Errorf(core.Invalid, "calls cannot be sorted by %q", f.Sort)
	case f.Sort.ByFailure():
		sorted = "call.finished_at " + order + ", call.id " + order
		only.Add(f.Before != core.ID{}, "(call.finished_at, call.id) ? (?, ?)", after, f.BeforeAt, f.Before)
	default:
		only.Add(f.Before != core.ID{}, "call.id ? ?", after, f.Before)
	}
	if f.OfFailure {
		only.Add(true, "call.state = 'failed'")
		only.Add(!f.From.IsZero(), "call.finished_at >= ?", f.From)
		only.Add(!f.To.IsZero(), "call.finished_at < ?", f.To)
	} else {
		only.Add(!f.From.IsZero(), "call.id >= ?", core.FirstID(f.From))
		only.Add(!f.To.IsZero(), "call.id < ?", core.FirstID(f.To))
	}
	return postgres.Collect(ctx, c.db.Tenant(business), "reading calls", func(r *console.CallRow) []any {
		return append(callColumns(&r.Call), &r.OrderID, &r.StoreID, &r.Tries, &r.Status, &r.URL)
	}, bun.SafeQuery(queries.With("list_calls", postgres.Args{"business": business, "only": only, "order": sorted,
		"columns": bun.Safe(queries.With("call_columns", nil)), "limit": f.Limit})))
}

// Call returns a call with its attempts, or NotFound.
func (c Store) Call(ctx context.Context, business core.BusinessID, id core.ID) (console.CallRow, error) {
	found, err := c.ListCalls(ctx, business, console.CallFilter{ID: id, Limit: 1})
	if err == nil && len(found) == 0 {
		err = core.Errorf(core.NotFound, "there is no call with this id")
	}
	if err != nil {
		return console.CallRow{}, err
	}
	list := []console.Call{found[0].Call}
	err = c.callAttempts(ctx, business, list)
	found[0].Call = list[0]
	return found[0], err
}

// SearchCalls returns calls of a filter, with its Status and Text. The text may be in the payload of a call, or in a
// request, response or error of an attempt. The search may end before all calls are searched.
func (c Store) SearchCalls(ctx context.Context, business core.BusinessID,
	f console.CallFilter) ([]console.CallRow, console.SearchProgress[console.CallRow], error) {
	search := newTextSearch(c, f.Text, f.Limit,
		nextPage(f, func(ctx context.Context, f console.CallFilter, limit int) ([]console.CallRow, error) {
			f.Limit = limit
			return c.ListCalls(ctx, business, f)
		}),
		func(ctx context.Context, rows []console.CallRow, visit func(int, []byte)) error {
			ids, index := indexByID(rows, func(call console.CallRow) core.ID { return call.ID })
			return c.texts(ctx, business, index, queries.With("texts_of_calls", postgres.Args{
				"business": business, "ids": postgres.Array(ids)}), visit)
		})
	search.Where = func(call console.CallRow) bool { return f.Status == 0 || call.Status == f.Status }
	return search.Run(ctx)
}

// locationState is the state (relay.State) of the rider's latest location, from its row in
// call_queue. Without a note it was sent.
const locationState = bun.Safe(`CASE WHEN available_at < 'infinity' THEN 'waiting'
	WHEN note = '' THEN 'done' ELSE location_state END`)

// CallsOfOrder returns the calls to the aggregator about an order, the oldest first, with
// every attempt. A rider location is included if sending it failed.
func (c Store) CallsOfOrder(ctx context.Context, business core.BusinessID, id int64) ([]console.Call, error) {
	return c.calls(ctx, business, queries.With("calls_of_order", postgres.Args{
		"business": business, "order": id, "columns": bun.Safe(queries.With("call_columns", nil)),
		"location": relay.OrderingKey(relay.RiderLocation, strconv.FormatInt(id, 10)), "location_state": locationState,
	}))
}

// CallsOfStore returns the last availability calls of a store, the oldest first. It returns at most limit per platform,
// and the last one that opened or closed the store there.
func (c Store) CallsOfStore(ctx context.Context, business core.BusinessID, store int64,
	limit int) ([]console.Call, error) {
	return c.calls(ctx, business, queries.With("calls_of_store", postgres.Args{
		"business": business, "columns": bun.Safe(queries.With("call_columns", nil)),
		"store": store, "limit": limit, "store_action": relay.StoreAction,
	}))
}

func (c Store) calls(ctx context.Context, business core.BusinessID, query string) ([]console.Call, error) {
	list, err := postgres.Collect(ctx, c.db.Tenant(business), "reading the calls to aggregators", callColumns,
		bun.SafeQuery(query))
	if err != nil {
		return nil, err
	}
	return list, c.callAttempts(ctx, business, list)
}

// callColumns returns the scan destinations of call_columns.
func callColumns(c *console.Call) []any {
	return []any{&c.ID, &c.Kind, &c.Platform, &c.Payload, &c.Actor, &c.State, &c.Message, &c.Result, &c.CreatedAt,
		postgres.OrZero(&c.FinishedAt), postgres.OrZero(&c.NextAt), &c.EarlierWaits}
}

func (c Store) callAttempts(ctx context.Context, business core.BusinessID, calls []console.Call) error {
	byID, ids := map[core.ID]*console.Call{}, make([]string, len(calls))
	for i := range calls {
		byID[calls[i].ID], ids[i] = &calls[i], calls[i].ID.String()
	}
	if len(calls) == 0 {
		return nil
	}
	rows, err := c.db.Tenant(business).QueryContext(ctx,
		`SELECT call_id, n, started_at, method, url, request_headers, request_body, status, error_class, error,
			response_headers, response_body, total_us, step
		FROM call_attempts WHERE business_id = ? AND call_id = ANY (?::uuid[]) ORDER BY call_id, n, started_at`,
		business, postgres.Array(ids))
	if err != nil {
		return fmt.Errorf("reading attempts of calls: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var call core.ID
		var a console.CallAttempt
		var sent, received []byte
		var took int64
		if err := rows.Scan(&call, &a.N, &a.StartedAt, &a.Method, &a.URL, &sent, &a.RequestBody, &a.Status,
			&a.ErrorClass, &a.Error, &received, &a.ResponseBody, &took, &a.Step); err != nil {
			return fmt.Errorf("reading attempts of calls: %w", err)
		}
		if err := errors.Join(json.Unmarshal(sent, &a.RequestHeaders),
			json.Unmarshal(received, &a.ResponseHeaders)); err != nil {
			return fmt.Errorf("reading the headers of a call: %w", err)
		}
		a.Took = time.Duration(took) * time.Microsecond
		byID[call].Attempts = append(byID[call].Attempts, a)
	}
	return rows.Err()
}
