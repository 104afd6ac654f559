package calls

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
)

// PluginsChannel notifies hubs of changed desired states.
const PluginsChannel = "servery_plugins"

// Plugins stores the desired state of plugins and the status that hubs report.
type Plugins struct{ db *postgres.DB }

// NewPlugins returns Plugins that use db.
func NewPlugins(db *postgres.DB) Plugins { return Plugins{db} }

// Add lists plugins, except removed ones. New plugins are enabled.
func (p Plugins) Add(ctx context.Context, ids []string) error {
	_, err := p.db.Bun().ExecContext(ctx,
		`INSERT INTO plugins (id, registered_at) SELECT unnest(?::text[]), ? ON CONFLICT DO NOTHING`,
		postgres.Array(ids),
		p.db.Clock().Now())
	if err != nil {
		return fmt.Errorf("listing plugins: %w", err)
	}
	return nil
}

// List returns every plugin, sorted by id.
func (p Plugins) List(ctx context.Context) (list []aggregator.Plugin, err error) {
	return postgres.Collect(ctx, p.db.Bun(), "reading plugins", func(plugin *aggregator.Plugin) []any {
		return []any{&plugin.ID, &plugin.Enabled, &plugin.Revision, &plugin.Restarts, &plugin.Description,
			&plugin.Status, &plugin.ReportedAt,
			&plugin.ServedAt, &plugin.KnownAt, &plugin.Renderer, &plugin.SetAside}
	}, bun.SafeQuery(queries.With("list_plugins", nil)))
}

// Running returns the ids of the plugins that hubs run: those that are installed here or known to a hub, without the
// disabled ones.
func (p Plugins) Running(ctx context.Context, installed []string) ([]string, error) {
	running := slices.Clone(installed)
	list, err := p.List(ctx)
	for _, p := range list {
		running = slices.DeleteFunc(running, func(id string) bool { return id == p.ID })
		if p.Enabled {
			running = append(running, p.ID)
		}
	}
	slices.Sort(running)
	return running, err
}

// Find returns a plugin that is in the list of installed ones or known to a hub, or NotFound.
func (p Plugins) Find(ctx context.Context, installed []string, id string) (aggregator.Plugin, error) {
	list, err := p.List(ctx)
	if err != nil {
		return aggregator.Plugin{}, err
	}
	for _, p := range list {
		if p.ID == id {
			return p, nil
		}
		installed = append(installed, p.ID)
	}
	if slices.Contains(installed, id) {
		return aggregator.Plugin{ID: id, Enabled: true}, nil
	}
	slices.Sort(installed)
	return aggregator.Plugin{}, core.Errorf(core.NotFound, "there is no plugin %q, only: %s", id,
		strings.Join(slices.Compact(installed), ", "))
}

// SetEnabled records whether hubs should run a plugin. If the state is the current one, the plugin
// leaves quarantine and checks for another version. A removed plugin is restored.
func (p Plugins) SetEnabled(ctx context.Context, id string, enabled bool) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error { return p.setEnabled(ctx, tx, id, enabled) })
}

func (p Plugins) setEnabled(ctx context.Context, tx bun.Conn, id string, enabled bool) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO plugins AS p (id, enabled, registered_at) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, revision = p.revision + 1, removed = false,
			registered_at = CASE WHEN p.removed THEN excluded.registered_at ELSE p.registered_at END`, id, enabled,
		p.db.Clock().Now()); err != nil {
		return fmt.Errorf("storing the desired state of plugin %s: %w", id, err)
	}
	change := accessdb.CommandLineChange(0, "plugin.disable")
	if enabled {
		change.Action = "plugin.enable"
	}
	change.Object = "plugin/" + id
	if err := audit.Record(ctx, p.db, tx, change); err != nil {
		return err
	}
	return postgres.Notify(ctx, tx, PluginsChannel)
}

// maxNamedPlatforms bounds the platforms that the error of Remove names.
const maxNamedPlatforms = 20

// Remove removes a plugin from every hub and clears its status. It returns Conflict if
// platforms use it; the error names them. It returns NotFound if the plugin is unknown.
func (p Plugins) Remove(ctx context.Context, id string) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		result, err := tx.ExecContext(ctx, `UPDATE plugins SET removed = true, enabled = false, revision = revision + 1,
			description = NULL, status = '', reported_at = NULL, worker_seen_at = NULL, published_digest = ''
			WHERE id = ?
				AND NOT removed`, id)
		if err != nil {
			return fmt.Errorf("removing plugin %s: %w", id, err)
		}
		if n, _ := result.RowsAffected(); n == 0 {
			return core.Errorf(core.NotFound, "there is no plugin %q", id)
		}
		bound, err := postgres.Collect(ctx, tx, "reading what plugin "+id+" serves",
			func(b *aggregator.Binding) []any { return []any{&b.Business, &b.Platform} },
			bun.SafeQuery(`SELECT business_id, name FROM platforms WHERE served_by = ? ORDER BY business_id, name`, id))
		if err != nil {
			return err
		}
		if len(bound) > 0 {
			return errInUse(id, bound)
		}
		for _, table := range []bun.Ident{"plugin_hubs", "plugin_faults", "plugin_set_aside", "plugin_shared"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM ? WHERE plugin_id = ?`, table, id); err != nil {
				return fmt.Errorf("deleting plugin %s: %w", id, err)
			}
		}
		change := accessdb.CommandLineChange(0, "plugin.remove")
		change.Object = "plugin/" + id
		if err := audit.Record(ctx, p.db, tx, change); err != nil {
			return err
		}
		return postgres.Notify(ctx, tx, PluginsChannel)
	})
}

func errInUse(id string, bound []aggregator.Binding) error {
	names := make([]string, min(len(bound), maxNamedPlatforms))
	for i := range names {
		names[i] = fmt.Sprintf("%q of business %d", bound[i].Platform, bound[i].Business)
	}
	if more := len(bound) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return core.Errorf(core.Conflict,
		"plugin %s serves the platforms %s: set another plugin first, with servery platform set --business %d %q "+
			"--plugin own",
		id, strings.Join(names, ", "), bound[0].Business, bound[0].Platform)
}

// ReportStatus records a hub's status of a plugin, and its description if known. A new description
// notifies the other hubs.
//
// A ready plugin's platforms are rechecked and republished after an operator request. The same
// happens if another or an unknown renderer published their menus. It waits until all other hubs
// have the same renderer, because hubs of two versions would replace each other's menus forever.
func (p Plugins) ReportStatus(ctx context.Context, hub core.ID, id, status string, description []byte) error {
	now, reported := p.db.Clock().Now(), readStatus(status)
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		var published, before string
		var described bool
		var revision, publishedRevision int64
		var others bool
		err := tx.QueryRowContext(ctx, queries.With("read_status", postgres.Args{
			"plugin": id, "hub": hub, "reported_since": now.Add(-hubTimeout), "renderer": reported.renderer(),
			"description": description})).
			Scan(&before, &published, &revision, &publishedRevision, &others, &described)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the earlier status of plugin %s: %w", id, err)
		}
		if reported.State == "ready" && others || readStatus(before).Renderer == nil {
			published = "" // each hub renders its own claims, also one of an earlier release
		}
		changed := reported.State == "ready" && !others &&
			(published != reported.renderer() || publishedRevision != revision)
		if changed {
			published, publishedRevision = reported.renderer(), revision
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE plugins
				SET status = ?, reported_at = ?, description = coalesce(?, description), published_digest = ?,
				published_revision = ?
			WHERE id = ?`, status, now, description, published, publishedRevision, id); err != nil {
			return fmt.Errorf("recording the status of plugin %s: %w", id, err)
		}
		if described { // other hubs read the description
			if err := postgres.Notify(ctx, tx, PluginsChannel); err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
		return publications.PluginChanged(ctx, p.db, tx, id)
	})
}

// pluginStatus is the part of a hub's status that ReportStatus reads.
type pluginStatus struct {
	State    string  `json:"state"`
	Renderer *string `json:"renderer"` // nil: hubs of earlier releases report none
}

func readStatus(status string) (reported pluginStatus) {
	_ = json.Unmarshal([]byte(status), &reported) // empty before the first report
	return reported
}

func (t pluginStatus) renderer() string {
	if t.Renderer == nil {
		return ""
	}
	return *t.Renderer
}

// RecordServing records that a worker has the plugins and could call them at the given time.
func (p Plugins) RecordServing(ctx context.Context, ids []string, at time.Time) error {
	return postgres.Exec(ctx, p.db.Bun(), "storing which plugins serve",
		`UPDATE plugins SET worker_seen_at = ? WHERE id = ANY (?::text[])`, at, postgres.Array(ids))
}

// InUse returns the platforms of all businesses that a plugin serves and that have settings or a
// base URL. Platforms created with their business have neither until they are used.
func (p Plugins) InUse(ctx context.Context, id string) ([]aggregator.Binding, error) {
	return postgres.Collect(ctx, p.db.Bun(), "reading what plugin "+id+" serves", func(b *aggregator.Binding) []any {
		return []any{&b.Business, &b.Platform, &b.Settings, &b.Currency}
	}, bun.SafeQuery(`SELECT p.business_id, p.name, p.settings, b.currency FROM platforms p
		JOIN businesses b ON b.id = p.business_id
		WHERE p.served_by = ? AND (p.settings <> '' OR p.addresses <> '{}') ORDER BY p.business_id, p.name`, id))
}
