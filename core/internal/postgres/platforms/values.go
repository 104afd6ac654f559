package platforms

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// Values returns the values that a plugin keeps for a platform. Those of a store replace those of the platform
// (relay.Values).
func (p Store) Values(ctx context.Context, business core.BusinessID, platform,
	storeRefID string) (map[string]string, error) {
	return postgres.CollectMap(ctx, p.db.Bun(), "reading the values of a platform", func(name, value *string) []any {
		return []any{name, value}
	}, bun.SafeQuery(queries.With("read_values", postgres.Args{"business": business, "platform": platform,
		"store": storeRefID})))
}

// KeepValues stores values that a plugin keeps for a platform that it serves (aggregator.Platforms).
func (p Store) KeepValues(ctx context.Context, at aggregator.PluginPlatform,
	list []relay.KeptValue) (ignored []string, err error) {
	list, unknown, err := p.resolveStores(ctx, at, list)
	if err != nil {
		return nil, err
	}
	err = p.db.InTx(ctx, func(tx bun.Conn) error {
		ignored = slices.Clone(unknown)
		var served string
		err := tx.QueryRowContext(ctx, `SELECT served_by FROM platforms WHERE business_id = ? AND name = ? FOR UPDATE`,
			at.Business, at.Platform).Scan(&served)
		if errors.Is(err, sql.ErrNoRows) || err == nil && served != at.Plugin { // changed since the call
			return nil
		}
		if err != nil {
			return fmt.Errorf("locking a platform: %w", err)
		}
		for _, v := range list {
			why, err := p.keepValue(ctx, tx, at, v)
			if err != nil {
				return err
			}
			if why != "" {
				ignored = append(ignored, notStored(v, why))
			}
		}
		return nil
	})
	return ignored, err
}

// resolveStores replaces the platform's ids of stores by their ref_ids. It leaves out values of unknown stores. It runs
// before the transaction, which must not wait for a second connection.
func (p Store) resolveStores(ctx context.Context, at aggregator.PluginPlatform,
	list []relay.KeptValue) (resolved []relay.KeptValue, ignored []string, err error) {
	for _, v := range list {
		if v.PlatformStoreID != "" {
			v.StoreRefID, err = NewCallers(p.db).StoreRef(ctx, at.Business, at.Platform, v.PlatformStoreID)
			if core.CodeOf(err) == core.NotFound {
				ignored = append(ignored, notStored(v, core.PublicMessage(err)))
				continue
			}
			if err != nil {
				return nil, nil, err
			}
		}
		resolved = append(resolved, v)
	}
	return resolved, ignored, nil
}

func notStored(v relay.KeptValue, why string) string {
	return fmt.Sprintf("the value %s was not stored: %s", v.Name, why)
}

// keepValue stores or removes a value. It returns why it ignores the value.
func (p Store) keepValue(ctx context.Context, tx bun.Conn, at aggregator.PluginPlatform,
	v relay.KeptValue) (ignored string, err error) {
	var store int64
	if v.StoreRefID != "" {
		err := tx.QueryRowContext(ctx, `SELECT id FROM stores WHERE business_id = ? AND ref_id = ?`, at.Business,
			v.StoreRefID).Scan(&store)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Sprintf("there is no store %q", v.StoreRefID), nil
		}
		if err != nil {
			return "", fmt.Errorf("reading the store of a value: %w", err)
		}
	}
	if v.Value == "" {
		_, err := tx.ExecContext(ctx, `DELETE FROM platform_values WHERE business_id = ? AND platform = ?
			AND store_id = ? AND name = ?`, at.Business, at.Platform, store, v.Name)
		return "", err
	}
	result, err := tx.ExecContext(ctx, queries.With("keep_value", postgres.Args{"business": at.Business,
		"platform": at.Platform, "store": store, "name": v.Name, "value": v.Value, "now": p.db.Clock().Now(),
		"most": aggregator.MaxKeptValues}))
	if err != nil {
		return "", fmt.Errorf("storing a value of a platform: %w", err)
	}
	if stored, err := result.RowsAffected(); err != nil || stored > 0 {
		return "", err
	}
	return fmt.Sprintf("there are %d others", aggregator.MaxKeptValues), nil
}

// dropValues removes the values of a platform whose plugin changes.
func dropValues(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	return postgres.Exec(ctx, tx, "removing the values of a platform",
		`DELETE FROM platform_values WHERE business_id = ? AND platform = ?`, business, platform)
}

// maxListedValues bounds the values of a platform that ListValues returns.
const maxListedValues = 100

// ListValues returns the values that plugins keep for the platforms of a business, up to a limit for each platform.
func (p Store) ListValues(ctx context.Context,
	business core.BusinessID) (map[string][]console.PlatformValue, error) {
	type row struct {
		console.PlatformValue
		platform string
	}
	rows, err := postgres.Collect(ctx, p.db.Tenant(business), "listing the values of platforms", func(r *row) []any {
		return []any{&r.platform, &r.Store, &r.Name, &r.Value, &r.At}
	}, bun.SafeQuery(queries.With("list_values", postgres.Args{"business": business, "most": maxListedValues})))
	list := map[string][]console.PlatformValue{}
	for _, r := range rows {
		list[r.platform] = append(list[r.platform], r.PlatformValue)
	}
	return list, err
}
