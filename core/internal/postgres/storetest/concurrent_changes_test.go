package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	menusdb "github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/relay"
)

// otherTx runs a statement in the other transaction.
type otherTx func(query string, args ...any)

// during starts changes while another transaction holds locks that they wait for. That transaction then goes on, and
// commits. It returns the errors of the changes.
func during(t *testing.T, db *postgres.DB, holds, goesOn func(otherTx), changes ...func() error) (errs []error) {
	t.Helper()
	exec, commit := pgtest.BeginOther(t, db)
	holds(exec)
	ended := make(chan error, len(changes))
	for n, change := range changes {
		go func() { ended <- change() }()
		eventually(t, "it waits", func() bool { return pgtest.Waiters(t, db) == n+1 })
	}
	if goesOn != nil {
		goesOn(exec)
	}
	commit()
	for range changes {
		errs = append(errs, <-ended)
	}
	return errs
}

func TestConcurrentActionCallbacksSettleBothActions(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	first := d.submit(id, action.CustomerData)
	pgtest.Exec(t, d.db, `UPDATE calls SET payload = jsonb_set(payload::jsonb, '{phone}', '"1"')`) // of another rider
	second := d.submit(id, action.CustomerData)
	callback := func() error {
		return orders.NewActions(d.db).Settle(context.Background(), d.business, "b", relay.Outcome{
			State: relay.OutcomeDone, Action: action.CustomerData, PlatformOrderID: "R-1"})
	}
	for _, err := range during(t, d.db, func(exec otherTx) { exec(`SELECT FROM orders FOR UPDATE`) }, nil,
		callback, callback) {
		require.NoError(t, err)
	}
	require.Equal(t, []string{"done", "done"}, []string{d.action(first).State, d.action(second).State})
}

func TestReportDuringAnUpdateFindsItsOrder(t *testing.T) {
	d := newRiderHarness(t)
	earlier, id := d.order("b", ""), d.order("b", "")
	pgtest.Exec(t, d.db, `UPDATE orders SET reference = 'POS-1'`)
	require.NotEqual(t, earlier, id)
	var reported int64
	report := func() (err error) {
		reported, _, err = orders.New(d.db).Report(context.Background(), d.business, core.NewID(d.clock.Now()),
			order.OutOfStockReport{Reference: "POS-1", Actor: "key:pos",
				Items: []order.OutOfStockItem{{RefID: "curry"}}})
		return err
	}
	updates := func(exec otherTx) {
		update := core.NewID(d.clock.Now().Add(time.Second))
		exec(`INSERT INTO events (business_id, id, event_type, body, order_id, sequence)
			SELECT event.business_id, ?0, event_type, body, order_id, 2 FROM events event
			JOIN orders ON orders.id = ?1 AND event.id = orders.placed_event`, update, id)
		exec(`UPDATE orders SET updated_event = ? WHERE id = ?`, update, id)
	}
	require.NoError(t, during(t, d.db, updates, nil, report)[0])
	require.Equal(t, id, reported)
}

func TestRecheckAndMenuIngestDoNotDeadlock(t *testing.T) {
	p := newPublishHarness(t)
	menus := menusdb.New(p.db)
	items, err := menus.ItemsAfter(t.Context(), p.business, 0, 100)
	require.NoError(t, err)
	work := p.recheck("a")
	stale := 0
	recheck := func() (err error) {
		stale, err = menus.ReplaceFindings(context.Background(), work, menu.CheckedItems{Items: items}, []byte("{}"))
		return err
	}
	change := func(exec otherTx, item menu.StoredItem) {
		exec(`UPDATE catalogue_entities SET updated_at = now() WHERE id = ?`, item.Item.ID)
	}
	ingestBegins := func(exec otherTx) {
		exec(`SELECT pg_advisory_xact_lock(hashtextextended('servery menu ' || ?, 0))`, int64(p.business))
		change(exec, items[len(items)-1])
	}
	require.NoError(t, during(t, p.db, ingestBegins, func(exec otherTx) { change(exec, items[0]) }, recheck)[0])
	require.Equal(t, 2, stale)
}

// A claim locks the job in the queue first, and then the job.
func TestRecheckBeingClaimedIsQueuedAgain(t *testing.T) {
	p := newPublishHarness(t)
	recheck := func() error {
		return p.db.InTx(context.Background(), func(tx bun.Conn) error {
			return publications.Recheck(context.Background(), p.db, tx, p.business, "a")
		})
	}
	require.NoError(t, recheck())
	require.NoError(t, recheck())
	queued := func() (n int) {
		pgtest.Row(t, p.db, &n, `SELECT count(*) FROM job_queue`)
		return n
	}
	require.Equal(t, 1, queued())
	exec, commit := pgtest.BeginOther(t, p.db)
	exec(`SELECT FROM job_queue FOR UPDATE`)
	require.NoError(t, recheck())
	commit()
	require.Equal(t, 2, queued())
}

func TestHeartbeatDuringAReviewKeepsItsStoreOpen(t *testing.T) {
	s := newSwitchHarness(t)
	w, now := newPresenceWatch(s.db), s.clock.Now()
	w.Record(presence.Heartbeat{Business: s.business, StoreID: s.storeID("s1")}, now)
	require.NoError(t, w.Flush(t.Context()))
	s.clock.Advance(31 * time.Minute)
	var changes []presence.Change
	review := func() (err error) {
		changes, err = availability.NewPresence(s.db).Review(context.Background(), 30*time.Minute,
			func(presence.Store) (time.Time, error) { return now, nil })
		return err
	}
	heartbeat := func(exec otherTx) { exec(`UPDATE pos_presence SET seen_at = ?`, s.clock.Now()) }
	require.NoError(t, during(t, s.db, heartbeat, nil, review)[0])
	require.Empty(t, changes)
	require.Empty(t, pgtest.SilentStores(t, s.db, s.business))
}

func TestJobIsRerunOnceConcurrently(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	reference := k.enqueue(core.MenuJob, "-1", dinner, false)
	require.NoError(t, k.runJobs())
	rerun := func() error {
		_, err := jobsdb.New(k.db).Rerun(context.Background(), k.business, reference, access.Change{
			Business: k.business, Actor: "cli", Action: "job.rerun"})
		return err
	}
	errs := during(t, k.db, func(exec otherTx) { exec(`SELECT FROM jobs WHERE id = ? FOR UPDATE`, reference) }, nil,
		rerun, rerun)
	require.ElementsMatch(t, []core.Code{"", core.Conflict}, []core.Code{core.CodeOf(errs[0]), core.CodeOf(errs[1])})
}

func TestConcurrentChangeOfUserLosesNoGrants(t *testing.T) {
	h := newViewHub(t)
	accounts := accessdb.NewAccounts(h.db)
	user, err := accessdb.New(h.db).UserByID(t.Context(), h.support)
	require.NoError(t, err)
	change := func() error {
		return accounts.ChangeUser(context.Background(), access.User{ID: h.viewer, Email: "vera@example.com"}, user.ID,
			access.UserUpdate{Role: access.Viewer, Businesses: user.Businesses, Seen: user.AccessVersion()}, "moved")
	}
	revokes := func(exec otherTx) {
		exec(`UPDATE users SET role = role WHERE id = ?`, user.ID)
		exec(`DELETE FROM user_grants WHERE user_id = ?`, user.ID)
	}
	require.ErrorIs(t, during(t, h.db, revokes, nil, change)[0], access.ErrUserChanged)
	left, err := accessdb.New(h.db).UserByID(t.Context(), user.ID)
	require.NoError(t, err)
	require.Equal(t, access.Support, left.Role)
	require.Empty(t, left.Businesses)
	user = left
	require.NoError(t, change())
	require.NoError(t, change(), "the same form again")
	require.Equal(t, 1, pgtest.AuditEntries(t, h.db, "user.change"))
}
