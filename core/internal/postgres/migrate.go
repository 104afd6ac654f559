package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"github.com/servery-hub/servery/migrations"
)

// migrationLock is the advisory lock that keeps replicas from migrating at once.
const migrationLock = 0x5e57e271

// Migration is one step of the schema.
type Migration struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// MigrateUp applies every migration that is missing and returns their names. One that
// gets a lock only behind others is tried again, so that nobody waits behind it for long.
func (db *DB) MigrateUp(ctx context.Context) (names []string, err error) {
	for {
		some, err := db.migrate(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Migrate(ctx) })
		names = append(names, some...)
		if !isCode(err, "55P03") { // the lock is not available
			return names, err
		}
		db.log.Warn("a migration waits for a table that is in use", "error", err)
		if err := pause(ctx, time.Second); err != nil {
			return names, err
		}
	}
}

// MigrateDown takes the last applied group of migrations back: all that were applied
// at a time. It refuses where the database has some that this program does not know: the
// last group would be one before theirs.
func (db *DB) MigrateDown(ctx context.Context) ([]string, error) {
	return db.migrate(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) {
		unknown, err := unknownTo(ctx, m)
		if len(unknown) > 0 {
			err = fmt.Errorf("the database has %d that this program does not know, the first is %s: only a program that has them takes them back", len(unknown), unknown[0])
		}
		if err != nil {
			return &migrate.MigrationGroup{}, err
		}
		return m.Rollback(ctx)
	})
}

// unknownTo names the applied migrations that a migrator does not have, the first first.
func unknownTo(ctx context.Context, m *migrate.Migrator) (names []string, err error) {
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

// Used tells whether there is a business, whose data would be lost with the tables.
func (db *DB) Used(ctx context.Context) (used bool, err error) {
	err = db.bun.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM businesses)`).Scan(&used)
	if isCode(err, "42P01") { // there is no such table
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

// migrate runs migrations on connections of their own, which let statements take
// as long as they take, and under the lock that replicas share; names are those applied,
// also where a later one failed.
func (db *DB) migrate(ctx context.Context, run func(*migrate.Migrator) (*migrate.MigrationGroup, error)) ([]string, error) {
	own, err := db.forMigrations()
	if err != nil {
		return nil, err
	}
	defer own.Close()
	conn, err := own.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := db.awaitMigrations(ctx, conn); err != nil {
		return nil, fmt.Errorf("waiting for the migration lock: %w", err)
	}
	migrator, err := migrator(own)
	if err != nil {
		return nil, err
	}
	if err := migrator.Init(ctx); err != nil {
		return nil, fmt.Errorf("preparing migrations: %w", err)
	}
	defer db.wall.Store(wallUnknown)
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

// forMigrations opens two connections: one holds the lock.
func (db *DB) forMigrations() (*bun.DB, error) {
	config := db.config
	config.migrates = true
	connector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(2)
	return bun.NewDB(pool, pgdialect.New()), nil
}

// awaitMigrations takes the lock, however long another replica migrates. It ends
// with the connection.
func (db *DB) awaitMigrations(ctx context.Context, conn bun.Conn) error {
	for n := 0; ; n++ {
		var taken bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(?)", migrationLock).Scan(&taken)
		if err != nil || taken {
			return err
		}
		if n%100 == 10 {
			db.log.Info("another replica migrates the database; waiting until it has done")
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits, until the context ends at most.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Migrations lists every migration and whether it is applied.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	migrator, err := migrator(db.bun)
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
