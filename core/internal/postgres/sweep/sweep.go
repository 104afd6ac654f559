// Package sweep checks rows from where the last check ended, in one replica at a time.
package sweep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// Run runs check from the cursor of the named sweep, and stores the cursor that check returns. It does nothing while
// another replica sweeps.
func Run(ctx context.Context, db *postgres.DB, name string,
	check func(tx bun.Conn, from time.Time) (to time.Time, err error)) error {
	return db.InTx(ctx, func(tx bun.Conn) error {
		var from time.Time
		err := tx.QueryRowContext(ctx, `SELECT checked_until FROM sweep_cursors WHERE name = ? FOR UPDATE SKIP LOCKED`,
			name).Scan(&from)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the sweep cursor of %s: %w", name, err)
		}
		to, err := check(tx, from)
		if err != nil || to.Equal(from) {
			return err
		}
		return postgres.Exec(ctx, tx, "storing the sweep cursor of "+name,
			`UPDATE sweep_cursors SET checked_until = ? WHERE name = ?`, to, name)
	})
}
