package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// longLease is far above the time of a takeover, so that a test distinguishes them.
const longLease = 30 * time.Second

// onDatabaseWithLease is onDatabase with one lease for all queues.
func onDatabaseWithLease(url string, lease time.Duration) environment {
	return onDatabase(url).with("SERVERY_DELIVERY_LEASE", lease.String(), "SERVERY_JOB_LEASE", lease.String())
}

// hold makes the sink leave requests without a response until release is called or their client is gone.
func (s *orderSink) hold() (release func()) {
	gate := make(chan struct{})
	s.gate.Store(&gate)
	return sync.OnceFunc(func() {
		s.gate.Store(nil)
		close(gate)
	})
}

// arrived returns how many deliveries about orders have arrived.
func (s *orderSink) arrived() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.byOrder {
		n += len(list)
	}
	return n
}

// placeHeld makes a hub lease deliveries of orders that are in flight at the sink, with later ones of the same orders
// behind them.
func placeHeld(t *testing.T, k *orderLoad, sink *orderSink, hub string) {
	t.Helper()
	before := sink.arrived()
	for n := range 3 {
		var placed struct {
			OrderID int64 `json:"order_id"`
		}
		platformID := "H-" + strconv.Itoa(n)
		status, err := k.send("POST", hub+"/channel/api/v1/orders/", k.channel, fmt.Sprintf(
			`{"platform":"web","platform_order_id":%q,"store_ref_id":"S-1","items":[{"ref_id":"dal","quantity":1,`+
				`"price":9.5}]}`, platformID), &placed)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		k.orders[placed.OrderID] = platformID
		for _, state := range orderStates {
			var moved struct{ Status string }
			path := "/external/api/v1/orders/" + strconv.FormatInt(placed.OrderID, 10) + "/status/"
			status, err := k.send("PUT", hub+path, k.pos.authorization,
				`{"new_status":"`+state+`"}`, &moved)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			k.accepted[placed.OrderID]++
		}
	}
	eventually(t, waitTimeout, func() error {
		if got := sink.arrived(); got < before+3 {
			return fmt.Errorf("%d deliveries in flight", got-before)
		}
		return nil
	})
}

// awaitDelivered waits until no delivery is queued, and returns how long that took.
func awaitDelivered(t *testing.T, ledger testDatabase, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	eventually(t, within, func() error {
		if waiting := ledger.number(t, `SELECT count(*) FROM delivery_queue`); waiting > 0 {
			return fmt.Errorf("%d deliveries wait", waiting)
		}
		return nil
	})
	return time.Since(began)
}

func TestSurvivorDeliversWhatAKilledHubLeased(t *testing.T) {
	database := hubtest.DatabaseURL(t)
	env, sink := onDatabaseWithLease(database, longLease), newOrderSink(t, 0)
	first, second := startHub(t, env), startHub(t, env)
	k := startOrderLoad(t, env, sink, first.url, second.url)
	k.stop()
	ledger := openTestDatabase(t, database)
	awaitDelivered(t, ledger, waitTimeout)
	release := sink.hold()
	defer release()
	placeHeld(t, k, sink, first.url)
	first.kill()
	release()
	t.Logf("delivered %v after the kill", awaitDelivered(t, ledger, longLease/3))
	require.Equal(t, 3, k.requireNothingLost(t, sink, database), "what was in flight arrives twice")
	require.Eventually(t, func() bool { return ledger.number(t, `SELECT count(*) FROM replicas`) == 1 }, waitTimeout,
		20*time.Millisecond)
}

func TestRestartedHubDeliversWhatItHadLeased(t *testing.T) {
	database := hubtest.DatabaseURL(t)
	env, sink := onDatabaseWithLease(database, longLease), newOrderSink(t, 0)
	hub := startHub(t, env)
	k := startOrderLoad(t, env, sink, hub.url)
	k.stop()
	ledger := openTestDatabase(t, database)
	awaitDelivered(t, ledger, waitTimeout)
	release := sink.hold()
	defer release()
	placeHeld(t, k, sink, hub.url)
	hub.kill()
	release()
	startHub(t, env)
	t.Logf("delivered %v after the hub was ready again", awaitDelivered(t, ledger, longLease/3))
	k.requireNothingLost(t, sink, database)
}

func TestLeaseOfAStoppedHubEndsInTime(t *testing.T) {
	database := hubtest.DatabaseURL(t)
	const lease = 10 * time.Second
	env, sink := onDatabaseWithLease(database, lease), newOrderSink(t, 0)
	first, second := startHub(t, env), startHub(t, env)
	k := startOrderLoad(t, env, sink, first.url, second.url)
	k.stop()
	ledger := openTestDatabase(t, database)
	awaitDelivered(t, ledger, waitTimeout)
	release := sink.hold()
	defer release()
	placeHeld(t, k, sink, first.url)
	placed := time.Now()
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGSTOP))
	release()
	awaitDelivered(t, ledger, 2*lease)
	took := time.Since(placed)
	t.Logf("delivered %v after the last was placed", took)
	require.Greater(t, took, lease/2, "a hub that hangs has its session, so only the lease ends")
	require.Equal(t, 2, ledger.number(t, `SELECT count(*) FROM replicas WHERE ended_at IS NULL`))
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
	k.requireNothingLost(t, sink, database)
}

// endSessions ends the sessions that hold the locks of replicas.
const endSessions = `SELECT count(pg_terminate_backend(pid)) FROM pg_locks
	JOIN replicas ON objsubid = 1 AND classid::bigint = session_key >> 32
		AND objid::bigint = session_key & 4294967295
	WHERE locktype = 'advisory'`

func TestReplicasRetakeLostSessionsWithoutRepeating(t *testing.T) {
	database := hubtest.DatabaseURL(t)
	env, sink := onDatabaseWithLease(database, longLease), newOrderSink(t, 20*time.Millisecond)
	hubs := []*hubProcess{startHub(t, env), startHub(t, env)}
	k := startOrderLoad(t, env, sink, hubs[0].url, hubs[1].url)
	ledger := openTestDatabase(t, database)
	const keys, owners = `SELECT sum(session_key) % 2147483647 FROM replicas`,
		`SELECT count(DISTINCT owner) FROM replicas WHERE ended_at IS NULL`
	first := ledger.number(t, `SELECT hashtext(string_agg(owner::text, ' ' ORDER BY owner)) FROM replicas`)
	for range 5 {
		k.awaitSuccesses(t, 60)
		before := ledger.number(t, keys)
		require.Equal(t, 2, ledger.number(t, endSessions))
		eventually(t, waitTimeout, func() error {
			if held := ledger.number(t, `SELECT count(*) FROM pg_locks JOIN replicas ON objsubid = 1
				AND classid::bigint = session_key >> 32 AND objid::bigint = session_key & 4294967295
				WHERE locktype = 'advisory'`); held < 2 || before == ledger.number(t, keys) {
				return fmt.Errorf("%d locks are held", held)
			}
			return nil
		})
		require.Equal(t, 2, ledger.number(t, owners))
	}
	k.awaitSuccesses(t, 20)
	k.stop()
	require.Zero(t, k.requireNothingLost(t, sink, database), "repeated")
	require.Equal(t, first,
		ledger.number(t, `SELECT hashtext(string_agg(owner::text, ' ' ORDER BY owner)) FROM replicas`),
		"the replicas keep their identities")
}

func TestDatabaseRestartRepeatsOnlyWhatWasInFlight(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := joinPostgres(t, dir)
	env, sink := onDatabaseWithLease(pg.DSN(), longLease), newOrderSink(t, 0)
	hubs := []*hubProcess{startHub(t, env), startHub(t, env)}
	k := startOrderLoad(t, env, sink, hubs[0].url, hubs[1].url)
	const restarts = 3
	for range restarts {
		k.awaitSuccesses(t, 100)
		immediateShutdown(t, postmaster(t, dir))
		joinPostgres(t, dir)
	}
	k.awaitSuccesses(t, 100)
	k.stop()
	ledger := openTestDatabase(t, pg.DSN())
	t.Logf("delivered %v after the load", awaitDelivered(t, ledger, longLease/2))
	// Each channel has one order under way, and deliveries of an order are sent one after the other.
	require.LessOrEqual(t, k.requireNothingLost(t, sink, pg.DSN()), restarts*channels)
	require.Equal(t, 2, ledger.number(t, `SELECT count(*) FROM replicas WHERE ended_at IS NULL`))
}
