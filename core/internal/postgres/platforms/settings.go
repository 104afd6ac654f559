package platforms

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/relay"
)

// PlatformVersion is a hash that changes whenever platform p changes.
const PlatformVersion = `md5(concat_ws('/', p.served_by, p.settings, p.addresses, encode(p.secrets, 'hex'), p.accept))`

// SetPlatform changes the settings of a platform, or creates it if the version is "". It
// returns Conflict if the platform has changed since that version.
func (p Store) SetPlatform(ctx context.Context, business core.BusinessID, platform core.Platform,
	update relay.AccessUpdate, change access.Change) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		if err := lockPlatforms(ctx, tx, business); err != nil {
			return err
		}
		if err := LockShared(ctx, tx, business, platform.ServedBy); err != nil { // before the row
			return err
		}
		var present string
		err := tx.QueryRowContext(ctx,
			`SELECT `+PlatformVersion+` FROM platforms p WHERE p.business_id = ? AND p.name = ? FOR UPDATE`,
			business, platform.Name).Scan(&present)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("reading the platform: %w", err)
		case err == nil && update.Version == "":
			return core.Errorf(core.Conflict, "the business already has a platform %q", platform.Name)
		case err != nil && update.Version != "":
			return core.Errorf(core.NotFound, "the business has no platform %q", platform.Name)
		case present != update.Version:
			return core.Errorf(core.Conflict,
				"the platform has changed meanwhile: reload the page to see its current state")
		}
		if err = setUp(ctx, tx, business, platform, func() (err error) {
			change.Before, change.After, err = p.set(ctx, tx, business, platform, update.Set)
			return err
		}); err != nil {
			return err
		}
		change.Object = "platform/" + platform.Name
		return audit.Record(ctx, p.db, tx, change)
	})
}

// auditEntry returns the audit entry of a platform. It states only whether a secret is
// set or has changed.
func auditEntry(served string, a, before relay.Access) map[string]any {
	secrets := map[string]string{}
	for name, value := range a.Secrets {
		secrets[name] = "set"
		if previous, known := before.Secrets[name]; known && previous != value {
			secrets[name] = "replaced"
		}
	}
	return map[string]any{"served_by": served, "settings": string(a.Settings), "endpoints": a.BaseURLs,
		"secrets": secrets, "accept": a.Accept}
}

// AddCallbackKey stores a key that authenticates a platform's calls to the hub. It returns NotFound
// if the business has no such platform.
func (p Store) AddCallbackKey(ctx context.Context, business core.BusinessID, platform string, hash []byte,
	change access.Change) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO callback_keys (secret_hash, business_id, platform, created_at)
			SELECT ?, business_id, name, ? FROM platforms WHERE business_id = ? AND name = ?`, hash, p.db.Clock().Now(),
			business, platform)
		if err != nil {
			return fmt.Errorf("storing a callback key: %w", err)
		}
		if n, _ := result.RowsAffected(); n == 0 {
			return core.Errorf(core.NotFound, "the business has no platform %q", platform)
		}
		change.Object = "platform/" + platform
		return audit.Record(ctx, p.db, tx, change)
	})
}

// DropCallbackKeys deletes all keys of a platform except the newest.
func (p Store) DropCallbackKeys(ctx context.Context, business core.BusinessID, platform string,
	change access.Change) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx,
			`DELETE FROM callback_keys WHERE business_id = ?0 AND platform = ?1 AND secret_hash <> (
			SELECT secret_hash FROM callback_keys WHERE business_id = ?0 AND platform = ?1
			ORDER BY created_at DESC, secret_hash LIMIT 1)`, business, platform)
		if err != nil {
			return fmt.Errorf("revoking callback keys: %w", err)
		}
		n, _ := result.RowsAffected()
		if n == 0 {
			return core.Errorf(core.Conflict, "the platform has no earlier key")
		}
		change.Object, change.After = "platform/"+platform, map[string]any{"revoked": n}
		return audit.Record(ctx, p.db, tx, change)
	})
}
