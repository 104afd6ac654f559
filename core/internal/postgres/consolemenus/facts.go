package consolemenus

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
)

// maxFacts bounds the facts in memory, each of all stores of a business.
const maxFacts = 32

// factsKey is what facts are about: an item at all stores of a business, or with item 0 whether the stores sell any.
type factsKey struct {
	business core.BusinessID
	item     int64
}

// facts follow from the menus of stores, which rarely change: reading them for each page would take too long. They
// count for the menus with these versions (menu_versions).
type facts struct {
	basis  string // of all stores: the epoch, the version of the catalogue, and the platforms
	stores map[int64]storeFacts
}

// storeFacts are the facts of a store.
type storeFacts struct {
	version int64    // of the menu at the store
	values  []string // usually none
}

// factsOf returns facts with the values of each store that has any. It reads those that may have changed.
func (c Store) factsOf(ctx context.Context, key factsKey,
	read func(stale []int64) ([]storeValue, error)) (stores []int64, values []string, err error) {
	var now struct {
		Basis    string  `bun:"basis"`
		Stores   []int64 `bun:"stores,array"`
		Versions []int64 `bun:"versions,array"`
	}
	if err := c.db.Bun().NewRaw(queries.With("menu_versions",
		postgres.Args{"business": key.business})).Scan(ctx, &now); err != nil {
		return nil, nil, fmt.Errorf("reading the versions of menus: %w", err)
	}
	known, _ := c.facts.Get(key)
	if known.Value.basis != now.Basis {
		known.Value = facts{basis: now.Basis}
	}
	current, stale := facts{basis: now.Basis, stores: make(map[int64]storeFacts, len(now.Stores))}, []int64(nil)
	for i, id := range now.Stores {
		of, found := known.Value.stores[id]
		if !found || of.version != now.Versions[i] {
			stale, of = append(stale, id), storeFacts{version: now.Versions[i]}
		}
		current.stores[id] = of
	}
	if len(stale) > 0 {
		changed, err := read(stale)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range changed {
			of := current.stores[v.Store]
			of.values = append(of.values, v.Value)
			current.stores[v.Store] = of
		}
		c.facts.Put(key, cache.Entry[facts]{Value: current})
	}
	for id, of := range current.stores {
		for _, value := range of.values {
			stores, values = append(stores, id), append(values, value)
		}
	}
	return stores, values, nil
}

// storeValue is a value of a store.
type storeValue struct {
	Store int64
	Value string
}

// readFacts returns what a statement says of stores.
func (c Store) readFacts(ctx context.Context, business core.BusinessID, statement string) ([]storeValue, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading what stores sell", func(v *storeValue) []any {
		return []any{&v.Store, &v.Value}
	}, bun.SafeQuery(statement))
}

// unsold returns the stores that sell no item that can be ordered, each with the platform.
func (c Store) unsold(ctx context.Context, business core.BusinessID) (stores []int64, platforms []string, err error) {
	return c.factsOf(ctx, factsKey{business, 0}, func(stale []int64) ([]storeValue, error) {
		return c.readFacts(ctx, business, queries.With("unsold", postgres.Args{
			"business": business, "stores": postgres.Array(stale),
			"catalogue_reason": catalogueReason, "sells_on": sellsOn,
			"may_lack_required": mayLackRequired, "may_lack_options": mayLackOptions,
			"required_groups": requiredGroups(business, bun.Safe("SELECT id FROM likely"))}))
	})
}

// storeReasons returns the stores with a reason why an item cannot be ordered there.
func (c Store) storeReasons(ctx context.Context, business core.BusinessID,
	item int64) (stores []int64, reasons []string, err error) {
	return c.factsOf(ctx, factsKey{business, item}, func(stale []int64) ([]storeValue, error) {
		return c.readFacts(ctx, business, queries.With("store_reasons", postgres.Args{
			"business": business, "stores": postgres.Array(stale), "item": item,
			"store_reason": storeReasonOf(mayLackRequired), "required_groups": requiredGroups(business, item)}))
	})
}
