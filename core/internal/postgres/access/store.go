// Package access stores businesses, API keys, users, sessions and rate limits.
package access

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores businesses and API keys (access.KeyStore).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// KeyByHash returns the key with the given hash. Concurrent requests share one query.
func (a Store) KeyByHash(ctx context.Context, hash []byte) (access.Key, error) {
	return lookupsOf(a.db).keys.Do(ctx, hash)
}

// CachedKeyByHash is KeyByHash, but a cached key may be out of date.
func (a Store) CachedKeyByHash(ctx context.Context, hash []byte) (key access.Key, cached bool, err error) {
	if found, known := lookupsOf(a.db).cache.Get(string(hash)); known {
		return found.Value, true, nil
	}
	key, err = a.KeyByHash(ctx, hash)
	return key, false, err
}

// maxCachedKeys bounds the cached keys.
const maxCachedKeys = 10_000

// Bounds of the batches that look up keys.
const (
	lookupMaxConcurrent = 2
	lookupMinBatch      = 64
	lookupMaxBatch      = 512
	lookupMaxWaiting    = 16384
)

// lookups holds the batchers that requests share.
type lookups struct {
	keys      batch.Batcher[[]byte, access.Key]
	throttles batch.Batcher[throttleChange, struct{}] // counts requests
	cache     cache.Cache[string, access.Key]         // by hash
}

func lookupsOf(db *postgres.DB) *lookups {
	return postgres.StateOf(db, func(db *postgres.DB) *lookups {
		l := &lookups{
			keys: batch.Batcher[[]byte, access.Key]{MaxConcurrent: lookupMaxConcurrent, MinBatch: lookupMinBatch,
				MaxBatch: lookupMaxBatch, MaxWaiting: lookupMaxWaiting},
			throttles: batch.Batcher[throttleChange,
				struct{}]{Run: func(ctx context.Context, changes []throttleChange) []batch.Result[struct{}] {
				return changeThrottles(ctx, db, changes)
			}, MaxConcurrent: lookupMaxConcurrent, MinBatch: lookupMinBatch, MaxBatch: lookupMaxBatch,
				MaxWaiting: lookupMaxWaiting},
		}
		l.cache.Max = maxCachedKeys
		l.keys.Run = func(ctx context.Context, hashes [][]byte) []batch.Result[access.Key] {
			return l.lookUpKeys(ctx, db, hashes)
		}
		return l
	})
}

// Close closes both batchers.
func (l *lookups) Close() {
	l.keys.Close()
	l.throttles.Close()
}

// lookUpKeys runs a batch. It returns the keys with the given hashes, and caches them.
func (l *lookups) lookUpKeys(ctx context.Context, db *postgres.DB, hashes [][]byte) []batch.Result[access.Key] {
	found, err := readKeys(ctx, db, hashes)
	if err != nil {
		return batch.FailAll[access.Key](len(hashes), fmt.Errorf("looking up API keys: %w", err))
	}
	for hash, key := range found {
		l.cache.Put(hash, cache.Entry[access.Key]{Value: key, Snapshot: key.Snapshot})
	}
	results := make([]batch.Result[access.Key], len(hashes))
	for i, hash := range hashes {
		key, known := found[string(hash)]
		if results[i].Value = key; !known {
			results[i].Err = core.Errorf(core.NotFound, "no such key")
		}
	}
	return results
}

func readKeys(ctx context.Context, db *postgres.DB, hashes [][]byte) (map[string]access.Key, error) {
	found := make(map[string]access.Key, len(hashes))
	statement := postgres.Statement{Query: queries.Get("keys_by_hash"),
		Args: postgres.Args{"hashes": postgres.Array(hashes)}}
	return found, db.QueryKeyed(ctx, statement, func(rows *sql.Rows) error {
		var key access.Key
		err := rows.Scan(&key.Hash, &key.Business, &key.ID, &key.Username, &key.Scope, &key.Platform,
			postgres.OrZero(&key.DisabledAt), &key.Snapshot)
		found[string(key.Hash)] = key
		return err
	})
}

// CreateBusiness stores a business and its platforms and returns its id. Only the command line
// calls this and the methods below. The audit trail names it as the actor.
func (a Store) CreateBusiness(ctx context.Context, b core.Business, callbackSecret string,
	platforms []core.Platform) (core.BusinessID, error) {
	err := a.db.InTx(ctx, func(tx bun.Conn) error {
		err := tx.QueryRowContext(ctx,
			`INSERT INTO businesses (name, country, timezone, currency, callback_secret, customer_key, created_at)
			VALUES (?, ?, ?, ?, '', '', ?) RETURNING id`, b.Name, b.Country, b.Timezone, b.Currency,
			b.CreatedAt).Scan(&b.ID)
		if err != nil {
			return fmt.Errorf("storing the business: %w", err)
		}
		// The secrets are bound to the id, which exists only now.
		sealed, err := a.db.SealIn(ctx, tx, outbox.CallbackAssociatedData(b.ID), []byte(callbackSecret))
		if err != nil {
			return err
		}
		customers, err := a.db.SealIn(ctx, tx, customer.KeyAssociatedData(b.ID), customer.NewKey())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE businesses SET callback_secret = ?, customer_key = ? WHERE id = ?`, sealed,
			customers, b.ID)
		if err != nil {
			return fmt.Errorf("storing the secrets of the business: %w", err)
		}
		for _, p := range platforms {
			if _, err := tx.ExecContext(ctx, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)`,
				b.ID, p.Name, p.ServedBy); err != nil {
				return fmt.Errorf("storing the platform %s: %w", p.Name, err)
			}
		}
		change := CommandLineChange(b.ID, "business.create")
		change.Object = fmt.Sprintf("business/%d", b.ID)
		change.After = map[string]any{"name": b.Name, "country": b.Country, "timezone": b.Timezone,
			"currency": b.Currency}
		return audit.Record(ctx, a.db, tx, change)
	})
	return b.ID, err
}

// CallbackSecret returns the secret that signs requests to a callback_url.
func (a Store) CallbackSecret(ctx context.Context, business core.BusinessID) (string, error) {
	var sealed []byte
	err := a.db.Bun().QueryRowContext(ctx, `SELECT callback_secret FROM businesses WHERE id = ?`,
		business).Scan(&sealed)
	if err != nil {
		return "", postgres.NotFound(err, "there is no business %d", business)
	}
	secret, err := a.db.Sealer().Open(outbox.CallbackAssociatedData(business), sealed)
	return string(secret), err
}

// ReplaceCallbackSecret gives a business a new secret for requests to a callback_url. The
// earlier secret signs too, up to the given time. It returns NotFound if there is no such business.
func (a Store) ReplaceCallbackSecret(ctx context.Context, business core.BusinessID, secret string,
	until time.Time) error {
	return a.db.InTx(ctx, func(tx bun.Conn) error {
		sealed, err := a.db.SealIn(ctx, tx, outbox.CallbackAssociatedData(business), []byte(secret))
		if err != nil {
			return err
		}
		var id int64
		if err := tx.QueryRowContext(ctx,
			`UPDATE businesses SET `+outbox.ReplaceSecret("callback_secret")+` WHERE id = ?3 RETURNING id`,
			sealed, until, a.db.Clock().Now(), business).Scan(&id); err != nil {
			return postgres.NotFound(err, "there is no business %d", business)
		}
		change := CommandLineChange(business, "business.callback_secret")
		change.Object = fmt.Sprintf("business/%d", business)
		change.After = map[string]any{"earlier_secret_signs_until": until.UTC().Format(time.RFC3339)}
		return audit.Record(ctx, a.db, tx, change)
	})
}

// CommandLineChange returns an audit entry for a change by the command line.
func CommandLineChange(business core.BusinessID, action string) access.Change {
	return access.Change{Business: business, Actor: "cli", Action: action}
}

// CreateKey stores a key.
func (a Store) CreateKey(ctx context.Context, key access.Key) (access.Key, error) {
	return a.AddKey(ctx, key, CommandLineChange(key.Business, "key.create"))
}

// DisableKey disables a key unless it is already disabled. It returns NotFound if the
// business has no such key.
func (a Store) DisableKey(ctx context.Context, business core.BusinessID, id int64) error {
	err := a.RevokeKey(ctx, business, id, CommandLineChange(business, "key.revoke"))
	if core.CodeOf(err) == core.Conflict {
		return nil
	}
	return err
}

// StoreUses stores the last use of keys.
func (a Store) StoreUses(ctx context.Context, at map[access.KeyRef]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	var businesses, ids []int64
	var times []string
	for _, key := range slices.SortedFunc(maps.Keys(at),
		func(a, b access.KeyRef) int { return cmp.Compare(a.ID, b.ID) }) {
		businesses, ids = append(businesses, int64(key.Business)), append(ids, key.ID)
		times = append(times, at[key].UTC().Format(time.RFC3339Nano))
	}
	_, err := a.db.Bun().ExecContext(ctx, `UPDATE api_keys k SET used_at = greatest(k.used_at, r.at)
		FROM unnest(?::bigint[], ?::bigint[], ?::timestamptz[]) AS r (business_id, id, at)
			WHERE k.business_id = r.business_id AND k.id = r.id`,
		postgres.Array(businesses), postgres.Array(ids), postgres.Array(times))
	if err != nil {
		return fmt.Errorf("storing the use of keys: %w", err)
	}
	return nil
}
