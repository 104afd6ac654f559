package postgres

import (
	"context"
	"fmt"
	"time"
)

// Plugins keeps what operators want of plugins, and what hubs tell of them.
type Plugins struct{ *DB }

// Plugin is a plugin as the hubs of this database share it.
type Plugin struct {
	ID          string
	Enabled     bool
	Revision    int64  // goes up when an operator wants something of it
	Description []byte // as it last said of itself; nil: never yet
	Status      string // JSON, of the hub that told last; "": never yet
	ToldAt      time.Time
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
	rows, err := p.bun.QueryContext(ctx, `SELECT id, enabled, revision, description, status, coalesce(told_at, 'epoch') FROM plugins ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading plugins: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one Plugin
		if err := rows.Scan(&one.ID, &one.Enabled, &one.Revision, &one.Description, &one.Status, &one.ToldAt); err != nil {
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
func (p Plugins) Tell(ctx context.Context, id, status string, description []byte) error {
	_, err := p.bun.ExecContext(ctx, `UPDATE plugins SET status = ?, told_at = ?, description = coalesce(?, description) WHERE id = ?`,
		status, p.clock.Now(), description, id)
	if err != nil {
		return fmt.Errorf("recording the status of plugin %s: %w", id, err)
	}
	return nil
}
