package postgres

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// ofBusiness asks the database as a role that sees the rows of one business
// alone: should a statement forget its business, it finds no other one's. Role and
// business go with the statement, in one message and one transaction, so that it costs
// no further round trip and nothing of it stays with the connection. It takes
// single statements; where the database does not have the role, it asks as the hub.
type ofBusiness struct {
	*bun.DB
	db       *DB
	business core.BusinessID
}

// of is the database as a business may see it.
func (db *DB) of(business core.BusinessID) ofBusiness { return ofBusiness{db.bun, db, business} }

// QueryContext asks for rows.
func (o ofBusiness) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return o.DB.QueryContext(ctx, o.behind(ctx, query, args))
}

// QueryRowContext asks for a row.
func (o ofBusiness) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return o.DB.QueryRowContext(ctx, o.behind(ctx, query, args))
}

// ExecContext executes a statement.
func (o ofBusiness) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return o.DB.ExecContext(ctx, o.behind(ctx, query, args))
}

// NewRaw is a query whose rows are scanned into structures.
func (o ofBusiness) NewRaw(query string, args ...any) *bun.RawQuery {
	return o.DB.NewRaw(query, args...).Conn(o)
}

// behind is the statement behind the wall.
func (o ofBusiness) behind(ctx context.Context, query string, args []any) string {
	query = formatter.FormatQuery(query, args...)
	if !o.db.walled(ctx) {
		return query
	}
	return "SET LOCAL ROLE servery_tenant; SET LOCAL servery.business = '" + strconv.FormatInt(int64(o.business), 10) + "'; " + query
}

// Whether the database has the wall, as far as that is known.
const (
	wallUnknown = iota
	wallThere
	wallMissing
)

// walled tells whether there is the role, and the hub may take it.
func (db *DB) walled(ctx context.Context) bool {
	known := db.wall.Load()
	if known == wallUnknown {
		there, err := db.Walled(ctx)
		if err != nil {
			return false // the statement itself will tell
		}
		known = wallMissing
		if there {
			known = wallThere
		}
		db.wall.Store(known)
	}
	return known == wallThere
}

// Walled tries whether the database has the second wall between businesses: the
// role that sees one alone, which the hub may take, and the policies by which it does.
func (db *DB) Walled(ctx context.Context) (there bool, err error) {
	err = db.bun.QueryRowContext(ctx, `SET LOCAL ROLE servery_tenant;
		SELECT EXISTS (SELECT FROM pg_policy WHERE polrelid = to_regclass('stores') AND polname = 'own_business')`).Scan(&there)
	if isCode(err, "22023") || isCode(err, "42501") { // there is no such role; it may not be taken
		return false, nil
	}
	return there, err
}
