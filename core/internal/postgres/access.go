package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Access keeps businesses and API keys (access.Records).
type Access struct{ *DB }

// KeyByHash finds a key by the hash of its text. Requests that come at once are
// looked up together.
func (a Access) KeyByHash(ctx context.Context, hash []byte) (access.Key, error) {
	return a.keys.put(ctx, hash)
}

// Bounds of the rounds in which keys are looked up.
const (
	keysBeside  = 2
	keysCrowd   = 64
	keysSize    = 512
	keysWaiting = 16384
)

// lookUpKeys is a round: keys by their hashes.
func (db *DB) lookUpKeys(ctx context.Context, hashes [][]byte) []verdict[access.Key] {
	found, err := db.readKeys(ctx, hashes)
	if err != nil {
		return failed[access.Key](len(hashes), fmt.Errorf("looking up API keys: %w", err))
	}
	verdicts := make([]verdict[access.Key], len(hashes))
	for i, hash := range hashes {
		key, known := found[string(hash)]
		if verdicts[i].answer = key; !known {
			verdicts[i].err = core.Errorf(core.NotFound, "no such key")
		}
	}
	return verdicts
}

var keysByHash = planned{
	name: "keys_by_hash", types: "bytea[]",
	query: `SELECT key_hash, business_id, id, username, scope, coalesce(platform, ''), disabled_at FROM api_keys WHERE key_hash = ANY ($1)`,
}

func (db *DB) readKeys(ctx context.Context, hashes [][]byte) (map[string]access.Key, error) {
	conn, err := db.bun.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	query, err := db.prepared.ready(ctx, conn, &keysByHash, array(hashes))
	if err != nil {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[string]access.Key, len(hashes))
	for rows.Next() {
		var key access.Key
		var disabled sql.NullTime
		if err := rows.Scan(&key.Hash, &key.Business, &key.ID, &key.Username, &key.Scope, &key.Platform, &disabled); err != nil {
			return nil, err
		}
		key.DisabledAt = disabled.Time
		found[string(key.Hash)] = key
	}
	return found, rows.Err()
}

// CreateBusiness stores a business and its platforms and returns its id. This and
// what follows is done by the command line, and the audit trail says so.
func (a Access) CreateBusiness(ctx context.Context, b core.Business, callbackSecret string, platforms []core.Platform) (core.BusinessID, error) {
	err := a.inTx(ctx, func(tx bun.Conn) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO businesses (name, country, timezone, currency, callback_secret, created_at)
			VALUES (?, ?, ?, ?, '', ?) RETURNING id`, b.Name, b.Country, b.Timezone, b.Currency, b.CreatedAt).Scan(&b.ID)
		if err != nil {
			return fmt.Errorf("storing the business: %w", err)
		}
		// The seal is bound to the id, which exists only now.
		sealed, err := a.sealIn(ctx, tx, callbackSecretPlace(b.ID), []byte(callbackSecret))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE businesses SET callback_secret = ? WHERE id = ?`, sealed, b.ID)
		if err != nil {
			return fmt.Errorf("storing the callback secret: %w", err)
		}
		for _, p := range platforms {
			if _, err := tx.ExecContext(ctx, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)`,
				b.ID, p.Name, p.ServedBy); err != nil {
				return fmt.Errorf("storing the platform %s: %w", p.Name, err)
			}
		}
		change := byCommand(b.ID, "business.create")
		change.Object = fmt.Sprintf("business/%d", b.ID)
		change.After = map[string]any{"name": b.Name, "country": b.Country, "timezone": b.Timezone, "currency": b.Currency}
		return a.record(ctx, tx, change)
	})
	return b.ID, err
}

func callbackSecretPlace(business core.BusinessID) string {
	return fmt.Sprintf("businesses/%d/callback_secret", business)
}

// CallbackSecret reads the secret that signs what goes to a request's callback_url.
func (a Access) CallbackSecret(ctx context.Context, business core.BusinessID) (string, error) {
	var sealed []byte
	err := a.bun.QueryRowContext(ctx, `SELECT callback_secret FROM businesses WHERE id = ?`, business).Scan(&sealed)
	if err != nil {
		return "", notFound(err, "there is no business %d", business)
	}
	secret, err := a.seal.open(callbackSecretPlace(business), sealed)
	return string(secret), err
}

// ReplaceCallbackSecret gives a business another secret for what goes to a
// request's callback_url; the one before signs too until then. NotFound where
// there is no such business.
func (a Access) ReplaceCallbackSecret(ctx context.Context, business core.BusinessID, secret string, until time.Time) error {
	return a.inTx(ctx, func(tx bun.Conn) error {
		sealed, err := a.sealIn(ctx, tx, callbackSecretPlace(business), []byte(secret))
		if err != nil {
			return err
		}
		var id int64
		if err := tx.QueryRowContext(ctx, `UPDATE businesses SET `+replaceSecret("callback_secret")+` WHERE id = ?3 RETURNING id`,
			sealed, until, a.clock.Now(), business).Scan(&id); err != nil {
			return notFound(err, "there is no business %d", business)
		}
		change := byCommand(business, "business.callback_secret")
		change.Object = fmt.Sprintf("business/%d", business)
		change.After = map[string]any{"earlier_secret_signs_until": until.UTC().Format(time.RFC3339)}
		return a.record(ctx, tx, change)
	})
}

// byCommand is a change that is made by the command line.
func byCommand(business core.BusinessID, action string) access.Change {
	return access.Change{Business: business, Actor: "cli", Action: action}
}

// CreateKey stores a key.
func (a Access) CreateKey(ctx context.Context, key access.Key) (access.Key, error) {
	return Console(a).AddKey(ctx, key, byCommand(key.Business, "key.create"))
}

// DisableKey makes a key useless from now on, if it is not already; NotFound where
// the business has no such key.
func (a Access) DisableKey(ctx context.Context, business core.BusinessID, id int64) error {
	err := Console(a).RevokeKey(ctx, business, id, byCommand(business, "key.revoke"))
	if core.CodeOf(err) == core.Conflict {
		return nil
	}
	return err
}

// StoreUses stores when keys were last shown.
func (a Access) StoreUses(ctx context.Context, at map[access.UsedKey]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	var businesses, ids []int64
	var times []string
	for _, key := range slices.SortedFunc(maps.Keys(at), func(a, b access.UsedKey) int { return cmp.Compare(a.ID, b.ID) }) {
		businesses, ids = append(businesses, int64(key.Business)), append(ids, key.ID)
		times = append(times, at[key].UTC().Format(time.RFC3339Nano))
	}
	_, err := a.bun.ExecContext(ctx, `UPDATE api_keys k SET used_at = greatest(k.used_at, r.at)
		FROM unnest(?::bigint[], ?::bigint[], ?::timestamptz[]) AS r (business_id, id, at) WHERE k.business_id = r.business_id AND k.id = r.id`,
		array(businesses), array(ids), array(times))
	if err != nil {
		return fmt.Errorf("storing the use of keys: %w", err)
	}
	return nil
}
