package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/order"
)

const month = 30 * 24 * time.Hour

// eventAt stores an event created at the given time.
func eventAt(t *testing.T, db *postgres.DB, at time.Time) core.ID {
	t.Helper()
	id := core.NewID(at)
	pgtest.Exec(t, db, `INSERT INTO events (business_id, id, event_type, body) VALUES (1, ?, 'store_creation', 'x')`,
		id)
	return id
}

// partitionOf returns the partition that holds an event, empty if there is none.
func partitionOf(t *testing.T, db *postgres.DB, id core.ID) (name string) {
	t.Helper()
	pgtest.Row(t, db, &name, `SELECT coalesce((SELECT tableoid::regclass::text FROM events WHERE id = ?), '')`, id)
	return name
}

func TestPartitionsAvoidRowsInTheDefaultPartition(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	require.NoError(t, schema.Maintain(ctx, db, month))
	today := clock.Now().Truncate(24 * time.Hour)
	cases := []struct {
		name        string
		held, apart []time.Duration // times of the day
	}{
		{"in the middle of today", []time.Duration{10 * time.Hour, 11 * time.Hour},
			[]time.Duration{0, 10*time.Hour - time.Millisecond, 11*time.Hour + time.Millisecond, 24*time.Hour - 1}},
		{"one, tomorrow", []time.Duration{10 * time.Hour},
			[]time.Duration{10*time.Hour - time.Millisecond, 10*time.Hour + time.Millisecond}},
		{"from the beginning", []time.Duration{0}, []time.Duration{time.Millisecond}},
		{"to the end", []time.Duration{24*time.Hour - 1}, []time.Duration{0}},
		{"the whole day", []time.Duration{0, 24*time.Hour - 1}, nil},
	}
	events := map[core.ID]string{} // the expected partition of each event
	for n, c := range cases {
		day := today.AddDate(0, 0, n)
		pgtest.Exec(t, db, `DROP TABLE events_`+day.Format("20060102"))
		for _, at := range c.held {
			events[eventAt(t, db, day.Add(at))] = "events_other"
		}
	}
	require.NoError(t, schema.Maintain(ctx, db, month))
	require.NoError(t, schema.Maintain(ctx, db, month))
	for n, c := range cases {
		day := today.AddDate(0, 0, n)
		for _, at := range c.apart {
			id, name := eventAt(t, db, day.Add(at)), "events_"+day.Format("20060102")
			if events[id] = name; at > c.held[0] && c.held[0] > 0 {
				events[id] = name + "_2"
			}
		}
	}
	for id, name := range events {
		require.Equal(t, name, partitionOf(t, db, id))
	}
	clock.Advance(month + time.Duration(len(cases))*24*time.Hour)
	require.NoError(t, schema.Maintain(ctx, db, month))
	for id := range events {
		require.Empty(t, partitionOf(t, db, id), "dropped by age")
	}
}

func TestPartitionsAreCreatedWhileTodayIsRead(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	today := eventAt(t, db, clock.Now())
	read, end := pgtest.BeginOther(t, db)
	read(`SELECT body FROM events WHERE id = ?`, today)
	clock.Advance(24 * time.Hour)
	require.NoError(t, schema.Maintain(ctx, db, month))
	days, _, err := schema.PartitionsAhead(ctx, db)
	require.NoError(t, err)
	require.Equal(t, 6, days)
	end()
}

// Other statements queue behind the maintenance, so it must not wait long for its lock.
func TestPartitionMaintenanceYieldsToLongReads(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	old := publish(t, db, tenant.ID, "", `{}`)
	read, end := pgtest.BeginOther(t, db)
	read(`SELECT count(*) FROM events`)
	read(`SELECT count(*) FROM deliveries`)
	clock.Advance(month + 24*time.Hour)
	given := make(chan error, 1)
	go func() { given <- schema.Maintain(ctx, db, month) }()
	for waits := true; waits; {
		publish(t, db, tenant.ID, "", `{}`)
		select {
		case err := <-given:
			require.ErrorContains(t, err, "events_", "made and dropped are neither")
			require.ErrorContains(t, err, "deliveries_")
			require.NotContains(t, err.Error(), "attempts_", "the other tables are seen to")
			waits = false
		default:
		}
	}
	require.NotEmpty(t, partitionOf(t, db, old.ID))
	require.NotZero(t, pgtest.DefaultPartitionRows(t, db), "events published meanwhile are in the default partition")
	end()
	require.NoError(t, schema.Maintain(ctx, db, month))
	require.Empty(t, partitionOf(t, db, old.ID))
	days, _, err := schema.PartitionsAhead(ctx, db)
	require.NoError(t, err)
	require.Equal(t, 6, days)
}

func TestReplicasMaintainPartitionsOneAtATime(t *testing.T) {
	ctx, clock, url := context.Background(), clocktest.New(), hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, clock)
	clock.Advance(month)
	failures := make(chan error, 4)
	for range cap(failures) {
		replica := hubtest.Connect(t, url, clock)
		go func() { failures <- schema.Maintain(ctx, replica, month) }()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	require.NoError(t, schema.Maintain(ctx, db, month))
	days, stray, err := schema.PartitionsAhead(ctx, db)
	require.NoError(t, err)
	require.Equal(t, [2]int{6, 0}, [2]int{days, stray})
}

func TestLongestRecentRetentionOfAllReplicasApplies(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	keeps := func(own, expected time.Duration) {
		t.Helper()
		effective, err := schema.Retention(ctx, db, own)
		require.NoError(t, err)
		require.Equal(t, expected, effective)
	}
	keeps(12*month, 12*month)
	keeps(month, 12*month)
	clock.Advance(23 * time.Hour)
	keeps(month, 12*month)
	keeps(12*month, 12*month)
	clock.Advance(23 * time.Hour)
	keeps(month, 12*month)
	clock.Advance(time.Hour)
	keeps(month, month)
}

func TestVeryLongRetentionDropsNothing(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	now := clock.Now()
	pgtest.Exec(t, db, `DROP TABLE events_`+now.Format("20060102"))
	id := eventAt(t, db, now)
	require.Equal(t, "events_other", partitionOf(t, db, id))
	require.NoError(t, schema.Maintain(ctx, db, 100*12*month))
	require.Equal(t, "events_other", partitionOf(t, db, id))
}

func TestScheduledOrderIsRetainedFromItsDeliveryDay(t *testing.T) {
	const retention = 48 * time.Hour
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	orders, intake := ordersdb.New(db), newIntake(t, db)
	receipts := map[string]order.PlaceResult{}
	for name, ahead := range map[string]time.Duration{"at once": 0, "within a day": 24 * time.Hour,
		"later": 5 * 24 * time.Hour} {
		receipt, err := intake.Place(ctx,
			k.arrival(name, "web", oneCurry,
				fmt.Sprintf(`,"delivery_datetime":%d`, clock.Now().Add(ahead).UnixMilli())))
		require.NoError(t, err)
		receipts[name] = receipt
	}
	days := func(n int) {
		for range n {
			clock.Advance(24 * time.Hour)
			require.NoError(t, schema.Maintain(ctx, db, retention))
			require.NoError(t, orders.DropOld(ctx, retention))
		}
	}
	days(4)
	for _, name := range []string{"at once", "within a day"} {
		_, err := orders.Get(ctx, k.business, "", receipts[name].OrderID)
		require.Equal(t, core.NotFound, core.CodeOf(err), name)
	}
	require.Len(t, pgtest.EventBodies(t, db, core.OrderPlaced), 1, "the other events are deleted")
	later := receipts["later"].OrderID
	_, err := orders.Change(ctx, k.business, later, order.Change{To: order.Acknowledged, Actor: "key:pos"})
	require.NoError(t, err)
	again, err := intake.Place(ctx, k.arrival("later", "web", oneCurry, ""))
	require.NoError(t, err)
	require.Equal(t, order.PlaceResult{OrderID: later, Duplicate: true}, again)
	days(3)
	record, err := orders.Get(ctx, k.business, "", later)
	require.NoError(t, err)
	reading, err := record.ToAPI()
	require.NoError(t, err)
	require.Equal(t, "later", reading.Order.Details.Platforms[0].ID)
	days(1)
	_, err = orders.Get(ctx, k.business, "", later)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	require.NoError(t, schema.Maintain(ctx, db, retention))
	require.Empty(t, pgtest.EventBodies(t, db, core.OrderPlaced))
	require.Zero(t, pgtest.DefaultPartitionRows(t, db))
}
