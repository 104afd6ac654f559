package pgtest

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// AuditEntries returns the number of audit entries of an action.
func AuditEntries(t testing.TB, db *postgres.DB, action string) (n int) {
	t.Helper()
	if err := db.Bun().QueryRowContext(context.Background(), `SELECT count(*) FROM audit WHERE action = ?`,
		action).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
