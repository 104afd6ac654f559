package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// CreateDatabase creates a database as a file copy of another. Copying the many small tables
// through the WAL would take twice as long.
func CreateDatabase(ctx context.Context, db *postgres.DB, name, owner, template string) error {
	_, err := db.Bun().ExecContext(ctx, "CREATE DATABASE ? OWNER ? TEMPLATE ? STRATEGY FILE_COPY", bun.Ident(name),
		bun.Ident(owner), bun.Ident(template))
	return err
}

// DropDatabase drops a database and terminates its connections.
func DropDatabase(ctx context.Context, db *postgres.DB, name string) error {
	_, err := db.Bun().ExecContext(ctx, "DROP DATABASE IF EXISTS ? WITH (FORCE)", bun.Ident(name))
	return err
}

// Template is a database that others are copied from.
type Template struct{ Name, Owner, Outdated string }

// WithTemplate makes sure that the named database exists. The first caller builds it under
// another name while others wait. It also drops databases of the same kind whose names sort
// before outdated.
func WithTemplate(ctx context.Context, db *postgres.DB, of Template, build func(name string) error) error {
	name, outdated := of.Name, of.Outdated
	conn, err := db.Bun().Conn(ctx)
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
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = ?)",
		name).Scan(&exists); err != nil || exists {
		return err
	}
	building := name + "_new"
	var drop []string
	kind, _, _ := strings.Cut(outdated, "_")
	if err := conn.NewRaw("SELECT datname FROM pg_database WHERE starts_with(datname, ?) AND datname COLLATE \"C\" < ?",
		kind+"_", outdated).Scan(ctx, &drop); err != nil {
		return err
	}
	for _, name := range append(drop, building) {
		if err := DropDatabase(ctx, db, name); err != nil {
			return err
		}
	}
	if err := CreateDatabase(ctx, db, building, of.Owner, "template1"); err != nil {
		return err
	}
	if err := build(building); err != nil {
		return fmt.Errorf("building %s: %w", building, err)
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE ? RENAME TO ?", bun.Ident(building), bun.Ident(name))
	return err
}
