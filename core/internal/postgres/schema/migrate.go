// Package schema migrates the database, maintains partitions, examines the server and rotates keys.
package schema

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/migrations"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

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
				if state, err := readState(ctx, m.DB()); err != nil || state.earlier {
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
		state, err := readState(ctx, m.DB())
		if len(state.unknown) > 0 {
			err =
				fmt.Errorf("the database has unknown migrations (%d, the first %s): roll them back with the program "+
					"that applied them", len(state.unknown), state.unknown[0])
		}
		if err != nil {
			return &migrate.MigrationGroup{}, err
		}
		return m.Rollback(ctx)
	})
}

// migrationState is what a database has of the migrations.
type migrationState struct {
	known   []Migration // of this program, sorted
	unknown []string    // names of others that are applied, sorted
	earlier bool        // see ErrEarlierBuild
}

// missing returns the names of the migrations that are not applied.
func (s migrationState) missing() (names []string) {
	for _, m := range s.known {
		if !m.Applied {
			names = append(names, m.Name)
		}
	}
	return names
}

// readState reads the migrations of a database. It changes nothing.
func readState(ctx context.Context, on *bun.DB) (s migrationState, err error) {
	known, err := knownMigrations()
	if err != nil {
		return s, err
	}
	applied, err := migrate.NewMigrator(on, known).AppliedMigrations(ctx)
	if err != nil && !postgres.IsCode(err, "42P01") { // undefined_table: the database is empty
		return s, fmt.Errorf("reading applied migrations: %w", err)
	}
	names := map[string]bool{}
	for _, one := range applied {
		names[one.Name] = true
	}
	for _, m := range known.Sorted() {
		s.known = append(s.known, Migration{Name: m.Name + "_" + m.Comment, Applied: names[m.Name]})
		delete(names, m.Name)
	}
	s.unknown = slices.Sorted(maps.Keys(names))
	s.earlier = len(s.unknown) > 0 && !s.known[0].Applied // a newer program has the first one
	return s, nil
}

// Check returns an error if the database lacks migrations of this program. It changes nothing, and accepts a database
// of a newer program.
func Check(ctx context.Context, db *postgres.DB) error {
	state, err := readState(ctx, db.Bun())
	switch missing := state.missing(); {
	case err != nil:
		return err
	case state.earlier:
		return ErrEarlierBuild
	case len(missing) > 0:
		return fmt.Errorf("the database lacks %d migrations, the first is %s: run `servery migrate up`, or start a hub",
			len(missing), missing[0])
	}
	return nil
}

// HasBusinesses reports whether there is a business whose data would be lost with the tables.
func HasBusinesses(ctx context.Context, db *postgres.DB) (used bool, err error) {
	err = db.Bun().QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM businesses)`).Scan(&used)
	if postgres.IsCode(err, "42P01") { // undefined_table
		return false, nil
	}
	return used, err
}

func knownMigrations() (*migrate.Migrations, error) {
	all := migrate.NewMigrations()
	if err := all.Discover(migrations.Files); err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	return all, nil
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
	all, err := knownMigrations()
	if err != nil {
		return nil, err
	}
	migrator := migrate.NewMigrator(own, all, migrate.WithMarkAppliedOnSuccess(true))
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

// Migrations returns every migration and whether it is applied. It changes nothing.
func Migrations(ctx context.Context, db *postgres.DB) ([]Migration, error) {
	state, err := readState(ctx, db.Bun())
	return state.known, err
}
