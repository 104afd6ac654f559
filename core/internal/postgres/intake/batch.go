package intake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// intakeBatch is the orders of one transaction.
type intakeBatch struct {
	ctx      context.Context
	db       *postgres.DB
	in       bun.IDB // for reads
	settings *cache.Cache[contextKey, storedContext]
	cache    *menuCache
	ids      *orderIDs
	stale    cache.Stale // snapshots that are known to be out of date
	requests []order.PlaceRequest
	results  []batch.Result[order.PlaceResult] // one per request
	contexts map[contextKey]*orderContext
	placed   []*placedOrder    // in key order
	rejected []int             // rejected requests; a repeat of an existing order still succeeds
	outdated []core.BusinessID // businesses whose cached values were out of date

	entryBytes map[core.BusinessID]int // of the items and options that were read
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
	requests  []int // the first created it, the others repeat it
	id        int64
	event     core.Event
	store     int64
	relay     *order.Relay
	servedBy  string // core.Platform.ServedBy
	accept    relay.Accept
	customers customer.Index
	stored    bool // false: another transaction stored it first, or its business is stale
}

// price reads what the orders need, prices them and creates their events.
func (b *intakeBatch) price() error {
	if err := b.read(); err != nil {
		return err
	}
	ids, err := b.ids.take(b.ctx, b.in, len(b.requests))
	if err != nil {
		return err
	}
	now := b.db.Clock().Now()
	first := map[orderKey]*placedOrder{}
	for i := range b.requests {
		key := keyOf(&b.requests[i])
		if p := first[key]; p != nil {
			p.requests = append(p.requests, i)
			continue
		}
		// Event ids one microsecond apart sort like the orders.
		p, err := b.priceOne(i, ids[i], now, now.Add(time.Duration(i)*time.Microsecond))
		if err != nil {
			b.results[i].Err = err
			b.rejected = append(b.rejected, i)
			continue
		}
		first[key] = p
		b.placed = append(b.placed, p)
	}
	slices.SortFunc(b.placed, func(a, b *placedOrder) int {
		return cmp.Or(cmp.Compare(a.key.business, b.key.business), cmp.Compare(a.key.platform, b.key.platform),
			cmp.Compare(a.key.ref, b.key.ref))
	})
	return nil
}

// priceOne prices one order.
func (b *intakeBatch) priceOne(i int, id int64, now, unique time.Time) (*placedOrder, error) {
	a := &b.requests[i]
	setting := b.contexts[contextKeyOf(a)]
	switch {
	case setting == nil || setting.Platform.ServedBy == "":
		return nil, core.NoSuch("platform", postgres.Quoted(a.Draft.Platform), "there is no platform with this name")
	case setting.Store.ID == 0:
		return nil, core.NoSuch("store_ref_id", postgres.Quoted(string(a.Draft.StoreRefID)),
			"there is no store with this ref_id")
	case b.tooLarge(a.Business) && !setting.knows(a.Draft.Items):
		return nil, b.errTooLarge(a.Business)
	}
	relay, err := order.Place(a.Draft, setting.PricingContext, id, now)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(&relay)
	if err != nil {
		return nil, fmt.Errorf("writing an order: %w", err)
	}
	return &placedOrder{
		key: keyOf(a), requests: []int{i}, id: id, store: setting.Store.ID, relay: &relay,
		servedBy: setting.Platform.ServedBy, accept: setting.accept, customers: setting.customers,
		event: core.Event{
			ID: core.NewID(unique), Business: a.Business, Type: core.OrderPlaced, At: now, Body: body, OrderID: id,
			Sequence: 1, Trace: a.Trace,
		},
	}, nil
}

// errTooLarge returns the error of an order whose part of the menu was not read. It is Invalid only if no other order
// of the business was in the batch.
func (b *intakeBatch) errTooLarge(business core.BusinessID) error {
	others := -1
	for i := range b.requests {
		if b.requests[i].Business == business {
			others++
		}
	}
	if others > 0 {
		return &core.Error{Code: core.Unavailable, Message: "the menu of these items is large: resend the request",
			RetryAfter: time.Second}
	}
	var v core.Violations
	v.AddBody("items", "limit", fmt.Sprintf("are too many for this menu: their options, option groups, taxes and "+
		"charges take more than %d MiB", maxEntryBytes>>20))
	return v.Err()
}

func columnsOf(keys []orderKey) (businesses []int64, platforms, refs []string) {
	businesses, platforms, refs = make([]int64, len(keys)), make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		businesses[i], platforms[i], refs[i] = int64(key.business), key.platform, key.ref
	}
	return businesses, platforms, refs
}

// knownOrders returns the ids of existing orders by their keys.
func knownOrders(ctx context.Context, tx bun.IDB, keys []orderKey) (map[orderKey]int64, error) {
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
