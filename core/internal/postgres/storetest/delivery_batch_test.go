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
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

// claimAll leases all due deliveries for a new owner.
func claimAll(t *testing.T, db *postgres.DB) (core.ID, []webhook.Delivery) {
	t.Helper()
	owner := core.NewID(db.Clock().Now())
	batch, err := deliveries.New(db).Claim(context.Background(), owner,
		claimUpTo(512, 1<<20), db.Clock().Now().Add(20*time.Second))
	require.NoError(t, err)
	return owner, batch.Items
}

// sampleEvents returns n events that alternate between all kinds of routes.
func sampleEvents(db *postgres.DB, n int, one, two core.BusinessID, alone int64) []core.Event {
	now := db.Clock().Now()
	events := make([]core.Event, n)
	for i := range events {
		e := core.Event{ID: core.NewID(now.Add(time.Duration(i) * time.Microsecond)), At: now, Business: one,
			Type: core.OrderPlaced, Body: fmt.Appendf(nil, "{\"n\":%d,\"s\":\"a\\tb\\\\\"}", i)}
		switch i % 4 {
		case 1:
			e.Business = two
		case 2:
			e.CallbackURL = fmt.Sprintf("http://127.0.0.1:1/callback/%d", i)
		case 3:
			e.WebhookID = alone
		}
		events[i] = e
	}
	return events
}

func TestBatchOfEventsIsStoredLikeSingleEvents(t *testing.T) {
	for _, n := range []int{1, 3, 4, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			db := hubtest.Database(t, clocktest.New())
			one, two := hubtest.Business(t, db), hubtest.Business(t, db)
			a := hubtest.SubscribeSeconds(t, db, one.ID, core.OrderPlaced, "http://127.0.0.1:1/a")
			b := hubtest.Subscribe(t, db, one.ID, core.OrderPlaced, "http://127.0.0.1:1/b")
			c := hubtest.Subscribe(t, db, two.ID, core.OrderPlaced, "http://127.0.0.1:1/c")
			alone := hubtest.Subscribe(t, db, one.ID, core.RiderStatusUpdate, "http://127.0.0.1:1/d")
			events := sampleEvents(db, n, one.ID, two.ID, alone.ID)
			require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(), events...))
			_, claimed := claimAll(t, db)
			urls, bodies := map[core.ID][]string{}, map[core.ID]string{}
			secrets := map[string]string{a.URL: a.Secret, b.URL: b.Secret, c.URL: c.Secret, alone.URL: alone.Secret}
			for _, d := range claimed {
				urls[d.EventID] = append(urls[d.EventID], d.URL)
				bodies[d.EventID] = string(d.Body)
				if d.WebhookID != 0 {
					require.Equal(t, secrets[d.URL], d.Secret)
				} else {
					require.NotEmpty(t, d.Secret)
				}
			}
			for i, e := range events {
				expected := [][]string{{a.URL, b.URL}, {c.URL}, {e.CallbackURL}, {alone.URL}}[i%4]
				require.ElementsMatch(t, expected, urls[e.ID], "event %d", i)
				require.Equal(t, string(e.Body), bodies[e.ID])
			}
			require.Zero(t, pgtest.DefaultPartitionRows(t, db))
		})
	}
}

func TestDeliveriesOfABatchSortLikeItsEvents(t *testing.T) {
	db := hubtest.Database(t, clocktest.New()) // the clock stands still
	business := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, business.ID, core.OrderPlaced, "http://127.0.0.1:1/a")
	now := db.Clock().Now()
	var events []core.Event
	for i := range 100 {
		events = append(events, core.Event{ID: core.NewID(now.Add(time.Duration(i) * time.Microsecond)),
			Business: business.ID, Type: core.OrderPlaced, At: now, Body: []byte(`{}`)})
	}
	require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(), events...))
	list, err := deliveries.New(db).List(context.Background(), business.ID, webhook.Filter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, list, 100)
	for i, d := range list {
		require.Equal(t, events[99-i].ID, d.EventID)
	}
}

func TestBatchSizeDoesNotChangeStatementCount(t *testing.T) {
	statements := func(n int) int {
		db := hubtest.Database(t, nil)
		one, two := hubtest.Business(t, db), hubtest.Business(t, db)
		hubtest.Subscribe(t, db, one.ID, core.OrderPlaced, "http://127.0.0.1:1/a")
		alone := hubtest.Subscribe(t, db, one.ID, core.RiderStatusUpdate, "http://127.0.0.1:1/d")
		count := pgtest.Statements(db)
		require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(),
			sampleEvents(db, n, one.ID, two.ID, alone.ID)...))
		return count()
	}
	require.Equal(t, statements(8), statements(100))
	require.Equal(t, statements(200), statements(400), "COPY stores many events")
}
