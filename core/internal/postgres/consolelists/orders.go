package consolelists

import (
	"context"
	"encoding/json"
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
	if f.CallFailed { // the times are those of the calls: an order may be much older
		var calls postgres.Conditions
		calls.Add(!f.From.IsZero(), "finished_at >= ?", f.From)
		calls.Add(!f.To.IsZero(), "finished_at < ?", f.To)
		only.Add(true, `orders.id = ANY (ARRAY(
			SELECT order_id FROM calls WHERE business_id = ? AND state = 'failed' ?))`, business, calls)
		f.From, f.To = time.Time{}, time.Time{}
	}
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

// RiderLocation returns the last location of an order's rider and the outcome of sending it. It
// returns NotFound if the location is unknown or no longer stored.
func (c Store) RiderLocation(ctx context.Context, business core.BusinessID, id int64) (console.RiderLocation, error) {
	var payload, trail string
	var location console.RiderLocation
	err := c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT payload, received_at, ?, note, location_sent_at, location_trail
		FROM call_queue WHERE business_id = ? AND ordering_key = ?
			AND payload <> ''`,
		locationState, business, relay.OrderingKey(relay.RiderLocation, strconv.FormatInt(id, 10))).
		Scan(&payload, &location.ReceivedAt, &location.State, &location.Message, postgres.OrZero(&location.SentAt),
			&trail)
	if err != nil {
		return location, postgres.NotFound(err, "the place of the rider is not known")
	}
	var sent relay.RiderLocationPayload
	err = json.Unmarshal([]byte(payload), &sent)
	location.Latitude, location.Longitude = sent.Latitude, sent.Longitude
	location.Path = console.ParseRiderPath(fmt.Sprintf("%s%s,%s,%d;", trail, sent.Latitude, sent.Longitude, sent.At))
	return location, err
}
