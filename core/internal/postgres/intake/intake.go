// Package intake stores orders as they arrive: it prices them, and stores a batch with its events and deliveries.
package intake

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files, outbox.Parts())

// Intake batches orders: those that arrive during a transaction are stored together by the
// next one. Settings, menus, webhooks and API keys are cached. The statement that stores the orders finds out whether
// they are current. If not, the orders are priced again.
type Intake struct {
	db       *postgres.DB
	settings cache.Cache[contextKey, storedContext]
	cache    menuCache
	ids      orderIDs
	batcher  batch.Batcher[order.PlaceRequest, order.PlaceResult]
	placed   []Applier
}

// Bounds of the intake: concurrent transactions, orders per transaction, waiting orders. A second
// concurrent transaction is worth its cost only for many waiting orders.
const (
	intakeMaxConcurrent = 2
	intakeMinBatch      = 32
	intakeMaxBatch      = 128
	intakeMaxWaiting    = 8192
)

// maxStoredContexts bounds the cached settings.
const maxStoredContexts = 20_000

// New returns an Intake; the caller must Close it. The appliers apply what waited for placed orders.
func New(db *postgres.DB, placed ...Applier) *Intake {
	i := &Intake{db: db, placed: placed}
	i.settings.Max = maxStoredContexts
	i.batcher = batch.Batcher[order.PlaceRequest, order.PlaceResult]{Run: i.PlaceBatch,
		MaxConcurrent: intakeMaxConcurrent,
		MinBatch:      intakeMinBatch, MaxBatch: intakeMaxBatch, MaxWaiting: intakeMaxWaiting}
	return i
}

// Close rejects further orders and waits until the accepted ones are stored.
func (i *Intake) Close() { i.batcher.Close() }

// Waiting returns the number of orders that wait in this replica.
func (i *Intake) Waiting() int { return i.batcher.Waiting() }

// Place stores an order with its event; both are durable when it returns. A repeated
// platform_order_id returns the known order's id and publishes no second event.
//
// It returns NotFound for an unknown platform or store, and Invalid for an unknown price. It
// returns Unavailable if nothing was stored, also if the settings change all the time. It returns the errors of
// access.Key.Check for a key that no longer works.
func (i *Intake) Place(ctx context.Context, request order.PlaceRequest) (order.PlaceResult, error) {
	request.Trace = core.TraceFromContext(ctx)
	return i.batcher.Do(ctx, request)
}

// maxAttempts bounds how often an order is priced. More are needed only while its business changes many times a second.
const maxAttempts = 8

// errStale marks the orders that must be priced again. It is the error of the last attempt.
var errStale = &core.Error{Code: core.Unavailable, Message: "the settings change too often: resend the request",
	RetryAfter: time.Second}

// PlaceBatch stores a batch of orders. If the database rejects the batch, it stores the orders
// one by one, so that no order fails because of another.
func (i *Intake) PlaceBatch(ctx context.Context, requests []order.PlaceRequest) []batch.Result[order.PlaceResult] {
	requests = slices.Clone(requests)
	results, left := make([]batch.Result[order.PlaceResult], len(requests)), make([]int, len(requests))
	for n := range requests {
		left[n] = n
	}
	stale := cache.Stale{}
	for attempt := 0; len(left) > 0 && attempt < maxAttempts; attempt++ {
		if attempt > 0 {
			i.refresh(ctx, requests, left, stale)
		}
		left = slices.DeleteFunc(left, func(at int) bool {
			results[at].Err = i.verifyKey(ctx, &requests[at], stale)
			return results[at].Err != nil
		})
		part := make([]order.PlaceRequest, len(left))
		for n, at := range left {
			part[n] = requests[at]
		}
		run := func(part []order.PlaceRequest) ([]batch.Result[order.PlaceResult], error) {
			return i.commit(ctx, part, stale)
		}
		for n, result := range batch.SplitOnError(part, run) {
			results[left[n]] = result
		}
		left = slices.DeleteFunc(left, func(at int) bool { return !errors.Is(results[at].Err, errStale) })
	}
	return results
}

// refresh reads what is out of date, all at the same time. An error shows when the value is used.
func (i *Intake) refresh(ctx context.Context, requests []order.PlaceRequest, at []int, stale cache.Stale) {
	b := &intakeBatch{ctx: ctx, db: i.db, in: i.db.Keyed(), settings: &i.settings, cache: &i.cache, stale: stale,
		contexts: map[contextKey]*orderContext{}}
	var businesses []core.BusinessID
	keys := map[string]order.PlaceRequest{}
	for _, n := range at {
		a := &requests[n]
		b.contexts[contextKeyOf(a)] = nil
		businesses = append(businesses, a.Business)
		keys[a.Credential.KeyHash] = *a
	}
	var reading sync.WaitGroup
	reading.Go(func() { _ = b.readContexts() })
	reading.Go(func() { _ = outbox.Refresh(ctx, i.db, core.OrderPlaced, businesses, stale) })
	for _, a := range keys {
		reading.Go(func() { _ = i.verifyKey(ctx, &a, stale) }) // a copy: the caller verifies each order
	}
	reading.Wait()
}

// verifyKey reads the key of an order whose cached key is out of date. It returns an error if the key no longer works.
func (i *Intake) verifyKey(ctx context.Context, request *order.PlaceRequest, stale cache.Stale) error {
	credential := &request.Credential
	if !stale[cache.Check{Business: request.Business, Snapshot: credential.Snapshot}] {
		return nil
	}
	keys := accessdb.New(i.db)
	key, _, err := keys.CachedKeyByHash(ctx, []byte(credential.KeyHash)) // another order may have read it
	if err == nil && stale[cache.Check{Business: request.Business, Snapshot: key.Snapshot}] {
		key, err = keys.KeyByHash(ctx, []byte(credential.KeyHash))
	}
	credential.Snapshot = key.Snapshot
	return key.Check(err)
}

// commit stores the orders that are up to date. It adds the snapshots of the others to stale.
func (i *Intake) commit(ctx context.Context, requests []order.PlaceRequest,
	stale cache.Stale) ([]batch.Result[order.PlaceResult], error) {
	b := &intakeBatch{ctx: ctx, db: i.db, in: i.db.Keyed(), settings: &i.settings, cache: &i.cache, ids: &i.ids,
		requests: slices.Clone(requests), stale: stale, results: make([]batch.Result[order.PlaceResult], len(requests))}
	if err := b.price(); err != nil {
		return nil, fmt.Errorf("pricing %d orders: %w", len(requests), err)
	}
	if err := b.store(); err != nil {
		return nil, fmt.Errorf("storing %d orders: %w", len(requests), err)
	}
	b.setResults()
	b.applyWaiting(i.placed)
	return b.results, nil
}
