package postgres

import (
	"context"
	"fmt"

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

// MigrateUp applies every migration that is missing and returns their names.
func (db *DB) MigrateUp(ctx context.Context) ([]string, error) {
	return db.migrate(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Migrate(ctx) })
}

// MigrateDown takes the last applied group of migrations back.
func (db *DB) MigrateDown(ctx context.Context) ([]string, error) {
	return db.migrate(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Rollback(ctx) })
}

func (db *DB) migrator() (*migrate.Migrator, error) {
	all := migrate.NewMigrations()
	if err := all.Discover(migrations.Files); err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	return migrate.NewMigrator(db.bun, all, migrate.WithMarkAppliedOnSuccess(true)), nil
}

func (db *DB) migrate(ctx context.Context, run func(*migrate.Migrator) (*migrate.MigrationGroup, error)) ([]string, error) {
	conn, err := db.bun.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(?)", migrationLock); err != nil {
		return nil, fmt.Errorf("waiting for the migration lock: %w", err)
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(?)", migrationLock)
	}()
	migrator, err := db.migrator()
	if err != nil {
		return nil, err
	}
	if err := migrator.Init(ctx); err != nil {
		return nil, fmt.Errorf("preparing migrations: %w", err)
	}
	defer db.wall.Store(wallUnknown)
	group, err := run(migrator)
	if err != nil {
		return nil, fmt.Errorf("migrating: %w", err)
	}
	names := []string{}
	for _, m := range group.Migrations {
		names = append(names, m.Name+"_"+m.Comment)
	}
	return names, nil
}

// Migrations lists every migration and whether it is applied.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	migrator, err := db.migrator()
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
