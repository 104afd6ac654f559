package postgres

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// Bun returns the pool of connections.
func (db *DB) Bun() *bun.DB { return db.bun }

// Keyed returns the pool of connections for lookups by key, see InKeyedTx.
func (db *DB) Keyed() *bun.DB { return db.keyed }

// Log returns the logger.
func (db *DB) Log() *slog.Logger { return db.log }

// Sealer returns the sealer for secrets.
func (db *DB) Sealer() *seal.Sealer { return db.sealer }

// Compress compresses a body for storage.
func (db *DB) Compress(body []byte) []byte { return db.compressor.Compress(body) }

// Decompress decompresses a stored body.
func (db *DB) Decompress(stored []byte) ([]byte, error) { return db.compressor.Decompress(stored) }

// Prepare prepares a frequent query on a connection, because planning it each time would cost
// more than its execution (PostgreSQL manual, PREPARE). It returns the statement that executes
// it. Use it for lookups by key only, on connections of InKeyedTx.
func (db *DB) Prepare(ctx context.Context, conn bun.Conn, q *Query, args Args) (string, error) {
	return db.statements.Prepare(ctx, conn, q, args)
}

// Statement is a prepared query with its arguments.
type Statement struct {
	Query  *Query
	Args   Args
	Before string // statements without results that run in the same message, each followed by a semicolon
}

// QueryKeyed runs a prepared query of lookups by key in its own transaction, in one round trip. The changes of
// the query are durable when it returns.
func (db *DB) QueryKeyed(ctx context.Context, q Statement, scan func(rows *sql.Rows) error) error {
	conn, err := db.keyed.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = db.QueryPrepared(ctx, conn, q, scan)
	if IsCode(err, "25006") { // the server became read-only: the next connection may reach another
		Discard(conn)
	}
	return err
}

// QueryRows runs a query of QueryKeyed and returns its rows.
func QueryRows[R any](ctx context.Context, db *DB, q Statement) (list []R, err error) {
	return list, db.QueryKeyed(ctx, q, func(rows *sql.Rows) error {
		var row R
		err := db.bun.ScanRow(ctx, rows, &row)
		list = append(list, row)
		return err
	})
}

// QueryPrepared runs a prepared query on a connection of InKeyedTx.
func (db *DB) QueryPrepared(ctx context.Context, conn bun.Conn, q Statement, scan func(rows *sql.Rows) error) error {
	query, err := db.Prepare(ctx, conn, q.Query, q.Args)
	if err != nil {
		return err
	}
	return scanRows(ctx, conn, bun.SafeQuery(q.Before+query), scan)
}

// QueryPlanned runs a query of QueryPrepared on another connection, which plans it each time.
func QueryPlanned(ctx context.Context, conn bun.Conn, q Statement, scan func(rows *sql.Rows) error) error {
	return scanRows(ctx, conn, bun.SafeQuery(q.Before+q.Query.With(q.Args)), scan)
}

func scanRows(ctx context.Context, in bun.IDB, query schema.QueryWithArgs, scan func(rows *sql.Rows) error) error {
	// Without arguments the text is complete. Only nil keeps bun from reading it again, with each \? of its values.
	rows, err := in.QueryContext(ctx, query.Query, append([]any(nil), query.Args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
