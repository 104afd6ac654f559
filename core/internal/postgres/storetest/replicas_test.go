package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/replicas"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// openSession registers a replica and returns its session.
func openSession(t *testing.T, db *postgres.DB, owner core.ID) *replicas.Session {
	t.Helper()
	session, err := replicas.New(db).Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Register(t.Context(), owner, db.Clock().Now()))
	session.Watch(func() {})
	t.Cleanup(func() {
		session.Close()
		<-session.Lost()
	})
	return session
}

// startMember runs the membership of a replica until the test ends or stop is called.
func startMember(t *testing.T, db *postgres.DB, owner core.ID,
	engines map[replicas.Queue]queue.Control) (stop func()) {
	t.Helper()
	m := replicas.NewMembership(db, owner, engines, hubtest.Logger())
	require.NoError(t, m.Join(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// leased is work that one owner has claimed.
type leased struct {
	job         core.Job
	call        relay.Call
	delivery    webhook.Delivery
	publication publishing.Work
}

// leaseOfEach makes an owner claim work of each queue. The leases are as long as a hub allows.
func leaseOfEach(t *testing.T, p *publishHarness, owner core.ID) leased {
	t.Helper()
	ctx, now := t.Context(), p.db.Clock().Now().Truncate(time.Microsecond) // p.clock may be hours ahead of it
	until := now.Add(10 * time.Minute)
	job := core.Job{ID: core.NewID(now), Business: p.business, Kind: core.StoreJob, Body: []byte(`{}`),
		CreatedAt: now}
	require.NoError(t, jobsdb.New(p.db).Enqueue(ctx, job, ""))
	claimed, _, err := jobsdb.New(p.db).Claim(ctx, owner, 1, until)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.NoError(t, outbox.Run(ctx, p.db, func(tx bun.Conn, box *outbox.Outbox) error {
		return box.QueueCalls(ctx, tx, []outbox.Call{{Business: p.business, ID: core.NewID(now),
			Kind: relay.OrderAcknowledge, OrderingKey: "k", Platform: "a", Payload: []byte(`{}`), At: now}})
	}))
	toCall, err := calls.New(p.db).Claim(ctx, owner, queue.Capacity{Items: 9, OtherKeys: 9}, until)
	require.NoError(t, err)
	require.Len(t, toCall.Items, 1)
	publish(t, p.db, p.business, "http://127.0.0.1:1/", `{}`)
	toSend, err := deliveries.New(p.db).Claim(ctx, owner, claimUpTo(9, 0), until)
	require.NoError(t, err)
	require.Len(t, toSend.Items, 1)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}],"options":[]}`)
	pgtest.Exec(t, p.db, `UPDATE publications SET due_at = ?0, available_at = ?0 WHERE available_at < 'infinity'`,
		p.db.Clock().Now())
	toPublish, err := publications.New(p.db).Claim(ctx, owner, queue.Capacity{Items: 9, OtherKeys: 9}, until)
	require.NoError(t, err)
	require.NotEmpty(t, toPublish.Items)
	return leased{claimed[0], toCall.Items[0], toSend.Items[0], toPublish.Items[0]}
}

// leases counts the leases of an owner in all queues.
func leases(t *testing.T, db *postgres.DB, owner core.ID) (n int) {
	t.Helper()
	pgtest.Row(t, db, &n, `SELECT (SELECT count(*) FROM delivery_queue WHERE owner = ?0)
		+ (SELECT count(*) FROM call_queue WHERE owner = ?0) + (SELECT count(*) FROM job_queue WHERE owner = ?0)
		+ (SELECT count(*) FROM publications WHERE owner = ?0)`, owner)
	return n
}

func TestLeasesOfGoneReplicaEndInAllQueues(t *testing.T) {
	p := newPublishHarness(t)
	gone, survivor := core.NewID(p.clock.Now()), core.NewID(p.clock.Now())
	session := openSession(t, p.db, gone)
	had := leaseOfEach(t, p, gone)
	require.Greater(t, leases(t, p.db, gone), 3)
	startMember(t, p.db, survivor, nil)
	session.Close()
	eventually(t, "the leases end", func() bool { return leases(t, p.db, gone) == 0 })
	eventually(t, "the replica is forgotten", func() bool {
		var n int
		pgtest.Row(t, p.db, &n, `SELECT count(*) FROM replicas`)
		return n == 1
	})

	ctx := t.Context()
	require.Equal(t, core.Conflict, core.CodeOf(p.db.InTx(ctx, func(tx bun.Conn) error {
		return jobsdb.LockLease(ctx, tx, had.job)
	})), "the writes of a job that lost its lease are refused")
	failed := webhook.Result{Delivery: had.delivery, State: webhook.Pending, RetryAt: p.clock.Now().Add(time.Hour),
		Attempt: webhook.Attempt{StartedAt: p.clock.Now(), ErrorClass: webhook.Connect, Error: "refused"}}
	_, err := deliveries.New(p.db).Finish(ctx, gone, []webhook.Result{failed}, webhook.CircuitRules{})
	require.NoError(t, err)
	again, err := deliveries.New(p.db).Claim(ctx, survivor, claimUpTo(9, 0), p.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, again.Items, 1, "a late failure does not postpone the next attempt")
	require.Equal(t, had.delivery.EventID, again.Items[0].EventID)
	require.True(t, had.delivery.DueAt.Equal(again.Items[0].DueAt), "the due time keeps the order")
	recalled, err := calls.New(p.db).Claim(ctx, survivor, queue.Capacity{Items: 9, OtherKeys: 9},
		p.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, recalled.Items, 1)
	require.Equal(t, had.call.ID, recalled.Items[0].ID)
	rerun, _, err := jobsdb.New(p.db).Claim(ctx, survivor, 9, p.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, rerun, 1)
	require.Equal(t, had.job.Attempts+1, rerun[0].Attempts)
	work, _ := p.claim(survivor)
	require.NotEmpty(t, work)
	require.Nil(t, work[0].Digest, "what the gone replica sent is unknown")
}

func TestExpiredLeaseOfGoneReplicaKeepsItsPlace(t *testing.T) {
	p := newPublishHarness(t)
	gone := core.NewID(p.clock.Now())
	session := openSession(t, p.db, gone)
	leaseOfEach(t, p, gone)
	pgtest.Exec(t, p.db, `UPDATE delivery_queue SET available_at = ?0 WHERE owner = ?1`,
		p.db.Clock().Now().Add(-time.Minute), gone)
	startMember(t, p.db, core.NewID(p.clock.Now()), nil)
	session.Close()
	eventually(t, "the leases end", func() bool { return leases(t, p.db, gone) == 0 })
	var moved int
	pgtest.Row(t, p.db, &moved, `SELECT count(*) FROM delivery_queue WHERE available_at <> due_at`)
	require.Zero(t, moved)
}

func TestTakeoverWaitsForRowsLockedByTheOwner(t *testing.T) {
	p := newPublishHarness(t)
	gone := core.NewID(p.clock.Now())
	session := openSession(t, p.db, gone)
	leaseOfEach(t, p, gone)
	exec, commit := pgtest.BeginOther(t, p.db) // a transaction that the server still runs for the gone replica
	exec(`SELECT 1 FROM delivery_queue WHERE owner = ? FOR UPDATE`, gone)
	startMember(t, p.db, core.NewID(p.clock.Now()), nil)
	session.Close()
	eventually(t, "the other leases end", func() bool { return leases(t, p.db, gone) == 1 })
	var known bool
	pgtest.Row(t, p.db, &known, `SELECT ended_at IS NOT NULL FROM replicas WHERE owner = ?`, gone)
	require.True(t, known)
	commit()
	eventually(t, "the last lease ends", func() bool { return leases(t, p.db, gone) == 0 })
}

func TestStoppedReplicaLeavesNoLease(t *testing.T) {
	p := newPublishHarness(t)
	owner := core.NewID(p.clock.Now())
	stop := startMember(t, p.db, owner, nil)
	leaseOfEach(t, p, owner)
	stop()
	require.Zero(t, leases(t, p.db, owner))
	var n int
	pgtest.Row(t, p.db, &n, `SELECT count(*) FROM replicas`)
	require.Zero(t, n)
}

// recordedControl records what a membership asks of an engine.
type recordedControl struct {
	mu    sync.Mutex
	steps []string
	held  []string
}

func (c *recordedControl) step(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, name)
}

func (c *recordedControl) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.steps...)
}

func (c *recordedControl) resumed() bool {
	steps := c.asked()
	return len(steps) > 0 && steps[len(steps)-1] == "resume"
}

func (c *recordedControl) Pause()      { c.step("pause") }
func (c *recordedControl) Abandon()    { c.step("abandon") }
func (c *recordedControl) Resume()     { c.step("resume") }
func (c *recordedControl) RecordSoon() {}
func (c *recordedControl) Wake()       {}

func (c *recordedControl) Settle(context.Context) ([]string, bool) { return c.held, true }

const endSession = `SELECT pg_terminate_backend(pid) FROM pg_locks
	JOIN replicas ON objsubid = 1 AND classid::bigint = session_key >> 32
		AND objid::bigint = session_key & 4294967295
	WHERE locktype = 'advisory' AND owner = ?`

func TestRetakenSessionKeepsTheLeasesItHolds(t *testing.T) {
	p := newPublishHarness(t)
	owner := core.NewID(p.clock.Now())
	sent := leaseOfEach(t, p, owner).delivery
	engine, idle := &recordedControl{held: []string{sent.ID.String()}}, &recordedControl{}
	startMember(t, p.db, owner, map[replicas.Queue]queue.Control{replicas.Deliveries: engine, replicas.Calls: idle})
	pgtest.Exec(t, p.db, endSession, owner)
	eventually(t, "the engines continue", func() bool { return engine.resumed() && idle.resumed() })
	steps := slices.DeleteFunc(engine.asked(), func(s string) bool { return s == "abandon" }) // if it took long
	require.Equal(t, []string{"pause", "resume"}, steps)
	var kept, others int
	pgtest.Row(t, p.db, &kept, `SELECT count(*) FROM delivery_queue WHERE owner = ?`, owner)
	pgtest.Row(t, p.db, &others, `SELECT count(*) FROM call_queue WHERE owner = ?`, owner)
	require.Equal(t, 1, kept)
	require.Zero(t, others, "no engine holds it, so its transaction has lost its response")
}

func TestTakenOverReplicaStopsAndJoinsAgain(t *testing.T) {
	p := newPublishHarness(t)
	owner := core.NewID(p.clock.Now())
	engine := &recordedControl{}
	startMember(t, p.db, owner, map[replicas.Queue]queue.Control{replicas.Deliveries: engine})
	pgtest.Exec(t, p.db, `UPDATE replicas SET ended_at = now() WHERE owner = ?`, owner)
	eventually(t, "the engine stops and continues", engine.resumed)
	steps := slices.Compact(engine.asked()) // it is stopped twice if this took long
	require.Equal(t, []string{"pause", "abandon", "resume"}, steps)
	var alive bool
	pgtest.Row(t, p.db, &alive, `SELECT ended_at IS NULL FROM replicas WHERE owner = ?`, owner)
	require.True(t, alive)
}

func TestNotificationsTooSoonFollowLater(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	arrived, ready := make(chan struct{}, 100), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first := sync.OnceFunc(func() { close(ready) })
		db.Listen(ctx, map[string]func(string){outbox.DeliveriesChannel: func(string) {
			first()
			arrived <- struct{}{}
		}})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	<-ready
	<-arrived // the connection began
	for range 5 {
		publish(t, db, business, "http://127.0.0.1:1/", `{}`)
	}
	for range 2 { // one in a transaction, and one for the others
		select {
		case <-arrived:
		case <-time.After(20 * time.Second):
			require.FailNow(t, "a notification is missing")
		}
	}
}
