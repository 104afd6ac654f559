package postgres

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/devpg"
)

// openDatabase opens a database without the hub's schema. Packages that create the schema import this one, so tests
// that need it are in storetest.
func openDatabase(t *testing.T, clock core.Clock) *DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := devpg.Start(ctx, devpg.ForTests(os.TempDir()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	db, err := Open(ctx, Config{URL: server.DSN(), Connections: 4, Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
