package orders

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// riderBatch is the statuses of one transaction.
type riderBatch struct {
	ctx      context.Context
	tx       bun.Conn
	db       *postgres.DB
	updates  []order.RiderUpdate
	results  []batch.Result[bool] // per update: whether it changed anything
	tracked  map[trackedKey]*lockedOrder
	statuses []newStatus
	located  []newStatus // whose location is new
	calls    []outbox.Call
	events   []core.Event
}

// newStatus is a status that the transaction stores.
type newStatus struct {
	trackedKey
	n    int
	step order.RiderStep
	call core.ID // zero: no plugin to send it to
}

// read locks the orders and reads their riders.
func (b *riderBatch) read() (err error) {
	keys := make([]trackedKey, len(b.updates))
	for i, u := range b.updates {
		keys[i] = trackedKey{u.Business, u.OrderID}
	}
	if b.tracked, err = lockOrders(b.ctx, b.db, b.tx, keys); err != nil {
		return err
	}
	businesses, orders := idsOf(slices.Collect(maps.Keys(b.tracked)))
	return readRiderStatuses(b.ctx, b.tx, businesses, orders,
		func(business core.BusinessID, id int64, step order.RiderStep) {
			if r := b.tracked[trackedKey{business, id}]; r != nil {
				r.History = append(r.History, step)
			}
		})
}

// readRiderStatuses reads statuses of riders, sorted by order and number. It does not read whether they were sent.
func readRiderStatuses(ctx context.Context, in bun.IDB, businesses, orders []int64,
	visit func(core.BusinessID, int64, order.RiderStep)) error {
	rows, err := in.QueryContext(ctx, queries.With("read_rider_statuses", postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(orders),
	}))
	if err != nil {
		return fmt.Errorf("reading the statuses of riders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var business core.BusinessID
		var id int64
		var at time.Time
		var step order.RiderStep
		var location []byte
		if err := rows.Scan(&business, &id, &step.Status, &at, &step.Name, &step.Phone, &step.Actor,
			&location); err != nil {
			return fmt.Errorf("reading the statuses of riders: %w", err)
		}
		if err := UnmarshalStored(location, &step.Location); err != nil {
			return fmt.Errorf("reading the location of a rider: %w", err)
		}
		step.At = at.UnixMilli()
		visit(business, id, step)
	}
	return rows.Err()
}

// apply applies the statuses one by one.
func (b *riderBatch) apply() error {
	now := b.db.Clock().Now()
	for i, u := range b.updates {
		key := trackedKey{u.Business, u.OrderID}
		r, v := b.tracked[key], &b.results[i]
		if r == nil {
			v.Err = unknownOrder(u.OrderID)
			continue
		}
		var body []byte
		if u.Status != "" {
			v.Value, body, v.Err = r.AddStatus(u, now.UnixMilli())
		}
		if v.Err != nil || !v.Value {
			b.locate(key, r, u, v)
			continue
		}
		// Ids one microsecond apart sort like the statuses.
		at := now.Add(time.Duration(i) * time.Microsecond)
		b.events = append(b.events, core.Event{
			ID: core.NewID(at), Business: u.Business, Type: core.RiderStatusUpdate, At: now, Body: body,
			OrderID: u.OrderID, Trace: u.Trace,
		})
		taken := newStatus{trackedKey: key, n: len(r.History), step: r.History[len(r.History)-1]}
		if r.servedBy != core.ServedByMerchant && u.Platform == "" {
			taken.call = core.NewID(at)
			payload, err := json.Marshal(relay.RiderStatusPayload{
				Status: string(taken.step.Status), Name: taken.step.Name, Phone: taken.step.Phone, At: taken.step.At,
			})
			if err != nil {
				return err
			}
			b.calls = append(b.calls, outbox.Call{
				Business: u.Business, ID: taken.call, Kind: relay.RiderStatus,
				OrderingKey: relay.OrderingKey(relay.RiderStatus, strconv.FormatInt(u.OrderID, 10)),
				Platform:    r.Platform, Order: u.OrderID, Payload: payload, Actor: u.Actor, At: now, Trace: u.Trace,
			})
		}
		b.statuses = append(b.statuses, taken)
	}
	return nil
}

// locate updates the location of a platform's courier whose status is not new.
func (b *riderBatch) locate(key trackedKey, r *lockedOrder, u order.RiderUpdate, v *batch.Result[bool]) {
	if v.Err == nil && u.Location != nil && r.Locate(*u.Location) {
		n := len(r.History)
		b.located = append(b.located, newStatus{trackedKey: key, n: n, step: r.History[n-1]})
		v.Value = true
	}
}

func (b *riderBatch) writeLocations() error {
	for _, t := range b.located {
		location, err := encodeLocation(t.step.Location)
		if err != nil {
			return err
		}
		if _, err := b.tx.ExecContext(b.ctx, queries.With("locate_courier", postgres.Args{
			"business": t.business, "order": t.order, "number": t.n, "location": location,
		})); err != nil {
			return fmt.Errorf("storing the location of a courier: %w", err)
		}
	}
	return nil
}

func encodeLocation(at *order.Location) (string, error) {
	if at == nil {
		return "", nil
	}
	encoded, err := json.Marshal(at)
	return string(encoded), err
}

func (b *riderBatch) write() error {
	if len(b.statuses) == 0 {
		return b.writeLocations()
	}
	n := len(b.statuses)
	businesses, orders, numbers, at := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	statuses, names, phones, actors, locations, calls := make([]string, n), make([]string, n), make([]string, n),
		make([]string, n), make([]string, n), make([]string, n)
	for i, t := range b.statuses {
		var err error
		if locations[i], err = encodeLocation(t.step.Location); err != nil {
			return err
		}
		businesses[i], orders[i], numbers[i], at[i] = int64(t.business), t.order, int64(t.n), t.step.At
		statuses[i], names[i], phones[i], actors[i] = string(t.step.Status), t.step.Name, t.step.Phone, t.step.Actor
		if t.call != (core.ID{}) {
			calls[i] = t.call.String()
		}
	}
	if _, err := b.tx.ExecContext(b.ctx, queries.With("store_statuses", postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(orders), "numbers": postgres.Array(numbers),
		"statuses": postgres.Array(statuses), "at": postgres.Array(at), "names": postgres.Array(names),
		"phones": postgres.Array(phones), "actors": postgres.Array(actors), "locations": postgres.Array(locations),
		"calls": postgres.Array(calls),
	})); err != nil {
		return fmt.Errorf("storing statuses of riders: %w", err)
	}
	return b.writeLocations()
}
