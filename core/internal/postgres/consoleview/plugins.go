package consoleview

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
)

// ServedPlatforms returns at most limit platforms that plugins serve, and the number of findings per
// plugin. nil businesses means all.
func (c Store) ServedPlatforms(ctx context.Context, businesses []core.BusinessID,
	limit int) (served map[string][]console.Served, findings map[string]int, err error) {
	only := postgres.Conditions{Text: "p.served_by <> ?", Args: []any{core.ServedByMerchant}}
	only.Add(businesses != nil, "p.business_id = ANY (?)", postgres.Array(businesses))
	rows, err := c.db.Bun().QueryContext(ctx, `SELECT p.served_by, p.business_id, b.name, p.name,
			(SELECT count(*) FROM platform_findings f WHERE f.business_id = p.business_id AND f.platform = p.name
				AND NOT f.warning)
		FROM platforms p JOIN businesses b ON b.id = p.business_id WHERE `+only.Text+
		` ORDER BY lower(b.name), b.id, p.name LIMIT ?`, append(only.Args, limit)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the platforms of plugins: %w", err)
	}
	defer rows.Close()
	served, findings = map[string][]console.Served{}, map[string]int{}
	for rows.Next() {
		var plugin string
		var one console.Served
		var found int
		if err := rows.Scan(&plugin, &one.Business, &one.Name, &one.Platform, &found); err != nil {
			return nil, nil, fmt.Errorf("reading the platforms of plugins: %w", err)
		}
		served[plugin] = append(served[plugin], one)
		findings[plugin] += found
	}
	return served, findings, rows.Err()
}

// RequestPluginAction records the desired state of a plugin; every hub follows within seconds. It
// returns NotFound for an unknown plugin.
//
// It returns Conflict if another operator was faster, or if a disabled plugin is to be
// restarted.
func (c Store) RequestPluginAction(ctx context.Context, id string, action console.PluginAction,
	change access.Change) error {
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		var before bool
		if err := tx.QueryRowContext(ctx, `SELECT enabled FROM plugins WHERE id = ? AND NOT removed FOR UPDATE`,
			id).Scan(&before); err != nil {
			return postgres.NotFound(err, "there is no plugin %q", id)
		}
		after, restarts := true, 0
		switch {
		case action == console.DisablePlugin:
			after = false
			if !before {
				return core.Errorf(core.Conflict, "nothing was done, because the plugin has changed: reload the page")
			}
		case action != console.EnablePlugin && !before:
			return core.Errorf(core.Conflict, "the plugin is disabled: enable it first")
		case action == console.RestartPlugin:
			restarts = 1
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE plugins SET enabled = ?, revision = revision + 1, restarts = restarts + ? WHERE id = ?`, after,
			restarts, id); err != nil {
			return fmt.Errorf("storing the desired state of plugin %s: %w", id, err)
		}
		change.Object = "plugin/" + id
		if before != after {
			change.Before, change.After = map[string]any{"enabled": before}, map[string]any{"enabled": after}
		}
		if err := audit.Record(ctx, c.db, tx, change); err != nil {
			return err
		}
		return postgres.Notify(ctx, tx, calls.PluginsChannel)
	})
}
