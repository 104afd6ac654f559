package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Callers keeps the keys by which aggregators call the hub (relay.CallerRecords).
type Callers struct{ *DB }

// CallerByHash finds the platform of a key by the hash of its text.
func (c Callers) CallerByHash(ctx context.Context, hash []byte) (relay.Caller, error) {
	var caller relay.Caller
	err := c.bun.QueryRowContext(ctx, `SELECT k.business_id, k.platform, p.served_by FROM callback_keys k
		JOIN platforms p ON p.business_id = k.business_id AND p.name = k.platform WHERE k.secret_hash = ?`, hash).
		Scan(&caller.Business, &caller.Platform, &caller.Plugin)
	return caller, notFound(err, "no such key")
}

// CreateCallerKey stores a key; NotFound where the business has no such platform.
func (c Callers) CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte, at time.Time) error {
	result, err := c.bun.ExecContext(ctx, `INSERT INTO callback_keys (secret_hash, business_id, platform, created_at)
		SELECT ?, business_id, name, ? FROM platforms WHERE business_id = ? AND name = ?`, hash, at, business, platform)
	if err != nil {
		return fmt.Errorf("storing a callback key: %w", err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return core.Errorf(core.NotFound, "business %d has no platform %q", business, platform)
	}
	return nil
}

// NoteRefused keeps why a platform's call was not believed; once a second is enough.
func (c Callers) NoteRefused(ctx context.Context, business core.BusinessID, platform, why string) error {
	now := c.clock.Now()
	_, err := c.bun.ExecContext(ctx, `UPDATE platforms SET refused_at = ?0, refused_for = left(?1, 500) WHERE business_id = ?2 AND name = ?3
		AND (refused_at IS NULL OR refused_at <= ?4)`, now, why, business, platform, now.Add(-time.Second))
	if err != nil {
		return fmt.Errorf("keeping that a call was refused: %w", err)
	}
	return nil
}

// StoreRef is the ref_id of the store that a platform knows by an id of its own.
func (c Callers) StoreRef(ctx context.Context, business core.BusinessID, platform, platformStoreID string) (string, error) {
	var ref string
	err := c.bun.QueryRowContext(ctx, `SELECT ref_id FROM stores WHERE business_id = ? AND EXISTS (
		SELECT 1 FROM jsonb_array_elements(platform_data) d WHERE d ->> 'name' = ? AND d ->> 'platform_store_id' = ?) ORDER BY id LIMIT 1`,
		business, platform, platformStoreID).Scan(&ref)
	if errors.Is(err, sql.ErrNoRows) {
		return "", core.NoSuch("platform_store_id", quoted(platformStoreID), "no store has it on the platform "+platform)
	}
	return ref, err
}
