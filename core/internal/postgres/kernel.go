package postgres

import (
	"context"
	"log/slog"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// Bun returns the pool of connections.
func (db *DB) Bun() *bun.DB { return db.bun }

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
// it. Use it for lookups by key only.
func (db *DB) Prepare(ctx context.Context, conn bun.Conn, q *Query, args Args) (string, error) {
	return db.statements.Prepare(ctx, conn, q, args)
}
