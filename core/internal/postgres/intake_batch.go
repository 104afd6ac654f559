package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// intakeBatch is the orders that one transaction stores.
type intakeBatch struct {
	ctx      context.Context
	tx       bun.Conn
	db       *DB
	pantry   *pantry
	ids      *orderIDs
	arrivals []order.Arrival
	verdicts []verdict[order.Receipt] // of the arrivals
	settings map[settingKey]*setting
	placed   []*placedOrder // in the order of their keys
	refused  []int          // arrivals that cannot be placed: those that repeat a known order need not be
}

// orderKey is what an order is known by.
type orderKey struct {
	business core.BusinessID
	platform string
	ref      string
}

func keyOf(a *order.Arrival) orderKey {
	return orderKey{a.Business, a.Draft.Platform, string(a.Draft.PlatformOrderID)}
}

// placedOrder is an order that the transaction is to store.
type placedOrder struct {
	key      orderKey
	arrivals []int // the first brought it, the others repeat it
	id       int64
	event    core.Event
	store    int64
	relay    *order.Relay
	served   string // by whom the platform is
	accept   relay.Accept
	lost     bool // another transaction was quicker
}

// place works out the orders.
func (b *intakeBatch) place() error {
	ids, err := b.ids.take(b.ctx, b.tx, len(b.arrivals))
	if err != nil {
		return err
	}
	now := b.db.clock.Now()
	first := map[orderKey]*placedOrder{}
	for i := range b.arrivals {
		key := keyOf(&b.arrivals[i])
		if p := first[key]; p != nil {
			p.arrivals = append(p.arrivals, i)
			continue
		}
		// A microsecond apart, so that the ids of the events sort as those of the orders.
		p, err := b.work(i, ids[i], now, now.Add(time.Duration(i)*time.Microsecond))
		if err != nil {
			b.verdicts[i].err = err
			b.refused = append(b.refused, i)
			continue
		}
		first[key] = p
		b.placed = append(b.placed, p)
	}
	b.refused = slices.DeleteFunc(b.refused, func(i int) bool { return first[keyOf(&b.arrivals[i])] != nil })
	slices.SortFunc(b.placed, func(a, b *placedOrder) int {
		return cmp.Or(cmp.Compare(a.key.business, b.key.business), cmp.Compare(a.key.platform, b.key.platform), cmp.Compare(a.key.ref, b.key.ref))
	})
	return nil
}

// quoted is a text of a body in a message, cut where it is long.
func quoted(text string) string { return fmt.Sprintf("%.255q", text) }

// work works one order out.
func (b *intakeBatch) work(i int, id int64, now, unique time.Time) (*placedOrder, error) {
	a := &b.arrivals[i]
	setting := b.settings[settingOf(a)]
	switch {
	case setting == nil || setting.Platform.ServedBy == "":
		return nil, core.NoSuch("platform", quoted(a.Draft.Platform), "there is no platform with this name")
	case setting.Store.ID == 0:
		return nil, core.NoSuch("store_ref_id", quoted(a.Draft.StoreRefID), "there is no store with this ref_id")
	}
	relay, err := order.Place(a.Draft, setting.Setting, id, now)
	if err != nil {
		return nil, err
	}
	body, err := relay.AppendTo(make([]byte, 0, 4096))
	if err != nil {
		return nil, fmt.Errorf("writing an order: %w", err)
	}
	return &placedOrder{
		key: keyOf(a), arrivals: []int{i}, id: id, store: setting.Store.ID, relay: &relay, served: setting.Platform.ServedBy, accept: setting.accept,
		event: core.Event{
			ID: core.NewID(unique), Business: a.Business, Type: core.OrderPlaced, At: now, Body: body, Order: id, Place: 1, Trace: a.Trace,
		},
	}, nil
}

var intakeInsert = planned{
	name:  "intake_insert",
	types: "text, timestamptz, bigint[], bigint[], text[], text[], bigint[], boolean[], text[], smallint[], uuid[], text[], bigint[], text[], boolean[]",
	query: `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order, delivery_type,
			flags, events, placed_event, placed_by, created_at, updated_at, scheduled_for, order_type, untold)
		SELECT business, id, platform, ref, store, $1, bulk, carrier, flags, 1, event, actor, $2, $2, to_timestamp(nullif(due, 0) / 1000.0), kind, untold
		FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS t (business, id, platform, ref, store, bulk, carrier, flags, event, actor, due, kind, untold)
		ON CONFLICT (business_id, platform, platform_order_id) DO NOTHING RETURNING id`,
}

// insert stores the orders, marked where nobody is told of them, all by one statement, in the order of their keys:
// two transactions that share keys wait for each other in one direction only.
// What another transaction has stored meanwhile is a repeat.
func (b *intakeBatch) insert(receivers map[route][]target) error {
	if len(b.placed) == 0 {
		return nil
	}
	n := len(b.placed)
	businesses, ids, stores, flags, due := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	platforms, refs, carriers, events, actors, kinds := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	bulks, untold := make([]bool, n), make([]bool, n)
	for i, p := range b.placed {
		details := &p.relay.Order.Details
		businesses[i], ids[i], stores[i], flags[i] = int64(p.key.business), p.id, p.store, int64(min(len(details.Flags), math.MaxInt16))
		platforms[i], refs[i], carriers[i], kinds[i] = p.key.platform, p.key.ref, string(details.Platforms[0].Carrier), string(details.Kind)
		events[i], actors[i], bulks[i], due[i] = p.event.ID.String(), b.arrivals[p.arrivals[0]].Actor, details.Bulk, details.ScheduledFor()
		untold[i] = len(receivers[routeOf(p.event)]) == 0
	}
	query, err := b.db.prepared.ready(b.ctx, b.tx, &intakeInsert, order.Placed, b.placed[0].event.At, array(businesses), array(ids), array(platforms),
		array(refs), array(stores), array(bulks), array(carriers), array(flags), array(events), array(actors), array(due), array(kinds), array(untold))
	if err != nil {
		return err
	}
	var stored []int64
	if err := b.tx.NewRaw(query).Scan(b.ctx, &stored); err != nil {
		return fmt.Errorf("inserting orders: %w", err)
	}
	if len(stored) < n {
		mine := make(map[int64]bool, len(stored))
		for _, id := range stored {
			mine[id] = true
		}
		for _, p := range b.placed {
			p.lost = !mine[p.id]
		}
	}
	return nil
}

// settle answers the orders. Those that are known already, because another
// transaction was quicker or because they are sent again, keep their ids.
func (b *intakeBatch) settle() error {
	var keys []orderKey
	for _, p := range b.placed {
		if p.lost {
			keys = append(keys, p.key)
		}
	}
	for _, i := range b.refused {
		keys = append(keys, keyOf(&b.arrivals[i]))
	}
	known, err := knownOrders(b.ctx, b.tx, keys)
	if err != nil {
		return err
	}
	for _, i := range b.refused {
		if id := known[keyOf(&b.arrivals[i])]; id != 0 {
			b.verdicts[i] = verdict[order.Receipt]{answer: order.Receipt{OrderID: id, Known: true}}
		}
	}
	for _, p := range b.placed {
		if p.lost {
			p.id = known[p.key]
		}
		if p.id == 0 {
			return fmt.Errorf("order %v is neither stored nor known", p.key)
		}
		for n, i := range p.arrivals {
			b.verdicts[i].answer = order.Receipt{OrderID: p.id, Known: p.lost || n > 0}
		}
	}
	return nil
}

// events are those of the orders that this transaction stores.
func (b *intakeBatch) events() []core.Event {
	list := make([]core.Event, 0, len(b.placed))
	for _, p := range b.placed {
		if !p.lost {
			list = append(list, p.event)
		}
	}
	slices.SortFunc(list, func(a, b core.Event) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// acknowledgements tell the aggregators of the orders that they were taken.
func (b *intakeBatch) acknowledgements() (calls []newCall) {
	for _, p := range b.placed {
		if !p.lost && p.served != core.ServedByOwn && p.accept == relay.AcceptHub {
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

// knownOrders finds orders by what they are known by.
func knownOrders(ctx context.Context, tx bun.Conn, keys []orderKey) (map[orderKey]int64, error) {
	known := map[orderKey]int64{}
	if len(keys) == 0 {
		return known, nil
	}
	businesses, platforms, refs := columnsOf(keys)
	rows, err := tx.QueryContext(ctx, `SELECT o.business_id, o.platform, o.platform_order_id, o.id
		FROM unnest(?::bigint[], ?::text[], ?::text[]) AS q (business, platform, ref)
		JOIN orders o ON o.business_id = q.business AND o.platform = q.platform AND o.platform_order_id = q.ref`,
		array(businesses), array(platforms), array(refs))
	if err != nil {
		return nil, fmt.Errorf("looking for known orders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key orderKey
		var id int64
		if err := rows.Scan(&key.business, &key.platform, &key.ref, &id); err != nil {
			return nil, fmt.Errorf("looking for known orders: %w", err)
		}
		known[key] = id
	}
	return known, rows.Err()
}
