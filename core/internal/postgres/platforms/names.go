package platforms

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Names returns the names and aliases of a business's platforms.
func (p Store) Names(ctx context.Context, business core.BusinessID) (core.PlatformNames, error) {
	return NamesOf(ctx, p.db.Tenant(business), business)
}

// AliasesOf returns the aliases of a business's platforms, sorted by platform and alias.
func AliasesOf(ctx context.Context, in bun.IDB, business core.BusinessID) ([]core.PlatformAlias, error) {
	return postgres.Collect(ctx, in, "reading aliases of platforms", func(a *core.PlatformAlias) []any {
		return []any{&a.Alias, &a.Platform, &a.InEvents}
	}, bun.SafeQuery(`SELECT alias, platform, sent FROM platform_aliases WHERE business_id = ?
		ORDER BY platform, alias`, business))
}

// NamesOf returns the names and aliases of a business's platforms.
func NamesOf(ctx context.Context, in bun.IDB, business core.BusinessID) (core.PlatformNames, error) {
	rows, err := postgres.Collect(ctx, in, "reading platforms", func(a *core.PlatformAlias) []any {
		return []any{&a.Platform, &a.Alias, &a.InEvents}
	}, bun.SafeQuery(queries.With("names", postgres.Args{"business": business})))
	if err != nil {
		return core.PlatformNames{}, err
	}
	var names []string
	var aliases []core.PlatformAlias
	for _, a := range rows {
		if a.Alias == "" {
			names = append(names, a.Platform)
		} else {
			aliases = append(aliases, a)
		}
	}
	return core.NewPlatformNames(names, aliases...), nil
}

// Resolve returns the platform that a name or an alias stands for. It returns an unknown name
// unchanged.
func (p Store) Resolve(ctx context.Context, business core.BusinessID, name string) (string, error) {
	platform, err := platformOfAlias(ctx, p.db.Tenant(business), business, name)
	if platform == "" {
		platform = name
	}
	return platform, err
}

// checkName returns Conflict if the name of a platform to be created is an alias of another, and Invalid if it stands
// for every platform.
func checkName(ctx context.Context, in bun.IDB, business core.BusinessID, name string) error {
	if name == core.DefaultTag {
		return core.Errorf(core.Invalid,
			"a platform must not be named %q: in tags and images that stands for every platform", name)
	}
	platform, err := platformOfAlias(ctx, in, business, name)
	if err != nil || platform == "" {
		return err
	}
	return core.Errorf(core.Conflict, "%q is an alias of the platform %q: remove the alias before you add a platform "+
		"with this name", name, platform)
}

// platformOfAlias returns the platform of an alias; "" if the business has no such alias.
func platformOfAlias(ctx context.Context, in bun.IDB, business core.BusinessID,
	alias string) (platform string, err error) {
	err = in.QueryRowContext(ctx, `SELECT platform FROM platform_aliases WHERE business_id = ? AND alias = ?`, business,
		alias).Scan(&platform)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("reading aliases of platforms: %w", err)
	}
	return platform, nil
}

// lockPlatforms takes the locks of a change of a platform. Stores may name it already, if it is new or had no plugin.
func lockPlatforms(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	if err := LockPlatformStores(ctx, tx, business); err != nil {
		return err
	}
	return LockNames(ctx, tx, business)
}

// LockNames serializes the transactions that add names of platforms and aliases of a business,
// because no alias may equal a name.
func LockNames(ctx context.Context, tx bun.IDB, business core.BusinessID) error {
	return postgres.Exec(ctx, tx, "locking the names of platforms",
		`SELECT pg_advisory_xact_lock(hashtextextended('servery platform names ' || ?, 0))`, int64(business))
}
