// Package hubtest gives tests and the bench what only they need: a fresh database on
// a real PostgreSQL, businesses and endpoints.
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
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
	"github.com/servery-hub/servery/migrations"
)

// SecretKey seals the secrets of test databases.
const SecretKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// retention is how long test databases keep what has been.
const retention = 30 * 24 * time.Hour

// cluster is the PostgreSQL that all test processes share. Where the runner of
// the tests started one, they join that; else the first of them starts it.
type cluster struct {
	server         *devpg.Server
	admin          *postgres.DB // makes and drops databases
	address        url.URL      // of the hub's role
	template       string       // a database with the present schema
	sharedDatabase string       // a database that tests of different businesses share, "" before the first
}

// sharedCluster is what this process uses of it, nil before the first test that needs
// a database: each process joins it once, and the last to leave stops it.
var sharedCluster *cluster

var joinCluster = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	config := devpg.ForTests(os.TempDir())
	config.Log = Logger()
	server, err := devpg.Start(ctx, config)
	if err != nil {
		return nil, err
	}
	sharedCluster = &cluster{server: server}
	address, err := url.Parse(server.DSN())
	if err != nil {
		return nil, err
	}
	sharedCluster.address = *address
	if sharedCluster.admin, err = postgres.Open(ctx,
		postgres.Config{URL: server.AdminDSN(), Application: "servery-test", Connections: 4,
			Log: Logger()}); err != nil {
		return nil, err
	}
	sharedCluster.template, err = sharedCluster.makeTemplate(ctx)
	return sharedCluster, err
})

// Main runs the tests of a package and leaves the shared PostgreSQL, after it has
// ended what the tests shared besides.
func Main(m *testing.M, ends ...func()) {
	limitParallel()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300) // as serve does
	}
	status := m.Run()
	for _, end := range ends {
		end()
	}
	if sharedCluster != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if sharedCluster.admin != nil {
			if sharedCluster.sharedDatabase != "" {
				_ = schema.DropDatabase(ctx, sharedCluster.admin, sharedCluster.sharedDatabase)
			}
			_ = sharedCluster.admin.Close()
		}
		_ = sharedCluster.server.Close(ctx)
		cancel()
	}
	os.Exit(status)
}

// DatabaseURL makes a database with the present schema, for this test alone. From
// then on the test runs beside others: it must not say t.Parallel itself.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	runParallel(t)
	shared, err := joinCluster()
	require.NoError(t, err)
	name := shared.makeDatabase(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, schema.DropDatabase(ctx, shared.admin, name))
	})
	return shared.urlOf(name)
}

var createMu sync.Mutex

// SharedDatabaseURL is a database with the present schema for all tests of the process
// that each have businesses of their own. They run beside others.
func SharedDatabaseURL(t testing.TB) string {
	t.Helper()
	runParallel(t)
	shared, err := joinCluster()
	require.NoError(t, err)
	createMu.Lock()
	defer createMu.Unlock()
	if shared.sharedDatabase == "" {
		shared.sharedDatabase = shared.makeDatabase(t)
	}
	return shared.urlOf(shared.sharedDatabase)
}

func (c *cluster) makeDatabase(t testing.TB) (name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name = "t_" + strings.ReplaceAll(core.NewID(time.Now()).String(), "-", "")
	require.NoError(t, schema.CreateDatabase(ctx, c.admin, name, c.server.User(), c.template))
	return name
}

func (c *cluster) urlOf(name string) string {
	own := c.address
	own.Host = name
	return own.String()
}

// AdminURL is the address of a test's database for a superuser.
func AdminURL(t testing.TB, address string) string {
	t.Helper()
	own, err := url.Parse(address)
	require.NoError(t, err)
	admin, err := url.Parse(sharedCluster.server.AdminDSN())
	require.NoError(t, err)
	own.User = admin.User
	return own.String()
}

// makeTemplate names a database with the present schema and the partitions of
// today and the coming days, made by whoever comes first.
func (c *cluster) makeTemplate(ctx context.Context) (string, error) {
	hash := sha256.New()
	if err := fs.WalkDir(migrations.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := migrations.Files.ReadFile(path)
		fmt.Fprintf(hash, "%s %d ", path, len(content))
		hash.Write(content)
		return err
	}); err != nil {
		return "", err
	}
	clock := clocktest.New()
	of := func(day time.Time) string { return "template_" + day.Format("20060102") }
	name := of(clock.Now()) + "_" + hex.EncodeToString(hash.Sum(nil)[:8])
	return name, schema.WithTemplate(ctx, c.admin, name, c.server.User(), of(clock.Now().AddDate(0, 0, -1)),
		func(building string) error {
			own := c.address
			own.Host = building
			db, err := postgres.Open(ctx,
				postgres.Config{URL: own.String(), Application: "servery-test", Connections: 2, Clock: clock,
					Log: Logger()})
			if err != nil {
				return err
			}
			defer db.Close()
			if _, err = schema.MigrateUp(ctx, db); err != nil {
				return err
			}
			return schema.Maintain(ctx, db, retention)
		})
}

// Open opens a database with the given clock, ready for use; nil is the
// database's own clock.
func Open(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	db := Connect(t, url, clock)
	require.NoError(t, schema.Maintain(context.Background(), db, retention))
	return db
}

// Connect opens a database as it is.
func Connect(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Application: "servery-test", Clock: clock, Log: Logger()})
	require.NoError(t, err)
	sealer, err := seal.New(SecretKey)
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
