package cause

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/webhook"
)

// problemTexts maps failure classes to what happened.
var problemTexts = map[webhook.ErrorClass]string{
	webhook.AddressRefused:   text.ProblemBlocked,
	webhook.DNS:              text.ProblemDNS,
	webhook.TLS:              text.ProblemTLS,
	webhook.Connect:          text.ProblemConnect,
	webhook.Timeout:          text.ProblemTimeout,
	webhook.ConnectionBroken: text.ProblemBroken,
	webhook.Protocol:         text.ProblemProtocol,
	webhook.Redirect:         text.ProblemRedirect,
	webhook.Gone:             text.ProblemGone,
}

// ProblemTitle returns what happened, without a full stop.
func ProblemTitle(p console.Problem) string {
	server := cmp.Or(p.Server, text.ProblemNoServer)
	if format, known := problemTexts[p.Class]; known {
		return fmt.Sprintf(format, server)
	}
	if p.Status != 0 {
		return fmt.Sprintf(text.ProblemStatus, server, statusText(p.Status))
	}
	return fmt.Sprintf(text.ProblemProtocol, server)
}

// FailedNumber formats the number of failed deliveries of a problem.
func FailedNumber(n int) string { return numberUpTo(n, console.MaxProblemCount) }

// ProblemState returns the badge of a problem.
func ProblemState(p console.Problem) (ui.State, string) {
	switch p.State {
	case console.ProblemAcknowledged:
		return ui.Warn, text.ProblemState_ack
	case console.ProblemResolved:
		return ui.OK, text.ProblemState_over
	}
	return ui.Err, text.ProblemState_open
}

// Problem explains a cause of failed deliveries, who works on it, and what is left to do.
func Problem(p console.Problem, zone *time.Location) ui.Cause {
	state, _ := ProblemState(p)
	details := []string{text.ProblemNoneLeft}
	if p.Failed > 0 {
		count := text.OneDelivery
		if p.Failed > 1 {
			count = fmt.Sprintf(text.Deliveries_, FailedNumber(p.Failed))
		}
		details = []string{fmt.Sprintf(text.ProblemLeft, count)}
	}
	if history := problemHistory(p, zone); history != "" {
		details = append(details, history)
	}
	switch {
	case p.State == console.ProblemResolved:
	case p.Failed > 0:
		details = append(details, problemRemedy(p), text.ProblemResendWhen)
	default:
		state, details = ui.Warn, append(details, text.ProblemResolve)
	}
	return ui.Cause{State: state, Text: ProblemTitle(p) + ".", Detail: strings.Join(details, " ")}
}

// problemHistory says who changed the state of a problem last, and whether it failed again since.
func problemHistory(p console.Problem, zone *time.Location) string {
	if p.ChangedBy == "" {
		return ""
	}
	by, at := ActorName(p.ChangedBy), Moment(p.ChangedAt, zone)
	switch {
	case p.State == console.ProblemAcknowledged:
		return fmt.Sprintf(text.ProblemAcknowledgedBy, by, at)
	case p.State == console.ProblemResolved:
		return fmt.Sprintf(text.ProblemResolvedBy, by, at)
	case p.ReopenedAt.After(p.ChangedAt):
		return fmt.Sprintf(text.ProblemFailedAgain, Moment(p.ReopenedAt, zone), by, at)
	}
	return fmt.Sprintf(text.ProblemReopenedBy, by, at)
}

// problemRemedy returns what fixes the cause of a problem.
func problemRemedy(p console.Problem) string {
	switch p.Class {
	case webhook.AddressRefused:
		return text.RemedyBlockedURL
	case webhook.Gone:
		return text.RemedyGone
	}
	if texts, known := failureTexts[p.Class]; known {
		return texts.remedy
	}
	return statusRemedy(p.Status)
}

// Resend reports the result of a resend of a problem so far.
func Resend(r console.ProblemResend, zone *time.Location) ui.Cause {
	o, at := r.Outcome, Moment(r.CreatedAt, zone)
	done, all := ui.Number(o.Delivered), ui.Number(o.Selected)
	details := append([]string{fmt.Sprintf(text.ResendBy, ActorName(r.Actor))}, outcomeDetails(o, r.Running())...)
	cause := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.ResendResult, at, done, all)}
	switch {
	case r.State == string(job.Failed):
		cause.State, cause.Text = ui.Err, fmt.Sprintf(text.ResendStopped, at, done, all)
		details = append(details, r.Error)
	case r.Running() && o.Sent == 0:
		return ui.Cause{State: ui.Run, Text: fmt.Sprintf(text.ResendWaits, at), Detail: details[0]}
	case r.Running():
		cause.State = ui.Run
	default:
		cause.State = resendState(o)
	}
	cause.Detail = strings.Join(details, " ")
	return cause
}

// outcomeDetails says which deliveries of a resend were not delivered. Deliveries may be pending when counting ends.
func outcomeDetails(o webhook.ResendOutcome, counting bool) (details []string) {
	pending := text.ResendPending
	if !counting {
		pending = text.ResendUncounted
	}
	for _, part := range []struct {
		format string
		count  int
	}{{pending, o.Pending()}, {text.ResendAgain, o.Failed}, {text.ResendSkipped, o.Selected - o.Sent},
		{text.FinalOmitted, o.LeftOut}} {
		if part.count > 0 {
			details = append(details, fmt.Sprintf(part.format, ui.Number(part.count)))
		}
	}
	return details
}

// problemResendCause reports the result of an ended resend of a problem.
func problemResendCause(j console.Job) ui.Cause {
	o := resendOutcome(j)
	return ui.Cause{State: resendState(o), Text: fmt.Sprintf(text.CauseJobDelivered, ui.Number(o.Delivered),
		ui.Count(o.Selected, text.OneDelivery, text.Deliveries_)), Detail: strings.Join(outcomeDetails(o, false), " ")}
}

// resendOutcome returns the outcome of an ended resend of a problem.
func resendOutcome(j console.Job) (o webhook.ResendOutcome) {
	_ = json.Unmarshal(j.Result, &o)
	return o
}

// resendState returns the state of an ended resend of a problem by its outcome.
func resendState(o webhook.ResendOutcome) ui.State {
	switch {
	case o.Delivered >= o.Selected:
		return ui.OK
	case o.Failed == o.Selected:
		return ui.Err
	}
	return ui.Warn
}
