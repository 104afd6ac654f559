package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func TestEveryFailureClassIsAProblem(t *testing.T) {
	titles := map[string]bool{}
	for _, failure := range webhook.Failures() {
		p := console.Problem{Server: "pos.example", Class: failure.Class}
		if failure.Class == webhook.Status {
			p.Status = 503
		}
		require.Contains(t, ProblemTitle(p), "pos.example")
		titles[ProblemTitle(p)] = true
	}
	require.Len(t, titles, len(webhook.Failures()), "each has its own title")
	require.Contains(t, titles, "pos.example responded with error 503 (not available)")
	require.Equal(t, "The server sent responses that are not valid HTTP", ProblemTitle(console.Problem{Class: "new"}))
}

func TestProblemIsExplainedByItsState(t *testing.T) {
	problem := console.Problem{Server: "pos.example", Class: webhook.Timeout, Failed: 2,
		ChangedBy: "user:sam@a.example", ChangedAt: since}
	for name, row := range map[string]struct {
		change func(*console.Problem)
		state  ui.State
		detail string
	}{
		"new": {func(p *console.Problem) { p.ChangedBy, p.Failed = "", 1 }, ui.Err,
			"Not delivered: 1 event delivery. The server must accept"},
		"many": {func(p *console.Problem) { p.Failed = console.MaxProblemCount }, ui.Err,
			"Not delivered: more than 999 event deliveries."},
		"acknowledged": {func(p *console.Problem) { p.State = console.ProblemAcknowledged }, ui.Warn,
			"sam@a.example acknowledged this on 21 Nov at 09:30 UTC."},
		"resolved": {func(p *console.Problem) { p.State, p.Failed = console.ProblemResolved, 0 }, ui.OK,
			"Nothing is left to resend. sam@a.example resolved this on 21 Nov at 09:30 UTC."},
		"nothing is left": {func(p *console.Problem) { p.ChangedBy, p.Failed = "", 0 }, ui.Warn,
			"Nothing is left to resend. Resolve it if its cause is fixed."},
		"failed again": {func(p *console.Problem) { p.ReopenedAt = since.Add(time.Hour) }, ui.Err,
			"It failed again on 21 Nov at 10:30 UTC, after sam@a.example had resolved it on 21 Nov at 09:30 UTC."},
		"reopened by a user": {func(p *console.Problem) { p.ReopenedAt = since.Add(-time.Hour) }, ui.Err,
			"sam@a.example reopened this on 21 Nov at 09:30 UTC."},
	} {
		t.Run(name, func(t *testing.T) {
			p := problem
			p.State = console.ProblemOpen
			row.change(&p)
			cause := Problem(p, time.UTC)
			require.Equal(t, row.state, cause.State)
			require.Contains(t, cause.Detail, row.detail)
		})
	}
}

func TestResendOfAProblemShowsItsResult(t *testing.T) {
	for name, row := range map[string]struct {
		state   string
		outcome webhook.ResendOutcome
		colour  ui.State
		text    string
		detail  string
	}{
		"queued": {"queued", webhook.ResendOutcome{}, ui.Run, "is about to start", "Resent by sam@a.example."},
		"running": {"running", webhook.ResendOutcome{Selected: 430, Sent: 430, Delivered: 412, Failed: 3}, ui.Run,
			"412 of 430 delivered", "Resent by sam@a.example. Pending: 15. Failed again: 3."},
		"all delivered": {"done", webhook.ResendOutcome{Selected: 9, Sent: 9, Delivered: 9}, ui.OK, "9 of 9 delivered",
			"Resent by sam@a.example."},
		"all failed": {"done", webhook.ResendOutcome{Selected: 9, Sent: 9, Failed: 9}, ui.Err, "0 of 9 delivered",
			"Failed again: 9."},
		"some skipped": {"done", webhook.ResendOutcome{Selected: 9, Sent: 7, Delivered: 7}, ui.Warn,
			"7 of 9 delivered", "paused: 2."},
		"some left out": {"done", webhook.ResendOutcome{Selected: 18, Sent: 18, Delivered: 18, LeftOut: 2}, ui.OK,
			"18 of 18 delivered", "Left out, because their orders are Cancelled or Completed: 2."},
		"some pending": {"done", webhook.ResendOutcome{Selected: 9, Sent: 9, Delivered: 7, Failed: 1}, ui.Warn,
			"7 of 9 delivered", "sam@a.example. Still pending when counting stopped: 1. The hub counts for at " +
				"most an hour. Failed again: 1."},
		"stopped": {"failed", webhook.ResendOutcome{Selected: 9, Sent: 7, Delivered: 7}, ui.Err, "stopped", "no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := Resend(console.ProblemResend{State: row.state, Actor: "user:sam@a.example", CreatedAt: since,
				Error: "no disk", Outcome: row.outcome}, time.UTC)
			require.Equal(t, row.colour, cause.State)
			require.Contains(t, cause.Text, row.text)
			require.Contains(t, cause.Detail, row.detail)
		})
	}
	ended := Job(console.Job{Kind: core.ProblemResendJob, State: "done",
		Result: []byte(`{"selected":430,"sent":430,"delivered":412,"failed":18}`)}, nil)
	require.Equal(t, ui.Cause{State: ui.Warn, Text: "Delivered: 412 of 430 event deliveries.",
		Detail: "Failed again: 18."}, ended)
	ended = Job(console.Job{Kind: core.ProblemResendJob, State: "done",
		Result: []byte(`{"selected":9,"sent":9,"delivered":7,"failed":0}`)}, nil)
	require.Equal(t, "Still pending when counting stopped: 2. The hub counts for at most an hour.", ended.Detail)
}
