// Package aliases stores the aliases of platforms, and resolves them in stores and menus.
package aliases

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
)

// Store stores the aliases of platforms.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// ListAliases returns the aliases of a business's platforms, sorted by platform and alias.
func (s Store) ListAliases(ctx context.Context, business core.BusinessID) ([]core.PlatformAlias, error) {
	return platforms.AliasesOf(ctx, s.db.Tenant(business), business)
}

// AddAlias stores an alias of a platform. Older stores and menus that contain the alias are changed
// to the platform's name.
//
// AddAlias returns Invalid for a malformed alias, NotFound for an unknown platform, and Conflict
// if the alias exists or is the name of a platform.
func (s Store) AddAlias(ctx context.Context, business core.BusinessID, alias core.NewPlatformAlias,
	change access.Change) error {
	if problem := core.CheckAlias(alias.Alias); problem != "" {
		return core.Errorf(core.Invalid, "the alias %s", problem)
	}
	return menus.MenuMutex(s.db).Do(ctx, business, func() error {
		return s.db.InTx(ctx, func(tx bun.Conn) error {
			if err := platforms.LockPlatformStores(ctx, tx, business); err != nil {
				return err
			}
			if err := platforms.LockNames(ctx, tx, business); err != nil {
				return err
			}
			if err := platforms.LockShared(ctx, tx, business, ""); err != nil {
				return err
			}
			if err := menus.TryLockMenu(ctx, tx, business); err != nil {
				return err
			}
			added, err := s.insert(ctx, tx, business, alias)
			if err != nil {
				return err
			}
			if err := s.resolve(ctx, tx, business, added); err != nil {
				return err
			}
			change.Object, change.After = "platform/"+alias.Platform, auditEntry(added)
			return audit.Record(ctx, s.db, tx, change)
		})
	})
}

// insert stores an alias and returns it with InEvents set (see AddAlias). The caller holds the lock of the names.
func (s Store) insert(ctx context.Context, tx bun.Conn, business core.BusinessID,
	of core.NewPlatformAlias) (core.PlatformAlias, error) {
	alias, platform := of.Alias, of.Platform
	added := core.PlatformAlias{Alias: alias, Platform: platform}
	names, err := platforms.NamesOf(ctx, tx, business)
	if err != nil {
		return added, err
	}
	switch {
	case names.Resolve(platform) != platform:
		return added, core.Errorf(core.NotFound, "%q is itself an alias, of the platform %q: name the platform",
			platform, names.Resolve(platform))
	case !names.Known(platform):
		return added, core.Errorf(core.NotFound, "business %d has no platform %q", business, platform)
	case names.Resolve(alias) != alias:
		return added, core.Errorf(core.Conflict, "%q is an alias of the platform %q already", alias,
			names.Resolve(alias))
	case names.Known(alias):
		return added, core.Errorf(core.Conflict, "%q is the name of a platform of the business", alias)
	}
	if of.InEvents != nil {
		added.InEvents = *of.InEvents
	} else if err := tx.QueryRowContext(ctx,
		`SELECT NOT EXISTS (SELECT 1 FROM platform_aliases WHERE business_id = ? AND platform = ?)`, business,
		platform).Scan(&added.InEvents); err != nil {
		return added, fmt.Errorf("reading aliases of platforms: %w", err)
	}
	if added.InEvents {
		if err := clearSent(ctx, tx, business, platform); err != nil {
			return added, err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO platform_aliases (business_id, alias, platform, sent, created_at)
		VALUES (?, ?, ?, ?, ?)`, business, alias, platform, added.InEvents, s.db.Clock().Now())
	if err != nil {
		err = fmt.Errorf("storing an alias of a platform: %w", err)
	}
	return added, err
}

// resolve replaces a new alias in stores and menus, and publishes the changed menus.
func (s Store) resolve(ctx context.Context, tx bun.Conn, business core.BusinessID, alias core.PlatformAlias) error {
	changed, err := stores.Rename(ctx, s.db, tx, business, alias)
	if err != nil {
		return err
	}
	inMenus, err := menus.Rename(ctx, s.db, tx, business, alias)
	if err != nil || changed == 0 && !inMenus {
		return err
	}
	return publications.RulesChanged(ctx, s.db, tx, business, alias.Platform)
}

func clearSent(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	return postgres.Exec(ctx, tx, "storing an alias of a platform",
		`UPDATE platform_aliases SET sent = false WHERE business_id = ? AND platform = ? AND sent`, business, platform)
}

func auditEntry(a core.PlatformAlias) map[string]any {
	return map[string]any{"alias": a.Alias, "sent": a.InEvents}
}

// SendAlias sets whether events name a platform by this alias. It returns NotFound for an unknown
// alias.
func (s Store) SendAlias(ctx context.Context, business core.BusinessID, alias string, sent bool,
	change access.Change) error {
	return s.db.InTx(ctx, func(tx bun.Conn) error {
		known, err := s.find(ctx, tx, business, alias)
		if err != nil || known.InEvents == sent {
			return err
		}
		change.Object, change.Before = "platform/"+known.Platform, auditEntry(known)
		if err := clearSent(ctx, tx, business, known.Platform); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE platform_aliases SET sent = ? WHERE business_id = ? AND alias = ?`,
			sent, business, alias); err != nil {
			return fmt.Errorf("storing an alias of a platform: %w", err)
		}
		known.InEvents = sent
		change.After = auditEntry(known)
		return audit.Record(ctx, s.db, tx, change)
	})
}

// RemoveAlias removes an alias. Stores and menus name the platform by its name and stay unchanged.
// It returns NotFound for an unknown alias.
func (s Store) RemoveAlias(ctx context.Context, business core.BusinessID, alias string, change access.Change) error {
	return s.db.InTx(ctx, func(tx bun.Conn) error {
		known, err := s.find(ctx, tx, business, alias)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM platform_aliases WHERE business_id = ? AND alias = ?`, business,
			alias); err != nil {
			return fmt.Errorf("removing an alias of a platform: %w", err)
		}
		change.Object, change.Before = "platform/"+known.Platform, auditEntry(known)
		return audit.Record(ctx, s.db, tx, change)
	})
}

// find locks the names of a business's platforms and returns an alias.
func (s Store) find(ctx context.Context, tx bun.Conn, business core.BusinessID,
	alias string) (known core.PlatformAlias, err error) {
	if err := platforms.LockNames(ctx, tx, business); err != nil {
		return known, err
	}
	err = tx.QueryRowContext(ctx,
		`SELECT alias, platform, sent FROM platform_aliases WHERE business_id = ? AND alias = ?`, business, alias).
		Scan(&known.Alias, &known.Platform, &known.InEvents)
	return known, postgres.NotFound(err, "business %d has no alias %q", business, alias)
}
