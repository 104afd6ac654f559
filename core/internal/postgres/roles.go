package postgres

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// Tenant runs single statements as a role that sees the rows of one business only. A statement
// without its business condition still finds no rows of other businesses.
//
// Role and business are set in the message and the transaction of the statement. This costs no extra round trip, and
// the connection keeps neither. Without the role in the database, statements run as the hub's own role.
type Tenant struct {
	*bun.DB
	db       *DB
	business core.BusinessID
}

// Tenant returns the database restricted to one business.
func (db *DB) Tenant(business core.BusinessID) Tenant { return Tenant{db.bun, db, business} }

// QueryContext runs a query that returns rows.
func (o Tenant) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return o.DB.QueryContext(ctx, o.withTenant(ctx, query, args))
}

// QueryRowContext runs a query that returns one row.
func (o Tenant) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return o.DB.QueryRowContext(ctx, o.withTenant(ctx, query, args))
}

// ExecContext executes a statement.
func (o Tenant) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return o.DB.ExecContext(ctx, o.withTenant(ctx, query, args))
}

// NewRaw returns a query whose rows are scanned into structs.
func (o Tenant) NewRaw(query string, args ...any) *bun.RawQuery {
	return o.DB.NewRaw(query, args...).Conn(o)
}

// withTenant returns the statement, with row-level security if the database has it.
func (o Tenant) withTenant(ctx context.Context, query string, args []any) string {
	query = Formatter.FormatQuery(query, args...)
	if !o.db.hasRLS(ctx) {
		return query
	}
	return "SET LOCAL ROLE servery_tenant; SET LOCAL servery.business = '" + strconv.FormatInt(int64(o.business), 10) +
		"'; " + query
}

// hasRLS reports whether the tenant role exists and the hub may take it. If it cannot know, the statement takes the
// role or fails.
func (db *DB) hasRLS(ctx context.Context) bool {
	if known := db.rls.Load(); known != nil {
		return *known
	}
	enabled, err := db.RLSEnabled(ctx)
	if err != nil {
		return true
	}
	db.rls.Store(&enabled)
	return enabled
}

// RLSEnabled checks whether row-level security is set up: the tenant role exists, the hub may
// take it, and the policies exist.
func (db *DB) RLSEnabled(ctx context.Context) (enabled bool, err error) {
	err = db.bun.QueryRowContext(ctx, `SET LOCAL ROLE servery_tenant;
		SELECT EXISTS (SELECT FROM pg_policy WHERE polrelid = to_regclass('stores') AND polname = 'tenant_isolation')`).
		Scan(&enabled)
	if IsCode(err, "22023") || IsCode(err, "42501") { // no such role, or permission denied
		return false, nil
	}
	return enabled, err
}

// RecheckRLS makes the next statement check again whether row-level security is set up.
func (db *DB) RecheckRLS() { db.rls.Store(nil) }
