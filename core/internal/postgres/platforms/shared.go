package platforms

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/relay"
)

// Shared stores what verifies and routes the requests at the shared URLs of plugins (relay.SharedCallers).
type Shared struct{ db *postgres.DB }

// NewShared returns a Shared that uses db.
func NewShared(db *postgres.DB) Shared { return Shared{db} }

// SharedAssociatedData returns the associated data of the sealed secrets of a plugin's installation.
func SharedAssociatedData(plugin string) string { return "plugin_shared/" + plugin }

// SharedSecrets returns the secrets of a plugin's installation.
func (s Shared) SharedSecrets(ctx context.Context, plugin string) (map[string]string, error) {
	return s.read(ctx, s.db.Bun(), plugin, "")
}

// read returns the secrets; lock is a locking clause.
func (s Shared) read(ctx context.Context, in bun.IDB, plugin, lock string) (map[string]string, error) {
	secrets, sealed := map[string]string{}, []byte(nil)
	err := in.QueryRowContext(ctx, `SELECT secrets FROM plugin_shared WHERE plugin_id = ?`+lock, plugin).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) || err == nil && sealed == nil {
		return secrets, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the secrets of plugin %s: %w", plugin, err)
	}
	plain, err := s.db.Sealer().Open(SharedAssociatedData(plugin), sealed)
	if err == nil {
		err = json.Unmarshal(plain, &secrets)
	}
	if err != nil {
		return nil, fmt.Errorf("decrypting the secrets of plugin %s: %w", plugin, err)
	}
	return secrets, nil
}

// SetShared changes secrets of a plugin's installation, for the command line. An empty value removes a secret. It
// returns the names of the secrets.
func (s Shared) SetShared(ctx context.Context, plugin string, changed map[string]string) (names []string, err error) {
	err = s.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO plugin_shared (plugin_id) VALUES (?) ON CONFLICT DO NOTHING`,
			plugin); err != nil {
			return fmt.Errorf("storing the secrets of plugin %s: %w", plugin, err)
		}
		secrets, err := s.read(ctx, tx, plugin, " FOR UPDATE")
		if err != nil {
			return err
		}
		before := slices.Sorted(maps.Keys(secrets))
		for name, value := range changed {
			if secrets[name] = value; value == "" {
				delete(secrets, name)
			}
		}
		names = slices.AppendSeq([]string{}, maps.Keys(secrets))
		slices.Sort(names)
		if len(changed) == 0 {
			return nil
		}
		plain, err := json.Marshal(secrets)
		if err != nil {
			return err
		}
		sealed, err := s.db.SealIn(ctx, tx, SharedAssociatedData(plugin), plain)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE plugin_shared SET secrets = ? WHERE plugin_id = ?`, sealed,
			plugin); err != nil {
			return fmt.Errorf("storing the secrets of plugin %s: %w", plugin, err)
		}
		change := access.CommandLineChange(0, "plugin.secrets")
		change.Object = "plugin/" + plugin
		change.Before = map[string]any{"secrets": before}
		change.After = map[string]any{"secrets": names, "set": slices.Sorted(maps.Keys(changed))}
		return audit.Record(ctx, s.db, tx, change)
	})
	return names, err
}

// SharedPlatforms returns the platforms of a plugin with a store that has the aggregator's id, at most two.
func (s Shared) SharedPlatforms(ctx context.Context, plugin, storeID string) ([]relay.Caller, error) {
	return postgres.Collect(ctx, s.db.Bun(), "finding the business of a request",
		func(c *relay.Caller) []any { return []any{&c.Business, &c.Platform} },
		bun.SafeQuery(queries.With("shared_platforms", postgres.Args{"plugin": plugin, "id": storeID,
			"given_id": bun.Safe(PlatformStoreID)})))
}

// RecordShared records why a request at the shared URL of a known plugin was rejected. An unrouted one is counted. Of
// others it records at most one a second.
func (s Shared) RecordShared(ctx context.Context, plugin, why string, unrouted bool) error {
	now, count := s.db.Clock().Now(), 0
	if unrouted {
		count = 1
	}
	_, err := s.db.Bun().ExecContext(ctx, queries.With("record_shared", postgres.Args{"now": now, "why": why,
		"count": count, "plugin": plugin, "before": now.Add(-time.Second)}))
	if err != nil {
		return fmt.Errorf("recording a rejected request: %w", err)
	}
	return nil
}

// SharedInbound describes the shared URL of a plugin, without the values of secrets.
func (s Shared) SharedInbound(ctx context.Context, plugin string) (console.SharedInbound, error) {
	var shared console.SharedInbound
	secrets, err := s.SharedSecrets(ctx, plugin)
	if err != nil {
		return shared, err
	}
	shared.Secrets = slices.Sorted(maps.Keys(secrets))
	var rejected *time.Time
	err = s.db.Bun().QueryRowContext(ctx,
		`SELECT rejected_at, rejection, unrouted FROM plugin_shared WHERE plugin_id = ?`, plugin).
		Scan(&rejected, &shared.Rejection, &shared.Unrouted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return shared, fmt.Errorf("reading the shared URL of plugin %s: %w", plugin, err)
	}
	if rejected != nil {
		shared.RejectedAt = *rejected
	}
	return shared, nil
}
