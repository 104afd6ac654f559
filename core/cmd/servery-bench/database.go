package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// secretKey seals the secrets of the databases that are measured.
const secretKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// database is the private PostgreSQL of one run, with the settings that the
// hub's own private one has: durable.
type database struct {
	server *devpg.Server
	admin  *postgres.DB
}

// scratchDirectory makes the run's directory. The server may run as another
// user, who must be able to pass through it.
func scratchDirectory(parent string) (string, error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(parent, "servery-bench-*")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// startDatabase starts PostgreSQL in the directory.
func startDatabase(ctx context.Context, dir string, log *slog.Logger) (*database, error) {
	server, err := devpg.Start(ctx, devpg.Config{DataDir: dir, Install: true, Testing: true, Log: log})
	if err != nil {
		return nil, err
	}
	d := &database{server: server}
	d.admin, err = postgres.Open(ctx, postgres.Config{URL: server.AdminDSN(), Application: "servery-bench", Connections: 2, Log: log})
	if err != nil {
		d.close(log)
		return nil, err
	}
	return d, nil
}

// fresh makes an empty database and returns its address.
func (d *database) fresh(ctx context.Context, name string) (string, error) {
	if err := d.admin.CreateDatabase(ctx, name, d.server.User(), "template1"); err != nil {
		return "", fmt.Errorf("making the database %s: %w", name, err)
	}
	return d.address(name)
}

func (d *database) address(name string) (string, error) {
	address, err := url.Parse(d.server.DSN())
	if err != nil {
		return "", err
	}
	address.Host = name
	return address.String(), nil
}

// drop removes a database that has been measured, so that its upkeep does not
// disturb what comes next.
func (d *database) drop(name string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := d.admin.DropDatabase(ctx, name); err != nil {
		log.Warn("a measured database could not be dropped", "database", name, "error", err)
	}
}

// close stops the server.
func (d *database) close(log *slog.Logger) {
	if d.admin != nil {
		_ = d.admin.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := d.server.Close(ctx); err != nil {
		log.Warn("the private PostgreSQL did not stop cleanly", "error", err)
	}
}

// openSchema opens a database with the present schema, as the hub would.
func openSchema(ctx context.Context, address string, log *slog.Logger) (*postgres.DB, error) {
	db, err := postgres.Open(ctx, postgres.Config{URL: address, Application: "servery-bench", Log: log})
	if err != nil {
		return nil, err
	}
	sealer, err := postgres.NewSealer(secretKey)
	if err == nil {
		db.UseSealer(sealer)
		_, err = db.MigrateUp(ctx)
	}
	if err == nil {
		err = db.CheckSeal(ctx)
	}
	if err == nil {
		err = db.Maintain(ctx, 30*24*time.Hour)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
