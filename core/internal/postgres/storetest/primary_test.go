package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// TestReadOnlyConnectionsAreClosed runs a hub with one connection while the database becomes
// read-only and writable again.
func TestReadOnlyConnectionsAreClosed(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	beside := hubtest.Open(t, address, nil)
	business := hubtest.Business(t, beside).ID
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, Connections: 1})
	require.NoError(t, err)
	defer db.Close()
	change := func() error {
		work := core.Job{ID: core.NewID(db.Clock().Now()), Business: business, Kind: core.StoreJob, Body: []byte("{}"),
			CreatedAt: db.Clock().Now()}
		return jobs.New(db).Enqueue(t.Context(), work, "")
	}
	const freeze = `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`
	require.NoError(t, change())

	pgtest.Exec(t, db, freeze) // like a session opened before the server became read-only
	err = change()
	require.ErrorContains(t, err, "25006")
	require.True(t, core.IsDatabaseUnavailable(err), "the request may be sent again")
	require.NoError(t, change(), "the next connection is writable")

	pgtest.Exec(t, db, freeze)
	require.NoError(t, db.Ping(t.Context()), "a writable connection was found")
	require.NoError(t, change())

	var name string
	pgtest.Row(t, db, &name, `SELECT current_database()`)
	pgtest.Exec(t, db, `ALTER DATABASE ? SET default_transaction_read_only = on`, bun.Ident(name))
	pgtest.Exec(t, db, freeze)
	for range 2 { // the first finds the pooled connection, the second opens a new one
		err = db.Ping(t.Context())
		require.ErrorContains(t, err, "default_transaction_read_only is on")
		require.True(t, core.IsDatabaseUnavailable(err))
	}
	require.ErrorContains(t, change(), "default_transaction_read_only is on")
	pgtest.Exec(t, beside, `ALTER DATABASE ? RESET default_transaction_read_only`, bun.Ident(name))
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, change())
}

func TestCutOffEndsARunningStatement(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	beside := hubtest.Open(t, address, nil)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address})
	require.NoError(t, err)
	defer db.Close()
	exec, commit := pgtest.BeginOther(t, beside)
	exec(`LOCK TABLE businesses`)
	ended := make(chan error, 1)
	go func() {
		_, err := access.New(db).Business(t.Context(), 1)
		ended <- err
	}()
	eventually(t, "it waits", func() bool { return pgtest.HasWaiters(t, beside) })
	db.CloseConnections()
	require.True(t, core.IsDatabaseUnavailable(<-ended))
	commit()
	require.Error(t, db.Ping(t.Context()))
}

func TestPingSucceedsWhileAllConnectionsAreInUse(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Config{URL: hubtest.DatabaseURL(t), Connections: 1})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Bun().Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, db.Ping(t.Context()))
}

func TestServerEndsStatementOfClosedConnection(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	beside := hubtest.Open(t, address, nil)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, Application: "gone"})
	require.NoError(t, err)
	defer db.Close()
	running := func() (n int) {
		pgtest.Row(t, beside, &n, `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'gone' AND query LIKE 'SELECT pg_sleep%' AND datname = current_database()`)
		return n
	}
	started, ended := time.Now(), make(chan error, 1)
	go func() {
		_, err := db.Bun().ExecContext(t.Context(), `SELECT pg_sleep(59)`)
		ended <- err
	}()
	eventually(t, "the statement runs", func() bool { return running() == 1 })
	db.CloseConnections() // the client closes it and asks for nothing
	require.Error(t, <-ended)
	eventually(t, "the statement ended", func() bool { return running() == 0 })
	require.Less(t, time.Since(started), 50*time.Second)
}
