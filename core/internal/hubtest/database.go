// Package hubtest gives tests what only they need: a fresh database on a real
// PostgreSQL, a clock that stands still until it is moved, businesses and
// endpoints.
package hubtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/migrations"
)

// SecretKey seals the secrets of test databases.
const SecretKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// server is the PostgreSQL that all test processes of this machine share; each
// process joins it once, and the last to leave stops it.
var server = sync.OnceValues(func() (*devpg.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("servery-test-%d", os.Geteuid()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return devpg.Start(ctx, devpg.Config{DataDir: dir, Install: true, Log: Logger(), Settings: map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", // tests that crash the database start one of their own
	}})
})

// Main runs the tests of a package and leaves the shared PostgreSQL.
func Main(m *testing.M) {
	status := m.Run()
	if joined, err := server(); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		_ = joined.Close(ctx)
		cancel()
	}
	os.Exit(status)
}

// DatabaseURL makes a database with the present schema, for this test alone.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	pg, err := server()
	require.NoError(t, err)
	admin, err := url.Parse(pg.DSN())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	root, err := postgres.Open(ctx, postgres.Config{URL: admin.String(), Application: "servery-test", Connections: 2, Log: Logger()})
	require.NoError(t, err)
	name := "t_" + strings.ReplaceAll(core.NewID(time.Now()).String(), "-", "")
	require.NoError(t, root.CreateDatabase(ctx, name, template(ctx, t, root, *admin)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, root.DropDatabase(ctx, name))
		require.NoError(t, root.Close())
	})
	own := *admin
	own.Host = name
	return own.String()
}

// template names a database with the present schema, made by whoever comes first.
func template(ctx context.Context, t testing.TB, root *postgres.DB, address url.URL) string {
	t.Helper()
	hash := sha256.New()
	require.NoError(t, fs.WalkDir(migrations.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := migrations.Files.ReadFile(path)
		fmt.Fprintf(hash, "%s %d ", path, len(content))
		hash.Write(content)
		return err
	}))
	name := "template_" + hex.EncodeToString(hash.Sum(nil)[:8])
	require.NoError(t, root.WithTemplate(ctx, name, func(building string) error {
		address.Host = building
		db, err := postgres.Open(ctx, postgres.Config{URL: address.String(), Application: "servery-test", Connections: 2, Log: Logger()})
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.MigrateUp(ctx)
		return err
	}))
	return name
}

// Open opens a database with the given clock, ready for use; nil is the
// database's own clock.
func Open(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	db := Connect(t, url, clock)
	require.NoError(t, db.Maintain(context.Background(), 30*24*time.Hour))
	return db
}

// Connect opens a database as it is.
func Connect(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Application: "servery-test", Clock: clock, Log: Logger()})
	require.NoError(t, err)
	sealer, err := postgres.NewSealer(SecretKey)
	require.NoError(t, err)
	db.UseSealer(sealer)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// Database is a fresh database, opened with the given clock.
func Database(t testing.TB, clock core.Clock) *postgres.DB {
	t.Helper()
	return Open(t, DatabaseURL(t), clock)
}

// Logger prints what goes wrong and nothing else.
func Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}
