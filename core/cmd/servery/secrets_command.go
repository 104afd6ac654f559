package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// secretsCommand manages the key that encrypts the secrets in the database.
type secretsCommand struct {
	Rotate secretsRotate `cmd:"" help:"Re-encrypt all secrets with SERVERY_SECRET_KEY."`
}

type secretsRotate struct {
	databaseFlags
	DryRun bool `help:"Only count the secrets by key."`
	JSON   bool `help:"Print JSON."`
}

// Check requires an explicit key, because the one in the local data directory need not be that of the hubs.
func (c secretsRotate) Check() error {
	err := c.databaseFlags.Check()
	if c.DatabaseURL != "" && c.SecretKey == "" {
		err = errors.Join(err, errors.New("SERVERY_SECRET_KEY: is required, as the new key of all hubs"))
	}
	return err
}

// Run encrypts every secret with the current key, or counts them.
func (c secretsRotate) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		if c.DryRun {
			sealed, err := schema.CountSealed(ctx, db.DB)
			if err != nil {
				return err
			}
			return out.show(c.JSON, sealed, "%s", sealedText(sealed, schema.SealKey(db.DB)))
		}
		done, err := schema.RotateSeal(ctx, db.DB, "cli")
		if err != nil {
			return err
		}
		err = out.show(c.JSON, done, "%d values are now encrypted with key %s\n", done.Resealed, done.Key)
		if len(done.Unreadable) > 0 {
			return fmt.Errorf("%d values are unreadable, the first %s: add their key to "+
				"SERVERY_SECRET_KEY_PREVIOUS, then rerun", len(done.Unreadable), done.Unreadable[0])
		}
		return err
	})
}

func sealedText(sealed []schema.SealedBy, present string) string {
	var b strings.Builder
	for _, column := range sealed {
		for _, key := range slices.Sorted(maps.Keys(column.Keys)) {
			note := "to be re-encrypted"
			if key == present {
				note = "SERVERY_SECRET_KEY"
			}
			fmt.Fprintf(&b, "%-28s key %s (%s): %d\n", column.Column, key, note, column.Keys[key])
		}
		for _, key := range slices.Sorted(maps.Keys(column.Unnamed)) {
			fmt.Fprintf(&b, "%-28s key %s, not named in the value (to be re-encrypted): %d\n", column.Column, key,
				column.Unnamed[key])
		}
		if column.Unreadable > 0 {
			fmt.Fprintf(&b, "%-28s unknown key: %d\n", column.Column, column.Unreadable)
		}
	}
	return b.String()
}
