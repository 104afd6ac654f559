// Package postgres is the kernel of the packages with SQL. It connects, runs transactions,
// synchronizes the clock and copies rows. It applies row-level security, seals secrets (seal) and
// compresses bodies (compress). Other subpackages batch concurrent calls (batch) and cache values (cache).
//
// Each of the others holds the SQL of one capability. The file core/README.md lists them: a package imports only those
// before it.
//
// Each exported method of these packages is one transaction. No transaction is open during a call outside the database.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/compress"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// Config configures the connection. Zero values take the defaults.
type Config struct {
	URL         string // postgres://user:password@host:port/database?sslmode=… or unix://user@database/path/of/socket
	Application string // shown in pg_stat_activity
	Connections int    // maximum; default 8 per processor, at least 16
	Clock       core.Clock
	Log         *slog.Logger
	IdleTimeout time.Duration // how long a transaction may wait for its next statement; default 5 s

	forMigrations bool // the connection runs migrations
	keyed         bool // the connection runs lookups by key
}

// DB is the hub's database.
type DB struct {
	config     Config
	bun        *bun.DB
	keyed      *bun.DB // for lookups by key, see keyedParams
	probe      *bun.DB // one connection, for Ping
	sealer     *seal.Sealer
	compressor *compress.Compressor
	log        *slog.Logger
	clock      core.Clock
	time       databaseClock
	rls        atomic.Pointer[bool] // whether row-level security is present; nil if unknown

	statements statementCache
	states     states
}

// Open connects and sets the clock from the database's. It waits for a server that is starting or
// still read-only, and measures the clock again after a slow round trip, until the context ends.
func Open(ctx context.Context, config Config) (*DB, error) {
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	connector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	compressor, err := compress.New()
	if err != nil {
		return nil, err
	}
	config.keyed = true
	keyedConnector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	config.keyed = false
	// GOMAXPROCS respects a container's CPU limit.
	size := cmp.Or(config.Connections, max(16, 8*runtime.GOMAXPROCS(0)))
	keyed, others := size/2, size-size/2
	if size < minShared { // a tool, which needs few of either kind
		keyed, others = size, size
	}
	db := &DB{config: config, bun: newPool(connector, others), keyed: newPool(keyedConnector, keyed),
		probe: newPool(connector, 1), compressor: compressor, log: config.Log, clock: config.Clock}
	if db.clock == nil {
		db.clock = core.NewSystemClock(db.ClockOffset)
	}
	if err := db.waitUntilReady(ctx); err != nil {
		db.CloseConnections()
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	return db, nil
}

// minShared is the minimum of connections that the two pools share.
const minShared = 8

func newPool(connector driver.Connector, size int) *bun.DB {
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return bun.NewDB(pool, pgdialect.New())
}

func (db *DB) waitUntilReady(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var why error
	for n := 0; ; n++ {
		err := db.Ping(ctx)
		if err == nil && db.config.Clock == nil {
			var off time.Duration
			off, err = db.measureClock(ctx)
			db.time.offset.Add(int64(off))
		}
		var pgErr pgdriver.Error
		// 57P03 is cannot_connect_now: the server is starting.
		if err == nil || errors.Is(err, ErrEncoding) || errors.As(err, &pgErr) && pgErr.Field('C') != "57P03" {
			return err
		}
		var timeout net.Error
		// An error of our own deadline says nothing about the cause.
		if why == nil || ctx.Err() == nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
			why = err
		}
		if n == 10 {
			db.log.Warn("waiting for the database", "error", err)
		}
		select {
		case <-ctx.Done():
			return why
		case <-tick.C:
		}
	}
}

// Ping checks within two seconds that the database accepts writes. It discards pooled
// connections to servers that do not. While all of them are in use, it has its own.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		pool := db.bun
		if stats := pool.DB.Stats(); stats.InUse >= stats.MaxOpenConnections {
			pool = db.probe
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(raw any) error { return checkWritable(ctx, raw.(driver.QueryerContext), writableSQL, nil) })
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// UseSealer sets the sealer for secrets. Call it before anything is stored.
func (db *DB) UseSealer(s *seal.Sealer) { db.sealer = s }

// Close closes the states and all connections.
func (db *DB) Close() error {
	db.states.close()
	defer db.probe.Close() // which returns an error, because bun has closed the connector of both
	return errors.Join(db.keyed.Close(), db.bun.Close())
}

// CloseConnections closes all connections at once. Running and later statements fail.
func (db *DB) CloseConnections() { _ = errors.Join(db.keyed.Close(), db.bun.Close(), db.probe.Close()) }

// PoolStats returns the state of the connections, for metrics.
func (db *DB) PoolStats() sql.DBStats {
	stats, keyed := db.bun.DB.Stats(), db.keyed.DB.Stats()
	stats.MaxOpenConnections += keyed.MaxOpenConnections
	stats.OpenConnections += keyed.OpenConnections
	stats.InUse += keyed.InUse
	stats.Idle += keyed.Idle
	stats.WaitCount += keyed.WaitCount
	stats.WaitDuration += keyed.WaitDuration
	return stats
}

// InTx runs fn in a transaction on its own connection. It uses BEGIN and COMMIT statements, because a sql.Tx locks its
// connection. A COPY on a dead connection would then wait forever for that lock.
func (db *DB) InTx(ctx context.Context, fn func(tx bun.Conn) error) error {
	return inTx(ctx, db.bun, fn)
}

// InKeyedTx is InTx for transactions that find each row by its key. They may use Prepare.
func (db *DB) InKeyedTx(ctx context.Context, fn func(tx bun.Conn) error) error {
	return inTx(ctx, db.keyed, fn)
}

func inTx(ctx context.Context, pool *bun.DB, fn func(tx bun.Conn) error) error {
	conn, err := begin(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := false
	defer func() {
		if !ended { // also after a panic
			rollback(conn)
		}
	}()
	if err := fn(conn); err != nil {
		if IsCode(err, "25006") { // the server became read-only: the next connection may reach another
			Discard(conn)
		}
		return err
	}
	ended = true
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		Discard(conn)
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

func begin(ctx context.Context, pool *bun.DB) (bun.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return conn, err
	}
	if _, err = conn.ExecContext(ctx, "BEGIN"); err != nil {
		Discard(conn)
		_ = conn.Close()
	}
	return conn, err
}

func rollback(conn bun.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		Discard(conn)
	}
}

// Discard keeps a connection whose state is unknown out of the pool.
func Discard(conn bun.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// NotFound converts the driver's "no rows" into a NotFound error.
func NotFound(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.Errorf(core.NotFound, format, args...)
	}
	return err
}

// IsCode reports whether the server returned an SQLSTATE.
func IsCode(err error, sqlstate string) bool {
	var pgErr pgdriver.Error
	return errors.As(err, &pgErr) && pgErr.Field('C') == sqlstate
}

// IsDataError reports whether the values themselves caused an error: SQLSTATE classes 22 (data exception) and 23
// (integrity constraint violation).
func IsDataError(err error) bool {
	var pgErr pgdriver.Error
	return errors.As(err, &pgErr) &&
		(strings.HasPrefix(pgErr.Field('C'), "22") || strings.HasPrefix(pgErr.Field('C'), "23"))
}
