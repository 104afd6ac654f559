package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
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

// CreateCallerKey stores a key that the command line made; NotFound where the business has no such platform.
func (c Callers) CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte) error {
	return Console(c).AddCallbackKey(ctx, business, platform, hash, byCommand(business, "callback.create"))
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

// StoreRef is the ref_id of the store that a platform knows by an id of its own, or
// by the ref_id where it was given none.
func (c Callers) StoreRef(ctx context.Context, business core.BusinessID, platform, platformStoreID string) (string, error) {
	named, err := json.Marshal([]store.PlatformData{{Name: platform, PlatformStoreID: platformStoreID}})
	if err != nil {
		return "", err
	}
	const known = `SELECT s.ref_id FROM stores s JOIN platforms f ON f.business_id = s.business_id AND f.name = ?1 WHERE s.business_id = ?0 AND `
	var ref string
	err = c.bun.QueryRowContext(ctx, `SELECT coalesce(
		(`+known+`s.platform_data @> ?3::jsonb AND nullif(`+givenID+`, '') = ?2 ORDER BY s.id LIMIT 1),
		(`+known+`s.ref_id = ?2 AND `+givenID+` = ''), '')`, business, platform, platformStoreID, string(named)).Scan(&ref)
	if err == nil && ref == "" {
		return "", core.NoSuch("platform_store_id", quoted(platformStoreID), "no store has it on the platform "+platform)
	}
	return ref, err
}
