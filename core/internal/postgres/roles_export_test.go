package postgres

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// Of returns the database restricted to one business.
func (db *DB) Of(business core.BusinessID) bun.IConn { return db.Tenant(business) }

// OfProbedBy is Of, but row-level security is looked for in another database.
func (db *DB) OfProbedBy(other *DB, business core.BusinessID) bun.IConn {
	return Tenant{db.bun, other, business}
}

// Tenants returns the tables that have a business, and whether each has a policy.
func (db *DB) Tenants(t testing.TB) map[string]bool {
	t.Helper()
	var rows []struct {
		Name string
		RLS  bool
	}
	if err :=
		db.bun.NewRaw(`SELECT c.relname AS name, c.relrowsecurity
			AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'tenant_isolation') AS rls
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT c.relispartition
		AND (c.relname = 'businesses' OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
			AND a.attname = 'business_id'))`).
			Scan(context.Background(), &rows); err != nil {
		t.Fatal(err)
	}
	tables := map[string]bool{}
	for _, row := range rows {
		tables[row.Name] = row.RLS
	}
	return tables
}

// Try runs a statement that the database may reject.
func (db *DB) Try(query string, args ...any) error {
	_, err := db.bun.ExecContext(context.Background(), query, args...)
	return err
}
