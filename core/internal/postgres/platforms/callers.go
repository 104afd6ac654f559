package platforms

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// Callers stores the keys of aggregators that call the hub (relay.CallerKeys).
type Callers struct{ db *postgres.DB }

// NewCallers returns Callers that use db.
func NewCallers(db *postgres.DB) Callers { return Callers{db} }

// CallerByHash returns the platform of the key with the given hash.
func (c Callers) CallerByHash(ctx context.Context, hash []byte) (relay.Caller, error) {
	var caller relay.Caller
	err := c.db.Bun().QueryRowContext(ctx, `SELECT k.business_id, k.platform, p.served_by FROM callback_keys k
		JOIN platforms p ON p.business_id = k.business_id AND p.name = k.platform WHERE k.secret_hash = ?`, hash).
		Scan(&caller.Business, &caller.Platform, &caller.Plugin)
	return caller, postgres.NotFound(err, "no such key")
}

// CreateCallerKey stores a key for the command line, or returns NotFound if the business has no such platform.
func (c Callers) CreateCallerKey(ctx context.Context, business core.BusinessID, platform string, hash []byte) error {
	return New(c.db).AddCallbackKey(ctx, business, platform, hash,
		access.CommandLineChange(business, "callback.create"))
}

// Resolve returns the platform that a name or an alias stands for. It returns an unknown name
// unchanged.
func (c Callers) Resolve(ctx context.Context, business core.BusinessID, name string) (string, error) {
	return New(c.db).Resolve(ctx, business, name)
}

// RecordRejection records why a platform's call failed verification, at most once a second.
func (c Callers) RecordRejection(ctx context.Context, business core.BusinessID, platform, why string) error {
	now := c.db.Clock().Now()
	_, err := c.db.Bun().ExecContext(ctx,
		`UPDATE platforms SET callback_rejected_at = ?0, callback_rejection = left(?1, 500) WHERE business_id = ?2
			AND name = ?3
		AND (callback_rejected_at IS NULL OR callback_rejected_at <= ?4)`, now, why, business, platform,
		now.Add(-time.Second))
	if err != nil {
		return fmt.Errorf("recording a rejected call: %w", err)
	}
	return nil
}

// StoreRef returns the ref_id of a store by its platform store id. A store without one is
// found by its ref_id.
func (c Callers) StoreRef(ctx context.Context, business core.BusinessID, platform,
	platformStoreID string) (string, error) {
	named, err := json.Marshal([]store.PlatformData{{Name: platform, PlatformStoreID: platformStoreID}})
	if err != nil {
		return "", err
	}
	var ref string
	err = c.db.Bun().QueryRowContext(ctx, queries.With("store_ref", postgres.Args{
		"business": business, "platform": platform, "id": platformStoreID, "named": string(named),
		"given_id": bun.Safe(PlatformStoreID),
	})).Scan(&ref)
	if err == nil && ref == "" {
		return "", core.NoSuch("platform_store_id", postgres.Quoted(platformStoreID),
			"no store has it on the platform "+platform)
	}
	return ref, err
}

// StoreID returns the hub's id of a store.
func (c Callers) StoreID(ctx context.Context, business core.BusinessID, ref string) (id int64, err error) {
	err = c.db.Tenant(business).QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`,
		business, ref).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.NoSuch("ref_id", strconv.Quote(ref), "there is no store with this ref_id")
	}
	return id, err
}
