package calls

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
)

// Bounds of the faults and the requests that are stored for a plugin.
const (
	maxFaultCauses = 200
	maxSetAside    = 1000
)

// RecordFaults adds faults to those of their causes.
func (p Plugins) RecordFaults(ctx context.Context, list []aggregator.FaultCount) error {
	if len(list) == 0 {
		return nil
	}
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		for _, f := range list { // in the order of their keys, which they lock
			if _, err := tx.ExecContext(ctx, queries.With("record_fault", postgres.Args{
				"plugin": f.Plugin, "cause": f.Group, "kind": string(f.Kind), "ended": f.Ended, "call": f.Call,
				"count": f.Count, "first": f.First, "last": f.At, "version": f.Version,
				"text": postgres.CleanText(f.Text), "stack": postgres.CleanText(f.Stack), "business": f.Business,
				"platform": f.Platform, "about": postgres.CleanText(f.About),
			})); err != nil {
				return fmt.Errorf("recording a fault of plugin %s: %w", f.Plugin, err)
			}
		}
		return postgres.Exec(ctx, tx, "deleting old faults of plugins", queries.With("trim_faults",
			postgres.Args{"most": maxFaultCauses}))
	})
}

// Causes returns the causes of a plugin's faults, the latest first.
func (p Plugins) Causes(ctx context.Context, plugin string) ([]console.PluginCause, error) {
	return postgres.Collect(ctx, p.db.Bun(), "reading the faults of plugin "+plugin,
		func(c *console.PluginCause) []any {
			return []any{&c.Kind, &c.Call, &c.Text, &c.Stack, &c.Ended, &c.Count, &c.First, &c.Last, &c.Version,
				&c.Business,
				&c.Platform, &c.About}
		}, bun.SafeQuery(queries.With("list_faults", postgres.Args{"plugin": plugin})))
}

// SetAside stores a request that is set aside, for all hubs.
func (p Plugins) SetAside(ctx context.Context, r pluginhost.SetAside) error {
	return p.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, queries.With("set_aside", postgres.Args{
			"plugin": r.Plugin, "build": r.Build, "call": r.Call, "business": r.Business, "platform": r.Platform,
			"request": r.ID, "version": r.Version, "store": r.Store, "about": postgres.CleanText(r.About),
			"fault": postgres.CleanText(r.Fault), "now": p.db.Clock().Now(),
		})); err != nil {
			return fmt.Errorf("setting a request of plugin %s aside: %w", r.Plugin, err)
		}
		if _, err := tx.ExecContext(ctx, queries.With("trim_set_aside",
			postgres.Args{"plugin": r.Plugin, "most": maxSetAside})); err != nil {
			return fmt.Errorf("deleting old requests of plugin %s: %w", r.Plugin, err)
		}
		return postgres.Notify(ctx, tx, PluginsChannel)
	})
}

// IsSetAside reports whether a request is set aside.
func (p Plugins) IsSetAside(ctx context.Context, r pluginhost.Request) (is bool, err error) {
	if err := p.db.Bun().QueryRowContext(ctx, queries.With("is_set_aside", postgres.Args{
		"plugin": r.Plugin, "build": r.Build, "call": r.Call, "business": r.Business, "platform": r.Platform,
		"request": r.ID,
	})).Scan(&is); err != nil {
		return false, fmt.Errorf("reading whether a request of plugin %s is set aside: %w", r.Plugin, err)
	}
	return is, nil
}

// ListSetAside returns the requests to a plugin that are set aside, the latest first.
func (p Plugins) ListSetAside(ctx context.Context, plugin string) ([]console.SetAside, error) {
	return postgres.Collect(ctx, p.db.Bun(), "reading the requests that are set aside",
		func(r *console.SetAside) []any {
			return []any{&r.ID, &r.Call, &r.Business, &r.Platform, &r.About, &r.Version, &r.Fault, &r.At}
		},
		bun.SafeQuery(`SELECT id, call, business_id, platform, about, version, fault, at FROM plugin_set_aside
		WHERE plugin_id = ?
		ORDER BY id DESC`, plugin))
}
