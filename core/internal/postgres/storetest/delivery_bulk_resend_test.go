package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// fail publishes deliveries and records them as failed.
func (c *deliveryHarness) fail(n int) {
	c.t.Helper()
	c.publish(n)
	owner, claimed, _ := c.claim()
	require.Len(c.t, claimed, n)
	c.end(webhook.Failed, owner, claimed...)
}

func (c *deliveryHarness) end(state webhook.State, owner core.ID, deliveries ...webhook.Delivery) {
	c.t.Helper()
	var results []webhook.Result
	for _, d := range deliveries {
		results = append(results,
			webhook.Result{Delivery: d, State: state,
				Attempt: webhook.Attempt{StartedAt: c.clock.Now(), Status: 404, URL: d.URL}})
	}
	_, err := c.queue.Finish(context.Background(), owner, results, strict)
	require.NoError(c.t, err)
}

// queueBulkResend queues a bulk resend and leases it.
func (c *deliveryHarness) queueBulkResend(choice webhook.Selector) core.Job {
	c.t.Helper()
	ctx := context.Background()
	if choice.To.IsZero() {
		c.clock.Advance(time.Millisecond)
		choice.To = c.clock.Now()
	}
	count, err := c.queue.Count(ctx, c.business, choice)
	require.NoError(c.t, err)
	job, err := choice.Job(c.business, count, c.clock.Now())
	require.NoError(c.t, err)
	require.NoError(c.t, jobsdb.New(c.db).Enqueue(ctx, job, ""))
	return c.lease()
}

func (c *deliveryHarness) lease() core.Job {
	c.t.Helper()
	jobs, _, err := jobsdb.New(c.db).Claim(context.Background(), core.NewID(c.clock.Now()), 1,
		c.clock.Now().Add(15*time.Second))
	require.NoError(c.t, err)
	require.Len(c.t, jobs, 1)
	return jobs[0]
}

func (c *deliveryHarness) run(job core.Job) error {
	return webhook.BulkResend{Resends: c.queue, Clock: c.clock}.Run(context.Background(), job, func(int, int) {})
}

func (c *deliveryHarness) result(job core.Job) string {
	c.t.Helper()
	status, err := jobsdb.New(c.db).Status(context.Background(), c.business, job.ID)
	require.NoError(c.t, err)
	return string(status.Result)
}

func TestBulkResendSendsEachFailedDeliveryOnce(t *testing.T) {
	c := newDeliveryHarness(t)
	c.fail(5)
	c.publish(1) // still pending
	job := c.queueBulkResend(webhook.Selector{State: webhook.Failed})
	require.NoError(t, c.run(job))
	require.JSONEq(t, `{"resent":5,"skipped":0}`, c.result(job))
	owner, again, _ := c.claim()
	require.Len(t, again, 6)
	c.end(webhook.Failed, owner, again...)
	job = c.queueBulkResend(webhook.Selector{State: webhook.Failed, To: c.clock.Now().Add(-time.Hour)})
	require.NoError(t, c.run(job))
	require.JSONEq(t, `{"resent":0,"skipped":0}`, c.result(job), "no delivery of that period")
}

func TestBulkResendSkipsAndCountsUnsendableDeliveries(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	off := hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://off.example/")
	c.publish(2)
	publish(t, c.db, c.business, "https://callback.example/", `{}`)
	owner, claimed, _ := c.claim()
	require.Len(t, claimed, 5)
	c.end(webhook.Failed, owner, claimed...)
	require.NoError(t, webhooksdb.New(c.db).Change(ctx, c.business, "test", off.ID,
		func(s *webhook.Subscription) error {
			s.Active = false
			return nil
		}))
	pgtest.Exec(t, c.db, `DELETE FROM events WHERE id = ?`, claimed[0].EventID)
	left := 0 // deliveries with an active webhook and a stored event
	for _, d := range claimed {
		if d.WebhookID != off.ID && d.EventID != claimed[0].EventID {
			left++
		}
	}
	otherBusiness := hubtest.Business(t, c.db)
	count, err := c.queue.Count(ctx, otherBusiness.ID,
		webhook.Selector{State: webhook.Failed, To: c.clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Zero(t, count, "of another business")
	var ids []core.ID
	for _, d := range claimed {
		ids = append(ids, d.ID)
	}
	job := c.queueBulkResend(webhook.Selector{IDs: append(ids, core.NewID(c.clock.Now()))})
	require.NoError(t, c.run(job))
	_, again, _ := c.claim()
	require.Len(t, again, left)
	require.JSONEq(t, `{"resent":2,"skipped":4}`, c.result(job), "one is the id of no delivery")
}

func TestBulkResendRetriesPendingDeliveriesNow(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(3)
	owner, claimed, _ := c.claim()
	c.end(webhook.Failed, owner, claimed[0])
	results := []webhook.Result{{Delivery: claimed[1], State: webhook.Pending, RetryAt: c.clock.Now().Add(time.Hour),
		Attempt: webhook.Attempt{StartedAt: c.clock.Now(), Status: 404}}}
	_, err := c.queue.Finish(context.Background(), owner, results, strict)
	require.NoError(t, err)
	job := c.queueBulkResend(webhook.Selector{State: webhook.Pending})
	require.NoError(t, c.run(job))
	require.JSONEq(t, `{"resent":1,"skipped":0}`, c.result(job), "the one that waits, not the one under way")
	_, again, _ := c.claim()
	require.Len(t, again, 1)
	require.Equal(t, claimed[1].ID, again[0].ID)
}

func TestBulkResendSurvivesACrashAtEveryStatement(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	const n, chunk = 7, 2
	c.fail(n)
	choice := webhook.Selector{State: webhook.Failed, To: c.clock.Now().Add(time.Second)}
	for at := 1; ; at++ {
		job := c.queueBulkResend(choice)
		broken := pgtest.BreakAt(c.db, at)
		work := func() error {
			for {
				_, more, err := c.queue.ResendNext(ctx, job, choice, chunk)
				if err != nil {
					return err
				}
				if !more {
					return c.queue.EndBulkResend(ctx, job, "")
				}
			}
		}
		if err := work(); err != nil {
			c.clock.Advance(15 * time.Second)
			job = c.lease()
			require.NoError(t, work())
		}
		if !broken() {
			require.Greater(t, at, 20)
			return
		}
		require.JSONEq(t, `{"resent":7,"skipped":0}`, c.result(job), "broken at %d", at)
		owner, again, _ := c.claim()
		require.Len(t, again, n)
		c.end(webhook.Failed, owner, again...)
	}
}

func TestBulkResendWithLostLeaseChangesNothing(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.fail(3)
	choice := webhook.Selector{State: webhook.Failed, To: c.clock.Now().Add(time.Second)}
	lost := c.queueBulkResend(choice)
	c.clock.Advance(15 * time.Second)
	held := c.lease()
	_, _, err := c.queue.ResendNext(ctx, lost, choice, 10)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.NoError(t, c.run(held))
	_, again, _ := c.claim()
	require.Len(t, again, 3)
}
