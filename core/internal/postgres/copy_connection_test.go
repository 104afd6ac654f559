package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
)

// TestACopyOnADeadConnectionFails checks that COPY does not hang if the server ends the
// session in the middle of a transaction.
func TestACopyOnADeadConnectionFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db := openDatabase(t, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- db.InTx(ctx, func(tx bun.Conn) error {
			var pid int
			if err := tx.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
				return err
			}
			if _, err := db.bun.ExecContext(ctx, "SELECT pg_terminate_backend(?, 5000)", pid); err != nil {
				return err
			}
			var rows CopyWriter
			rows.Text(strings.Repeat("x", 1<<20))
			rows.End()
			return rows.CopyInto(ctx, tx, "nowhere", "a")
		})
	}()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-ctx.Done():
		t.Fatal("the transaction hangs")
	}
	require.NoError(t, db.Ping(ctx))
	require.NoError(t, db.InTx(ctx, func(tx bun.Conn) error {
		_, err := tx.ExecContext(ctx, "SELECT 1")
		return err
	}))
}
