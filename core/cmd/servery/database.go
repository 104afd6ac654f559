package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// databaseFlags say where the data is; every command that needs it has them.
type databaseFlags struct {
	DatabaseURL string `name:"database-url" env:"SERVERY_DATABASE_URL" help:"PostgreSQL to use: postgres://USER:PASSWORD@HOST:5432/DATABASE. Without it a private one runs in the data directory."`
	DataDir     string `name:"data-dir" env:"SERVERY_DATA_DIR" default:".servery" help:"Directory of the private PostgreSQL, the secret key and the demo's credentials."`
	SecretKey   string `name:"secret-key" env:"SERVERY_SECRET_KEY" help:"32 bytes in hexadecimal or base64 that seal the secrets in the database. Without it, that of the data directory, where the beginning of a hub makes one."`

	Connections int `name:"database-connections" env:"SERVERY_DATABASE_CONNECTIONS" help:"Connections to the database at most; 8 for each processor, at least 16."`

	SecretKeyPrevious []string `name:"secret-key-previous" env:"SERVERY_SECRET_KEY_PREVIOUS" help:"Keys that secrets in the database may still be sealed with, while the key is being changed."`

	begins bool // a command that begins a hub where there is none
}

// database is an open database and, where it is the private one, our hold on it.
type database struct {
	*postgres.DB
	private *devpg.Server
}

// open opens the database, ready to seal and open secrets.
func (f databaseFlags) open(ctx context.Context, log *slog.Logger) (*database, error) {
	if f.DatabaseURL == "" && !f.begins && !devpg.Exists(f.DataDir) {
		return nil, fmt.Errorf("there is no hub in %s: set SERVERY_DATA_DIR or SERVERY_DATABASE_URL as the hub has them (servery serve begins a new one)", f.DataDir)
	}
	key, err := f.secretKey(log)
	if err != nil {
		return nil, err
	}
	sealer, err := postgres.NewSealer(key, f.SecretKeyPrevious...)
	if err != nil {
		return nil, fmt.Errorf("SERVERY_SECRET_KEY: %w", err)
	}
	d := &database{}
	url := f.DatabaseURL
	if url == "" {
		if d.private, err = devpg.Start(ctx, devpg.Config{DataDir: f.DataDir, Install: true, Log: log}); err != nil {
			return nil, err
		}
		url = d.private.DSN()
	}
	connecting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if d.DB, err = postgres.Open(connecting, postgres.Config{URL: url, Application: "servery", Connections: f.Connections, Log: log}); err != nil {
		d.close(log)
		return nil, err
	}
	d.UseSealer(sealer)
	return d, nil
}

// secretDirs are the directories that hold the hub's secrets on this machine.
func (d *database) secretDirs(data string) (dirs []string) {
	if dir, err := filepath.Abs(data); err == nil {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if d.private != nil {
		dirs = append(dirs, d.private.Cluster(), filepath.Dir(d.private.Socket()))
	}
	return dirs
}

// close lets go of the database; the last to let go of a private one stops it.
func (d *database) close(log *slog.Logger) {
	if d.DB != nil {
		_ = d.DB.Close()
	}
	if d.private == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := d.private.Close(ctx); err != nil {
		log.Warn("the private PostgreSQL did not stop cleanly", "error", err)
	}
}

// secretKey is the configured key, or the one of the data directory, which is
// made where a hub begins, and by no other command: what it sealed with a key of its
// own, no hub could open.
func (f databaseFlags) secretKey(log *slog.Logger) (string, error) {
	if f.SecretKey != "" {
		return f.SecretKey, nil
	}
	file := filepath.Join(f.DataDir, "secret.key")
	key, err := os.ReadFile(file)
	if err == nil {
		return string(key), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the secret key: %w", err)
	}
	if !f.begins {
		return "", fmt.Errorf("SERVERY_SECRET_KEY is not set, and there is no %s: set it as the hubs have it", file)
	}
	if err := os.MkdirAll(f.DataDir, 0o755); err != nil {
		return "", fmt.Errorf("making the data directory: %w", err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	if err := writeNew(file, []byte(hex.EncodeToString(random)+"\n")); err != nil {
		return "", fmt.Errorf("keeping the secret key: %w", err)
	}
	if f.DatabaseURL != "" {
		log.Warn("a secret key was made, without which the secrets in the database cannot be read: keep it, and give it to every hub as SERVERY_SECRET_KEY", "file", file)
	}
	key, err = os.ReadFile(file) // ours, or that of a command which was quicker
	return string(key), err
}

// writeNew writes a file that only its owner can read, whole or not at all,
// and leaves one that is already there.
func writeNew(file string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if _, err := temporary.Write(content); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
