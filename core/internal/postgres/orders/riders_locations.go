package orders

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// LocateBatch stores locations of riders in one transaction.
func (r *Riders) LocateBatch(ctx context.Context, places []order.RiderLocation) []batch.Result[struct{}] {
	return batch.SplitOnError(places, func(places []order.RiderLocation) ([]batch.Result[struct{}], error) {
		b := &locationBatch{db: r.db, locations: places, results: make([]batch.Result[struct{}], len(places))}
		if err := outbox.RunKeyed(ctx, r.db,
			func(tx bun.Conn, box *outbox.Outbox) error { return b.store(ctx, tx, box) }); err != nil {
			return nil, fmt.Errorf("storing %d rider locations: %w", len(places), err)
		}
		return b.results, nil
	})
}

// locationBatch is the locations of one transaction. It stores only the newest of each order.
type locationBatch struct {
	db        *postgres.DB
	locations []order.RiderLocation
	results   []batch.Result[struct{}] // one per location
	newest    []trackedKey
}

// locationTarget describes where the locations of an order are sent.
type locationTarget struct {
	deliveryMode       order.DeliveryMode
	trackable          bool
	platform, servedBy string
	newest             int // index of the newest location
}

func (b *locationBatch) store(ctx context.Context, tx bun.Conn, box *outbox.Outbox) error {
	orders, err := b.read(ctx, tx)
	if err != nil {
		return err
	}
	for i, location := range b.locations {
		key := trackedKey{location.Business, location.OrderID}
		o, known := orders[key]
		switch {
		case !known:
			b.results[i].Err = unknownOrder(location.OrderID)
			continue
		case o.deliveryMode != order.SelfDelivery:
			b.results[i].Err = order.CheckSelfDelivery(o.deliveryMode)
			continue
		case o.servedBy == core.ServedByMerchant || !o.trackable: // no plugin to send it to
			continue
		case o.newest < 0:
			b.newest = append(b.newest, key)
			o.newest = i
		case !location.SeenAt.Before(b.locations[o.newest].SeenAt):
			o.newest = i
		}
	}
	return b.write(ctx, tx, box, orders)
}

func (b *locationBatch) read(ctx context.Context, tx bun.Conn) (map[trackedKey]*locationTarget, error) {
	businesses, ids := make([]int64, len(b.locations)), make([]int64, len(b.locations))
	for i, location := range b.locations {
		businesses[i], ids[i] = int64(location.Business), location.OrderID
	}
	query, err := b.db.Prepare(ctx, tx, queries.Get("located_orders"), postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(ids),
	})
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer rows.Close()
	orders := map[trackedKey]*locationTarget{}
	for rows.Next() {
		var key trackedKey
		o := &locationTarget{newest: -1}
		var state order.State
		var last order.RiderStatus
		if err := rows.Scan(&key.business, &key.order, &o.deliveryMode, &o.platform, &o.servedBy, &state,
			&last); err != nil {
			return nil, fmt.Errorf("reading orders: %w", err)
		}
		o.trackable = order.Trackable(state, last)
		orders[key] = o
	}
	return orders, rows.Err()
}

// write queues the newest location of each order, unless a newer one is queued. It locks the
// rows in key order. A retry keeps its schedule. After a recent send the location waits for
// the rate limit.
func (b *locationBatch) write(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	orders map[trackedKey]*locationTarget) error {
	n := len(b.newest)
	if n == 0 {
		return nil
	}
	businesses, ids, endpoints := make([]int64, n), make([]int64, n), make([]int64, n)
	keys, platforms, payloads, calls, seen := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n)
	now := b.db.Clock().Now()
	for i, key := range b.newest {
		o := orders[key]
		location := b.locations[o.newest]
		payload, err := json.Marshal(relay.RiderLocationPayload{Latitude: location.Latitude,
			Longitude: location.Longitude,
			At:        location.SeenAt.UnixMilli()})
		if err != nil {
			return err
		}
		businesses[i], ids[i], endpoints[i] = int64(key.business), key.order,
			outbox.PlatformEndpoint(key.business, o.platform)
		keys[i], platforms[i] = relay.OrderingKey(relay.RiderLocation, strconv.FormatInt(key.order, 10)), o.platform
		payloads[i], calls[i], seen[i] = string(payload), core.NewID(now).String(),
			location.SeenAt.UTC().Format(time.RFC3339Nano)
	}
	query, err := b.db.Prepare(ctx, tx, queries.Get("queue_locations"), postgres.Args{
		"kind": relay.RiderLocation, "now": now, "businesses": postgres.Array(businesses),
		"ordering_keys": postgres.Array(keys), "platforms": postgres.Array(platforms), "orders": postgres.Array(ids),
		"endpoints": postgres.Array(endpoints), "payloads": postgres.Array(payloads), "calls": postgres.Array(calls),
		"seen": postgres.Array(seen), "latest": now.Add(relay.LocationInterval),
	})
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, query); err != nil {
		return fmt.Errorf("queueing rider locations: %w", err)
	}
	return box.WakeRelays(ctx, tx)
}

// locationRetention is how long the row of an idle order is kept. It must exceed the delay of
// locations from other replicas. Otherwise a late one could replace a newer one.
const locationRetention = time.Hour

// Sweep deletes the location rows of idle orders. Any replica may call it.
func (r *Riders) Sweep(ctx context.Context) error {
	_, err := r.db.Bun().ExecContext(ctx,
		`DELETE FROM call_queue WHERE kind = ? AND available_at = 'infinity' AND received_at < ?`,
		relay.RiderLocation, r.db.Clock().Now().Add(-locationRetention))
	if err != nil {
		return fmt.Errorf("deleting rider locations: %w", err)
	}
	return nil
}
