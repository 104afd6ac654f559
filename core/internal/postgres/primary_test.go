package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// TestNoConnectionIsKeptThatTakesNoChanges follows a hub with one connection through
// what a database goes through that is made read-only and writable again.
func TestNoConnectionIsKeptThatTakesNoChanges(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	beside := hubtest.Open(t, address, nil)
	business := hubtest.Business(t, beside).ID
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address, Connections: 1})
	require.NoError(t, err)
	defer db.Close()
	change := func() error {
		work := core.Job{ID: core.NewID(db.Clock().Now()), Business: business, Kind: core.StoreJob, Body: []byte("{}"), CreatedAt: db.Clock().Now()}
		return postgres.Jobs{DB: db}.Enqueue(t.Context(), work, "")
	}
	const freeze = `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`
	require.NoError(t, change())

	db.Exec(t, freeze) // as in a session that was there before the server was made read-only
	err = change()
	require.ErrorContains(t, err, "25006")
	require.True(t, core.IsCutOff(err), "the request may be sent again")
	require.NoError(t, change(), "the next connection takes changes")

	db.Exec(t, freeze)
	require.NoError(t, db.Ping(t.Context()), "one that takes changes was found")
	require.NoError(t, change())

	var name string
	db.Row(t, &name, `SELECT current_database()`)
	db.Exec(t, `ALTER DATABASE ? SET default_transaction_read_only = on`, bun.Ident(name))
	db.Exec(t, freeze)
	for range 2 { // the first finds the connection that was there, the second makes one
		err = db.Ping(t.Context())
		require.ErrorContains(t, err, "default_transaction_read_only is on")
		require.True(t, core.IsCutOff(err))
	}
	require.ErrorContains(t, change(), "default_transaction_read_only is on")
	beside.Exec(t, `ALTER DATABASE ? RESET default_transaction_read_only`, bun.Ident(name))
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, change())
}

func TestACutOffEndsAStatementForWhichTheServerHasNoAnswer(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	beside := hubtest.Open(t, address, nil)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: address})
	require.NoError(t, err)
	defer db.Close()
	exec, commit := beside.Other(t)
	exec(`LOCK TABLE businesses`)
	ended := make(chan error, 1)
	go func() {
		_, err := db.Business(t.Context(), 1)
		ended <- err
	}()
	eventually(t, "it waits", func() bool { return beside.SomebodyWaits(t) })
	db.CutOff()
	require.True(t, core.IsCutOff(<-ended))
	commit()
	require.Error(t, db.Ping(t.Context()))
}
