package postgres_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

func TestClockChangeShiftsPendingWorkOnce(t *testing.T) {
	for name, leap := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			url := hubtest.DatabaseURL(t)
			db, other := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
			require.NoError(t, db.SyncClock(ctx))
			require.NoError(t, other.SyncClock(ctx))
			tenant := hubtest.Business(t, db)
			sink := hubtest.NewSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, sink.URL)
			engine, _ := startEngine(t, db, webhook.Config{}, true)
			event := publish(t, db, tenant.ID, "", `{"n":1}`)
			eventually(t, "first attempt", func() bool { return len(history(t, db, event.ID)) == 1 })

			before := db.Clock().Now()
			db.StepClock(leap)
			other.StepClock(leap)
			require.NoError(t, db.SyncClock(ctx))
			require.NoError(t, other.SyncClock(ctx)) // finds that the other replica has done it
			require.InDelta(t, leap.Seconds(), db.Clock().Now().Sub(before).Seconds(), 10)
			require.InDelta(t, leap.Seconds(), other.Clock().Now().Sub(before).Seconds(), 10)
			engine.Wake()
			eventually(t, "the retry", func() bool { return len(sink.Arrivals()) == 2 })
			came := sink.Arrivals()
			require.GreaterOrEqual(t, came[1].At.Sub(came[0].At), 990*time.Millisecond, "not before its time")
			require.NoError(t, db.SyncClock(ctx)) // nothing left to follow
			require.InDelta(t, leap.Seconds(), db.Clock().Now().Sub(before).Seconds(), 30)
		})
	}
}

// To a replica whose machine was paused, the clock of the database seems set forward.
func TestPausedReplicaMovesNoDueTimes(t *testing.T) {
	ctx, url := t.Context(), hubtest.DatabaseURL(t)
	paused, other := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	require.NoError(t, paused.SyncClock(ctx))
	tenant := hubtest.Business(t, paused)
	hubtest.Subscribe(t, paused, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	publish(t, paused, tenant.ID, "", `{}`)
	due := paused.Clock().Now().Add(2 * time.Hour).Truncate(time.Microsecond)
	pgtest.Postpone(t, paused, due)
	storedDue := func() (at time.Time) {
		pgtest.Row(t, paused, &at, `SELECT due_at FROM delivery_queue`)
		return at
	}

	const pause = time.Hour
	other.StepClock(pause)
	require.NoError(t, other.SyncClock(ctx)) // its first
	require.NoError(t, other.SyncClock(ctx))
	paused.StepClock(pause)
	require.NoError(t, paused.SyncClock(ctx))
	require.WithinDuration(t, other.Clock().Now(), paused.Clock().Now(), 10*time.Second)
	require.True(t, due.Equal(storedDue()))

	for _, replica := range []*postgres.DB{paused, other} { // then the clock is set
		replica.StepClock(2 * pause)
		require.NoError(t, replica.SyncClock(ctx))
	}
	require.InDelta(t, due.Add(pause).Unix(), storedDue().Unix(), 2)
}

// A replica that checks the clock after or during another replica's update must not claim by
// the old time.
func TestStaleClockDoesNotClaimShiftedWork(t *testing.T) {
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	db, late := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	for _, replica := range []*postgres.DB{db, late} {
		require.NoError(t, replica.SyncClock(ctx))
	}
	tenant := hubtest.Business(t, db)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	publish(t, db, tenant.ID, "", `{"n":1}`)
	work := core.Job{ID: core.NewID(db.Clock().Now()), Business: tenant.ID, Kind: core.StoreJob, Body: []byte(`{}`),
		CreatedAt: db.Clock().Now()}
	require.NoError(t, jobsdb.New(db).Enqueue(ctx, work, ""))
	due := db.Clock().Now().Add(10 * time.Minute).Truncate(time.Microsecond)
	pgtest.Postpone(t, db, due)

	const leap = -time.Hour
	db.StepClock(leap)
	late.StepClock(leap)
	require.NoError(t, db.SyncClock(ctx))
	for name, claim := range map[string]func() (int, time.Time){
		"deliveries": func() (int, time.Time) {
			batch, err := deliveries.New(late).Claim(ctx, core.ID{1},
				claimUpTo(10, 1<<20), due)
			require.NoError(t, err)
			return len(batch.Items), batch.NextDue
		},
		"jobs": func() (int, time.Time) {
			jobs, next, err := jobsdb.New(late).Claim(ctx, core.ID{1}, 10, due)
			require.NoError(t, err)
			return len(jobs), next
		},
	} {
		late.ResetClock()
		require.True(t, late.Clock().Now().After(due.Add(leap)), "by the former time it is due")
		claimed, next := claim()
		require.Zero(t, claimed, name)
		require.InDelta(t, due.Add(leap).Unix(), next.Unix(), 2, name)
		require.True(t, late.Clock().Now().Before(next), "%s: the replica has followed the clock", name)
	}
}

// A replica that has not noticed a backward step stores due times of the old clock. They must
// be moved.
func TestWorkStoredBeforeAClockStepIsShifted(t *testing.T) {
	const leap = -8 * 24 * time.Hour
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	db, late := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	for _, replica := range []*postgres.DB{db, late} {
		require.NoError(t, replica.SyncClock(ctx))
		replica.StepClock(leap)
	}
	require.NoError(t, db.SyncClock(ctx))
	publish(t, late, tenant.ID, "", `{}`)
	overdue := func() int64 {
		backlog, err := schema.ReadBacklog(ctx, db)
		require.NoError(t, err)
		return backlog.Due
	}
	require.Zero(t, overdue())
	deadline := db.Clock().Now().Add(2 * time.Hour).Truncate(time.Microsecond)
	pgtest.Exec(t, db, `INSERT INTO outcome_tasks (business_id, platform, reference, state, updated_at, expires_at)
		VALUES (?0, 'a', 't', 'early', ?1, ?1)`, tenant.ID, deadline)
	require.NoError(t, late.SyncClock(ctx))
	require.EqualValues(t, 1, overdue(), "the replica that was late has followed")
	var kept time.Time
	pgtest.Row(t, db, &kept, `SELECT expires_at FROM outcome_tasks`)
	require.True(t, deadline.Equal(kept), "a deadline of the new clock stays")

	retry := db.Clock().Now().Add(16 * time.Minute).Truncate(time.Microsecond)
	for _, due := range []time.Time{retry, retry.Add(-leap)} { // the correct time, and the one by the old clock
		pgtest.Postpone(t, db, due)
		require.NoError(t, db.SyncClock(ctx))
		var stored time.Time
		pgtest.Row(t, db, &stored, `SELECT due_at FROM delivery_queue`)
		require.InDelta(t, retry.Unix(), stored.Unix(), 2)
	}
}

// The ends of leases move with the clock. The results of the work in progress still count.
func TestClockChangeKeepsLeases(t *testing.T) {
	for name, leap := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			db := hubtest.Open(t, hubtest.DatabaseURL(t), nil)
			require.NoError(t, db.SyncClock(ctx))
			p := newPublishHarnessIn(t, db, clocktest.New())
			had := leaseOfEach(t, p, me)
			db.StepClock(leap)
			require.NoError(t, db.SyncClock(ctx))

			now := db.Clock().Now()
			later := now.Add(time.Hour)
			failed := webhook.Result{Delivery: had.delivery, State: webhook.Pending, RetryAt: later,
				Attempt: webhook.Attempt{StartedAt: now, ErrorClass: webhook.Connect, Error: "refused"}}
			called := relay.Result{Call: had.call, State: relay.Waiting, FinishedAt: now, RetryAt: later,
				Attempt: &relay.Attempt{StartedAt: now, Status: http.StatusInternalServerError}}
			published := publishing.Result{Work: had.publication, State: publishing.Waiting, At: now, RetryAt: later}
			_, err := deliveries.New(db).Finish(ctx, me, []webhook.Result{failed}, webhook.CircuitRules{})
			require.NoError(t, err)
			require.NoError(t, callsOf(db).Finish(ctx, me, []relay.Result{called}))
			require.NoError(t, p.queue.Finish(ctx, me, published, nil))
			queues := []string{"delivery_queue", "call_queue", "publications"}
			for _, queue := range queues {
				var attempts int
				pgtest.Row(t, db, &attempts, "SELECT max(attempts) FROM "+queue+" WHERE owner IS NULL")
				require.Equal(t, 1, attempts, queue)
			}
		})
	}
}

func TestWrongMeasurementOfTheClockMovesNothing(t *testing.T) {
	ctx := t.Context()
	db := hubtest.Open(t, hubtest.DatabaseURL(t), nil)
	require.NoError(t, db.SyncClock(ctx))
	epoch := func() (n int) {
		pgtest.Row(t, db, &n, `SELECT epoch FROM clock_epoch`)
		return n
	}
	before := epoch()
	reads := 0
	db.ChangeClock(func(dbTime time.Time) time.Time {
		reads++
		return dbTime.Add(time.Duration(reads) * time.Hour)
	})
	require.ErrorContains(t, db.SyncClock(ctx), "differ")
	db.StepClock(0)
	require.Equal(t, before, epoch())
	require.Less(t, db.ClockOffset(), time.Minute)
	require.NoError(t, db.SyncClock(ctx))
}

func TestSlowMeasurementOfTheClockIsAnError(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	db.ChangeClock(func(time.Time) time.Time {
		clock.Advance(3 * time.Second)
		return clock.Now().Add(-time.Second)
	})
	require.ErrorContains(t, db.SyncClock(t.Context()), "a round trip takes 3s")
}

func TestSlowMeasurementOfTheClockDelaysTheStart(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	trips := 0
	db.ChangeClock(func(time.Time) time.Time {
		if trips++; trips <= 3 { // those of the first measurement
			clock.Advance(3 * time.Second)
		}
		return clock.Now()
	})
	require.NoError(t, db.Start(t.Context()))
	require.Equal(t, 4, trips)
}
