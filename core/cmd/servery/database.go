package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hub"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// databaseFlags select the database. Every command that needs it has them.
type databaseFlags struct {
	DatabaseURL         string   `env:"*" group:"Database:" placeholder:"URL" help:"PostgreSQL, private if empty."`
	DatabaseConnections int      `env:"*" group:"Database:" help:"Maximum connections, 8 a processor by default."`
	DataDir             string   `env:"*" group:"Database:" default:".servery" help:"Private PostgreSQL and keys."`
	SecretKey           string   `env:"*" group:"Database:" help:"Key of stored secrets, 32 bytes in hex or base64."`
	SecretKeyPrevious   []string `env:"*" group:"Database:" help:"Earlier keys, during a rotation."`

	mayCreate   bool // the command may create a hub
	usesSecrets bool // the command seals or opens secrets
}

// businessFlags select a business of the database.
type businessFlags struct {
	databaseFlags
	Business core.BusinessID `required:"" help:"Id of the business."`
}

// Check returns all mistakes in the flags.
func (f databaseFlags) Check() error {
	err := f.config().Validate()
	for _, v := range []struct{ name, value, instead string }{
		{"SERVERY_DATABASE_URL", f.DatabaseURL, "unset it for the private PostgreSQL"},
		{"SERVERY_SECRET_KEY", f.SecretKey,
			"create one with `openssl rand -hex 32`, or unset it for the one of the data directory"},
	} {
		if _, set := os.LookupEnv(v.name); set && v.value == "" {
			err = errors.Join(err, fmt.Errorf("%s: must not be empty: %s", v.name, v.instead))
		}
	}
	return err
}

// config converts the flags.
func (f databaseFlags) config() hub.DatabaseConfig {
	return hub.DatabaseConfig{URL: f.DatabaseURL, DataDir: f.DataDir, SecretKey: f.SecretKey,
		PreviousKeys: f.SecretKeyPrevious, Connections: f.DatabaseConnections, Create: f.mayCreate}
}

// withDatabase opens the database for one command and closes it again.
func (f databaseFlags) withDatabase(ctx context.Context, out output, do func(*hub.Database) error) error {
	log := slog.New(slog.NewTextHandler(out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	config := f.config()
	config.NoSecrets = !f.usesSecrets
	db, err := hub.OpenDatabase(ctx, config, log)
	if err != nil {
		return err
	}
	defer db.CloseAll(log)
	return db.Remedy(do(db))
}

// withHub does what withDatabase does, for a command that needs the schema and the sealer. Only a command that may
// create a hub migrates the schema.
func (f databaseFlags) withHub(ctx context.Context, out output, do func(*hub.Database) error) error {
	f.usesSecrets = true
	return f.withDatabase(ctx, out, func(db *hub.Database) error {
		if f.mayCreate {
			if _, err := schema.MigrateUp(ctx, db.DB); err != nil {
				return err
			}
		}
		if err := schema.Check(ctx, db.DB); err != nil {
			return err
		}
		if err := db.CheckSeal(ctx); err != nil {
			return err
		}
		return do(db)
	})
}

// withBusiness does what withHub does, for a business that must exist.
func (f businessFlags) withBusiness(ctx context.Context, out output, do func(*hub.Database) error) error {
	return f.withHub(ctx, out, func(db *hub.Database) error {
		if _, err := accessdb.New(db.DB).Business(ctx, f.Business); err != nil {
			return err
		}
		return do(db)
	})
}
