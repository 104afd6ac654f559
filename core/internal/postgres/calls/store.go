// Package calls is the queue of calls to aggregators, and stores the plugins that prepare them.
package calls

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store is the queue of the relay (relay.Queue).
type Store struct {
	db      *postgres.DB
	onEnded []OnEnded
}

// OnEnded is called with the calls that a transaction ended. The transaction publishes the
// events it returns.
type OnEnded func(ctx context.Context, tx bun.Conn, ended []Ended) ([]core.Event, error)

// New returns a Store that uses db. Finish calls each onEnded in order.
func New(db *postgres.DB, onEnded ...OnEnded) Store { return Store{db: db, onEnded: onEnded} }

var claim = queries.Get("claim").Fill("claim_calls", outbox.ClaimParts("call_queue"))

// Claim leases due ordering keys, the longest waiting endpoints first, and returns the first
// call of each.
func (q Store) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[relay.Call], err error) {
	now, epoch := q.db.ReadClock()
	busy := outbox.Busy{Endpoints: capacity.Busy, Plugins: capacity.BusyGroups}
	args := postgres.Args{"now": now, "epoch": epoch, "limit": capacity.Items, "share": capacity.OtherKeys,
		"owner": owner, "until": until}
	busy.Into(args)
	var claimed []relay.Call
	if err := q.db.QueryKeyed(ctx, postgres.Statement{Query: claim, Args: args}, func(rows *sql.Rows) error {
		c := relay.Call{LeasedUntil: until, Owner: owner}
		var payload string
		var sealed []byte
		err := rows.Scan(&c.Business, &c.OrderingKey, &c.Kind, &c.Platform, &c.Order.ID, &c.Endpoint, &payload, &c.ID,
			&c.Since, &c.Attempts, &c.DueAt, &c.Version, &sealed, &c.Lease)
		c.Payload, c.Steps = []byte(payload), q.openSteps(c, sealed)
		claimed = append(claimed, c)
		return err
	}); err != nil {
		batch.Items = claimed
		return batch, fmt.Errorf("claiming calls: %w", err)
	}
	if len(claimed) > 0 {
		if batch.Items, err = q.load(ctx, owner, claimed); err != nil {
			batch.Items = claimed
			return batch, err
		}
	}
	batch.More = len(claimed) >= capacity.Items || len(claimed) > 0 && len(batch.Items) == 0 // none may start
	batch.NextDue, err = outbox.NextDue(ctx, q.db, "call_queue", busy)
	if err != nil && len(batch.Items) > 0 { // an error would lose them until their leases end
		q.db.Log().Warn("reading the next due time of calls failed", "error", err)
		return batch, nil
	}
	return batch, err
}

// load adds the first calls and their orders to claimed ordering keys. It finishes keys without a waiting call, and
// calls that are no longer relevant or whose order cannot be read.
func (q Store) load(ctx context.Context, owner core.ID, claimed []relay.Call) ([]relay.Call, error) {
	n := len(claimed)
	businesses, orders, keys, platforms, located := make([]int64, n), make([]int64, n), make([]string, n),
		make([]string, n), make([]bool, n)
	for i, c := range claimed {
		businesses[i], orders[i], keys[i], platforms[i], located[i] = int64(c.Business), c.Order.ID, c.OrderingKey,
			c.Platform, c.Kind == relay.RiderLocation
	}
	var calls []relay.Call
	var ended []relay.Result
	if err := q.db.QueryKeyed(ctx, postgres.Statement{Query: queries.Get("load_calls"), Args: postgres.Args{
		"businesses": postgres.Array(businesses), "orders": postgres.Array(orders),
		"ordering_keys": postgres.Array(keys), "platforms": postgres.Array(platforms),
		"located": postgres.Array(located),
	}}, func(rows *sql.Rows) error {
		var row loadedCall
		var i int
		if err := rows.Scan(append([]any{&i}, row.fields()...)...); err != nil {
			return err
		}
		c := row.complete(claimed[i-1])
		if !row.relevant(c) {
			ended = append(ended, q.skipped(c))
			return nil
		}
		if row.known {
			if err := q.readOrder(row.record, &c.Order); err != nil { // it must not keep the others from being sent
				q.db.Log().Error("reading the order of a call failed", "call", c.ID, "error", err)
				ended = append(ended, relay.Result{Call: c, State: relay.Failed, FinishedAt: q.db.Clock().Now(),
					Message: "the stored order cannot be read"})
				return nil
			}
		}
		calls = append(calls, c)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("reading calls: %w", err)
	}
	calls, accepted, err := q.splitAccepted(ctx, calls)
	if err != nil {
		return nil, err
	}
	for _, c := range accepted {
		ended = append(ended, q.skipped(c))
	}
	return calls, q.Finish(ctx, owner, ended)
}

// loadedCall is a row of the statement load_calls: the order and the first waiting call of an ordering
// key.
type loadedCall struct {
	known   bool   // the order is stored
	record  []byte // the placed order
	order   relay.Order
	plugin  string
	id      *core.ID // nil: no call waits
	kind    relay.Kind
	payload string
	since   time.Time
	trace   core.Trace
	state   order.State
	rider   order.RiderStatus // the latest
}

func (l *loadedCall) fields() []any {
	return []any{&l.known, &l.record, &l.order.PlatformOrderID, &l.order.DeliveryMode, &l.order.Bulk,
		&l.order.StoreRefID, &l.plugin, &l.id, &l.kind, &l.payload, postgres.OrZero(&l.since), &l.trace, &l.state,
		&l.rider}
}

// complete adds the loaded fields to a claimed ordering key.
func (l *loadedCall) complete(c relay.Call) relay.Call {
	l.order.ID = c.Order.ID
	c.Order, c.Plugin = l.order, l.plugin
	if c.Kind != relay.RiderLocation && l.id != nil {
		c.ID, c.Kind, c.Payload, c.Since, c.Trace = *l.id, l.kind, []byte(l.payload), l.since, l.trace
	}
	return c
}

// relevant reports whether a call must still be sent. Order 0 is a rejected order, which is not
// stored.
func (l *loadedCall) relevant(c relay.Call) bool {
	if !l.known && c.Order.ID != 0 || len(c.Payload) == 0 {
		return false
	}
	return c.Kind != relay.RiderLocation || order.Trackable(l.state, l.rider)
}

// skipped returns the result of a call that is no longer relevant.
func (q Store) skipped(c relay.Call) relay.Result {
	result := relay.Result{Call: c, State: relay.Skipped, Message: "nothing is pending anymore",
		FinishedAt: q.db.Clock().Now()}
	switch {
	case c.Kind == relay.RiderLocation:
		result.Message = "the order or its delivery has ended"
	case isRejection(c):
		result.Message = "the order was accepted when it was resent"
	}
	return result
}

// storedLine is an item of a stored order, or an option of an item.
type storedLine struct {
	RefID    string `json:"merchant_id"`
	LineID   string `json:"line_id"`
	Quantity int64  `json:"quantity"`
}

func (l storedLine) line() relay.OrderLine {
	return relay.OrderLine{RefID: l.RefID, LineID: l.LineID, Quantity: l.Quantity}
}

// readOrder adds the fields of a stored order that are not in columns.
func (q Store) readOrder(record []byte, into *relay.Order) error {
	unpacked, err := q.db.Decompress(record)
	if err != nil {
		return err
	}
	var stored struct {
		Order struct {
			Details struct {
				Kind      order.Kind            `json:"order_type"`
				Platforms []order.RelayPlatform `json:"ext_platforms"`
			} `json:"details"`
			Items []struct {
				storedLine
				Options []storedLine `json:"options_to_add"`
			} `json:"items"`
		} `json:"order"`
	}
	if err := json.Unmarshal(unpacked, &stored); err != nil {
		return fmt.Errorf("reading a stored order: %w", err)
	}
	into.Kind = string(stored.Order.Details.Kind)
	for _, platform := range stored.Order.Details.Platforms {
		into.PlatformStoreID = platform.PlatformStoreID
	}
	for _, item := range stored.Order.Items {
		line := item.line()
		for _, option := range item.Options {
			line.Options = append(line.Options, option.line())
		}
		into.Lines = append(into.Lines, line)
	}
	return nil
}
