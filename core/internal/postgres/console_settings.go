package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// platformVersion differs once a platform p was changed.
const platformVersion = `md5(concat_ws('/', p.served_by, p.settings, p.addresses, encode(p.secrets, 'hex'), p.accept))`

// ListPlatforms reads how the platforms of a business are set up, by their names.
func (c Console) ListPlatforms(ctx context.Context, business core.BusinessID) ([]console.PlatformSettings, error) {
	stored, err := Platforms(c).List(ctx, business)
	if err != nil {
		return nil, err
	}
	list, places := make([]console.PlatformSettings, len(stored)), map[string]int{}
	for i, p := range stored {
		list[i], places[p.Name] = console.PlatformSettings{Platform: p.Platform, Settings: p.Settings, Addresses: p.Addresses, Accept: string(p.Accept), Secrets: map[string]time.Time{}}, i
		for _, name := range p.Secrets {
			list[i].Secrets[name] = time.Time{}
		}
	}
	rows, err := c.of(business).QueryContext(ctx, `SELECT p.name, `+platformVersion+`, p.secrets_at, p.refused_at, p.refused_for, k.created_at FROM platforms p
		LEFT JOIN callback_keys k ON k.business_id = p.business_id AND k.platform = p.name WHERE p.business_id = ? ORDER BY p.name, k.created_at DESC`, business)
	if err != nil {
		return nil, fmt.Errorf("reading platforms: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, version string
		var stamps []byte
		var refused, made sql.NullTime
		var why string
		if err := rows.Scan(&name, &version, &stamps, &refused, &why, &made); err != nil {
			return nil, fmt.Errorf("reading platforms: %w", err)
		}
		i, known := places[name]
		if !known { // made since
			continue
		}
		p := &list[i]
		p.Version, p.RefusedAt, p.Refused = version, refused.Time, why
		if err := json.Unmarshal(stamps, &p.Secrets); err != nil {
			return nil, fmt.Errorf("reading platform %s: %w", name, err)
		}
		if made.Valid {
			p.Keys = append(p.Keys, made.Time)
		}
	}
	return list, rows.Err()
}

// SetPlatform gives a platform what it needs, or makes it where version is "".
// Conflict where it is another by now than that of the version.
func (c Console) SetPlatform(ctx context.Context, business core.BusinessID, platform core.Platform, version string, set func(*relay.Access) error, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		var present string
		err := tx.QueryRowContext(ctx, `SELECT `+platformVersion+` FROM platforms p WHERE p.business_id = ? AND p.name = ? FOR UPDATE`,
			business, platform.Name).Scan(&present)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("reading the platform: %w", err)
		case err == nil && version == "":
			return core.Errorf(core.Conflict, "the business has a platform %q already", platform.Name)
		case err != nil && version != "":
			return core.Errorf(core.NotFound, "the business has no platform %q", platform.Name)
		case present != version:
			return core.Errorf(core.Conflict, "the platform was changed meanwhile; nothing was stored. Load the page again to see how it is now")
		}
		if change.Before, change.After, err = Platforms(c).set(ctx, tx, business, platform, set); err != nil {
			return err
		}
		change.Object = "platform/" + platform.Name
		return c.record(ctx, tx, change)
	})
}

// toldPlatform is what the audit trail says of a platform: of secrets that they
// are set, or were set anew.
func toldPlatform(served string, a, before relay.Access) map[string]any {
	secrets := map[string]string{}
	for name, value := range a.Secrets {
		secrets[name] = "set"
		if was, known := before.Secrets[name]; known && was != value {
			secrets[name] = "set anew"
		}
	}
	return map[string]any{"served_by": served, "settings": string(a.Settings), "endpoints": a.Addresses, "secrets": secrets, "accept": a.Accept}
}

// AddCallbackKey stores a key by which a platform may call the hub; NotFound
// where the business has no such platform.
func (c Console) AddCallbackKey(ctx context.Context, business core.BusinessID, platform string, hash []byte, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO callback_keys (secret_hash, business_id, platform, created_at)
			SELECT ?, business_id, name, ? FROM platforms WHERE business_id = ? AND name = ?`, hash, c.clock.Now(), business, platform)
		if err != nil {
			return fmt.Errorf("storing a callback key: %w", err)
		}
		if n, _ := result.RowsAffected(); n == 0 {
			return core.Errorf(core.NotFound, "the business has no platform %q", platform)
		}
		change.Object = "platform/" + platform
		return c.record(ctx, tx, change)
	})
}

// DropCallbackKeys makes all keys of a platform useless but the newest.
func (c Console) DropCallbackKeys(ctx context.Context, business core.BusinessID, platform string, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM callback_keys WHERE business_id = ?0 AND platform = ?1 AND secret_hash <> (
			SELECT secret_hash FROM callback_keys WHERE business_id = ?0 AND platform = ?1 ORDER BY created_at DESC, secret_hash LIMIT 1)`, business, platform)
		if err != nil {
			return fmt.Errorf("revoking callback keys: %w", err)
		}
		n, _ := result.RowsAffected()
		if n == 0 {
			return core.Errorf(core.Conflict, "the platform has no earlier key")
		}
		change.Object, change.After = "platform/"+platform, map[string]any{"revoked": n}
		return c.record(ctx, tx, change)
	})
}
