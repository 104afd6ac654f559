package main

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"
)

// testDatabase reads the database of the hubs.
type testDatabase struct{ db *sql.DB }

func openTestDatabase(t *testing.T, url string) testDatabase {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(url)))
	db.SetMaxOpenConns(2)
	t.Cleanup(func() { _ = db.Close() })
	return testDatabase{db}
}

func (l testDatabase) number(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, l.db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// exec changes the database until the test ends.
func (l testDatabase) exec(t *testing.T, statement, undo string) {
	t.Helper()
	_, err := l.db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	t.Cleanup(func() {
		if undo != "" {
			_, err := l.db.ExecContext(context.Background(), undo)
			require.NoError(t, err)
		}
	})
}

type jobRow struct {
	business         int64
	state, requestID string
}

// jobs returns every job by its reference.
func (l testDatabase) jobs(t *testing.T) map[string]jobRow {
	t.Helper()
	rows, err := l.db.QueryContext(t.Context(), `SELECT id::text, business_id, state, request_id FROM jobs`)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]jobRow{}
	for rows.Next() {
		var reference string
		var job jobRow
		require.NoError(t, rows.Scan(&reference, &job.business, &job.state, &job.requestID))
		all[reference] = job
	}
	require.NoError(t, rows.Err())
	return all
}
