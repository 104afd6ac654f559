package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
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
	KnownAt     time.Time // when it was first seen
	ServedAt    time.Time // when a worker last said that it has the plugin
}

// Know makes sure that plugins are listed; those that are new are enabled.
func (p Plugins) Know(ctx context.Context, ids []string) error {
	_, err := p.bun.ExecContext(ctx, `INSERT INTO plugins (id, known_at) SELECT unnest(?::text[]), ? ON CONFLICT DO NOTHING`, array(ids), p.clock.Now())
	if err != nil {
		return fmt.Errorf("listing plugins: %w", err)
	}
	return nil
}

// List reads every plugin, by id.
func (p Plugins) List(ctx context.Context) (list []Plugin, err error) {
	rows, err := p.bun.QueryContext(ctx, `SELECT id, enabled, revision, restarts, description, status, coalesce(told_at, 'epoch'), coalesce(served_at, 'epoch'), known_at FROM plugins ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading plugins: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one Plugin
		if err := rows.Scan(&one.ID, &one.Enabled, &one.Revision, &one.Restarts, &one.Description, &one.Status, &one.ToldAt, &one.ServedAt, &one.KnownAt); err != nil {
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
	_, err := p.bun.ExecContext(ctx, `INSERT INTO plugins AS p (id, enabled, known_at) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, revision = p.revision + 1`, id, enabled, p.clock.Now())
	if err != nil {
		return fmt.Errorf("recording what is wanted of plugin %s: %w", id, err)
	}
	return nil
}

// Tell records how a plugin is in a hub, and, where it is known, what it says of
// itself. Its platforms are checked and published anew once it is ready after an
// operator wanted something of it, or where it says something else than when they
// last were, and every other hub that runs it agrees: hubs of two versions would
// never end. settled is false where that is still to come.
func (p Plugins) Tell(ctx context.Context, hub core.ID, id, status string, description []byte) (settled bool, err error) {
	now := p.clock.Now()
	err = p.inTx(ctx, func(tx bun.Conn) error {
		var changed bool
		err := tx.QueryRowContext(ctx, `WITH before AS (SELECT id, published_about, published_revision FROM plugins WHERE id = ?3 FOR UPDATE),
			told AS (SELECT about, ?4 AND NOT EXISTS (SELECT FROM plugin_hubs h WHERE h.plugin_id = ?3 AND h.hub <> ?5 AND h.told_at >= ?6
					AND h.state IN ('ready', 'degraded') AND h.about NOT IN ('', told.about)) AS agreed
				FROM (SELECT coalesce(encode(sha256(?2::bytea), 'hex'), '') AS about) told)
			UPDATE plugins p SET status = ?0, told_at = ?1, description = coalesce(?2, p.description),
				published_about = CASE WHEN agreed THEN about ELSE p.published_about END,
				published_revision = CASE WHEN ?4 THEN p.revision ELSE p.published_revision END
			FROM before, told WHERE p.id = before.id
			RETURNING agreed AND before.published_about <> about OR ?4 AND before.published_revision <> p.revision, NOT ?4 OR p.published_about = about`,
			status, now, description, id, isReady(status), hub, now.Add(-hubLife)).Scan(&changed, &settled)
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
	return settled, err
}

// Serve records that a worker has the plugins, and could ask them at the time.
func (p Plugins) Serve(ctx context.Context, ids []string, at time.Time) error {
	if _, err := p.bun.ExecContext(ctx, `UPDATE plugins SET served_at = ? WHERE id = ANY (?::text[])`, at, array(ids)); err != nil {
		return fmt.Errorf("recording which plugins serve: %w", err)
	}
	return nil
}
