package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/outcomes"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/replicas"
	"github.com/servery-hub/servery/core/internal/postgres/tasks"
	"github.com/servery-hub/servery/core/outcome"
	publishing "github.com/servery-hub/servery/core/publish"
)

// outcomeHarness is a publishHarness whose store s1 has a claimed publication on platform a.
type outcomeHarness struct {
	*publishHarness
	outcomes outcomes.Store
}

func newOutcomeHarness(t *testing.T) *outcomeHarness {
	t.Helper()
	p := newPublishHarness(t)
	return &outcomeHarness{p, outcomes.New(p.db, calls.New(p.db), func(string, outcome.Effect) {})}
}

// change changes the menu of s1 and claims its publication on platform a.
func (o *outcomeHarness) change(owner core.ID, price int) publishing.Work {
	o.t.Helper()
	o.send("s1", fmt.Sprintf(`{"items":[{"ref_id":"curry","price":%d}]}`, price))
	o.clock.Advance(2 * time.Second)
	return o.claimed(owner)
}

// claimed claims the publication of s1 on platform a. Others are published.
func (o *outcomeHarness) claimed(owner core.ID) (found publishing.Work) {
	o.t.Helper()
	work, _ := o.claim(owner)
	for _, w := range work {
		if w.StoreRef == "s1" && w.Platform == "a" {
			found = w
		} else {
			o.finish(owner, o.published(w))
		}
	}
	require.NotZero(o.t, found.StoreID)
	if found.Attempts == 0 {
		found.CallID = core.NewID(o.clock.Now())
	}
	return found
}

// accept stores that the platform has accepted a menu as a task.
func (o *outcomeHarness) accept(owner core.ID, w publishing.Work, task string) {
	o.t.Helper()
	r := o.published(w)
	if w.Sent != nil {
		r.Replaced = w.Sent.CallID
	}
	r.State, r.Sent = publishing.Pending, &publishing.SentMenu{Task: task, CallID: w.CallID, Since: o.clock.Now(),
		Deadline: o.clock.Now().Add(time.Hour), Version: w.Version, Attempts: 1, Reference: w.Reference,
		PendingRequests: w.PendingRequests, ExplicitRequests: w.ExplicitRequests, Digest: []byte("sent"),
		PlatformStoreID: "s1"}
	o.finish(owner, r)
}

func (o *outcomeHarness) report(task string, state outcome.State) (outcome.Effect, error) {
	return o.outcomes.Settle(o.t.Context(), o.business, "a", outcome.Report{Reference: task, State: state})
}

func (o *outcomeHarness) requireEffect(effect outcome.Effect, task string, state outcome.State) {
	o.t.Helper()
	got, err := o.report(task, state)
	require.NoError(o.t, err)
	require.Equal(o.t, effect, got)
}

func (o *outcomeHarness) publication() publishing.Publication {
	o.t.Helper()
	list, err := o.queue.List(o.t.Context(), o.business, publishing.Filter{StoreRef: "s1", Platform: "a", Limit: 1})
	require.NoError(o.t, err)
	return list[0]
}

func TestPendingMenuIsClaimedAtItsDeadline(t *testing.T) {
	o := newOutcomeHarness(t)
	o.accept(me, o.change(me, 5), "T")
	require.Equal(t, "T", o.publication().Task)
	o.clock.Advance(59 * time.Minute)
	o.queue = publications.New(o.db) // of another process
	_, names := o.claim(other)
	require.Empty(t, names)
	o.clock.Advance(2 * time.Minute)
	w := o.claimed(other)
	require.Equal(t, "T", w.Sent.Task)
	require.Equal(t, []byte("sent"), w.Sent.Digest)
	require.Equal(t, w.Version, w.Sent.Version)
	o.requireEffect(outcome.Settled, "T", outcome.Done) // the report wins over a claim
	require.Equal(t, publishing.Published, o.publication().State)
	o.finish(other, publishing.Result{Work: w, State: publishing.Failed, Overdue: true, At: o.clock.Now()})
	require.Equal(t, publishing.Published, o.publication().State)
	require.Zero(t, o.publication().Deadline)
}

func TestUnknownStateSurvivesARelease(t *testing.T) {
	o := newOutcomeHarness(t)
	o.accept(me, o.change(me, 5), "T")
	released := o.change(me, 6)
	require.Equal(t, []byte("sent"), released.Sent.Digest)
	require.NoError(t, o.queue.Release(t.Context(), me, released))
	known := o.claimed(me)
	require.Equal(t, []byte("sent"), known.Sent.Digest, "nothing was sent")
	require.NoError(t, o.queue.Release(t.Context(), me, known))
	_, err := publications.MarkDue(t.Context(), o.db, o.db.Bun(), publications.Selector{
		Reference: core.NewID(o.clock.Now()), StateUnknown: true, Now: true,
		Condition: publications.PublishedOn + ` AND store.business_id = ?`, Args: []any{o.business}})
	require.NoError(t, err)
	o.clock.Advance(2 * time.Second)
	unknown := o.claimed(me)
	require.Nil(t, unknown.Sent.Digest)
	require.NoError(t, o.queue.Release(t.Context(), me, unknown))
	require.Nil(t, o.claimed(other).Sent.Digest)
}

func TestPendingMenuIsUnknownAfterATakeover(t *testing.T) {
	o := newOutcomeHarness(t)
	o.accept(me, o.change(me, 5), "T")
	o.change(me, 6) // sent, and the process dies
	require.NoError(t, replicas.New(o.db).Leave(t.Context(), me))
	require.Nil(t, o.claimed(other).Sent.Digest)
}

// A plugin may pass on a text with NUL, which jsonb does not allow.
func TestPendingMenuMayHaveTextWithNUL(t *testing.T) {
	o := newOutcomeHarness(t)
	w := o.change(me, 5)
	r := o.published(w)
	r.State, r.Sent = publishing.Pending, &publishing.SentMenu{Task: "T", CallID: w.CallID, Since: o.clock.Now(),
		Deadline: o.clock.Now().Add(time.Hour), Version: w.Version, Message: "queued\x00"}
	o.finish(me, r)
	require.Equal(t, "queued\uFFFD", o.change(me, 6).Sent.Message)
	require.NoError(t, replicas.New(o.db).Leave(t.Context(), me))
	failed := o.claimed(other)
	require.Equal(t, "queued\uFFFD", failed.Sent.Message, "claimed after a takeover")
	o.finish(other, publishing.Result{Work: failed, State: publishing.Failed, At: o.clock.Now(),
		Problems: []publishing.Problem{{Message: "bad\x00"}}})
	var problems string
	pgtest.Row(t, o.db, &problems, `SELECT problems::jsonb -> 0 ->> 'message' FROM publications WHERE state = 'failed'`)
	require.Equal(t, "bad\uFFFD", problems)
}

func TestStoreWithAPendingMenuIsDelisted(t *testing.T) {
	o := newOutcomeHarness(t)
	pgtest.Exec(t, o.db, `UPDATE publications SET published_at = NULL WHERE business_id = ?`, o.business)
	o.accept(me, o.change(me, 5), "T")
	pgtest.Exec(t, o.db, `UPDATE stores SET excluded_platforms = '{a}' WHERE business_id = ? AND ref_id = 's1'`,
		o.business)
	publishedID := func() string {
		s, err := menus.NewMenuSource(o.db).Read(t.Context(), o.business, o.storeID("s1"), "a")
		require.NoError(t, err)
		require.False(t, s.Listed)
		return s.PublishedStoreID
	}
	require.Equal(t, "s1", publishedID())
	r := o.published(o.change(me, 6))
	require.Equal(t, "T", r.Work.Sent.Task)
	r.State = publishing.Unlisted
	o.finish(me, r)
	o.requireEffect(outcome.Superseded, "T", outcome.Failed)
	_, names := o.claim(me)
	require.Empty(t, names)

	o.requireEffect(outcome.Superseded, "T", outcome.Done) // the aggregator has listed the store again
	require.Equal(t, "s1", publishedID())
	require.Nil(t, o.claimed(me).Digest)
}

func TestOutcomeOfACrashedAttemptIsApplied(t *testing.T) {
	o := newOutcomeHarness(t)
	o.change(me, 5) // sent, and the process dies
	o.requireEffect(outcome.Early, "T", outcome.Failed)
	o.requireEffect(outcome.Early, "T", outcome.Done)
	o.clock.Advance(2 * time.Minute)
	o.accept(other, o.claimed(other), "T")
	require.Equal(t, publishing.Published, o.publication().State)
	require.Zero(t, o.publication().Deadline)
	o.requireEffect(outcome.Repeated, "T", outcome.Failed)
}

func TestReusedReferenceLeavesThePendingRequest(t *testing.T) {
	o := newOutcomeHarness(t)
	o.accept(me, o.change(me, 5), "T")
	early, err := tasks.Register(t.Context(), o.db, o.db.Bun(), outcome.Task{Business: o.business, Platform: "a",
		Reference: "T", Kind: outcome.Menu, StoreID: o.storeID("s2"), CallID: core.NewID(o.clock.Now()),
		Deadline: o.clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Nil(t, early)
	o.requireEffect(outcome.Settled, "T", outcome.Done)
	require.Equal(t, publishing.Published, o.publication().State)
}

func TestOldReportDoesNotSettleTheNextTask(t *testing.T) {
	o := newOutcomeHarness(t)
	o.change(me, 5)
	o.requireEffect(outcome.Early, "T", outcome.Done)
	o.clock.Advance(20 * time.Minute)
	o.accept(other, o.claimed(other), "T")
	require.NotZero(t, o.publication().Deadline)
}

func TestReportWaitsWhileANewerMenuIsSent(t *testing.T) {
	o := newOutcomeHarness(t)
	o.accept(me, o.change(me, 5), "T-1")
	newer := o.change(me, 6)
	_, err := o.report("T-1", outcome.Done)
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	o.accept(me, newer, "T-2")
	o.requireEffect(outcome.Superseded, "T-1", outcome.Done)
	require.Equal(t, "T-2", o.publication().Task)
	o.requireEffect(outcome.Settled, "T-2", outcome.Failed)
	require.Equal(t, publishing.Failed, o.publication().State)
}

func TestRacingReportAndResponseSettleOnce(t *testing.T) {
	o := newOutcomeHarness(t)
	for n := range 10 {
		w, task := o.change(me, 10+n), fmt.Sprint("T-", n)
		var both sync.WaitGroup
		both.Go(func() {
			_, err := o.report(task, outcome.Done)
			require.NoError(t, err)
		})
		o.accept(me, w, task)
		both.Wait()
		require.Equal(t, publishing.Published, o.publication().State)
		require.Zero(t, o.publication().Deadline)
	}
}
