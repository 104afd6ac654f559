package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	Renderer    string    // by which its platforms' menus were last published all (Tell); "": several, or nobody knows
}

// Know makes sure that plugins are listed, but for those that were removed; those that
// are new are enabled.
func (p Plugins) Know(ctx context.Context, ids []string) error {
	_, err := p.bun.ExecContext(ctx, `INSERT INTO plugins (id, known_at) SELECT unnest(?::text[]), ? ON CONFLICT DO NOTHING`, array(ids), p.clock.Now())
	if err != nil {
		return fmt.Errorf("listing plugins: %w", err)
	}
	return nil
}

// List reads every plugin, by id.
func (p Plugins) List(ctx context.Context) (list []Plugin, err error) {
	return listOf(ctx, p.bun, "reading plugins", func(one *Plugin) []any {
		return []any{&one.ID, &one.Enabled, &one.Revision, &one.Restarts, &one.Description, &one.Status, &one.ToldAt, &one.ServedAt, &one.KnownAt, &one.Renderer}
	}, `SELECT id, enabled, revision, restarts, description, status, coalesce(told_at, 'epoch'), coalesce(served_at, 'epoch'), known_at, published_about
		FROM plugins WHERE NOT removed ORDER BY id`)
}

// Want records that an operator wants a plugin to run or not; every hub follows.
// Wanting again what is so already has a plugin leave quarantine, and look for
// another version of itself. One that was removed is there again.
func (p Plugins) Want(ctx context.Context, id string, enabled bool) error {
	return p.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO plugins AS p (id, enabled, known_at) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, revision = p.revision + 1, removed = false,
				known_at = CASE WHEN p.removed THEN excluded.known_at ELSE p.known_at END`, id, enabled, p.clock.Now()); err != nil {
			return fmt.Errorf("recording what is wanted of plugin %s: %w", id, err)
		}
		change := byCommand(0, "plugin.disable")
		if enabled {
			change.Action = "plugin.enable"
		}
		change.Object = "plugin/" + id
		return p.record(ctx, tx, change)
	})
}

// namedBound bounds the platforms that are named where a plugin is not removed.
const namedBound = 20

// Remove takes a plugin off every hub, and forgets what it said. Conflict, naming them,
// where platforms are bound to it; NotFound where no hub knows it.
func (p Plugins) Remove(ctx context.Context, id string) error {
	return p.inTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx, `UPDATE plugins SET removed = true, enabled = false, revision = revision + 1,
			description = NULL, status = '', told_at = NULL, served_at = NULL, published_about = '' WHERE id = ? AND NOT removed`, id)
		if err != nil {
			return fmt.Errorf("removing plugin %s: %w", id, err)
		}
		if n, _ := result.RowsAffected(); n == 0 {
			return core.Errorf(core.NotFound, "there is no plugin %q", id)
		}
		bound, err := listOf(ctx, tx, "reading what plugin "+id+" serves", func(b *Bound) []any { return []any{&b.Business, &b.Platform} },
			`SELECT business_id, name FROM platforms WHERE served_by = ? ORDER BY business_id, name`, id)
		if err != nil {
			return err
		}
		if len(bound) > 0 {
			return stillBound(id, bound)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM plugin_hubs WHERE plugin_id = ?`, id); err != nil {
			return fmt.Errorf("forgetting plugin %s: %w", id, err)
		}
		change := byCommand(0, "plugin.remove")
		change.Object = "plugin/" + id
		return Console(p).record(ctx, tx, change)
	})
}

func stillBound(id string, bound []Bound) error {
	names := make([]string, min(len(bound), namedBound))
	for i := range names {
		names[i] = fmt.Sprintf("%q of business %d", bound[i].Platform, bound[i].Business)
	}
	if more := len(bound) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return core.Errorf(core.Conflict, "plugin %s serves platforms: %s; have each served by own, or by another plugin, first: servery platform set --business %d %q --plugin own",
		id, strings.Join(names, ", "), bound[0].Business, bound[0].Platform)
}

// Tell records how a plugin is in a hub, and, where it is known, what it says of
// itself. Once the plugin is ready, its platforms are checked and published anew where
// an operator wanted something of it, or where its menus were last rendered by something
// else (the renderer of the status), or nobody knows by what; not before every other hub
// that runs it has the same renderer: hubs of two versions would never end.
func (p Plugins) Tell(ctx context.Context, hub core.ID, id, status string, description []byte) error {
	now, told := p.clock.Now(), readTold(status)
	return p.inTx(ctx, func(tx bun.Conn) error {
		var published, before string
		var revision, publishedRevision int64
		var others bool
		err := tx.QueryRowContext(ctx, `SELECT status, published_about, revision, published_revision, EXISTS (SELECT FROM plugin_hubs h
				WHERE h.plugin_id = p.id AND h.hub <> ?1 AND h.told_at >= ?2 AND h.state IN ('ready', 'degraded') AND h.about <> ?3)
			FROM plugins p WHERE id = ?0 AND NOT removed FOR UPDATE`, id, hub, now.Add(-hubLife), told.renderer()).Scan(&before, &published, &revision, &publishedRevision, &others)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading how plugin %s was: %w", id, err)
		}
		if told.State == "ready" && others || readTold(before).Renderer == nil {
			published = "" // each hub renders what it claims, one of an earlier release too
		}
		changed := told.State == "ready" && !others && (published != told.renderer() || publishedRevision != revision)
		if changed {
			published, publishedRevision = told.renderer(), revision
		}
		if _, err := tx.ExecContext(ctx, `UPDATE plugins SET status = ?, told_at = ?, description = coalesce(?, description), published_about = ?, published_revision = ?
			WHERE id = ?`, status, now, description, published, publishedRevision, id); err != nil {
			return fmt.Errorf("recording the status of plugin %s: %w", id, err)
		}
		if !changed {
			return nil
		}
		return p.pluginChanged(ctx, tx, id)
	})
}

// toldStatus is what Tell reads of the status that a hub tells of a plugin.
type toldStatus struct {
	State    string  `json:"state"`
	Renderer *string `json:"renderer"` // nil: hubs of earlier releases tell of none
}

func readTold(status string) (told toldStatus) {
	_ = json.Unmarshal([]byte(status), &told) // empty before the first
	return told
}

func (t toldStatus) renderer() string {
	if t.Renderer == nil {
		return ""
	}
	return *t.Renderer
}

// Serve records that a worker has the plugins, and could ask them at the time.
func (p Plugins) Serve(ctx context.Context, ids []string, at time.Time) error {
	if _, err := p.bun.ExecContext(ctx, `UPDATE plugins SET served_at = ? WHERE id = ANY (?::text[])`, at, array(ids)); err != nil {
		return fmt.Errorf("recording which plugins serve: %w", err)
	}
	return nil
}

// Bound is a platform that a plugin serves, as it is asked about it.
type Bound struct {
	Business core.BusinessID
	Platform string
	Settings []byte
	Currency string // of the business
}

// InUse lists the platforms of all businesses that a plugin serves and that were
// given settings or an address: one that merely came with its business is not in use.
func (p Plugins) InUse(ctx context.Context, id string) ([]Bound, error) {
	return listOf(ctx, p.bun, "reading what plugin "+id+" serves", func(b *Bound) []any {
		return []any{&b.Business, &b.Platform, &b.Settings, &b.Currency}
	}, `SELECT p.business_id, p.name, p.settings, b.currency FROM platforms p JOIN businesses b ON b.id = p.business_id
		WHERE p.served_by = ? AND (p.settings <> '' OR p.addresses <> '{}') ORDER BY p.business_id, p.name`, id)
}
