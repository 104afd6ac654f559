package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// migrateCommand changes the schema manually. The serve command does it automatically.
type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply every missing migration."`
	Down   migrateDown   `cmd:"" help:"Roll back the last group of migrations, with their data."`
	Status migrateStatus `cmd:"" help:"List the migrations."`
}

type migrateUp struct{ databaseFlags }

// Run applies the missing migrations.
func (c migrateUp) Run(ctx context.Context, out output) error {
	c.mayCreate = true
	return c.withDatabase(ctx, out, func(db *hub.Database) error {
		names, err := schema.MigrateUp(ctx, db.DB)
		return report(out, "applied", names, err)
	})
}

type migrateDown struct {
	databaseFlags
	Yes bool `help:"Confirm the loss of the data of businesses."`
}

// Run rolls back the last group of migrations.
func (c migrateDown) Run(ctx context.Context, out output) error {
	return c.withDatabase(ctx, out, func(db *hub.Database) error {
		if used, err := schema.HasBusinesses(ctx, db.DB); err != nil || used && !c.Yes {
			return cmp.Or(err, errors.New("the data of businesses would be lost: add --yes to confirm "+
				"(an earlier program works on this schema)"))
		}
		names, err := schema.MigrateDown(ctx, db.DB)
		return report(out, "rolled back", names, err)
	})
}

func report(out output, what string, names []string, err error) error {
	for _, name := range names {
		fmt.Fprintln(out.stdout, what, name)
	}
	if err == nil && len(names) == 0 {
		fmt.Fprintln(out.stdout, "nothing to do")
	}
	return err
}

type migrateStatus struct {
	databaseFlags
	JSON bool `help:"Print JSON."`
}

// Run lists the migrations.
func (c migrateStatus) Run(ctx context.Context, out output) error {
	return c.withDatabase(ctx, out, func(db *hub.Database) error {
		list, err := schema.Migrations(ctx, db.DB)
		if err != nil {
			return err
		}
		text := ""
		for _, m := range list {
			text += map[bool]string{true: "applied ", false: "missing "}[m.Applied] + m.Name + "\n"
		}
		return out.show(c.JSON, list, "%s", text)
	})
}
