package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

type presenceRule struct {
	ack, silent string
	closes      bool
}

// setPresenceRule sets the monitoring rules of a business.
func setPresenceRule(t *testing.T, db *postgres.DB, business core.BusinessID, rule presenceRule) {
	t.Helper()
	require.NoError(t, consoleview.New(db).SetMonitoringRules(context.Background(), business,
		func(w *console.MonitoringRules) error {
			if err := w.SetAckWithin("ack", rule.ack); err != nil {
				return err
			}
			w.CloseSilent = rule.closes
			return w.SetSilentAfter("silent", rule.silent)
		}, access.Change{Business: business, Actor: "cli", Action: "business.watch"}))
}

// newPresenceWatch returns a monitor for stores that are always open and silent after half an hour.
func newPresenceWatch(db *postgres.DB) presence.Monitor {
	return presence.Monitor{Tally: &presence.Tally{}, Repository: availability.NewPresence(db),
		SilenceLimit: 30 * time.Minute,
		Clock:        db.Clock(),
		Hours:        func(presence.Store) (bool, time.Duration, error) { return true, 100 * time.Hour, nil }}
}

func TestCrashBeforeClosingASilentStoreIsRecovered(t *testing.T) {
	s := newSwitchHarness(t)
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "hub", true})
	w, ctx := newPresenceWatch(s.db), context.Background()
	everywhere := []string{"a", "app", "b", "web"}
	fallsSilent := func() {
		w.Record(presence.Heartbeat{Business: s.business, StoreID: s.storeID("s1")}, s.clock.Now())
		require.NoError(t, w.Flush(ctx))
		_, err := w.Check(ctx)
		require.NoError(t, err)
		require.Empty(t, s.closed("s1"))
		s.clock.Advance(31 * time.Minute)
	}
	fallsSilent()
	count := pgtest.Statements(s.db)
	_, err := w.Check(ctx)
	require.NoError(t, err)
	statements := count()
	require.Equal(t, everywhere, s.closed("s1"))
	require.Greater(t, statements, 10)
	for n := range statements {
		fallsSilent()
		crashed := pgtest.BreakAt(s.db, n+1)
		_, _ = w.Check(ctx)
		for !crashed() { // workers are not always notified: some runs have one statement less
			_, _ = w.Check(ctx)
		}
		var recorded bool
		pgtest.Row(t, s.db, &recorded, `SELECT closed_for_silence FROM pos_presence WHERE business_id = ?`, s.business)
		require.Equal(t, recorded, slices.Equal(everywhere, s.closed("s1")), "all or nothing, at statement %d", n)
		_, err := w.Check(ctx)
		require.NoError(t, err)
		require.Equal(t, everywhere, s.closed("s1"), "at statement %d", n)
	}
	var events int
	pgtest.Row(t, s.db, &events, `SELECT count(*) FROM events WHERE business_id = ? AND event_type = 'store_action'`,
		s.business)
	require.Equal(t, 2*(2*statements+1), events, "each closing and opening is published once on each own channel")
}

func TestStoresCloseAndOpenByTheirBusinessRule(t *testing.T) {
	s := newSwitchHarness(t)
	other := hubtest.Business(t, s.db)
	w, ctx := newPresenceWatch(s.db), context.Background()
	escalate := func() []string {
		_, err := w.Check(ctx)
		require.NoError(t, err)
		return s.closed("s1")
	}
	hear := func() {
		w.Record(presence.Heartbeat{Business: s.business, StoreID: s.storeID("s1")}, s.clock.Now())
		require.NoError(t, w.Flush(ctx))
	}
	hear()
	s.clock.Advance(10 * time.Minute)
	setPresenceRule(t, s.db, other.ID, presenceRule{"hub", "1m", true})
	require.Empty(t, escalate(), "the rule of another business")
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "10m", false})
	require.Empty(t, escalate(), "silent, and not to be closed")
	require.Len(t, pgtest.SilentStores(t, s.db, s.business), 1)
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "10m", true})
	require.NotEmpty(t, escalate())
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "10m", false})
	require.Empty(t, escalate(), "removing the rule reopens the store")
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "10m", true})
	require.NotEmpty(t, escalate())
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "0", true})
	require.Empty(t, escalate(), "never silent")
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "hub", true})
	require.Empty(t, escalate(), "half an hour, as the hub says")
	s.clock.Advance(20 * time.Minute)
	require.NotEmpty(t, escalate())
	hear()
	require.Empty(t, escalate())
	require.Equal(t, core.NotFound,
		core.CodeOf(consoleview.New(s.db).SetMonitoringRules(ctx, 999,
			func(*console.MonitoringRules) error { return nil },
			access.Change{})))
}

func TestTimerOpensNoSilentStore(t *testing.T) {
	s := newSwitchHarness(t)
	setPresenceRule(t, s.db, s.business, presenceRule{"hub", "hub", true})
	w, ctx := newPresenceWatch(s.db), context.Background()
	check := func() []string {
		_, err := w.Check(ctx)
		require.NoError(t, err)
		_, _, err = s.toggles.EnableDue(ctx, 10)
		require.NoError(t, err)
		return s.closed("s1")
	}
	hear := func() {
		w.Record(presence.Heartbeat{Business: s.business, StoreID: s.storeID("s1")}, s.clock.Now())
		require.NoError(t, w.Flush(ctx))
	}
	hear()
	require.Empty(t, check())
	s.switchStore("s1", false, s.clock.Now().Add(time.Hour), "a")
	s.clock.Advance(31 * time.Minute)
	everywhere := check()
	require.Len(t, everywhere, 4)
	s.clock.Advance(time.Hour)
	require.Equal(t, everywhere, check(), "the timer is over, and the POS is silent")
	hear()
	require.Empty(t, check(), "the next heartbeat opens it")
}

func TestOrdersEscalateByTheirBusinessRule(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	clock := db.Clock().(*clocktest.Clock)
	own, hub, ctx := hubtest.Business(t, db), hubtest.Business(t, db), context.Background()
	place := func(tenant hubtest.Tenant, id int) {
		pgtest.Exec(t, db,
			`INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order,
				delivery_type, flags, events, placed_event, placed_by, created_at, updated_at)
			VALUES (?0, ?1, 'web', ?2, 1, ?3, false, 'self', 0, 1, gen_random_uuid(), 'key:shop', ?4, ?4)`, tenant.ID,
			id, fmt.Sprint(id), order.Placed, clock.Now())
	}
	escalate := func(within time.Duration) (counts []int) {
		n, err := orders.New(db).Escalate(ctx, within)
		require.NoError(t, err)
		counts = []int{n}
		for _, tenant := range []hubtest.Tenant{own, hub} {
			var n int
			pgtest.Row(t, db, &n, `SELECT count(*) FROM orders WHERE business_id = ? AND escalated_at IS NOT NULL`,
				tenant.ID)
			counts = append(counts, n)
		}
		return counts
	}
	escalate(5 * time.Minute)
	setPresenceRule(t, db, own.ID, presenceRule{"10m", "hub", false})
	place(own, 1)
	place(hub, 2)
	clock.Advance(5 * time.Minute)
	require.Equal(t, []int{1, 0, 1}, escalate(5*time.Minute))
	setPresenceRule(t, db, own.ID, presenceRule{"2m", "hub", false})
	require.Equal(t, []int{1, 1, 1}, escalate(5*time.Minute), "one that waits longer than the new rule allows")
	place(own, 3)
	setPresenceRule(t, db, own.ID, presenceRule{"0", "hub", false})
	clock.Advance(time.Hour)
	require.Equal(t, []int{0, 1, 1}, escalate(5*time.Minute), "for ever")
	setPresenceRule(t, db, own.ID, presenceRule{"hub", "hub", false})
	require.Equal(t, []int{0, 1, 1}, escalate(0), "the hub lets them wait too")
	require.Equal(t, []int{1, 2, 1}, escalate(5*time.Minute))
	setPresenceRule(t, db, own.ID, presenceRule{"1m", "hub", false})
	place(own, 4)
	place(hub, 5)
	clock.Advance(time.Minute)
	require.Equal(t, []int{1, 3, 1}, escalate(0), "the rule of the business applies without one of the hub")
	require.Equal(t, []int{0, 3, 1}, escalate(5*time.Minute), "each order once")
	clock.Advance(4 * time.Minute)
	require.Equal(t, []int{1, 3, 2}, escalate(5*time.Minute))
}
