package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// hubLife is how long after it was told the state of a plugin in a hub counts.
const hubLife = time.Minute

// TellHub records how plugins fare in a hub, and forgets hubs that have stopped.
func (p Plugins) TellHub(ctx context.Context, list []console.PluginHub) error {
	now := p.clock.Now()
	return p.inTx(ctx, func(tx bun.Conn) error {
		for _, h := range list {
			calls, err := json.Marshal(h.Calls)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO plugin_hubs (plugin_id, hub, told_at, version, state, in_flight, memory, calls, about)
					VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (plugin_id, hub) DO UPDATE SET told_at = excluded.told_at, version = excluded.version, state = excluded.state,
					in_flight = excluded.in_flight, memory = excluded.memory, calls = excluded.calls, about = excluded.about`,
				h.Plugin, h.Hub, now, h.Version, h.State, h.InFlight, h.Memory, string(calls), h.Renderer); err != nil {
				return fmt.Errorf("recording how plugin %s fares: %w", h.Plugin, err)
			}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM plugin_hubs WHERE (plugin_id, hub) IN (
			SELECT plugin_id, hub FROM plugin_hubs WHERE told_at < ? FOR UPDATE SKIP LOCKED)`, now.Add(-hubLife)); err != nil {
			return fmt.Errorf("forgetting hubs that have stopped: %w", err)
		}
		return nil
	})
}

// Hubs reads how plugins fare in the hubs that run.
func (p Plugins) Hubs(ctx context.Context) ([]console.PluginHub, error) {
	rows, err := p.bun.QueryContext(ctx, `SELECT plugin_id, hub, told_at, version, state, in_flight, memory, calls FROM plugin_hubs
		WHERE told_at >= ? ORDER BY plugin_id, hub`, p.clock.Now().Add(-hubLife))
	if err != nil {
		return nil, fmt.Errorf("reading how plugins fare: %w", err)
	}
	defer rows.Close()
	var list []console.PluginHub
	for rows.Next() {
		var h console.PluginHub
		var calls []byte
		if err := rows.Scan(&h.Plugin, &h.Hub, &h.At, &h.Version, &h.State, &h.InFlight, &h.Memory, &calls); err != nil {
			return nil, fmt.Errorf("reading how plugins fare: %w", err)
		}
		if err := json.Unmarshal(calls, &h.Calls); err != nil {
			return nil, fmt.Errorf("reading how plugin %s fares: %w", h.Plugin, err)
		}
		list = append(list, h)
	}
	return list, rows.Err()
}

// Serving reads which platforms plugins serve, and how many findings there are of
// items at them, in businesses; nil means all. At most limit platforms.
func (c Console) Serving(ctx context.Context, businesses []core.BusinessID, limit int) (served map[string][]console.Served, findings map[string]int, err error) {
	only := conditions{text: "p.served_by <> ?", args: []any{core.ServedByOwn}}
	only.add(businesses != nil, "p.business_id = ANY (?)", array(businesses))
	rows, err := c.bun.QueryContext(ctx, `SELECT p.served_by, p.business_id, b.name, p.name,
			(SELECT count(*) FROM platform_findings f WHERE f.business_id = p.business_id AND f.platform = p.name)
		FROM platforms p JOIN businesses b ON b.id = p.business_id WHERE `+only.text+` ORDER BY lower(b.name), b.id, p.name LIMIT ?`, append(only.args, limit)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading what plugins serve: %w", err)
	}
	defer rows.Close()
	served, findings = map[string][]console.Served{}, map[string]int{}
	for rows.Next() {
		var plugin string
		var one console.Served
		var found int
		if err := rows.Scan(&plugin, &one.Business, &one.Name, &one.Platform, &found); err != nil {
			return nil, nil, fmt.Errorf("reading what plugins serve: %w", err)
		}
		served[plugin] = append(served[plugin], one)
		findings[plugin] += found
	}
	return served, findings, rows.Err()
}

// WantPlugin records what an operator wants of a plugin; every hub follows
// within seconds. NotFound where no hub knows it, Conflict where somebody else
// was quicker, or where a plugin that is switched off is to be started again.
func (c Console) WantPlugin(ctx context.Context, id string, wish console.PluginWish, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		var before bool
		if err := tx.QueryRowContext(ctx, `SELECT enabled FROM plugins WHERE id = ? AND NOT removed FOR UPDATE`, id).Scan(&before); err != nil {
			return notFound(err, "there is no plugin %q", id)
		}
		after, restarts := true, 0
		switch {
		case wish == console.DisablePlugin:
			after = false
			if !before {
				return core.Errorf(core.Conflict, "the plugin is switched off already; this page shows how it is now")
			}
		case wish != console.EnablePlugin && !before:
			return core.Errorf(core.Conflict, "the plugin is switched off; enable it first")
		case wish == console.RestartPlugin:
			restarts = 1
		}
		if _, err := tx.ExecContext(ctx, `UPDATE plugins SET enabled = ?, revision = revision + 1, restarts = restarts + ? WHERE id = ?`, after, restarts, id); err != nil {
			return fmt.Errorf("recording what is wanted of plugin %s: %w", id, err)
		}
		change.Object = "plugin/" + id
		if before != after {
			change.Before, change.After = map[string]any{"enabled": before}, map[string]any{"enabled": after}
		}
		return c.record(ctx, tx, change)
	})
}
