package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

// changer makes a change of another replica just before each execution of a statement. So the cached values of the
// statement are always out of date.
type changer struct {
	statement string
	change    func()
	changes   int
}

func (h *changer) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, "EXECUTE "+h.statement) && h.change != nil {
		h.changes++
		h.change()
	}
	return ctx
}

func (h *changer) AfterQuery(context.Context, *bun.QueryEvent) {}

// changeBefore makes the change before each execution of a prepared statement.
func (c *cachedIntake) changeBefore(statement, change string) *changer {
	hook := &changer{statement: statement, change: func() { pgtest.Exec(c.t, c.replica, change) }}
	c.db.Keyed().AddQueryHook(hook)
	return hook
}

// lastOrder returns the body of the last order_placed event.
func (c *cachedIntake) lastOrder() string {
	bodies := pgtest.EventBodies(c.t, c.db, core.OrderPlaced)
	return string(bodies[len(bodies)-1])
}

// event returns an event for subscribers of order_placed.
func (c *cachedIntake) event() core.Event {
	now := c.db.Clock().Now()
	return core.Event{ID: core.NewID(now), Business: c.business, Type: core.OrderPlaced, At: now, Body: []byte(`{}`)}
}

func TestOrderOfUncheckedSettingsIsNotStored(t *testing.T) {
	c := newCachedIntake(t)
	before := pgtest.OrderCounts(t, c.db)
	hook := c.changeBefore("place", `UPDATE stores SET name = name || '.'`)
	_, err := c.place()
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.Greater(t, hook.changes, 3)
	require.Equal(t, before, pgtest.OrderCounts(t, c.db))

	hook.change = nil
	_, err = c.place()
	require.NoError(t, err)
	require.Contains(t, c.lastOrder(), strings.Repeat(".", hook.changes))
}

func TestKeyRevokedBetweenAttemptsIsRejected(t *testing.T) {
	c := newCachedIntake(t)
	before := pgtest.OrderCounts(t, c.db)
	hook := c.changeBefore("place", `UPDATE stores SET name = name || '.'`)
	rename := hook.change
	hook.change = func() {
		rename()
		if hook.changes == 3 {
			require.NoError(t, accessdb.New(c.replica).DisableKey(context.Background(), c.business, c.key.ID))
			hook.change = nil
		}
	}
	_, err := c.place()
	require.Equal(t, core.Forbidden, core.CodeOf(err))
	require.Equal(t, before, pgtest.OrderCounts(t, c.db))
}

func TestEventIsStoredWhileReceiversChange(t *testing.T) {
	c := newCachedIntake(t)
	require.NoError(t, outbox.NewPublisher(c.db).Publish(context.Background(), c.event()))
	var before, events, deliveries int
	pgtest.Row(t, c.db, &before, `SELECT count(*) FROM events`)
	hook := c.changeBefore("publish", `UPDATE webhooks SET version = version + 1`)
	event := c.event()
	require.NoError(t, outbox.NewPublisher(c.db).Publish(context.Background(), event))
	require.Greater(t, hook.changes, 1)
	pgtest.Row(t, c.db, &events, `SELECT count(*) FROM events`)
	pgtest.Row(t, c.db, &deliveries, `SELECT count(*) FROM delivery_queue WHERE event_id = ?`, event.ID)
	require.Equal(t, []int{before + 1, 1}, []int{events, deliveries})
}

// TestCachedValuesDoNotOutliveACrash gives a change an id that the cached snapshots contain. A server that lost its
// last transactions, or a standby that never had them, uses their ids again.
func TestCachedValuesDoNotOutliveACrash(t *testing.T) {
	c := newCachedIntake(t)
	var kinds string
	pgtest.Row(t, c.db, &kinds, `SELECT string_agg(relpersistence::text, '') FROM pg_class
		WHERE relname IN ('business_changes', 'cache_epochs')`)
	require.Equal(t, "uu", kinds, "a crash and a promotion empty unlogged tables alone")
	change := func(name string) {
		pgtest.Exec(t, c.replica, `UPDATE stores SET name = ?`, name)
		pgtest.Exec(t, c.replica, `DELETE FROM business_changes`)
		pgtest.Exec(t, c.replica, `INSERT INTO business_changes SELECT id, '3'::xid8 FROM businesses`)
		_, err := c.place()
		require.NoError(t, err)
	}
	change("First Street")
	require.NotContains(t, c.lastOrder(), "First Street", "the snapshot contains the id")
	pgtest.Exec(t, c.replica, `DELETE FROM cache_epochs`)
	change("Second Street")
	require.Contains(t, c.lastOrder(), "Second Street")

	// A lost change of the menu has the version of a later one.
	pgtest.Exec(t, c.replica, `INSERT INTO catalogue_entities
		(business_id, kind, id, name, active, parent_id, all_items, record, updated_at)
		SELECT id, 1, 900, 'curry', true, 0, false, '{"ref_id":"curry","title":"Other Curry"}', now() FROM businesses`)
	pgtest.Exec(t, c.replica, `DELETE FROM cache_epochs`)
	change("Third Street")
	require.Contains(t, c.lastOrder(), "Other Curry")
}

// TestChangesInARestoredDumpAreIgnored stores a change whose id another server gave it.
func TestChangesInARestoredDumpAreIgnored(t *testing.T) {
	c := newCachedIntake(t)
	pgtest.Exec(t, c.replica, `INSERT INTO business_changes SELECT id, '9000000000'::xid8 FROM businesses`)
	statements := pgtest.Statements(c.db)
	_, err := c.place()
	require.NoError(t, err)
	require.Equal(t, 1, statements())
}

// TestReceiversChangedAfterReadingAreReadAgain changes webhooks in the transaction that has read and cached them.
func TestReceiversChangedAfterReadingAreReadAgain(t *testing.T) {
	c := newCachedIntake(t)
	ctx := context.Background()
	require.NoError(t, outbox.Run(ctx, c.db, func(tx bun.Conn, box *outbox.Outbox) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_current_xact_id()`); err != nil {
			return err
		}
		// The cached webhooks are stale, and the next snapshots contain the id of this transaction.
		hubtest.Subscribe(t, c.replica, c.business, core.OrderStatusUpdate, "http://127.0.0.1:1/")
		if err := box.Publish(ctx, tx, c.event()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE webhooks SET active = false`)
		return err
	}))
	event, deliveries := c.event(), 0
	require.NoError(t, outbox.NewPublisher(c.db).Publish(ctx, event))
	pgtest.Row(t, c.db, &deliveries, `SELECT count(*) FROM delivery_queue WHERE event_id = ?`, event.ID)
	require.Zero(t, deliveries)
}

// TestWritingTransactionBeginsNoEpoch publishes in a transaction that holds locks, just after a crash.
func TestWritingTransactionBeginsNoEpoch(t *testing.T) {
	c := newCachedIntake(t)
	ctx, event, deliveries, epochs := context.Background(), c.event(), 0, 0
	pgtest.Exec(t, c.replica, `DELETE FROM cache_epochs`)
	require.NoError(t, outbox.Run(ctx, c.db, func(tx bun.Conn, box *outbox.Outbox) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_current_xact_id()`); err != nil {
			return err
		}
		return box.Publish(ctx, tx, event)
	}))
	pgtest.Row(t, c.db, &deliveries, `SELECT count(*) FROM delivery_queue WHERE event_id = ?`, event.ID)
	pgtest.Row(t, c.db, &epochs, `SELECT count(*) FROM cache_epochs`)
	require.Equal(t, []int{1, 0}, []int{deliveries, epochs})
}
