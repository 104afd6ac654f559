package postgres

import (
	"context"
	"testing"
)

// SealAsV1 gives the database version 1 values, which do not name their key.
func (db *DB) SealAsV1(t testing.TB) {
	t.Helper()
	if _, err := db.bun.ExecContext(context.Background(), `UPDATE seal_check SET sealed = ?`,
		db.sealer.Keys[0].SealV1(SealCheckAssociatedData, []byte(SealCheckText))); err != nil {
		t.Fatal(err)
	}
}
