package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Plugins keeps what operators want of plugins, and what hubs tell of them.
type Plugins struct{ *DB }

// Plugin is a plugin as the hubs of this database share it.
type Plugin struct {
	ID          string
	Enabled     bool
	Revision    int64  // goes up when an operator wants something of it
	Restarts    int64  // how often an operator wanted it to be started anew
	Description []byte // as it last said of itself; nil: never yet
	Status      string // JSON, of the hub that told last; "": never yet
	ToldAt      time.Time
	ServedAt    time.Time // when a worker last said that it has the plugin
}

// Know makes sure that plugins are listed; those that are new are enabled.
func (p Plugins) Know(ctx context.Context, ids []string) error {
	_, err := p.bun.ExecContext(ctx, `INSERT INTO plugins (id) SELECT unnest(?::text[]) ON CONFLICT DO NOTHING`, array(ids))
	if err != nil {
		return fmt.Errorf("listing plugins: %w", err)
	}
	return nil
}

// List reads every plugin, by id.
func (p Plugins) List(ctx context.Context) (list []Plugin, err error) {
	rows, err := p.bun.QueryContext(ctx, `SELECT id, enabled, revision, restarts, description, status, coalesce(told_at, 'epoch'), coalesce(served_at, 'epoch') FROM plugins ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading plugins: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one Plugin
		if err := rows.Scan(&one.ID, &one.Enabled, &one.Revision, &one.Restarts, &one.Description, &one.Status, &one.ToldAt, &one.ServedAt); err != nil {
			return nil, fmt.Errorf("reading plugins: %w", err)
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// Want records that an operator wants a plugin to run or not; every hub follows.
// Wanting again what is so already has a plugin leave quarantine, and look for
// another version of itself.
func (p Plugins) Want(ctx context.Context, id string, enabled bool) error {
	_, err := p.bun.ExecContext(ctx, `INSERT INTO plugins AS p (id, enabled) VALUES (?, ?)
		ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, revision = p.revision + 1`, id, enabled)
	if err != nil {
		return fmt.Errorf("recording what is wanted of plugin %s: %w", id, err)
	}
	return nil
}

// Tell records how a plugin is, and, where it is known, what it says of itself.
// Once it is ready after it has changed, or an operator wanted something of it,
// its platforms are checked and published anew.
func (p Plugins) Tell(ctx context.Context, id, status string, description []byte) error {
	return p.inTx(ctx, func(tx bun.Conn) error {
		var changed bool
		err := tx.QueryRowContext(ctx, `WITH before AS (SELECT id, description, published_revision FROM plugins WHERE id = ?3 FOR UPDATE)
			UPDATE plugins p SET status = ?0, told_at = ?1, description = coalesce(?2, p.description),
				published_revision = CASE WHEN ?4 THEN p.revision ELSE p.published_revision END
			FROM before WHERE p.id = before.id
			RETURNING ?4 AND (before.description IS DISTINCT FROM p.description OR before.published_revision <> p.revision)`,
			status, p.clock.Now(), description, id, isReady(status)).Scan(&changed)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("recording the status of plugin %s: %w", id, err)
		}
		if !changed {
			return nil
		}
		return p.pluginChanged(ctx, tx, id)
	})
}

// Serve records that a worker has the plugins, and could ask them at the time.
func (p Plugins) Serve(ctx context.Context, ids []string, at time.Time) error {
	if _, err := p.bun.ExecContext(ctx, `UPDATE plugins SET served_at = ? WHERE id = ANY (?::text[])`, at, array(ids)); err != nil {
		return fmt.Errorf("recording which plugins serve: %w", err)
	}
	return nil
}
