package storetest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

func TestMigrationsCanBeRevertedAndReapplied(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	down, err := schema.MigrateDown(ctx, db)
	require.NoError(t, err)
	require.NotEmpty(t, down)
	list, err := schema.Migrations(ctx, db)
	require.NoError(t, err)
	for _, m := range list {
		require.False(t, m.Applied, m.Name)
	}
	up, err := schema.MigrateUp(ctx, db)
	require.NoError(t, err)
	require.Len(t, up, len(list))
	again, err := schema.MigrateUp(ctx, db)
	require.NoError(t, err)
	require.Empty(t, again)
	require.NoError(t, schema.Maintain(ctx, db, 48*time.Hour))
	hubtest.Business(t, db)
}

func TestReadingMigrationsChangesNothing(t *testing.T) {
	db := hubtest.Database(t, nil)
	require.NoError(t, schema.Check(t.Context(), db))
	down, err := schema.MigrateDown(t.Context(), db)
	require.NoError(t, err)
	pgtest.Exec(t, db, `DROP TABLE bun_migrations, bun_migration_locks`)

	list, err := schema.Migrations(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, list, len(down))
	condition, err := schema.Examine(t.Context(), db)
	require.NoError(t, err)
	require.Len(t, condition.Missing, len(down))
	require.ErrorContains(t, schema.Check(t.Context(), db), "the database lacks")
	var tables int
	pgtest.Row(t, db, &tables, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`)
	require.Zero(t, tables)
}

func TestUnknownNewerMigrationsStopTheRevert(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	pgtest.Exec(t, db, `INSERT INTO bun_migrations (name, group_id, migrated_at) VALUES ('29990101000001', 77, now())`)
	down, err := schema.MigrateDown(ctx, db)
	require.ErrorContains(t, err, "unknown migrations (1, the first 29990101000001)")
	require.Empty(t, down)
	condition, err := schema.Examine(ctx, db)
	require.NoError(t, err)
	require.Equal(t, []string{"29990101000001"}, condition.Unknown)
	require.Empty(t, condition.Missing, "nothing was reverted")
}

func TestDatabaseOfAnEarlierBuildIsRejected(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	pgtest.Exec(t, db, `UPDATE bun_migrations SET name = '20261121' || lpad(name, 6, '0')`)
	names, err := schema.MigrateUp(ctx, db)
	require.ErrorIs(t, err, schema.ErrEarlierBuild)
	require.Empty(t, names)
	condition, err := schema.Examine(ctx, db)
	require.NoError(t, err)
	require.True(t, condition.EarlierBuild)
}

func TestDatabaseOfANewerBuildIsAccepted(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	pgtest.Exec(t, db, `INSERT INTO bun_migrations (name, group_id) VALUES ('9999', 2)`)
	names, err := schema.MigrateUp(ctx, db)
	require.NoError(t, err)
	require.Empty(t, names)
	condition, err := schema.Examine(ctx, db)
	require.NoError(t, err)
	require.False(t, condition.EarlierBuild)
}

func TestReplicasMigrateOneAtATime(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	_, err := schema.MigrateDown(ctx, hubtest.Connect(t, url, nil))
	require.NoError(t, err)
	failures := make(chan error, 4)
	for range cap(failures) {
		db := hubtest.Connect(t, url, nil)
		go func() {
			_, err := schema.MigrateUp(ctx, db)
			failures <- err
		}()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
}

func TestAReplicaWaitsUntilAnotherHasMigrated(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	release := pgtest.HoldMigrations(t, hubtest.Connect(t, url, nil))
	log := &logRecorder{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrated := make(chan error, 1)
	migrate := func() { _, err := schema.MigrateUp(ctx, db); migrated <- err }
	go migrate()
	eventually(t, "the wait is logged",
		func() bool { return strings.Contains(log.String(), "another replica migrates") })
	cancel()
	require.ErrorIs(t, <-migrated, context.Canceled, "a stopped hub does not wait")
	ctx = context.Background()
	go migrate()
	release()
	require.NoError(t, <-migrated)
}

// logRecorder collects log output.
type logRecorder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *logRecorder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *logRecorder) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestMigrationsHaveOnlyALockTimeout(t *testing.T) {
	db := hubtest.Database(t, nil)
	require.Equal(t, "0", pgtest.MigrationSetting(t, db, "statement_timeout"))
	require.Equal(t, "10s", pgtest.MigrationSetting(t, db, "lock_timeout"))
	var timeout string
	pgtest.Row(t, db, &timeout, `SELECT current_setting('statement_timeout')`)
	require.Equal(t, "1min", timeout)
}

func TestTransactionOfAHungProcessEnds(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Config{URL: hubtest.DatabaseURL(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.Equal(t, "0", pgtest.MigrationSetting(t, db, "idle_in_transaction_session_timeout"))
	var limit, state string
	tx, err := db.Bun().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT current_setting('idle_in_transaction_session_timeout')`).
		Scan(&limit))
	require.Equal(t, "5s", limit)
	var pid int
	require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	_, err = tx.ExecContext(t.Context(), `SET LOCAL idle_in_transaction_session_timeout = 50`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		pgtest.Row(t, db, &state, `SELECT count(*)::text FROM pg_stat_activity WHERE pid = ?`, pid)
		return state == "0"
	}, 10*time.Second, 5*time.Millisecond)
	_, err = tx.ExecContext(t.Context(), `SELECT 1`)
	require.Error(t, err)
}

func TestPartitionsAreCreatedAheadAndDroppedByAge(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	event := publish(t, db, tenant.ID, "", `{}`)
	require.NotEmpty(t, pgtest.EventBodyByID(t, db, event.ID))
	const retention = 3 * 24 * time.Hour
	for range 3 {
		clock.Advance(24 * time.Hour)
		require.NoError(t, schema.Maintain(ctx, db, retention))
	}
	require.NotEmpty(t, pgtest.EventBodyByID(t, db, event.ID), "kept until its retention ends")
	require.Zero(t, pgtest.DefaultPartitionRows(t, db), "every row is in the partition of its day")
	clock.Advance(24 * time.Hour)
	require.NoError(t, schema.Maintain(ctx, db, retention))
	require.Empty(t, pgtest.EventBodyByID(t, db, event.ID))

	batch, err := deliveries.New(db).Claim(ctx, core.ID{1},
		claimUpTo(10, 1<<20), clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, batch.Items, "a delivery without its event is dropped")
	requireQueueEmpty(t, db)
}

func TestWrongSecretKeyIsRejected(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	require.NoError(t, db.CheckSeal(ctx))
	require.NoError(t, db.CheckSeal(ctx))
	other, err := seal.New("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")
	require.NoError(t, err)
	db.UseSealer(other)
	require.ErrorContains(t, db.CheckSeal(ctx), "SERVERY_SECRET_KEY")
}
