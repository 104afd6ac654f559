package publish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/retry"
)

// sentWork returns a publication whose menu was sent at a time, with the digest of "soup".
func sentWork(at time.Time) Work {
	work := Work{Version: 4, Attempts: 1, CallID: core.NewID(at), PendingRequests: []core.ID{core.NewID(at)}}
	result := Result{Work: work, Digest: digest(core.ID{}, []string{"soup"}), Omitted: []Problem{{RefID: "i"}}}
	return result.await("T", at, at.Add(time.Hour)).Work
}

func TestOnlyAnUnchangedMenuIsOverdue(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	work := sentWork(now)
	_, late := overdue(work, now.Add(time.Hour-1))
	require.False(t, late)
	result, late := overdue(work, now.Add(time.Hour))
	require.True(t, late)
	require.Equal(t, Failed, result.State)
	require.Contains(t, result.Message, "did not report the outcome by 2026-11-21T10:00:00Z")
	require.Equal(t, work.Sent.PendingRequests, result.PendingRequests)
	work.Version++
	_, late = overdue(work, now.Add(time.Hour))
	require.False(t, late)
}

func TestPendingMenuIsNotSentTwice(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	explicit := core.NewID(now)
	for name, c := range map[string]struct {
		change func(*Work)
		after  time.Duration
		menu   string
		send   bool
	}{
		"same menu":      {func(*Work) {}, time.Minute, "soup", false},
		"other menu":     {func(*Work) {}, time.Minute, "rice", true},
		"overdue":        {func(*Work) {}, time.Hour, "soup", true},
		"unknown state":  {func(w *Work) { w.Sent.Digest = nil }, time.Minute, "soup", true},
		"new request":    {func(w *Work) { w.ExplicitRequests = []core.ID{explicit} }, time.Minute, "soup", true},
		"nothing before": {func(w *Work) { w.Sent = nil }, time.Minute, "soup", true},
	} {
		t.Run(name, func(t *testing.T) {
			work := sentWork(now)
			work.Version++
			c.change(&work)
			result, send := renderResult(work, Rendering{Content: []string{c.menu}}, now.Add(c.after))
			require.Equal(t, c.send, send)
			if !send {
				require.Equal(t, Pending, result.State)
				require.Equal(t, work.Version, result.Sent.Version)
				require.Equal(t, work.Sent.Deadline, result.Sent.Deadline)
				require.Zero(t, result.Replaced)
			}
		})
	}
}

func TestAcceptedMenuReplacesThePendingOne(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	work := sentWork(now)
	first := work.Sent.CallID
	work.CallID = core.NewID(now.Add(time.Minute))
	result := finalResult(Result{Work: work, State: Published, Digest: []byte("d")},
		SendResult{State: Pending, Task: "T-2", Deadline: now.Add(2 * time.Hour)}, now)
	require.Equal(t, first, result.Replaced)
	require.Equal(t, "T-2", result.Sent.Task)
	require.Equal(t, []byte("d"), result.Sent.Digest)
	require.Nil(t, result.Digest)
	events, err := result.Events()
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestPendingMenuStaysUntilAnotherIsSent(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	work := sentWork(now)
	for _, err := range []error{core.Errorf(core.Internal, "crashed"), core.Errorf(core.Unavailable, "down")} {
		require.True(t, renderFailure(work, err, now).SentStays())
	}
	require.False(t, finalResult(Result{Work: work}, SendResult{State: Waiting}, now).SentStays())
	require.True(t, finalResult(Result{Work: work}, SendResult{State: Waiting, Uncounted: true}, now).SentStays())
}

func TestProblemsOfAnAcceptanceAreKept(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	former, rejected := Problem{Code: "former_id"}, Problem{Code: "picture"}
	work := finalResult(Result{Work: Work{CallID: core.NewID(now)}},
		SendResult{State: Pending, Task: "T", Problems: []Problem{former}, Deadline: now.Add(time.Hour)}, now).Work
	done := work.Sent.Settle(work, outcome.Report{State: outcome.Done, Problems: []Problem{rejected}}, now)
	require.Equal(t, []Problem{former, rejected}, done.Problems)
}

func TestReportDecidesAboutTheSentMenu(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	work := sentWork(now)
	problem := []Problem{{Entity: "item", RefID: "soup", Message: "no picture"}}
	done := work.Sent.Settle(work, outcome.Report{State: outcome.Done, Problems: problem}, now)
	require.Equal(t, Published, done.State)
	require.Equal(t, work.Sent.Digest, done.Digest)
	require.Equal(t, problem, done.Problems)
	failed := work.Sent.Settle(work, outcome.Report{State: outcome.Failed, Problems: problem}, now)
	require.Equal(t, []any{Failed, "no picture"}, []any{failed.State, failed.Message})
	require.Nil(t, failed.Digest)
	again := work.Sent.Settle(work, outcome.Report{State: outcome.Retry}, now)
	require.Equal(t, Waiting, again.State)
	require.True(t, again.RetryAt.After(now))
	require.Zero(t, again.CallID)
	work.Sent.Attempts = retry.Default(1).Attempts
	require.Equal(t, Failed, work.Sent.Settle(work, outcome.Report{State: outcome.Retry}, now).State)
}
