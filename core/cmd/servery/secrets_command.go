package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// secretsCommand manages the key that seals the secrets in the database.
type secretsCommand struct {
	Rotate secretsRotate `cmd:"" help:"Seal every secret in the database with SERVERY_SECRET_KEY, while hubs run. They need the old key as SERVERY_SECRET_KEY_PREVIOUS until it is done."`
}

type secretsRotate struct {
	databaseFlags
	DryRun bool `name:"dry-run" help:"Only count what is sealed with which key."`
	JSON   bool `help:"Print JSON."`
}

// Check requires an explicit key, because the one in the local data directory need not be that of the hubs.
func (c secretsRotate) Check() error {
	err := c.databaseFlags.Check()
	if c.DatabaseURL != "" && c.SecretKey == "" {
		err = errors.Join(err,
			errors.New("SERVERY_SECRET_KEY: is required, as the new key of all hubs"))
	}
	return err
}

// Run seals every secret with the current key, or counts them.
func (c secretsRotate) Run(ctx context.Context, out output) error {
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		if c.DryRun {
			sealed, err := schema.Sealed(ctx, db)
			if err != nil || c.JSON {
				return printJSON(out, sealed, err)
			}
			printSealed(out, sealed, schema.SealKey(db))
			return nil
		}
		done, err := schema.RotateSeal(ctx, db, "cli")
		if err != nil {
			return err
		}
		if c.JSON {
			err = printJSON(out, done, nil)
		} else {
			fmt.Fprintf(out.stdout, "%d values are now sealed with key %s\n", done.Resealed, done.Key)
		}
		if len(done.Unreadable) > 0 {
			return fmt.Errorf(
				"%d values are unreadable, the first %s: add their key to SERVERY_SECRET_KEY_PREVIOUS, then rerun",
				len(done.Unreadable), done.Unreadable[0])
		}
		return err
	})
}

func printSealed(out output, sealed []schema.SealedBy, present string) {
	for _, column := range sealed {
		for _, key := range slices.Sorted(maps.Keys(column.Keys)) {
			note := "to be sealed anew"
			if key == present {
				note = "SERVERY_SECRET_KEY"
			}
			fmt.Fprintf(out.stdout, "%-28s key %s (%s): %d\n", column.Column, key, note, column.Keys[key])
		}
		for _, key := range slices.Sorted(maps.Keys(column.Unnamed)) {
			fmt.Fprintf(out.stdout, "%-28s key %s, not named in the value (to be sealed anew): %d\n", column.Column,
				key, column.Unnamed[key])
		}
		if column.Unreadable > 0 {
			fmt.Fprintf(out.stdout, "%-28s none of the keys: %d\n", column.Column, column.Unreadable)
		}
	}
}
