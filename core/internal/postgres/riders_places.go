package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

func (r *Riders) takePlaces(ctx context.Context, places []order.RiderLocation) []verdict[struct{}] {
	return apart(places, func(places []order.RiderLocation) ([]verdict[struct{}], error) {
		b := &placeBatch{db: r.db, places: places, verdicts: make([]verdict[struct{}], len(places))}
		if err := r.db.tell(ctx, func(tx bun.Conn, box *outbox) error { return b.store(ctx, tx, box) }); err != nil {
			return nil, fmt.Errorf("storing %d places of riders: %w", len(places), err)
		}
		return b.verdicts, nil
	})
}

// placeBatch is the places that one transaction stores: of each order the newest.
type placeBatch struct {
	db       *DB
	places   []order.RiderLocation
	verdicts []verdict[struct{}] // of the places
	newest   []rideKey
}

// relayed is where an order's places go to.
type relayed struct {
	carrier            order.Carrier
	followed           bool
	platform, servedBy string
	newest             int // among the places
}

func (b *placeBatch) store(ctx context.Context, tx bun.Conn, box *outbox) error {
	orders, err := b.read(ctx, tx)
	if err != nil {
		return err
	}
	for i, place := range b.places {
		key := rideKey{place.Business, place.OrderID}
		o, known := orders[key]
		switch {
		case !known:
			b.verdicts[i].err = noOrder(place.OrderID)
			continue
		case o.carrier != order.BySelf:
			b.verdicts[i].err = order.CheckRidden(o.carrier)
			continue
		case o.servedBy == core.ServedByOwn || !o.followed: // nobody to tell
			continue
		case o.newest < 0:
			b.newest = append(b.newest, key)
			o.newest = i
		case !place.SeenAt.Before(b.places[o.newest].SeenAt):
			o.newest = i
		}
	}
	return b.write(ctx, tx, box, orders)
}

// lastRide is the last status of the rider of an order o, "" before the first.
const lastRide = `coalesce((SELECT s.status FROM rider_statuses s WHERE s.business_id = o.business_id AND s.order_id = o.id ORDER BY s.n DESC LIMIT 1), '')`

var riddenOrders = planned{
	name: "ridden_orders", types: "bigint[], bigint[]",
	query: `SELECT o.business_id, o.id, ` + carriedBy + `, o.platform, coalesce(p.served_by, 'own'), o.state, ` + lastRide + `
		FROM (SELECT DISTINCT business, id FROM unnest($1, $2) AS q (business, id)) q
		JOIN orders o ON o.business_id = q.business AND o.id = q.id
		LEFT JOIN platforms p ON p.business_id = o.business_id AND p.name = o.platform`,
}

func (b *placeBatch) read(ctx context.Context, tx bun.Conn) (map[rideKey]*relayed, error) {
	businesses, ids := make([]int64, len(b.places)), make([]int64, len(b.places))
	for i, place := range b.places {
		businesses[i], ids[i] = int64(place.Business), place.OrderID
	}
	query, err := b.db.prepared.ready(ctx, tx, &riddenOrders, array(businesses), array(ids))
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer rows.Close()
	orders := map[rideKey]*relayed{}
	for rows.Next() {
		var key rideKey
		o := &relayed{newest: -1}
		var state order.State
		var last order.RiderStatus
		if err := rows.Scan(&key.business, &key.order, &o.carrier, &o.platform, &o.servedBy, &state, &last); err != nil {
			return nil, fmt.Errorf("reading orders: %w", err)
		}
		o.followed = order.Followed(state, last)
		orders[key] = o
	}
	return orders, rows.Err()
}

var newestPlaces = planned{
	name: "newest_places", types: "text, timestamptz, bigint[], text[], text[], bigint[], bigint[], text[], uuid[], timestamptz[], timestamptz",
	query: `INSERT INTO call_lines AS l (business_id, line, kind, platform, order_id, endpoint, payload, call_id, seen_at, due_at, available_at)
		SELECT business, line, $1, platform, id, endpoint, payload, call, seen, $2, $2
		FROM unnest($3, $4, $5, $6, $7, $8, $9, $10) AS t (business, line, platform, id, endpoint, payload, call, seen)
		ORDER BY business, line
		ON CONFLICT (business_id, line) DO UPDATE SET payload = EXCLUDED.payload, call_id = EXCLUDED.call_id, seen_at = EXCLUDED.seen_at, version = l.version + 1,
			due_at = CASE WHEN l.available_at = 'infinity' THEN least(greatest(l.due_at, $2), $11) ELSE l.due_at END,
			available_at = CASE WHEN l.available_at = 'infinity' THEN least(greatest(l.due_at, $2), $11) ELSE l.available_at END
		WHERE l.seen_at <= EXCLUDED.seen_at`,
}

// write puts the newest place of each order into its line, unless that has a
// newer one. The lines are locked in the order of their keys. A line that is
// being tried again keeps its schedule; one that was told lately waits until a
// place may be told again.
func (b *placeBatch) write(ctx context.Context, tx bun.Conn, box *outbox, orders map[rideKey]*relayed) error {
	n := len(b.newest)
	if n == 0 {
		return nil
	}
	businesses, ids, endpoints := make([]int64, n), make([]int64, n), make([]int64, n)
	lines, platforms, payloads, calls, seen := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	now := b.db.clock.Now()
	for i, key := range b.newest {
		o := orders[key]
		place := b.places[o.newest]
		payload, err := json.Marshal(relay.RiderLocationPayload{Latitude: place.Latitude, Longitude: place.Longitude, At: place.SeenAt.UnixMilli()})
		if err != nil {
			return err
		}
		businesses[i], ids[i], endpoints[i] = int64(key.business), key.order, platformEndpoint(key.business, o.platform)
		lines[i], platforms[i] = relay.Line(relay.RiderLocation, strconv.FormatInt(key.order, 10)), o.platform
		payloads[i], calls[i], seen[i] = string(payload), core.NewID(now).String(), place.SeenAt.UTC().Format(time.RFC3339Nano)
	}
	query, err := b.db.prepared.ready(ctx, tx, &newestPlaces, relay.RiderLocation, now,
		array(businesses), array(lines), array(platforms), array(ids), array(endpoints), array(payloads), array(calls), array(seen), now.Add(relay.PlaceEvery))
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, query); err != nil {
		return fmt.Errorf("queueing places of riders: %w", err)
	}
	return box.wakeRelays(ctx, tx)
}

// placeKept is how long a line of places stays when there is nothing to tell: a
// place that another replica took before the last one was told comes sooner.
const placeKept = time.Hour

// Sweep forgets the lines of places that are long quiet. Any replica may call it.
func (r *Riders) Sweep(ctx context.Context) error {
	_, err := r.db.bun.ExecContext(ctx, `DELETE FROM call_lines WHERE kind = ? AND available_at = 'infinity' AND seen_at < ?`,
		relay.RiderLocation, r.db.clock.Now().Add(-placeKept))
	if err != nil {
		return fmt.Errorf("forgetting places of riders: %w", err)
	}
	return nil
}
