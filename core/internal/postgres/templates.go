package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

// CreateDatabase makes a database as a copy of another, of its files: through
// the log, the many small tables of the schema cost twice as much.
func (db *DB) CreateDatabase(ctx context.Context, name, owner, template string) error {
	_, err := db.bun.ExecContext(ctx, "CREATE DATABASE ? OWNER ? TEMPLATE ? STRATEGY FILE_COPY", bun.Ident(name), bun.Ident(owner), bun.Ident(template))
	return err
}

// DropDatabase removes a database, cutting off whoever still uses it.
func (db *DB) DropDatabase(ctx context.Context, name string) error {
	_, err := db.bun.ExecContext(ctx, "DROP DATABASE IF EXISTS ? WITH (FORCE)", bun.Ident(name))
	return err
}

// WithTemplate makes sure that the named database exists, complete: whoever
// comes first builds it under another name while the others wait, and drops
// those of the same kind whose names come before outdated.
func (db *DB) WithTemplate(ctx context.Context, name, owner, outdated string, build func(name string) error) error {
	conn, err := db.bun.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtext(?))", name); err != nil {
		return err
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtext(?))", name)
	}()
	var exists bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = ?)", name).Scan(&exists); err != nil || exists {
		return err
	}
	building := name + "_new"
	var drop []string
	kind, _, _ := strings.Cut(outdated, "_")
	if err := conn.NewRaw("SELECT datname FROM pg_database WHERE starts_with(datname, ?) AND datname COLLATE \"C\" < ?", kind+"_", outdated).Scan(ctx, &drop); err != nil {
		return err
	}
	for _, name := range append(drop, building) {
		if err := db.DropDatabase(ctx, name); err != nil {
			return err
		}
	}
	if err := db.CreateDatabase(ctx, building, owner, "template1"); err != nil {
		return err
	}
	if err := build(building); err != nil {
		return fmt.Errorf("building %s: %w", building, err)
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE ? RENAME TO ?", bun.Ident(building), bun.Ident(name))
	return err
}
