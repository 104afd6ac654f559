package consolelists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// ListOrders returns orders of a business by the time of placement.
func (c Store) ListOrders(ctx context.Context, business core.BusinessID,
	f console.OrderFilter) ([]console.Order, error) {
	var only postgres.Conditions
	only.Add(f.State != "", "orders.state = ?", f.State)
	only.Add(f.Unacknowledged, "orders.escalated_at IS NOT NULL AND orders.state = ?", order.Placed)
	only.Add(f.Unnotified, "orders.unnotified AND orders.state = ?", order.Placed)
	only.Add(f.CallFailed,
		"orders.id IN (SELECT order_id FROM calls WHERE business_id = ? AND state = 'failed' AND finished_at >= ?)",
		business, f.From)
	only.Add(f.Platform != "", "orders.platform = ?", f.Platform)
	only.Add(f.Store != "", "orders.store_id = (SELECT id FROM stores WHERE business_id = ? AND ref_id = ?)", business,
		f.Store)
	if f.ID != "" {
		number, err := strconv.ParseInt(f.ID, 10, 64)
		if err != nil {
			number = -1
		}
		only.Add(true, "orders.id IN (?)", bun.Safe(queries.With("orders_named", postgres.Args{
			"business": business, "number": number, "text": f.ID,
		})))
	}
	only.Add(!f.From.IsZero(), "orders.created_at >= ?", f.From)
	only.Add(!f.To.IsZero(), "orders.created_at < ?", f.To)
	sorted, after := sortOrder(f.Oldest)
	only.Add(f.Before.ID != 0, "(orders.created_at, orders.id) ? (?, ?)", after,
		time.UnixMicro(f.Before.Placed).UTC(), f.Before.ID)
	return postgres.Collect(ctx, c.db.Tenant(business), "reading orders", func(o *console.Order) []any {
		return []any{&o.ID, &o.Platform, &o.PlatformOrderID, &o.StoreID, &o.StoreRef, &o.StoreName, &o.State, &o.Rider,
			&o.Flags, &o.Placed, &o.Updated, &o.Escalated, &o.PlacedEvent, &o.DeliveryMode, &o.Reference}
	}, bun.SafeQuery(queries.With("list_orders", postgres.Args{"business": business, "only": only, "order": sorted,
		"limit": f.Limit})))
}

// deliveriesShown bounds the deliveries read for an order.
const deliveriesShown = 600

// DeliveriesOfOrder returns the deliveries of an order's events, the oldest first.
func (c Store) DeliveriesOfOrder(ctx context.Context, business core.BusinessID,
	id int64) ([]webhook.DeliveryRecord, error) {
	list, err := deliveries.New(c.db).List(ctx, business, webhook.Filter{OrderID: id, Limit: deliveriesShown})
	slices.Reverse(list)
	return list, err
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

// CallsOfStore returns the last availability calls of a store, at most limit per platform,
// the oldest first.
func (c Store) CallsOfStore(ctx context.Context, business core.BusinessID, store int64,
	limit int) ([]console.Call, error) {
	return c.calls(ctx, business, queries.With("calls_of_store", postgres.Args{
		"business": business, "columns": bun.Safe(queries.With("call_columns", nil)),
		"store": "/" + strconv.FormatInt(store, 10), "limit": limit,
	}))
}

func (c Store) calls(ctx context.Context, business core.BusinessID, query string) ([]console.Call, error) {
	rows, err := c.db.Tenant(business).QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading the calls to aggregators: %w", err)
	}
	defer rows.Close()
	var list []console.Call
	for rows.Next() {
		var call console.Call
		var payload string
		if err := rows.Scan(&call.ID, &call.Kind, &call.Platform, &payload, &call.Actor, &call.State, &call.Message,
			&call.Result,
			&call.CreatedAt, &call.FinishedAt, &call.NextAt); err != nil {
			return nil, fmt.Errorf("reading the calls to aggregators: %w", err)
		}
		call.Payload, call.FinishedAt, call.NextAt = []byte(payload), postgres.ZeroIfEpoch(call.FinishedAt),
			postgres.ZeroIfEpoch(call.NextAt)
		list = append(list, call)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading the calls to aggregators: %w", err)
	}
	return list, c.callAttempts(ctx, business, list)
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
		a.Duration = time.Duration(took) * time.Microsecond
		byID[call].Attempts = append(byID[call].Attempts, a)
	}
	return rows.Err()
}

// RiderLocation returns the last location of an order's rider and the outcome of sending it. It
// returns NotFound if the location is unknown or no longer stored.
func (c Store) RiderLocation(ctx context.Context, business core.BusinessID, id int64) (console.RiderLocation, error) {
	var payload, trail string
	var location console.RiderLocation
	err := c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT payload, received_at, ?, note, coalesce(location_sent_at, 'epoch'), location_trail
		FROM call_queue WHERE business_id = ? AND ordering_key = ?
			AND payload <> ''`,
		locationState, business, relay.OrderingKey(relay.RiderLocation, strconv.FormatInt(id, 10))).
		Scan(&payload, &location.ReceivedAt, &location.State, &location.Message, &location.SentAt, &trail)
	if err != nil {
		return location, postgres.NotFound(err, "the place of the rider is not known")
	}
	var sent relay.RiderLocationPayload
	err = json.Unmarshal([]byte(payload), &sent)
	location.Latitude, location.Longitude, location.SentAt = sent.Latitude, sent.Longitude, postgres.ZeroIfEpoch(location.SentAt)
	location.Path = console.ParseRiderPath(fmt.Sprintf("%s%s,%s,%d;", trail, sent.Latitude, sent.Longitude, sent.At))
	return location, err
}
