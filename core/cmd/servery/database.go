package main

import (
	"context"
	"log/slog"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// databaseFlags select the database. Every command that needs it has them.
type databaseFlags struct {
	DatabaseURL string `name:"database-url" env:"SERVERY_DATABASE_URL" help:"PostgreSQL to use: postgres://USER:PASSWORD@HOST:5432/DATABASE. Without it a private one runs in the data directory."`
	DataDir     string `name:"data-dir" env:"SERVERY_DATA_DIR" default:".servery" help:"Directory of the private PostgreSQL, the secret key and the demo's credentials."`
	SecretKey   string `name:"secret-key" env:"SERVERY_SECRET_KEY" help:"32 bytes in hexadecimal or base64 that seal the secrets in the database. Without it, that of the data directory, where the beginning of a hub makes one."`

	Connections int `name:"database-connections" env:"SERVERY_DATABASE_CONNECTIONS" help:"Connections to the database at most; 8 for each processor, at least 16."`

	SecretKeyPrevious []string `name:"secret-key-previous" env:"SERVERY_SECRET_KEY_PREVIOUS" help:"Keys that secrets in the database may still be sealed with, while the key is being changed."`

	begins bool // the command may create a hub
}

// open opens the database, ready to seal and open secrets.
func (f databaseFlags) open(ctx context.Context, log *slog.Logger) (*hub.Database, error) {
	return hub.OpenDatabase(ctx, f.config(), log)
}

// config converts the flags.
func (f databaseFlags) config() hub.DatabaseConfig {
	return hub.DatabaseConfig{URL: f.DatabaseURL, DataDir: f.DataDir, SecretKey: f.SecretKey,
		PreviousKeys: f.SecretKeyPrevious, Connections: f.Connections, Create: f.begins}
}

// with opens the database for one command and closes it again.
func (f databaseFlags) with(ctx context.Context, out output, do func(*postgres.DB) error) error {
	log := slog.New(slog.NewTextHandler(out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := f.open(ctx, log)
	if err != nil {
		return err
	}
	defer db.CloseAll(log)
	return db.Remedy(do(db.DB))
}

// withSchema opens the database for a command that needs the schema and the sealer.
func (f databaseFlags) withSchema(ctx context.Context, out output, do func(access.Access, *postgres.DB) error) error {
	return f.with(ctx, out, func(db *postgres.DB) error {
		if _, err := schema.MigrateUp(ctx, db); err != nil {
			return err
		}
		if err := db.CheckSeal(ctx); err != nil {
			return err
		}
		return do(access.Access{Records: accessdb.New(db), Clock: db.Clock()}, db)
	})
}
