package storetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
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

// settableClock returns the URL of a database whose clock setClock sets. Its connections find the function in public
// before that of PostgreSQL.
func settableClock(t *testing.T) (url string) {
	t.Helper()
	url = hubtest.DatabaseURL(t)
	db := hubtest.Connect(t, url, nil)
	pgtest.Exec(t, db, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
	END $$`)
	setClock(t, db, 0)
	return url
}

// setClock sets the clock of a database of settableClock to the time plus a difference.
func setClock(t *testing.T, db *postgres.DB, ahead time.Duration) {
	t.Helper()
	defineClock(t, db,
		fmt.Sprintf(`pg_catalog.clock_timestamp() + %d * interval '1 microsecond'`, ahead.Microseconds()))
}

// defineClock makes an expression the clock of a database of settableClock.
func defineClock(t *testing.T, db *postgres.DB, expression string) {
	t.Helper()
	pgtest.Exec(t, db, `CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
		AS $$ SELECT `+expression+` $$`)
}

func TestClockChangeShiftsPendingWorkOnce(t *testing.T) {
	for name, leap := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			ctx, url := context.Background(), settableClock(t)
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
			setClock(t, db, leap)
			require.NoError(t, db.SyncClock(ctx))
			require.NoError(t, other.SyncClock(ctx)) // finds that the other replica has done it
			require.InDelta(t, leap.Seconds(), db.Clock().Now().Sub(before).Seconds(), 10)
			require.InDelta(t, leap.Seconds(), other.Clock().Now().Sub(before).Seconds(), 10)
			engine.Wake()
			eventually(t, "the retry", func() bool { return len(sink.Arrivals()) >= 2 })
			came := sink.Arrivals()
			require.GreaterOrEqual(t, came[1].At.Sub(came[0].At), 990*time.Millisecond, "not before its time")
			require.NoError(t, db.SyncClock(ctx)) // nothing left to follow
			require.InDelta(t, leap.Seconds(), db.Clock().Now().Sub(before).Seconds(), 30)
		})
	}
}

// To a replica whose machine was paused, the clock of the database seems set forward.
func TestPausedReplicaMovesNoDueTimes(t *testing.T) {
	ctx, url := t.Context(), settableClock(t)
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
	setClock(t, other, pause)
	require.NoError(t, other.SyncClock(ctx)) // its first
	require.NoError(t, other.SyncClock(ctx))
	require.NoError(t, paused.SyncClock(ctx))
	require.WithinDuration(t, other.Clock().Now(), paused.Clock().Now(), 10*time.Second)
	require.True(t, due.Equal(storedDue()))

	setClock(t, other, 2*pause)
	for _, replica := range []*postgres.DB{paused, other} {
		require.NoError(t, replica.SyncClock(ctx))
	}
	require.InDelta(t, due.Add(pause).Unix(), storedDue().Unix(), 2)
}

// A replica that checks the clock after or during another replica's update must not claim by
// the old time.
func TestStaleClockDoesNotClaimShiftedWork(t *testing.T) {
	ctx, url := context.Background(), settableClock(t)
	db := hubtest.Open(t, url, nil)
	late := map[string]*postgres.DB{"deliveries": hubtest.Connect(t, url, nil), "jobs": hubtest.Connect(t, url, nil)}
	for _, replica := range []*postgres.DB{db, late["deliveries"], late["jobs"]} {
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
	setClock(t, db, leap)
	require.NoError(t, db.SyncClock(ctx))
	for name, claim := range map[string]func(*postgres.DB) (int, time.Time){
		"deliveries": func(db *postgres.DB) (int, time.Time) {
			batch, err := deliveries.New(db).Claim(ctx, core.ID{1},
				claimUpTo(10, 1<<20), due)
			require.NoError(t, err)
			return len(batch.Items), batch.NextDue
		},
		"jobs": func(db *postgres.DB) (int, time.Time) {
			jobs, next, err := jobsdb.New(db).Claim(ctx, core.ID{1}, 10, due)
			require.NoError(t, err)
			return len(jobs), next
		},
	} {
		replica := late[name]
		require.True(t, replica.Clock().Now().After(due.Add(leap)), "by the former time it is due")
		claimed, next := claim(replica)
		require.Zero(t, claimed, name)
		require.InDelta(t, due.Add(leap).Unix(), next.Unix(), 2, name)
		require.True(t, replica.Clock().Now().Before(next), "%s: the replica has followed the clock", name)
	}
}

// A replica that has not noticed a backward step stores due times of the old clock. They must
// be moved.
func TestWorkStoredBeforeAClockStepIsShifted(t *testing.T) {
	const leap = -8 * 24 * time.Hour
	ctx, url := context.Background(), settableClock(t)
	db, late := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	for _, replica := range []*postgres.DB{db, late} {
		require.NoError(t, replica.SyncClock(ctx))
	}
	setClock(t, db, leap)
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

func TestReplicasAreNotifiedOfAClockStep(t *testing.T) {
	url := settableClock(t)
	db, other := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	require.NoError(t, db.SyncClock(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var listens, set atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		other.Listen(ctx, map[string]func(string){postgres.ClockChannel: func(payload string) {
			listens.Store(true)
			if payload == "set" {
				set.Store(true)
			}
		}})
	}()
	defer func() { cancel(); <-ended }()
	eventually(t, "it listens", listens.Load)
	setClock(t, db, -10*time.Minute)
	require.NoError(t, db.SyncClock(t.Context()))
	eventually(t, "the notification", set.Load)
}

// The ends of leases move with the clock. The results of the work in progress still count.
func TestClockChangeKeepsLeases(t *testing.T) {
	for name, leap := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), hubtest.Open(t, settableClock(t), nil)
			require.NoError(t, db.SyncClock(ctx))
			p := newPublishHarnessIn(t, db, clocktest.New())
			had := leaseOfEach(t, p, me)
			setClock(t, db, leap)
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
	ctx, db := t.Context(), hubtest.Open(t, settableClock(t), nil)
	require.NoError(t, db.SyncClock(ctx))
	epoch := func() (n int) {
		pgtest.Row(t, db, &n, `SELECT epoch FROM clock_epoch`)
		return n
	}
	before := epoch()
	pgtest.Exec(t, db, `CREATE SEQUENCE readings`)
	defineClock(t, db, `pg_catalog.clock_timestamp() + nextval('readings') * interval '1 hour'`)
	require.ErrorContains(t, db.SyncClock(ctx), "differ")
	setClock(t, db, 0)
	require.Equal(t, before, epoch())
	require.Less(t, db.ClockOffset(), time.Minute)
	require.NoError(t, db.SyncClock(ctx))
}
