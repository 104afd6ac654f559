package orders

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// intakeBatch is the orders of one transaction.
type intakeBatch struct {
	ctx      context.Context
	tx       bun.Conn
	db       *postgres.DB
	cache    *menuCache
	ids      *orderIDs
	arrivals []order.PlaceRequest
	results  []postgres.Result[order.PlaceResult] // one per arrival
	contexts map[contextKey]*orderContext
	placed   []*placedOrder // in key order
	rejected []int          // rejected arrivals; a repeat of an existing order still succeeds
}

// orderKey identifies an order.
type orderKey struct {
	business core.BusinessID
	platform string
	ref      string
}

func keyOf(a *order.PlaceRequest) orderKey {
	return orderKey{a.Business, a.Draft.Platform, string(a.Draft.PlatformOrderID)}
}

// placedOrder is an order that the transaction stores.
type placedOrder struct {
	key       orderKey
	arrivals  []int // the first created it, the others repeat it
	id        int64
	event     core.Event
	store     int64
	relay     *order.Relay
	servedBy  string // core.Platform.ServedBy
	accept    relay.Accept
	duplicate bool // another transaction stored it first
}

// place prices the orders and creates their events.
func (b *intakeBatch) place() error {
	ids, err := b.ids.take(b.ctx, b.tx, len(b.arrivals))
	if err != nil {
		return err
	}
	now := b.db.Clock().Now()
	first := map[orderKey]*placedOrder{}
	for i := range b.arrivals {
		key := keyOf(&b.arrivals[i])
		if p := first[key]; p != nil {
			p.arrivals = append(p.arrivals, i)
			continue
		}
		// Event ids one microsecond apart sort like the orders.
		p, err := b.price(i, ids[i], now, now.Add(time.Duration(i)*time.Microsecond))
		if err != nil {
			b.results[i].Err = err
			b.rejected = append(b.rejected, i)
			continue
		}
		first[key] = p
		b.placed = append(b.placed, p)
	}
	b.rejected = slices.DeleteFunc(b.rejected, func(i int) bool { return first[keyOf(&b.arrivals[i])] != nil })
	slices.SortFunc(b.placed, func(a, b *placedOrder) int {
		return cmp.Or(cmp.Compare(a.key.business, b.key.business), cmp.Compare(a.key.platform, b.key.platform),
			cmp.Compare(a.key.ref, b.key.ref))
	})
	return nil
}

// price prices one order.
func (b *intakeBatch) price(i int, id int64, now, unique time.Time) (*placedOrder, error) {
	a := &b.arrivals[i]
	setting := b.contexts[contextKeyOf(a)]
	switch {
	case setting == nil || setting.Platform.ServedBy == "":
		return nil, core.NoSuch("platform", postgres.Quoted(a.Draft.Platform), "there is no platform with this name")
	case setting.Store.ID == 0:
		return nil, core.NoSuch("store_ref_id", postgres.Quoted(a.Draft.StoreRefID),
			"there is no store with this ref_id")
	}
	relay, err := order.Place(a.Draft, setting.PricingContext, id, now)
	if err != nil {
		return nil, err
	}
	body, err := relay.AppendTo(make([]byte, 0, 4096))
	if err != nil {
		return nil, fmt.Errorf("writing an order: %w", err)
	}
	return &placedOrder{
		key: keyOf(a), arrivals: []int{i}, id: id, store: setting.Store.ID, relay: &relay,
		servedBy: setting.Platform.ServedBy, accept: setting.accept,
		event: core.Event{
			ID: core.NewID(unique), Business: a.Business, Type: core.OrderPlaced, At: now, Body: body, OrderID: id,
			Sequence: 1, Trace: a.Trace,
		},
	}, nil
}

// insert stores the orders in one statement, in key order, so that concurrent transactions do
// not deadlock. Orders without a receiver are marked. An order that another transaction has
// stored meanwhile is a repeat.
func (b *intakeBatch) insert(receivers map[outbox.Route][]outbox.Target) error {
	if len(b.placed) == 0 {
		return nil
	}
	n := len(b.placed)
	businesses, ids, stores, flags, due := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n)
	platforms, refs, carriers, events, actors, kinds := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]string, n)
	bulks, unnotified := make([]bool, n), make([]bool, n)
	for i, p := range b.placed {
		details := &p.relay.Order.Details
		businesses[i], ids[i], stores[i], flags[i] = int64(p.key.business), p.id, p.store,
			int64(min(len(details.Flags), math.MaxInt16))
		platforms[i], refs[i], carriers[i], kinds[i] = p.key.platform, p.key.ref,
			string(details.Platforms[0].DeliveryMode),
			string(details.Kind)
		events[i], actors[i], bulks[i], due[i] = p.event.ID.String(), b.arrivals[p.arrivals[0]].Actor, details.Bulk,
			details.ScheduledFor()
		unnotified[i] = len(receivers[outbox.RouteOf(p.event)]) == 0
	}
	query, err := b.db.Prepare(b.ctx, b.tx, queries.Get("intake_insert"), postgres.Args{
		"state": order.Placed, "now": b.placed[0].event.At, "businesses": postgres.Array(businesses),
		"ids": postgres.Array(ids), "platforms": postgres.Array(platforms), "refs": postgres.Array(refs),
		"stores": postgres.Array(stores), "bulks": postgres.Array(bulks), "delivery_types": postgres.Array(carriers),
		"flags": postgres.Array(flags), "events": postgres.Array(events), "actors": postgres.Array(actors),
		"due": postgres.Array(due), "kinds": postgres.Array(kinds), "unnotified": postgres.Array(unnotified),
	})
	if err != nil {
		return err
	}
	var stored []int64
	if err := b.tx.NewRaw(query).Scan(b.ctx, &stored); err != nil {
		return fmt.Errorf("inserting orders: %w", err)
	}
	if len(stored) < n {
		inserted := make(map[int64]bool, len(stored))
		for _, id := range stored {
			inserted[id] = true
		}
		for _, p := range b.placed {
			p.duplicate = !inserted[p.id]
		}
	}
	return nil
}

// setResults sets the results. Repeated orders keep their ids, also if another transaction stored
// them first.
func (b *intakeBatch) setResults() error {
	var keys []orderKey
	for _, p := range b.placed {
		if p.duplicate {
			keys = append(keys, p.key)
		}
	}
	for _, i := range b.rejected {
		keys = append(keys, keyOf(&b.arrivals[i]))
	}
	known, err := knownOrders(b.ctx, b.tx, keys)
	if err != nil {
		return err
	}
	for _, i := range b.rejected {
		if id := known[keyOf(&b.arrivals[i])]; id != 0 {
			b.results[i] = postgres.Result[order.PlaceResult]{Value: order.PlaceResult{OrderID: id, Duplicate: true}}
		}
	}
	for _, p := range b.placed {
		if p.duplicate {
			p.id = known[p.key]
		}
		if p.id == 0 {
			return fmt.Errorf("order %v was not stored", p.key)
		}
		for n, i := range p.arrivals {
			b.results[i].Value = order.PlaceResult{OrderID: p.id, Duplicate: p.duplicate || n > 0}
		}
	}
	return nil
}

// events returns the events of the orders that this transaction stores.
func (b *intakeBatch) events() []core.Event {
	list := make([]core.Event, 0, len(b.placed))
	for _, p := range b.placed {
		if !p.duplicate {
			list = append(list, p.event)
		}
	}
	slices.SortFunc(list, func(a, b core.Event) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return list
}

// acknowledgements returns the calls that accept the orders at their aggregators.
func (b *intakeBatch) acknowledgements() (calls []outbox.Call) {
	for _, p := range b.placed {
		if !p.duplicate && p.servedBy != core.ServedByMerchant && p.accept == relay.AcceptHub {
			calls = append(calls, acknowledgement(p.key.business, p))
		}
	}
	return calls
}

func columnsOf(keys []orderKey) (businesses []int64, platforms, refs []string) {
	businesses, platforms, refs = make([]int64, len(keys)), make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		businesses[i], platforms[i], refs[i] = int64(key.business), key.platform, key.ref
	}
	return businesses, platforms, refs
}

// knownOrders returns the ids of existing orders by their keys.
func knownOrders(ctx context.Context, tx bun.Conn, keys []orderKey) (map[orderKey]int64, error) {
	known := map[orderKey]int64{}
	if len(keys) == 0 {
		return known, nil
	}
	businesses, platforms, refs := columnsOf(keys)
	rows, err := tx.QueryContext(ctx, `SELECT o.business_id, o.platform, o.platform_order_id, o.id
		FROM unnest(?::bigint[], ?::text[], ?::text[]) AS q (business, platform, ref)
		JOIN orders o ON o.business_id = q.business AND o.platform = q.platform AND o.platform_order_id = q.ref`,
		postgres.Array(businesses), postgres.Array(platforms), postgres.Array(refs))
	if err != nil {
		return nil, fmt.Errorf("finding existing orders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key orderKey
		var id int64
		if err := rows.Scan(&key.business, &key.platform, &key.ref, &id); err != nil {
			return nil, fmt.Errorf("finding existing orders: %w", err)
		}
		known[key] = id
	}
	return known, rows.Err()
}
