// Package postgres is the only room that knows SQL. Each exported method is one
// transaction; none is open while anything outside the database is called.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/webhook"
)

// Config says how to reach the database. Zero values take the defaults.
type Config struct {
	URL         string // postgres://user:password@host:port/database?sslmode=… or unix://user@database/path/of/socket
	Application string // shown in pg_stat_activity
	Connections int    // at most: 8 for each processor, at least 16
	Clock       core.Clock
	Log         *slog.Logger

	migrates bool // the connection is that of migrations
}

// DB is the hub's database.
type DB struct {
	config  Config
	bun     *bun.DB
	seal    *Sealer
	packer  *packer
	log     *slog.Logger
	clock   core.Clock
	time    databaseClock
	starter Starter // of this replica's first attempts; nil where it makes none
	told    atomic.Int64
	unheard unheard
	wall    atomic.Int32               // between businesses: wallUnknown, wallThere or wallMissing
	keys    rounds[[]byte, access.Key] // looks up API keys

	menuTurns turns
	prepared  preparations
	throttled rounds[throttleChange, struct{}] // counts requests
	refused   rounds[order.Refused, struct{}]  // keeps orders that were not taken
	toldCalls atomic.Int64
	wakeRelay func() // nil where this replica makes no calls

	debounce         publish.Debounce
	toldPublications atomic.Int64
}

// Starter begins the first attempts of deliveries in the replica that commits
// them (webhook.Engine).
type Starter interface {
	Owner() core.ID
	LeaseUntil() time.Time
	Reserve(endpoint int64) bool
	Forget(endpoint int64)
	Start(d webhook.Delivery)
	Recall(webhook, version int64)
	Wake()
}

// Open connects, waiting until the context ends for a server that is still
// starting or does not take changes yet, and sets the clock by the database's.
func Open(ctx context.Context, config Config) (*DB, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	connector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	size := config.Connections
	if size == 0 {
		size = max(16, 8*runtime.GOMAXPROCS(0)) // which knows what share of the machine a container has
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db := &DB{config: config, bun: bun.NewDB(pool, pgdialect.New()), packer: packer, log: config.Log, clock: config.Clock}
	db.keys = rounds[[]byte, access.Key]{ask: db.lookUpKeys, beside: keysBeside, crowd: keysCrowd, size: keysSize, waiting: keysWaiting}
	db.throttled = rounds[throttleChange, struct{}]{ask: db.changeThrottles, beside: keysBeside, crowd: keysCrowd, size: keysSize, waiting: keysWaiting}
	db.refused = rounds[order.Refused, struct{}]{ask: db.keepRefused, beside: refusedBeside, size: refusedSize, waiting: refusedWaiting}
	if err := db.await(ctx); err != nil {
		_ = pool.Close()
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	if db.clock == nil {
		db.clock = core.NewSystemClock(func() time.Duration { return time.Duration(db.time.offset.Load()) })
		off, err := db.measureClock(ctx)
		if err != nil {
			_ = pool.Close()
			return nil, err
		}
		db.time.offset.Add(int64(off))
	}
	return db, nil
}

func (db *DB) await(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var why error
	for n := 0; ; n++ {
		err := db.Ping(ctx)
		var answer pgdriver.Error
		if err == nil || errors.Is(err, errEncoding) || errors.As(err, &answer) && answer.Field('C') != "57P03" { // cannot connect now: starting up
			return err
		}
		var timeout net.Error
		if why == nil || !errors.As(err, &timeout) || !timeout.Timeout() { // one that our own deadline cuts short tells nothing
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

// Ping asks the database whether it takes changes, waiting at most two seconds.
// Connections of the pool to a server that does not are given up.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		conn, err := db.bun.Conn(ctx)
		if err != nil {
			return err
		}
		err = conn.Raw(func(driven any) error { return takesChanges(ctx, driven.(driver.QueryerContext)) })
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			return err
		}
	}
}

// UseSealer sets the sealer of secrets; it must be done before anything is stored.
func (db *DB) UseSealer(s *Sealer) { db.seal = s }

// UseStarter hands first attempts to this replica's delivery engine.
func (db *DB) UseStarter(s Starter) { db.starter = s }

// Close ends all connections.
func (db *DB) Close() error {
	db.keys.close()
	db.throttled.close()
	db.refused.close()
	return db.bun.Close()
}

// CutOff ends all connections at once, and with them the statements under way: they
// fail, as whatever is asked from then on.
func (db *DB) CutOff() { _ = db.bun.Close() }

// PoolStats is the state of the connection pool, for metrics.
func (db *DB) PoolStats() sql.DBStats { return db.bun.DB.Stats() }

// inTx runs fn in a transaction on a connection of its own. The transaction is
// begun and ended by statements: a sql.Tx locks its connection for as long as it
// lasts, and a COPY that finds the connection dead would wait for that for ever.
func (db *DB) inTx(ctx context.Context, fn func(tx bun.Conn) error) error {
	conn, err := db.begin(ctx)
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
		if isCode(err, "25006") { // the server takes no changes any more: the next connection may lead to another
			discard(conn)
		}
		return err
	}
	ended = true
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		discard(conn)
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

// begin takes a connection that answers: those of the pool may have died with
// the server, and each of them tells so once.
func (db *DB) begin(ctx context.Context) (bun.Conn, error) {
	for {
		conn, err := db.bun.Conn(ctx)
		if err != nil {
			return conn, err
		}
		if _, err = conn.ExecContext(ctx, "BEGIN"); err == nil {
			return conn, nil
		}
		discard(conn)
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) {
			return conn, err
		}
	}
}

func rollback(conn bun.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
	}
}

// discard keeps a connection of which nobody knows the state out of the pool.
func discard(conn bun.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// notFound turns the driver's "no rows" into a NotFound error.
func notFound(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.Errorf(core.NotFound, format, args...)
	}
	return err
}

func isCode(err error, sqlstate string) bool {
	var answer pgdriver.Error
	return errors.As(err, &answer) && answer.Field('C') == sqlstate
}
