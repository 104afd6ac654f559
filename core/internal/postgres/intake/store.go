package intake

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// store stores the orders with their events, deliveries and calls: in one statement, unless there are calls.
func (b *intakeBatch) store() error {
	if len(b.acknowledgements(true)) == 0 {
		return outbox.RunStatement(b.db, func(box *outbox.Outbox) error { return b.insert(nil, box) })
	}
	return outbox.RunKeyed(b.ctx, b.db, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := b.insert(&tx, box); err != nil {
			return err
		}
		return box.QueueCalls(b.ctx, tx, b.acknowledgements(false))
	})
}

// insert stores the orders with their events and deliveries in one statement.
func (b *intakeBatch) insert(tx *bun.Conn, box *outbox.Outbox) error {
	in := b.in
	if tx != nil {
		in = *tx
	}
	events, err := box.Prepare(b.ctx, in, b.events(), b.stale)
	if err != nil {
		return err
	}
	checks := b.checks(events)
	if len(b.placed) == 0 && checks.None() {
		return nil
	}
	statement := postgres.Statement{Query: queries.Get("place"), Args: b.orderArgs(events), Before: box.Notify()}
	events.Into(statement.Args)
	checks.Into(statement.Args)
	stored := make(map[int64]bool, len(b.placed))
	scan := func(rows *sql.Rows) error { return b.scanStored(rows, checks, stored) }
	if tx == nil {
		err = b.db.QueryKeyed(b.ctx, statement, scan)
	} else {
		err = b.db.QueryPrepared(b.ctx, *tx, statement, scan)
	}
	if err != nil {
		return fmt.Errorf("inserting orders: %w", err)
	}
	known := make(map[core.ID]bool, len(stored))
	for _, p := range b.placed {
		p.stored = stored[p.id]
		known[p.event.ID] = p.stored
	}
	box.Keep(func(event core.ID) bool { return known[event] })
	return nil
}

// scanStored reads a row of the statement place.
func (b *intakeBatch) scanStored(rows *sql.Rows, checks *cache.Checks, stored map[int64]bool) error {
	var kind string
	var n int64
	if err := rows.Scan(&kind, &n); err != nil {
		return err
	}
	switch kind {
	case "stale":
		b.stale[checks.At(n)] = true
		b.outdated = append(b.outdated, checks.At(n).Business)
	case "placed":
		stored[n] = true
	case "ids":
		b.ids.add(n)
	}
	return nil
}

// checks returns the snapshots of all cached values that the batch used, also for orders that it rejects.
func (b *intakeBatch) checks(events *outbox.Batch) *cache.Checks {
	checks := &events.Checks
	for key, s := range b.contexts {
		if s != nil {
			checks.Add(key.business, s.snapshot)
		}
	}
	for i := range b.requests {
		checks.Add(b.requests[i].Business, b.requests[i].Credential.Snapshot)
	}
	return checks
}

// orderArgs returns the arguments of the statement place for the orders.
func (b *intakeBatch) orderArgs(receivers *outbox.Batch) postgres.Args {
	n := len(b.placed)
	businesses, ids, stores, flags, due := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n)
	platforms, refs, deliveryModes, events, actors, kinds := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]string, n)
	bulks, unnotified, customers := make([]bool, n), make([]bool, n), make([]string, n)
	now := b.db.Clock().Now()
	for i, p := range b.placed {
		details := &p.relay.Order.Details
		businesses[i], ids[i], stores[i], flags[i] = int64(p.key.business), p.id, p.store, int64(details.FlagCount())
		platforms[i], refs[i], deliveryModes[i], kinds[i] = p.key.platform, p.key.ref,
			string(details.Platforms[0].DeliveryMode), string(details.Kind)
		events[i], actors[i], bulks[i], due[i] = p.event.ID.String(), b.requests[p.requests[0]].Actor, details.Bulk,
			details.ScheduledFor()
		unnotified[i] = !receivers.HasReceiver(p.event.ID)
		who := &p.relay.Customer
		customers[i] = p.customers.Array(who.Name, who.Email, who.Phone)
		now = p.event.At
	}
	return postgres.Args{
		"state": order.Placed, "now": now, "order_businesses": postgres.Array(businesses),
		"order_ids": postgres.Array(ids), "platforms": postgres.Array(platforms), "refs": postgres.Array(refs),
		"stores": postgres.Array(stores), "bulks": postgres.Array(bulks),
		"delivery_types": postgres.Array(deliveryModes),
		"flags":          postgres.Array(flags), "placed_events": postgres.Array(events),
		"actors":    postgres.Array(actors),
		"order_due": postgres.Array(due), "kinds": postgres.Array(kinds), "unnotified": postgres.Array(unnotified),
		"customers": postgres.Array(customers), "id_blocks": b.ids.missing(),
	}
}

// setResults sets the results. Repeated orders keep their ids, also if another transaction stored
// them first.
func (b *intakeBatch) setResults() {
	var keys []orderKey
	placed := map[orderKey]bool{} // by this batch
	for _, p := range b.placed {
		placed[p.key] = p.stored
		if !p.stored && !b.isOutdated(p.key.business) {
			keys = append(keys, p.key)
		}
	}
	for _, i := range b.rejected {
		if key := keyOf(&b.requests[i]); !placed[key] && !b.isOutdated(key.business) {
			keys = append(keys, key)
		}
	}
	known, err := knownOrders(b.ctx, b.in, keys)
	for _, i := range b.rejected {
		key := keyOf(&b.requests[i])
		id := known[key]
		switch {
		case placed[key]: // another one with its id was valid
		case err != nil:
			b.results[i].Err = err
		case id != 0:
			b.results[i] = batch.Result[order.PlaceResult]{Value: order.PlaceResult{OrderID: id, Duplicate: true}}
		}
	}
	for _, p := range b.placed {
		if !p.stored {
			p.id = known[p.key]
		}
		for n, i := range p.requests {
			b.results[i].Value = order.PlaceResult{OrderID: p.id, Duplicate: !p.stored || n > 0}
			if p.id == 0 {
				b.results[i].Err = cmp.Or(err, fmt.Errorf("order %v was not stored", p.key))
			}
		}
	}
	for i := range b.requests {
		if b.isOutdated(b.requests[i].Business) {
			b.results[i] = batch.Result[order.PlaceResult]{Err: errStale}
		}
	}
}

// isOutdated reports whether a cached value of a business was out of date. None of its orders were stored.
func (b *intakeBatch) isOutdated(business core.BusinessID) bool {
	return slices.Contains(b.outdated, business)
}

// events returns the events of the orders.
func (b *intakeBatch) events() []core.Event {
	list := make([]core.Event, 0, len(b.placed))
	for _, p := range b.placed {
		list = append(list, p.event)
	}
	slices.SortFunc(list, func(a, b core.Event) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return list
}

// acknowledgements returns the calls that accept the stored orders at their aggregators; with planned, of all orders.
func (b *intakeBatch) acknowledgements(planned bool) (calls []outbox.Call) {
	for _, p := range b.placed {
		if (planned || p.stored) && p.servedBy != core.ServedByMerchant && p.accept == relay.AcceptHub {
			calls = append(calls, acknowledgement(p.key.business, p))
		}
	}
	return calls
}

// acknowledgement returns the call that accepts an order at its aggregator.
func acknowledgement(business core.BusinessID, placed *placedOrder) outbox.Call {
	at := placed.event.At
	return outbox.Call{
		Business: business, ID: core.NewID(at), Kind: relay.OrderAcknowledge, OrderingKey: relay.OrderKey(placed.id),
		Platform: placed.key.platform, Order: placed.id, Actor: "hub", At: at,
		Payload: fmt.Appendf(nil, `{"accepted":true,"at":%d}`, at.UnixMilli()),
	}
}
