package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	deliveriesdb "github.com/servery-hub/servery/core/internal/postgres/deliveries"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// endWith ends deliveries in a state after an attempt with a class of failure and a status.
func (c *deliveryHarness) endWith(state webhook.State, class webhook.ErrorClass, status int, owner core.ID,
	deliveries ...webhook.Delivery) {
	c.t.Helper()
	results := make([]webhook.Result, len(deliveries))
	for i, d := range deliveries {
		results[i] = webhook.Result{Delivery: d, State: state, Attempt: webhook.Attempt{StartedAt: c.clock.Now(),
			Status: status, URL: d.URL, ErrorClass: class}}
	}
	_, err := c.queue.Finish(context.Background(), owner, results, strict)
	require.NoError(c.t, err)
}

// failAs publishes deliveries and records that they failed.
func (c *deliveryHarness) failAs(n int, class webhook.ErrorClass, status int) []webhook.Delivery {
	c.t.Helper()
	c.publish(n)
	owner, claimed, _ := c.claim()
	c.endWith(webhook.Failed, class, status, owner, claimed...)
	return claimed
}

func (c *deliveryHarness) problems(f console.ProblemFilter) []console.Problem {
	c.t.Helper()
	if f.Businesses == nil {
		f.Businesses = []core.BusinessID{c.business}
	}
	f.Limit = max(f.Limit, 1)
	list, err := consolelists.New(c.db).Problems(context.Background(), f)
	require.NoError(c.t, err)
	return list
}

func TestExpiredLeaseDoesNotEndTheNextOne(t *testing.T) {
	c, ctx, owner := newDeliveryHarness(t), context.Background(), core.ID{1}
	c.publish(1)
	claim := func() []webhook.Delivery {
		batch, err := c.queue.Claim(ctx, owner, claimUpTo(512, 1<<20), c.clock.Now().Add(20*time.Second))
		require.NoError(t, err)
		return batch.Items
	}
	earlier := claim()
	require.Len(t, earlier, 1)
	c.clock.Advance(20 * time.Second)
	later := claim()
	require.Len(t, later, 1, "the same owner leases it again")

	c.endWith(webhook.Failed, webhook.Status, 500, owner, earlier...)
	require.Empty(t, c.problems(console.ProblemFilter{}))
	c.endWith(webhook.Pending, webhook.Status, 500, owner, earlier...)
	require.NoError(t, c.queue.Release(ctx, owner, earlier))
	require.Empty(t, claim(), "the later lease is held")
	c.endWith(webhook.Failed, webhook.Status, 503, owner, later...)
	require.Equal(t, 503, c.problems(console.ProblemFilter{})[0].Status)
	requireQueueEmpty(t, c.db)
}

func TestFailedDeliveriesAreGroupedByCause(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	other := hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://POS.example/other")
	hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://else.example:8443/")
	start := c.clock.Now()
	c.failAs(2, webhook.Status, 503) // each goes to the three webhooks
	c.clock.Advance(time.Minute)
	c.failAs(1, webhook.Timeout, 0)
	c.publish(1)
	owner, pending, _ := c.claim()
	c.endWith(webhook.Pending, webhook.Status, 500, owner, pending...)

	list := c.problems(console.ProblemFilter{Limit: 9})
	require.Len(t, list, 4, "two servers, with two causes each; a delivery that is retried has none")
	for _, p := range list[:2] {
		require.Equal(t, []any{webhook.Timeout, 0, console.ProblemOpen}, []any{p.Class, p.Status, p.State})
	}
	byServer := map[string]console.Problem{list[2].Server: list[2], list[3].Server: list[3]}
	shared := byServer["pos.example"]
	require.Equal(t, []int64{c.sub.ID, other.ID}, shared.Webhooks)
	require.Equal(t, []core.EventType{core.StoreCreation}, shared.Events)
	require.Equal(t, []any{4, 503}, []any{shared.Failed, shared.Status})
	require.WithinDuration(t, start, shared.FirstSeen, time.Second)
	require.Equal(t, 2, byServer["else.example:8443"].Failed)

	read, stranger := consoleview.New(c.db), hubtest.Business(t, c.db).ID
	counts := func(business core.BusinessID) []int {
		figures, err := read.Figures(ctx, []core.BusinessID{business}, c.clock.Now())
		require.NoError(t, err)
		return []int{figures.OpenProblems, figures.Undelivered}
	}
	require.Equal(t, []int{4, 9}, counts(c.business))
	require.Equal(t, []int{0, 0}, counts(stranger))
	require.NoError(t, webhooksdb.New(c.db).SetProblemState(ctx, c.business, shared.ID, console.ProblemTransition{
		From: console.ProblemOpen, To: console.ProblemResolved}, access.Change{Business: c.business}))
	require.Equal(t, []int{3, 5}, counts(c.business))
	require.NoError(t, webhooksdb.New(c.db).SetProblemState(ctx, c.business, shared.ID, console.ProblemTransition{
		From: console.ProblemResolved, To: console.ProblemOpen}, access.Change{Business: c.business}))

	list = c.problems(console.ProblemFilter{Limit: 9})
	next := c.problems(console.ProblemFilter{Limit: 2, BeforeTime: list[1].LastSeen, BeforeID: list[1].ID})
	require.Equal(t, []int64{list[2].ID, list[3].ID}, []int64{next[0].ID, next[1].ID})
	targets, err := consolelists.New(c.db).ProblemTargets(ctx, c.business, shared.ID)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{targets[0].Failed, targets[1].Failed})
	found, err := c.queue.List(ctx, c.business, webhook.Filter{ProblemID: shared.ID, Limit: 9})
	require.NoError(t, err)
	require.Len(t, found, 4)
	require.Equal(t, shared.ID, found[0].ProblemID)

	every, err := consolelists.New(c.db).Problems(ctx, console.ProblemFilter{Limit: 9})
	require.NoError(t, err)
	require.Equal(t, list, every, "of all businesses")
	require.Empty(t, c.problems(console.ProblemFilter{Businesses: []core.BusinessID{stranger}}))
	_, err = consolelists.New(c.db).Problem(ctx, stranger, shared.ID)
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestLateFailureDoesNotReopenAProblem(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.publish(2)
	hung, claimed, _ := c.claim()
	c.endWith(webhook.Failed, webhook.Status, 503, hung, claimed[0])
	p := c.problems(console.ProblemFilter{})[0]
	require.NoError(t, webhooksdb.New(c.db).SetProblemState(ctx, c.business, p.ID,
		console.ProblemTransition{From: console.ProblemOpen, To: console.ProblemResolved},
		access.Change{Business: c.business}))
	c.clock.Advance(time.Minute)
	other, again, _ := c.claim()
	require.Len(t, again, 1)
	c.endWith(webhook.Failed, webhook.Status, 503, hung, claimed[1])
	c.endWith(webhook.Failed, webhook.Timeout, 0, hung, claimed[1])
	c.endWith(webhook.Delivered, "", 200, other, again[0])
	c.endWith(webhook.Failed, webhook.Timeout, 0, hung, claimed[1])
	list := c.problems(console.ProblemFilter{Limit: 9})
	require.Len(t, list, 1)
	require.Equal(t, []any{console.ProblemResolved, p.LastSeen}, []any{list[0].State, list[0].LastSeen})
}

func TestProblemIsStoredOnceInAnInterval(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failAs(1, webhook.Status, 503)
	first := c.problems(console.ProblemFilter{})[0]
	c.clock.Advance(9 * time.Second)
	c.failAs(1, webhook.Status, 503)
	soon := c.problems(console.ProblemFilter{})[0]
	require.Equal(t, []any{first.LastSeen, 2}, []any{soon.LastSeen, soon.Failed})
	c.clock.Advance(time.Second)
	c.failAs(1, webhook.Status, 503)
	later := c.problems(console.ProblemFilter{})[0]
	require.Equal(t, []any{first.FirstSeen, 3}, []any{later.FirstSeen, later.Failed})
	require.Equal(t, 10*time.Second, later.LastSeen.Sub(first.LastSeen).Round(time.Second))
	hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://pos.example/new")
	c.failAs(1, webhook.Status, 503)
	require.Len(t, c.problems(console.ProblemFilter{})[0].Webhooks, 2, "a further webhook is stored at once")
}

func TestResolvedProblemReopensWhenItFailsAgain(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.failAs(1, webhook.Status, 503)
	p := c.problems(console.ProblemFilter{})[0]
	change := access.Change{Business: c.business, Actor: "user:sam@example.com", Action: "problem.resolve",
		Why: "fixed"}
	set := func(from, to console.ProblemState) error {
		return webhooksdb.New(c.db).SetProblemState(ctx, c.business, p.ID,
			console.ProblemTransition{From: from, To: to}, change)
	}
	require.NoError(t, set(console.ProblemOpen, console.ProblemAcknowledged))
	require.EqualError(t, set(console.ProblemOpen, console.ProblemResolved),
		"nothing was done, because the problem has changed: reload the page")
	require.NoError(t, set(console.ProblemAcknowledged, console.ProblemResolved))
	require.Empty(t, c.problems(console.ProblemFilter{
		States: []console.ProblemState{console.ProblemOpen, console.ProblemAcknowledged}}))
	require.NoError(t, webhooksdb.New(c.db).NoteProblem(ctx, c.business, p.ID,
		access.Change{Business: c.business, Why: "a note"}))
	require.NoError(t, webhooksdb.New(c.db).AssignProblem(ctx, c.business, p.ID, "sam@example.com", change))
	for _, among := range [][]core.BusinessID{nil, {c.business}} {
		assignees, err := consolelists.New(c.db).ProblemAssignees(ctx, among)
		require.NoError(t, err)
		require.Equal(t, []string{"sam@example.com"}, assignees)
	}
	require.Empty(t, c.problems(console.ProblemFilter{Unassigned: true}))
	require.Equal(t, core.NotFound,
		core.CodeOf(webhooksdb.New(c.db).NoteProblem(ctx, hubtest.Business(t, c.db).ID, p.ID, change)))

	c.clock.Advance(time.Second) // within the interval
	c.failAs(1, webhook.Status, 503)
	again := c.problems(console.ProblemFilter{Assignee: "sam@example.com"})[0]
	require.Equal(t, []any{console.ProblemOpen, "user:sam@example.com", "a note"},
		[]any{again.State, again.ChangedBy, again.Note})
	require.True(t, again.ReopenedAt.After(again.ChangedAt), "after it was resolved")
	require.NoError(t, set(console.ProblemOpen, console.ProblemResolved))
	require.Zero(t, c.problems(console.ProblemFilter{})[0].ReopenedAt)

	entries, err := consolelists.New(c.db).Audit(ctx, c.business,
		console.EntryFilter{Object: console.ProblemObject(p.ID), Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 5, "each action")
	require.JSONEq(t, `{"why":"fixed","before":{"state":"open"},"after":{"state":"resolved"}}`,
		string(entries[0].Detail))
}

func TestProblemWithoutFailedDeliveriesRaisesNoWarning(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failAs(1, webhook.Status, 503)
	c.failAs(1, webhook.Status, 500)
	gone := c.problems(console.ProblemFilter{})[0]
	pgtest.Exec(t, c.db, `DELETE FROM deliveries WHERE business_id = ? AND problem_id = ?`, c.business, gone.ID)
	left := c.problems(console.ProblemFilter{WithFailed: true, Limit: 9})
	require.Len(t, left, 1)
	require.NotEqual(t, gone.ID, left[0].ID)
	figures, err := consoleview.New(c.db).Figures(t.Context(), []core.BusinessID{c.business}, c.clock.Now())
	require.NoError(t, err)
	require.Equal(t, len(left), figures.OpenProblems)
	require.Len(t, c.problems(console.ProblemFilter{Limit: 9}), 2)
}

func TestOldProblemsAreDeleted(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.failAs(1, webhook.Status, 503)
	require.NoError(t, webhooksdb.New(c.db).DropOldProblems(ctx, time.Hour))
	require.Len(t, c.problems(console.ProblemFilter{}), 1)
	c.clock.Advance(time.Hour + time.Minute)
	require.NoError(t, webhooksdb.New(c.db).DropOldProblems(ctx, time.Hour))
	require.Empty(t, c.problems(console.ProblemFilter{}))
}

// queueResend queues the resend of a problem.
func (c *deliveryHarness) queueResend(problem int64, final webhook.FinalOrders) {
	c.t.Helper()
	c.clock.Advance(time.Millisecond)
	choice := webhook.ProblemSelector(problem, c.clock.Now())
	choice.FinalOrders = final
	count, err := c.queue.Count(context.Background(), c.business, choice)
	require.NoError(c.t, err)
	job, err := choice.ProblemJob(c.business, count, c.clock.Now())
	require.NoError(c.t, err)
	require.NoError(c.t, jobsdb.New(c.db).QueueJob(context.Background(), job,
		access.Change{Business: c.business, Actor: "user:sam@example.com", Object: console.ProblemObject(problem)}))
}

// resendProblem queues the resend of a problem and leases it.
func (c *deliveryHarness) resendProblem(problem int64) core.Job {
	c.t.Helper()
	c.queueResend(problem, webhook.WithFinalOrders)
	return c.lease()
}

func TestResendOfAProblemCountsFinalOutcomes(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	paused := hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://pos.example/off")
	c.failAs(3, webhook.Status, 503)
	c.failAs(1, webhook.Timeout, 0) // of another problem
	list := c.problems(console.ProblemFilter{Limit: 9})
	problem := list[len(list)-1]
	require.Equal(t, 6, problem.Failed)
	require.NoError(t, webhooksdb.New(c.db).Change(ctx, c.business, "test", paused.ID,
		func(s *webhook.Subscription) error { s.Active = false; return nil }))

	job := c.resendProblem(problem.ID)
	var actor string
	require.NoError(t, c.db.Bun().NewRaw(`SELECT actor FROM jobs WHERE id = ?`, job.ID).Scan(ctx, &actor))
	require.Equal(t, "user:sam@example.com", actor)
	run := func() error {
		return webhook.ProblemResend{Resends: deliveriesdb.NewProblemResends(c.db), Clock: c.clock}.Run(ctx, job,
			func(int, int) {})
	}
	outcome := func() webhook.ResendOutcome {
		resends, err := consolelists.New(c.db).ProblemResends(ctx, c.business, problem.ID)
		require.NoError(t, err)
		require.Len(t, resends, 1)
		return resends[0].Outcome
	}
	require.ErrorAs(t, run(), &core.Snooze{})
	require.Equal(t, webhook.ResendOutcome{Selected: 6, Sent: 3}, outcome())
	owner, again, _ := c.claim()
	require.Len(t, again, 3)
	c.endWith(webhook.Delivered, "", 200, owner, again[0])
	c.endWith(webhook.Pending, webhook.Status, 503, owner, again[1])
	c.endWith(webhook.Failed, webhook.Status, 503, owner, again[2])
	require.ErrorAs(t, run(), &core.Snooze{}, "one is retried")
	require.Equal(t, webhook.ResendOutcome{Selected: 6, Sent: 3, Delivered: 1, Failed: 1}, outcome())
	owner, last, _ := c.claim()
	require.Len(t, last, 1)
	c.endWith(webhook.Delivered, "", 200, owner, last[0])
	require.NoError(t, run())
	require.Equal(t, webhook.ResendOutcome{Selected: 6, Sent: 3, Delivered: 2, Failed: 1}, outcome())
	after, err := consolelists.New(c.db).Problem(ctx, c.business, problem.ID)
	require.NoError(t, err)
	require.Equal(t, 4, after.Failed, "three of the paused webhook, and one again")
	var followed int
	pgtest.Row(t, c.db, &followed, `SELECT count(*) FROM followed_resends`)
	require.Zero(t, followed)
}

func TestResendsOfTwoProblemsRunTogether(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failAs(1, webhook.Status, 503)
	c.failAs(1, webhook.Timeout, 0)
	list := c.problems(console.ProblemFilter{Limit: 9})
	one := c.resendProblem(list[0].ID)
	require.NotEqual(t, one.ID, c.resendProblem(list[1].ID).ID, "though the first has not ended")
}

func TestConcurrentResendsOfAProblemAreOne(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.failAs(1, webhook.Status, 503)
	problem := c.problems(console.ProblemFilter{})[0].ID
	c.clock.Advance(time.Millisecond)
	post := func() error {
		job, err := webhook.ProblemSelector(problem, c.clock.Now()).ProblemJob(c.business, 1, c.clock.Now())
		if err != nil {
			return err
		}
		return jobsdb.New(c.db).QueueJob(ctx, job, access.Change{Business: c.business, Actor: "user:sam@example.com",
			Action: "problem.resend", Object: console.ProblemObject(problem)})
	}
	results := make(chan error, 2)
	for range cap(results) {
		go func() { results <- post() }()
	}
	codes := []core.Code{core.CodeOf(<-results), core.CodeOf(<-results)}
	require.ElementsMatch(t, []core.Code{core.CodeOf(nil), core.Conflict}, codes)
	job := c.lease()
	require.Equal(t, core.Conflict, core.CodeOf(post()), "it is running")
	entries, err := consolelists.New(c.db).Audit(ctx, c.business,
		console.EntryFilter{Object: console.ProblemObject(problem), Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	handler := webhook.ProblemResend{Resends: deliveriesdb.NewProblemResends(c.db), Clock: c.clock}
	require.NoError(t, handler.Fail(ctx, job, core.Errorf(core.Internal, "no disk")))
	require.NoError(t, post(), "it has ended")
}

func TestQueuedResendOfAProblemStillCounts(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.failAs(1, webhook.Status, 503)
	c.queueResend(c.problems(console.ProblemFilter{})[0].ID, webhook.WithFinalOrders)
	c.clock.Advance(2 * time.Hour)
	handler := webhook.ProblemResend{Resends: deliveriesdb.NewProblemResends(c.db), Clock: c.clock}
	require.ErrorAs(t, handler.Run(ctx, c.lease(), func(int, int) {}), &core.Snooze{})
}

func TestProblemResendStopsCountingAfterAnHour(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.failAs(1, webhook.Status, 503)
	job := c.resendProblem(c.problems(console.ProblemFilter{})[0].ID)
	handler := webhook.ProblemResend{Resends: deliveriesdb.NewProblemResends(c.db), Clock: c.clock}
	require.ErrorAs(t, handler.Run(ctx, job, func(int, int) {}), &core.Snooze{})
	c.clock.Advance(time.Hour)
	job = c.lease()
	require.NoError(t, handler.Run(ctx, job, func(int, int) {}))
	require.JSONEq(t, `{"selected":1,"sent":1,"delivered":0,"failed":0}`, c.result(job))
}
