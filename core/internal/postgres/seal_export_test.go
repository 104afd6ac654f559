package postgres

import (
	"context"
	"testing"
)

// SealUnnamed makes, for tests, the database one whose sealed values do not name
// their key.
func (db *DB) SealUnnamed(t testing.TB) {
	t.Helper()
	if _, err := db.bun.ExecContext(context.Background(), `UPDATE seal_check SET sealed = ?`,
		db.seal.keys[0].sealAs([]byte{sealUnnamed}, sealPlace, []byte(sealWord))); err != nil {
		t.Fatal(err)
	}
}

// Audited counts, for tests, the entries of the audit trail of an action.
func (db *DB) Audited(t testing.TB, action string) (n int) {
	t.Helper()
	if err := db.bun.QueryRowContext(context.Background(), `SELECT count(*) FROM audit WHERE action = ?`, action).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
