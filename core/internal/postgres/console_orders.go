package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// ListOrders reads orders of a business, the newest first.
func (c Console) ListOrders(ctx context.Context, business core.BusinessID, f console.OrderFilter) ([]console.Order, error) {
	var only conditions
	only.add(f.State != "", "o.state = ?", f.State)
	only.add(f.Unacknowledged, "o.escalated_at IS NOT NULL AND o.state = ?", order.Placed)
	only.add(f.Untold, "o.untold AND o.state = ?", order.Placed)
	only.add(f.Untaken, "o.id IN (SELECT c.order_id FROM calls c WHERE c.business_id = ? AND c.state = 'failed' AND c.finished_at >= ?)", business, f.Since)
	only.add(f.Platform != "", "o.platform = ?", f.Platform)
	only.add(f.Store != "", "o.store_id = (SELECT id FROM stores WHERE business_id = ? AND ref_id = ?)", business, f.Store)
	if f.ID != "" {
		number, err := strconv.ParseInt(f.ID, 10, 64)
		if err != nil {
			number = -1
		}
		// By way of the platforms: the index of what platforms call their orders begins with them.
		only.add(true, `o.id IN (SELECT n.id FROM orders n WHERE n.business_id = ? AND n.id = ? UNION ALL SELECT n.id FROM platforms p
			JOIN orders n ON n.business_id = p.business_id AND n.platform = p.name AND n.platform_order_id = ? WHERE p.business_id = ?
			UNION ALL SELECT n.id FROM orders n WHERE n.business_id = ? AND n.reference = ?)`, business, number, f.ID, business, business, f.ID)
	}
	only.add(!f.Since.IsZero(), "o.created_at >= ?", f.Since)
	only.add(f.Before.ID != 0, "(o.created_at, o.id) < (?, ?)", time.UnixMicro(f.Before.Placed).UTC(), f.Before.ID)
	return listOf(ctx, c.of(business), "reading orders", func(o *console.Order) []any {
		return []any{&o.ID, &o.Platform, &o.PlatformOrderID, &o.StoreID, &o.StoreRef, &o.StoreName, &o.State, &o.Rider, &o.Flags, &o.Placed, &o.Updated, &o.Escalated}
	}, `SELECT o.id, o.platform, o.platform_order_id, o.store_id, s.ref_id, s.name, o.state, coalesce(r.status, ''), o.flags,
			o.created_at, o.updated_at, o.escalated_at IS NOT NULL
		FROM (SELECT * FROM orders o WHERE o.business_id = ?`+only.text+` ORDER BY o.created_at DESC, o.id DESC LIMIT ?) o
		JOIN stores s ON s.business_id = o.business_id AND s.id = o.store_id
		LEFT JOIN LATERAL (SELECT status FROM rider_statuses WHERE business_id = o.business_id AND order_id = o.id ORDER BY n DESC LIMIT 1) r ON true
		ORDER BY o.created_at DESC, o.id DESC`, slices.Concat([]any{business}, only.args, []any{f.Limit})...)
}

// deliveriesShown is how many deliveries of an order are read.
const deliveriesShown = 600

// DeliveriesOfOrder reads the deliveries of an order's events, the oldest first.
func (c Console) DeliveriesOfOrder(ctx context.Context, business core.BusinessID, id int64) ([]webhook.DeliveryRecord, error) {
	list, err := Deliveries(c).List(ctx, business, webhook.Filter{OrderID: id, Limit: deliveriesShown})
	slices.Reverse(list)
	return list, err
}

// toldPlace is how it is with the newest place of a rider, by its line: a
// relay.State. A line without a note was told.
const toldPlace = `CASE WHEN available_at < 'infinity' THEN 'waiting' WHEN note = '' THEN 'done' ELSE told END`

// callColumns are read of a call c and its line l.
const callColumns = `c.id, c.kind, c.platform, c.payload, c.actor, c.state,
	CASE WHEN c.state = 'waiting' THEN coalesce(l.note, '') ELSE c.message END, c.result, c.created_at, coalesce(c.finished_at, 'epoch'),
	CASE WHEN c.state = 'waiting' AND l.attempts > 0 THEN l.due_at ELSE 'epoch' END`

// CallsOfOrder reads what the aggregator was or is to be told of an order, the
// oldest first, with every attempt. A place of the rider is among them where
// telling it failed.
func (c Console) CallsOfOrder(ctx context.Context, business core.BusinessID, id int64) ([]console.Call, error) {
	return c.calls(ctx, business, `SELECT `+callColumns+`
		FROM calls c LEFT JOIN call_lines l ON l.business_id = c.business_id AND l.line = c.line
		WHERE c.business_id = ?0 AND c.order_id = ?1
		UNION ALL SELECT l.call_id, l.kind, l.platform, l.payload, '', `+toldPlace+`, l.note, '', l.seen_at, 'epoch', CASE WHEN l.available_at < 'infinity' THEN l.due_at ELSE 'epoch' END
		FROM call_lines l WHERE l.business_id = ?0 AND l.line = ?2 AND l.note <> ''
		ORDER BY 9, 1 LIMIT 1000`, id, relay.Line(relay.RiderLocation, strconv.FormatInt(id, 10)))
}

// CallsOfStore reads the last calls by which platforms were or are to be told of
// a store beside its menu, so many of each platform, the oldest first.
func (c Console) CallsOfStore(ctx context.Context, business core.BusinessID, store int64, limit int) ([]console.Call, error) {
	return c.calls(ctx, business, `SELECT `+callColumns+`
		FROM platforms p CROSS JOIN LATERAL (SELECT * FROM calls WHERE business_id = ?0 AND order_id = 0 AND line = ?1 || p.name || ?2 ORDER BY place DESC LIMIT ?3) c
		LEFT JOIN call_lines l ON l.business_id = c.business_id AND l.line = c.line
		WHERE p.business_id = ?0 ORDER BY 9, 1`, "store:", "/"+strconv.FormatInt(store, 10), limit)
}

func (c Console) calls(ctx context.Context, business core.BusinessID, query string, args ...any) ([]console.Call, error) {
	rows, err := c.of(business).QueryContext(ctx, query, append([]any{business}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading what the aggregator was told: %w", err)
	}
	defer rows.Close()
	var list []console.Call
	for rows.Next() {
		var call console.Call
		var payload string
		if err := rows.Scan(&call.ID, &call.Kind, &call.Platform, &payload, &call.Actor, &call.State, &call.Message, &call.Result,
			&call.CreatedAt, &call.FinishedAt, &call.NextAt); err != nil {
			return nil, fmt.Errorf("reading what the aggregator was told: %w", err)
		}
		call.Payload, call.FinishedAt, call.NextAt = []byte(payload), unlessEpoch(call.FinishedAt), unlessEpoch(call.NextAt)
		list = append(list, call)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading what the aggregator was told: %w", err)
	}
	return list, c.callAttempts(ctx, business, list)
}

// unlessEpoch is the zero time for the epoch, which stands for null.
func unlessEpoch(at time.Time) time.Time {
	if at.Unix() == 0 {
		return time.Time{}
	}
	return at
}

func (c Console) callAttempts(ctx context.Context, business core.BusinessID, calls []console.Call) error {
	byID, ids := map[core.ID]*console.Call{}, make([]string, len(calls))
	for i := range calls {
		byID[calls[i].ID], ids[i] = &calls[i], calls[i].ID.String()
	}
	if len(calls) == 0 {
		return nil
	}
	rows, err := c.of(business).QueryContext(ctx, `SELECT call_id, n, started_at, method, url, request_headers, request_body, status, error_class, error,
			response_headers, response_body, total_us
		FROM call_attempts WHERE business_id = ? AND call_id = ANY (?::uuid[]) ORDER BY call_id, n, started_at`, business, array(ids))
	if err != nil {
		return fmt.Errorf("reading attempts of calls: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var call core.ID
		var a console.CallAttempt
		var sent, received []byte
		var took int64
		if err := rows.Scan(&call, &a.N, &a.StartedAt, &a.Method, &a.URL, &sent, &a.RequestBody, &a.Status, &a.ErrorClass, &a.Error, &received, &a.ResponseBody, &took); err != nil {
			return fmt.Errorf("reading attempts of calls: %w", err)
		}
		if err := errors.Join(json.Unmarshal(sent, &a.RequestHeaders), json.Unmarshal(received, &a.ResponseHeaders)); err != nil {
			return fmt.Errorf("reading the headers of a call: %w", err)
		}
		a.Took = time.Duration(took) * time.Microsecond
		byID[call].Attempts = append(byID[call].Attempts, a)
	}
	return rows.Err()
}

// RiderPlace reads where the rider of an order was last seen, and what became of
// telling it; NotFound where it is not known, or no longer.
func (c Console) RiderPlace(ctx context.Context, business core.BusinessID, id int64) (console.RiderPlace, error) {
	var payload string
	var place console.RiderPlace
	err := c.of(business).QueryRowContext(ctx, `SELECT payload, seen_at, `+toldPlace+`, note FROM call_lines WHERE business_id = ? AND line = ? AND payload <> ''`,
		business, relay.Line(relay.RiderLocation, strconv.FormatInt(id, 10))).Scan(&payload, &place.SeenAt, &place.State, &place.Message)
	if err != nil {
		return place, notFound(err, "the place of the rider is not known")
	}
	var sent relay.RiderLocationPayload
	err = json.Unmarshal([]byte(payload), &sent)
	place.Latitude, place.Longitude = sent.Latitude, sent.Longitude
	return place, err
}
