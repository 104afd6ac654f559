package orders

import (
	"context"
	"database/sql"
	"fmt"
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

// changeBatch is the changes of one transaction.
type changeBatch struct {
	ctx      context.Context
	tx       bun.Conn
	db       *postgres.DB
	requests []ChangeRequest
	results  []batch.Result[order.State] // per request: the previous state
	orders   map[trackedKey]*changedOrder
	now      time.Time
	stored   []storedChange
	calls    []outbox.Call
	events   []core.Event
}

// changedOrder is an order with what its next change depends on.
type changedOrder struct {
	*lockedOrder
	prepMinutes  int64 // -1: none
	acknowledged bool  // by a call to its platform
	changes      int   // of this transaction
}

// storedChange is a change that the transaction stores.
type storedChange struct {
	trackedKey
	*ChangeRequest
	number   int // of the changes of the order in this transaction
	sequence int // of the event
}

// read locks the orders and reads what their changes depend on.
func (b *changeBatch) read() error {
	keys := make([]trackedKey, len(b.requests))
	for i, r := range b.requests {
		keys[i] = trackedKey{r.Business, r.OrderID}
	}
	locked, err := lockOrders(b.ctx, b.db, b.tx, keys)
	if err != nil {
		return err
	}
	b.orders = make(map[trackedKey]*changedOrder, len(locked))
	var unknown []trackedKey
	for key, o := range locked {
		b.orders[key] = &changedOrder{lockedOrder: o, prepMinutes: -1}
		if o.State.HasPrepTime() || o.State == order.Placed && o.servedBy != core.ServedByMerchant {
			unknown = append(unknown, key)
		}
	}
	return b.readAcknowledgements(unknown)
}

// readAcknowledgements reads the preparation times of orders, and whether their platforms know that they are accepted.
func (b *changeBatch) readAcknowledgements(keys []trackedKey) error {
	if len(keys) == 0 {
		return nil
	}
	businesses, ids := idsOf(keys)
	statement := postgres.Statement{Query: queries.Get("read_acknowledgements"), Args: postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(ids), "kind": relay.OrderAcknowledge,
	}}
	err := b.db.QueryPrepared(b.ctx, b.tx, statement, func(rows *sql.Rows) error {
		var key trackedKey
		var minutes int64
		var acknowledged bool
		err := rows.Scan(&key.business, &key.order, &minutes, &acknowledged)
		if o := b.orders[key]; o != nil {
			o.prepMinutes, o.acknowledged = minutes, acknowledged
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the acknowledgements of orders: %w", err)
	}
	return nil
}

// apply applies the changes one by one. A rejected one changes nothing.
func (b *changeBatch) apply() {
	b.now = b.db.Clock().Now()
	for i := range b.requests {
		r := &b.requests[i]
		key := trackedKey{r.Business, r.OrderID}
		o := b.orders[key]
		if o == nil || r.Platform != "" && r.Platform != o.Platform {
			b.results[i].Err = errNoOrder
			continue
		}
		b.results[i].Value = o.State
		// Ids one microsecond apart sort like the changes.
		b.results[i].Err = b.change(key, o, r, b.now.Add(time.Duration(i)*time.Microsecond))
	}
}

// change applies a change to an order.
func (b *changeBatch) change(key trackedKey, o *changedOrder, r *ChangeRequest, at time.Time) error {
	changed, err := o.State.Move(r.To)
	if err == nil && !changed {
		changed = r.To.HasPrepTime() && r.PrepMinutes != nil && *r.PrepMinutes != o.prepMinutes
	}
	if err != nil || !changed {
		return err
	}
	body, err := order.StatusUpdate(o.Subject, o.State, r.Change, at)
	if err != nil {
		return fmt.Errorf("encoding the event: %w", err)
	}
	calls, err := statusCalls(o, r, at)
	if err != nil {
		return err
	}
	o.changes++
	o.events++
	o.State = r.To
	if r.PrepMinutes != nil {
		o.prepMinutes = *r.PrepMinutes
	}
	b.calls = append(b.calls, calls...)
	b.stored = append(b.stored, storedChange{key, r, o.changes, o.events})
	b.events = append(b.events, core.Event{ID: core.NewID(at), Business: r.Business, Type: core.OrderStatusUpdate,
		At: b.now, Body: body, OrderID: r.OrderID, Sequence: o.events, Trace: r.Trace})
	return nil
}

// write stores the changes.
func (b *changeBatch) write() error {
	n := len(b.stored)
	if n == 0 {
		return nil
	}
	businesses, orders, numbers, sequences, prepTimes := make([]int64, n), make([]int64, n), make([]int64, n),
		make([]int64, n), make([]int64, n)
	states, messages, codes, actors, items, last := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]bool, n)
	for i, c := range b.stored {
		businesses[i], orders[i], numbers[i], sequences[i] = int64(c.Business), c.OrderID, int64(c.number),
			int64(c.sequence)
		states[i], messages[i], codes[i], actors[i] = string(c.To), c.Message, c.ReasonCode, c.Actor
		if prepTimes[i] = -1; c.PrepMinutes != nil {
			prepTimes[i] = *c.PrepMinutes
		}
		if len(c.OutOfStock)+len(c.Invalid) > 0 {
			encoded, err := json.Marshal(c.RejectedItems)
			if err != nil {
				return err
			}
			items[i] = string(encoded)
		}
		last[i] = c.number == b.orders[c.trackedKey].changes
	}
	statement := postgres.Statement{Query: queries.Get("change_orders"), Args: postgres.Args{
		"now": b.now, "businesses": postgres.Array(businesses), "orders": postgres.Array(orders),
		"numbers": postgres.Array(numbers), "last": postgres.Array(last), "states": postgres.Array(states),
		"sequences": postgres.Array(sequences), "messages": postgres.Array(messages),
		"reason_codes": postgres.Array(codes), "prep_times": postgres.Array(prepTimes),
		"actors": postgres.Array(actors), "items": postgres.Array(items),
	}}
	if err := b.db.QueryPrepared(b.ctx, b.tx, statement, nil); err != nil {
		return fmt.Errorf("updating orders: %w", err)
	}
	return nil
}
