// Package hubtest helps tests and the bench: fresh databases on a real PostgreSQL, businesses, keys, endpoints, and
// processes of the hub.
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

// retention of events in test databases.
const retention = 30 * 24 * time.Hour

// cluster is the PostgreSQL that all test processes share. The first process starts it, unless the test runner has done
// so.
type cluster struct {
	server         *devpg.Server
	admin          *postgres.DB // creates and drops databases
	address        url.URL      // of the hub's role
	day            time.Time    // of the templates
	sharedDatabase string       // a database for tests that each use their own businesses; "" before the first

	templatesMu sync.Mutex
	templates   map[template]string // names of the databases
}

// sharedCluster is nil before the first test that needs a database. Each process joins it once, and the last one to
// leave stops it.
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
	sharedCluster = &cluster{server: server, templates: map[template]string{}}
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
	sharedCluster.day = clocktest.New().Now().Truncate(24 * time.Hour)
	return sharedCluster, nil
})

// template is a database with the current schema that others are copied from.
type template struct {
	kind string // of its name
	days int    // the days from today that have partitions
}

// Each partition costs each database files, and each connection time. So only databases of whole hubs, which would
// create the partitions of the week when they start, have them.
var (
	dayTemplate  = template{"day", 1}
	weekTemplate = template{"week", 7}
)

// Main runs the tests of a package, then calls the functions in ends and leaves the shared PostgreSQL.
func Main(m *testing.M, ends ...func()) {
	limitParallel()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300) // as in hub.Serve
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

// DatabaseURL creates a database with the current schema for this test alone. Only today has partitions. It makes the
// test parallel, so the test must not call t.Parallel.
func DatabaseURL(t testing.TB) string { t.Helper(); return databaseURL(t, dayTemplate) }

// HubDatabaseURL is DatabaseURL for the process of a hub. The database has the partitions that a hub creates when it
// starts.
func HubDatabaseURL(t testing.TB) string { t.Helper(); return databaseURL(t, weekTemplate) }

func databaseURL(t testing.TB, from template) string {
	t.Helper()
	runParallel(t)
	shared, err := joinCluster()
	require.NoError(t, err)
	name := shared.makeDatabase(t, from)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, schema.DropDatabase(ctx, shared.admin, name))
	})
	return shared.urlOf(name)
}

var createMu sync.Mutex

// SharedDatabaseURL returns a database with the current schema that all tests of the process share. Each test must
// create its own businesses. It makes the test parallel.
func SharedDatabaseURL(t testing.TB) string {
	t.Helper()
	runParallel(t)
	shared, err := joinCluster()
	require.NoError(t, err)
	createMu.Lock()
	defer createMu.Unlock()
	if shared.sharedDatabase == "" {
		shared.sharedDatabase = shared.makeDatabase(t, weekTemplate)
	}
	return shared.urlOf(shared.sharedDatabase)
}

func (c *cluster) makeDatabase(t testing.TB, from template) (name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	source, err := c.ensure(ctx, from)
	require.NoError(t, err)
	name = "t_" + strings.ReplaceAll(core.NewID(time.Now()).String(), "-", "")
	require.NoError(t, schema.CreateDatabase(ctx, c.admin, name, c.server.User(), source))
	return name
}

func (c *cluster) urlOf(name string) string {
	address := c.address
	address.Host = name
	return address.String()
}

// AdminURL returns the URL of a test database for a superuser.
func AdminURL(t testing.TB, address string) string {
	t.Helper()
	database, err := url.Parse(address)
	require.NoError(t, err)
	admin, err := url.Parse(sharedCluster.server.AdminDSN())
	require.NoError(t, err)
	database.User = admin.User
	return database.String()
}

// SchemaHash returns a hash of the migrations.
func SchemaHash() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := migrations.Files.ReadFile(path)
		fmt.Fprintf(hash, "%s %d ", path, len(content))
		hash.Write(content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:8]), err
}

// ensure returns the name of the template's database. The first process creates it.
func (c *cluster) ensure(ctx context.Context, of template) (string, error) {
	c.templatesMu.Lock()
	defer c.templatesMu.Unlock()
	if name := c.templates[of]; name != "" {
		return name, nil
	}
	hash, err := SchemaHash()
	if err != nil {
		return "", err
	}
	clock := clocktest.New()
	named := func(day time.Time) string { return of.kind + "_" + day.Format("20060102") }
	name := named(c.day) + "_" + hash
	err = schema.WithTemplate(ctx, c.admin,
		schema.Template{Name: name, Owner: c.server.User(), Outdated: named(c.day.AddDate(0, 0, -1))},
		func(building string) error {
			address := c.address
			address.Host = building
			db, err := postgres.Open(ctx,
				postgres.Config{URL: address.String(), Application: "servery-test", Connections: 2, Clock: clock,
					Log: Logger()})
			if err != nil {
				return err
			}
			defer db.Close()
			if _, err = schema.MigrateUp(ctx, db); err != nil {
				return err
			}
			return schema.MaintainDays(ctx, db, retention, of.days)
		})
	if err == nil {
		c.templates[of] = name
	}
	return name, err
}

// Open opens a database and creates the partitions that it lacks. A nil clock means the clock of the database.
func Open(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	db := Connect(t, url, clock)
	if day := db.Clock().Now().UTC().Truncate(24 * time.Hour); sharedCluster == nil || day != sharedCluster.day {
		require.NoError(t, schema.Maintain(context.Background(), db, retention))
	}
	return db
}

// Connect opens a database without changing it. Its transactions outlast a pause of a busy machine.
func Connect(t testing.TB, url string, clock core.Clock) *postgres.DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Application: "servery-test", Clock: clock, Log: Logger(),
		IdleTimeout: time.Minute})
	require.NoError(t, err)
	sealer, err := seal.New(SecretKey)
	require.NoError(t, err)
	db.UseSealer(sealer)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// Database creates a fresh database and opens it with the given clock.
func Database(t testing.TB, clock core.Clock) *postgres.DB {
	t.Helper()
	return Open(t, DatabaseURL(t), clock)
}

// Logger returns a logger that prints errors only.
func Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}
