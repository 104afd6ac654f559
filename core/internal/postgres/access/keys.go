package access

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// ListKeys returns the API keys of a business with ids below before (0: all), newest first.
func (a Store) ListKeys(ctx context.Context, business core.BusinessID, before int64, limit int) ([]console.Key, error) {
	return a.Keys(ctx, a.db.Tenant(business),
		`WHERE business_id = ?0 AND (?1 = 0 OR id < ?1) ORDER BY id DESC LIMIT ?2`, business, before, limit)
}

// Keys returns the API keys that a condition selects.
func (a Store) Keys(ctx context.Context, in bun.IDB, condition string, args ...any) ([]console.Key, error) {
	return postgres.Collect(ctx, in, "reading keys", func(key *console.Key) []any {
		return []any{&key.Business, &key.ID, &key.Username, &key.Prefix, &key.Scope, &key.Platform, &key.CreatedAt,
			postgres.OrZero(&key.DisabledAt), postgres.OrZero(&key.UsedAt)}
	}, bun.SafeQuery(`SELECT business_id, id, username, prefix, scope, coalesce(platform, ''), created_at, disabled_at,
		used_at FROM api_keys `+condition, args...))
}

// AddKey stores a key. It returns NotFound if the business or its platform does not exist.
func (a Store) AddKey(ctx context.Context, key access.Key, change access.Change) (access.Key, error) {
	err := a.db.InTx(ctx, func(tx bun.Conn) error {
		err := tx.QueryRowContext(ctx,
			`INSERT INTO api_keys (business_id, username, key_hash, prefix, scope, platform, created_at)
			VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?) RETURNING id`, key.Business, key.Username, key.Hash, key.Prefix,
			key.Scope, key.Platform,
			key.CreatedAt).Scan(&key.ID)
		if postgres.IsCode(err, "23503") {
			return core.Errorf(core.NotFound, "there is no business %d", key.Business)
		}
		if err != nil {
			return fmt.Errorf("storing the key: %w", err)
		}
		if key.Platform != "" {
			var known bool
			err := tx.QueryRowContext(ctx, `SELECT true FROM platforms WHERE business_id = ? AND name = ?`,
				key.Business, key.Platform).Scan(&known)
			if err != nil {
				return postgres.NotFound(err, "there is no platform %q", key.Platform)
			}
		}
		change.Object = fmt.Sprintf("key/%d", key.ID)
		change.After = map[string]any{"username": key.Username, "prefix": key.Prefix, "scope": key.Scope}
		return audit.Record(ctx, a.db, tx, change)
	})
	return key, err
}

// RevokeKey disables a key. It returns NotFound if the business has no such key, and
// Conflict if the key is already disabled.
func (a Store) RevokeKey(ctx context.Context, business core.BusinessID, id int64, change access.Change) error {
	return a.db.InTx(ctx, func(tx bun.Conn) error {
		var disabled sql.NullTime
		var username, prefix string
		err := tx.QueryRowContext(ctx,
			`SELECT disabled_at, username, prefix FROM api_keys WHERE business_id = ? AND id = ? FOR UPDATE`,
			business, id).Scan(&disabled, &username, &prefix)
		if err != nil {
			return postgres.NotFound(err, "the business has no key %d", id)
		}
		if disabled.Valid {
			return core.Errorf(core.Conflict, "the key is already revoked")
		}
		if _, err := tx.ExecContext(ctx, `UPDATE api_keys SET disabled_at = ? WHERE business_id = ? AND id = ?`,
			a.db.Clock().Now(), business, id); err != nil {
			return fmt.Errorf("revoking the key: %w", err)
		}
		change.Object = fmt.Sprintf("key/%d", id)
		change.Before = map[string]any{"username": username, "prefix": prefix, "works": true}
		change.After = map[string]any{"username": username, "prefix": prefix, "works": false}
		return audit.Record(ctx, a.db, tx, change)
	})
}
