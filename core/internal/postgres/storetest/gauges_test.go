package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestDeliveriesBehindAnAttemptAreNotOverdue(t *testing.T) {
	c := newDeliveryHarness(t)
	ages := func() (oldest, worst time.Duration) {
		t.Helper()
		backlog, err := schema.ReadBacklog(context.Background(), c.db)
		require.NoError(t, err)
		return backlog.OldestDue, backlog.WorstEndpoint
	}
	publishedTo := func(event core.EventType) {
		t.Helper()
		now := c.clock.Now()
		require.NoError(t, outbox.NewPublisher(c.db).Publish(context.Background(),
			core.Event{ID: core.NewID(now), Business: c.business, Type: event, At: now, Body: []byte(`{}`)}))
	}
	publishedTo(core.StoreCreation)
	_, slow, _ := c.claim()
	require.Len(t, slow, 1, "the slow attempt")
	publishedTo(core.StoreCreation)
	c.clock.Advance(15 * time.Second)
	oldest, worst := ages()
	require.Zero(t, oldest)
	require.Equal(t, 15*time.Second, worst)

	other := hubtest.Subscribe(t, c.db, c.business, core.OrderPlaced, "https://other.example/")
	publishedTo(core.OrderPlaced)
	c.clock.Advance(2 * time.Second)
	oldest, worst = ages()
	require.Equal(t, 2*time.Second, oldest, "no attempt is running")
	require.Equal(t, 17*time.Second, worst)

	c.clock.Advance(10 * time.Second)
	oldest, worst = ages()
	require.Equal(t, 27*time.Second, oldest, "the lease has expired")
	require.Equal(t, oldest, worst)

	for _, id := range []int64{c.sub.ID, other.ID} {
		require.NoError(t, webhooksdb.New(c.db).Change(context.Background(), c.business, "test", id,
			func(s *webhook.Subscription) error {
				s.Active = false
				return nil
			}))
	}
	oldest, worst = ages()
	require.Zero(t, oldest+worst, "a held delivery is not overdue")
}

func TestOldestJobAgeCountsOnlyRunnableJobs(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	jobs, business := jobsdb.New(db), hubtest.Business(t, db).ID
	oldest := func(expected time.Duration, why string) {
		t.Helper()
		backlog, err := schema.ReadBacklog(ctx, db)
		require.NoError(t, err)
		require.Equal(t, expected, backlog.OldestJob, why)
	}
	for range 2 {
		require.NoError(t, jobs.Enqueue(ctx,
			core.Job{ID: core.NewID(clock.Now()), Business: business, Kind: core.StoreJob, Body: []byte(`{}`),
				CreatedAt: clock.Now()}, "r"))
	}
	clock.Advance(20 * time.Second)
	oldest(20*time.Second, "the first job is not claimed")
	claimed, _, err := jobs.Claim(ctx, core.ID{1}, 10, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	oldest(0, "the second waits for the first, which runs")
	require.NoError(t, jobs.Retry(ctx, claimed[0], clock.Now().Add(2*time.Hour), "failed"))
	clock.Advance(time.Hour)
	oldest(0, "which is tried again later")
	clock.Advance(time.Hour + 3*time.Second)
	oldest(3*time.Second, "it is due and not claimed")
}

func TestPublicationAgeStartsWhenItIsDue(t *testing.T) {
	p := newPublishHarness(t)
	oldest := func() time.Duration {
		t.Helper()
		backlog, err := schema.ReadBacklog(context.Background(), p.db)
		require.NoError(t, err)
		return backlog.OldestPublication.Round(time.Second)
	}
	p.send("s2", `{"items":[{"ref_id":"rice","price":8}]}`)
	require.Zero(t, oldest(), "it waits for the debounce")
	p.clock.Advance(time.Hour + 2*time.Second)
	require.Equal(t, time.Hour, oldest())
	p.claim(me)
	require.Zero(t, oldest())
}
