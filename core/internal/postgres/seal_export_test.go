package postgres

import (
	"context"
	"testing"
)

// SealUnnamed gives the database version 1 values, which do not name their key.
func (db *DB) SealUnnamed(t testing.TB) {
	t.Helper()
	if _, err := db.bun.ExecContext(context.Background(), `UPDATE seal_check SET sealed = ?`,
		db.sealer.Keys[0].sealAs([]byte{SealUnnamed}, SealPlace, []byte(SealWord))); err != nil {
		t.Fatal(err)
	}
}
