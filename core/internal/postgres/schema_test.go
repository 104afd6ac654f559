package postgres_test

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
	"github.com/servery-hub/servery/core/webhook"
)

func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	down, err := db.MigrateDown(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, down)
	list, err := db.Migrations(ctx)
	require.NoError(t, err)
	for _, m := range list {
		require.False(t, m.Applied, m.Name)
	}
	up, err := db.MigrateUp(ctx)
	require.NoError(t, err)
	require.Len(t, up, len(list))
	again, err := db.MigrateUp(ctx)
	require.NoError(t, err)
	require.Empty(t, again)
	require.NoError(t, db.Maintain(ctx, 48*time.Hour))
	hubtest.Business(t, db)
}

func TestMigrationsOfANewerProgramAreNotPassedOver(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	db.Exec(t, `INSERT INTO bun_migrations (name, group_id, migrated_at) VALUES ('29990101000001', 77, now())`)
	down, err := db.MigrateDown(ctx)
	require.ErrorContains(t, err, "this program does not know, the first is 29990101000001")
	require.Empty(t, down)
	condition, err := db.Examine(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"29990101000001"}, condition.Unknown)
	require.Empty(t, condition.Missing, "nothing was taken back")
}

func TestReplicasMigrateOneAtATime(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	_, err := hubtest.Connect(t, url, nil).MigrateDown(ctx)
	require.NoError(t, err)
	failures := make(chan error, 4)
	for range cap(failures) {
		db := hubtest.Connect(t, url, nil)
		go func() {
			_, err := db.MigrateUp(ctx)
			failures <- err
		}()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
}

func TestAReplicaWaitsUntilAnotherHasMigrated(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	release := hubtest.Connect(t, url, nil).HoldMigrations(t)
	told := &told{}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Log: slog.New(slog.NewTextHandler(told, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrated := make(chan error, 1)
	migrate := func() { _, err := db.MigrateUp(ctx); migrated <- err }
	go migrate()
	eventually(t, "the wait is told", func() bool { return strings.Contains(told.String(), "another replica migrates") })
	cancel()
	require.ErrorIs(t, <-migrated, context.Canceled, "a hub that is stopped waits no longer")
	ctx = context.Background()
	go migrate()
	release()
	require.NoError(t, <-migrated)
}

// told is what was logged.
type told struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestMigrationsTakeTheirTimeButWaitForNoLockForLong(t *testing.T) {
	db := hubtest.Database(t, nil)
	require.Equal(t, "0", db.MigrationSetting(t, "statement_timeout"))
	require.Equal(t, "10s", db.MigrationSetting(t, "lock_timeout"))
	var timeout string
	db.Row(t, &timeout, `SELECT current_setting('statement_timeout')`)
	require.Equal(t, "1min", timeout)
}

func TestPartitionsAreMadeAheadAndDroppedByAge(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/", webhook.Minutes)
	event := publish(t, db, tenant.ID, "", `{}`)
	require.NotEmpty(t, db.EventBodyByID(t, event.ID))
	const retention = 3 * 24 * time.Hour
	for range 3 {
		clock.Advance(24 * time.Hour)
		require.NoError(t, db.Maintain(ctx, retention))
	}
	require.NotEmpty(t, db.EventBodyByID(t, event.ID), "kept to the end of its time")
	require.Zero(t, db.Outside(t), "every row is in the partition of its day")
	clock.Advance(24 * time.Hour)
	require.NoError(t, db.Maintain(ctx, retention))
	require.Empty(t, db.EventBodyByID(t, event.ID))

	batch, err := postgres.Deliveries{DB: db}.Claim(ctx, core.ID{1}, webhook.Room{Deliveries: 10, Bodies: 1 << 20, Busy: []int64{}}, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, batch.Deliveries, "a delivery whose event is gone is given up")
	requireQueueEmpty(t, db)
}

func TestAnotherSecretKeyIsRefused(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	require.NoError(t, db.CheckSeal(ctx))
	require.NoError(t, db.CheckSeal(ctx))
	other, err := postgres.NewSealer("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")
	require.NoError(t, err)
	db.UseSealer(other)
	require.ErrorContains(t, db.CheckSeal(ctx), "SERVERY_SECRET_KEY")
}
