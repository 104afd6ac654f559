// Package schema migrates the database, maintains partitions, examines the server and rotates keys.
package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/migrations"
)

// migrationLock is the advisory lock that serializes migrations.
const migrationLock = 0x5e57e271

// Migration is one step of the schema.
type Migration struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// ErrEarlierBuild is returned for a database that was created before the migrations were last
// rewritten. It cannot be upgraded.
var ErrEarlierBuild = errors.New("the database was created by an earlier build and cannot be upgraded")

// MigrateUp applies the missing migrations and returns their names. A migration that cannot
// get its lock in time is retried, so that other statements do not queue behind it for long.
// It returns ErrEarlierBuild and changes nothing if the migrations do not follow on those of
// the database.
func MigrateUp(ctx context.Context, db *postgres.DB) (names []string, err error) {
	for {
		some, err := runMigrations(ctx, db,
			func(m *migrate.Migrator) (*migrate.MigrationGroup, error) {
				if earlier, err := isEarlierBuild(ctx, m); err != nil || earlier {
					return &migrate.MigrationGroup{}, cmp.Or(err, ErrEarlierBuild)
				}
				return m.Migrate(ctx)
			})
		names = append(names, some...)
		if !postgres.IsCode(err, "55P03") { // lock_not_available
			return names, err
		}
		db.Log().Warn("a migration waits for a table that is in use", "error", err)
		if err := postgres.Pause(ctx, time.Second); err != nil {
			return names, err
		}
	}
}

// MigrateDown rolls back the last applied group of migrations. It returns an error if the
// database has migrations unknown to this program, because it would roll back an earlier group.
func MigrateDown(ctx context.Context, db *postgres.DB) ([]string, error) {
	return runMigrations(ctx, db, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) {
		unknown, err := unknownMigrations(ctx, m)
		if len(unknown) > 0 {
			err =
				fmt.Errorf("the database has unknown migrations (%d, the first %s): roll them back with the program "+
					"that applied them", len(unknown), unknown[0])
		}
		if err != nil {
			return &migrate.MigrationGroup{}, err
		}
		return m.Rollback(ctx)
	})
}

// isEarlierBuild reports whether the database has migrations, but not the first one of this
// program. A database of a newer program has it.
func isEarlierBuild(ctx context.Context, m *migrate.Migrator) (bool, error) {
	unknown, err := unknownMigrations(ctx, m)
	if err != nil || len(unknown) == 0 {
		return false, err
	}
	known, err := m.MigrationsWithStatus(ctx)
	if err != nil {
		return false, fmt.Errorf("reading migrations: %w", err)
	}
	first := slices.MinFunc(known, func(a, b migrate.Migration) int { return cmp.Compare(a.Name, b.Name) })
	return !first.IsApplied(), nil
}

// unknownMigrations returns the applied migrations that a migrator does not know, sorted.
func unknownMigrations(ctx context.Context, m *migrate.Migrator) (names []string, err error) {
	known, err := m.MigrationsWithStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	applied, err := m.AppliedMigrations(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading applied migrations: %w", err)
	}
	for _, one := range applied {
		if !slices.ContainsFunc(known, func(k migrate.Migration) bool { return k.Name == one.Name }) {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// HasBusinesses reports whether there is a business whose data would be lost with the tables.
func HasBusinesses(ctx context.Context, db *postgres.DB) (used bool, err error) {
	err = db.Bun().QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM businesses)`).Scan(&used)
	if postgres.IsCode(err, "42P01") { // undefined_table
		return false, nil
	}
	return used, err
}

func migrator(on *bun.DB) (*migrate.Migrator, error) {
	all := migrate.NewMigrations()
	if err := all.Discover(migrations.Files); err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	return migrate.NewMigrator(on, all, migrate.WithMarkAppliedOnSuccess(true)), nil
}

// runMigrations runs migrations on separate connections without a statement timeout, under the
// lock that replicas share. It returns the applied names, even if a later migration failed.
func runMigrations(ctx context.Context, db *postgres.DB,
	run func(*migrate.Migrator) (*migrate.MigrationGroup, error)) ([]string, error) {
	own, err := db.OpenForMigrations()
	if err != nil {
		return nil, err
	}
	defer own.Close()
	conn, err := own.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := LockMigrations(ctx, db, conn); err != nil {
		return nil, fmt.Errorf("waiting for the migration lock: %w", err)
	}
	migrator, err := migrator(own)
	if err != nil {
		return nil, err
	}
	if err := migrator.Init(ctx); err != nil {
		return nil, fmt.Errorf("preparing migrations: %w", err)
	}
	defer db.RecheckRLS()
	group, err := run(migrator)
	names := []string{}
	for _, m := range group.Migrations {
		names = append(names, m.Name+"_"+m.Comment)
	}
	if err != nil {
		return names[:max(0, len(names)-1)], fmt.Errorf("migrating: %w", err)
	}
	return names, nil
}

// LockMigrations takes the migration lock and waits while another replica migrates. The lock
// ends with the connection.
func LockMigrations(ctx context.Context, db *postgres.DB, conn bun.Conn) error {
	for n := 0; ; n++ {
		var taken bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(?)", migrationLock).Scan(&taken)
		if err != nil || taken {
			return err
		}
		if n%100 == 10 {
			db.Log().Info("another replica migrates the database; waiting until it has done")
		}
		if err := postgres.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Migrations returns every migration and whether it is applied.
func Migrations(ctx context.Context, db *postgres.DB) ([]Migration, error) {
	migrator, err := migrator(db.Bun())
	if err != nil {
		return nil, err
	}
	if err := migrator.Init(ctx); err != nil {
		return nil, fmt.Errorf("preparing migrations: %w", err)
	}
	all, err := migrator.MigrationsWithStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading applied migrations: %w", err)
	}
	list := make([]Migration, 0, len(all))
	for _, m := range all {
		list = append(list, Migration{Name: m.Name + "_" + m.Comment, Applied: m.IsApplied()})
	}
	return list, nil
}
