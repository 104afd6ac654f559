package cause

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/webhook"
)

// Job explains the state of a job and the errors of its objects.
func Job(j console.Job, groups []console.Group) ui.Cause {
	failures := 0
	for _, group := range groups {
		failures += group.Count
	}
	first := ""
	if len(groups) > 0 {
		first = ErrorText(groups[0].Cause)
	}
	if len(groups) > 1 {
		first = fmt.Sprintf(text.MostFrequent, first)
	}
	switch {
	case j.State == string(job.Failed):
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseJobFailed, attemptCount(j.Attempts), j.Error),
			Detail: jobRemedy(j)}
	case j.State == string(job.Queued) && j.Error != "":
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseJobTried, j.Attempts, j.Error)}
	case j.State == string(job.Queued):
		return ui.Cause{State: ui.Wait, Text: text.CauseJobQueued}
	case j.State == string(job.Running) && j.Error != "":
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseJobTried, j.Attempts, j.Error)}
	case j.State == string(job.Running):
		return ui.Cause{State: ui.Run,
			Text: fmt.Sprintf(text.CauseJobRunning, ui.Number(j.Done), objectCount(j.Kind, j.Total))}
	case j.DryRun:
		return ui.Cause{State: ui.Neutral, Text: text.CauseJobDry}
	case j.Kind == core.ProblemResendJob:
		return problemResendCause(j)
	case j.Kind == core.BulkResendJob:
		return resendCause(j)
	case j.Kind == core.OrderRetryJob:
		return retryCause(j)
	case j.Kind == core.RecheckJob:
		return recheckCause(j)
	case j.Kind == core.TimingJob && failedTimings(j) > 0:
		return ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseJobTimings, ui.Number(failedTimings(j)),
				ui.Count(j.Total, text.OneTiming, text.Timings_))}
	case failures > 0:
		return ui.Cause{State: ui.Err,
			Text:   fmt.Sprintf(text.CauseJobErrors, ui.Number(failures), objectCount(j.Kind, j.Total), first),
			Detail: strings.Join(Warnings(j), " ")}
	case len(Warnings(j)) > 0:
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseJobWarned, objectCount(j.Kind, j.Total), warningCount(j)),
			Detail: strings.Join(Warnings(j), " ")}
	case j.Total == 0 && j.Kind == core.MenuJob:
		return ui.Cause{State: ui.OK, Text: text.CauseJobNothing}
	default:
		return ui.Cause{State: ui.OK,
			Text: fmt.Sprintf(text.CauseJobDone, objectCount(j.Kind, j.Total))}
	}
}

// jobRemedy returns what to do after the error of a failed job is fixed: who submits the request again.
func jobRemedy(j console.Job) string {
	switch {
	case j.Kind == core.RecheckJob:
		return sentences(text.RemedyJobFailed, text.RemedyJobCheck)
	case strings.HasPrefix(j.Actor, "user:"): // such as a restore
		return sentences(text.RemedyJobFailed, text.RemedyJobStart)
	case j.Kind == core.StoreJob || j.Kind == core.MenuJob:
		return sentences(text.RemedyJobFailed, text.RemedyJobPOS, text.RemedyJobRerun)
	case j.Kind == core.TimingJob || j.Kind == core.OrderRetryJob:
		return sentences(text.RemedyJobFailed, text.RemedyJobPOS)
	}
	return sentences(text.RemedyJobFailed, text.RemedyJobStart)
}

// objectCount returns n objects, named for the kind of the job.
func objectCount(kind core.JobKind, n int) string {
	switch kind {
	case core.StoreJob:
		return ui.Count(n, text.OneStore, text.Stores_)
	case core.MenuJob:
		return ui.Count(n, text.OneEntry, text.Entries_)
	case core.OrderRetryJob:
		return ui.Count(n, text.OneOrder, text.Orders_)
	case core.RecheckJob:
		return ui.Count(n, text.OneItem, text.Items_)
	}
	return ui.Count(n, text.OneObject, text.Objects_)
}

// maxWarnings limits the warnings listed for a job.
const maxWarnings = 3

// Warnings returns the first warnings of a job, each a sentence.
func Warnings(j console.Job) (sentences []string) {
	all := allWarnings(j)
	for i, message := range all {
		if i == maxWarnings {
			return append(sentences, fmt.Sprintf(text.MoreWarnings, ui.Number(len(all)-i)))
		}
		sentences = append(sentences, message+".")
	}
	return sentences
}

func warningCount(j console.Job) string {
	return ui.Count(len(allWarnings(j)), text.OneWarning, text.Warnings_)
}

func allWarnings(j console.Job) (messages []string) {
	var result struct {
		Warnings []struct {
			Message string `json:"message"`
		} `json:"warnings"`
	}
	_ = json.Unmarshal(j.Result, &result)
	for _, w := range result.Warnings {
		messages = append(messages, w.Message)
	}
	return messages
}

// failedTimings returns how many timing groups failed at least in part.
func failedTimings(j console.Job) int {
	var result struct {
		Errors int `json:"errors"`
	}
	_ = json.Unmarshal(j.Result, &result)
	return result.Errors
}

// MissedDeliveries returns how many deliveries a resend had selected, and how many of them it missed. A resend of a
// problem did not deliver these, and any other did not resend them.
func MissedDeliveries(j console.Job) (selected, missed int) {
	switch j.Kind {
	case core.ProblemResendJob:
		o := resendOutcome(j)
		return o.Selected, o.Selected - o.Delivered
	case core.BulkResendJob:
		r := resendResult(j)
		return r.Resent + r.Skipped, r.Skipped
	}
	return 0, 0
}

// resendResult returns the result of a bulk resend.
func resendResult(j console.Job) (r webhook.ResendResult) {
	_ = json.Unmarshal(j.Result, &r)
	return r
}

// resendCause reports the result of a bulk resend.
func resendCause(j console.Job) ui.Cause {
	result := resendResult(j)
	cause := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseJobResent, deliveryCount(result.Resent))}
	if result.Skipped > 0 {
		cause.State = ui.Warn
		cause.Text = fmt.Sprintf(text.CauseJobResentBut, deliveryCount(result.Resent), deliveryCount(result.Skipped))
	}
	if result.LeftOut > 0 {
		cause.Detail = fmt.Sprintf(text.FinalOmitted, deliveryCount(result.LeftOut))
	}
	return cause
}

// RetriedOrders returns how many orders an order retry resent, and how many of them failed again.
func RetriedOrders(j console.Job) (sent, failed int) {
	var result struct {
		Retried int `json:"retried"`
		Failed  int `json:"failed"`
	}
	if j.Kind == core.OrderRetryJob {
		_ = json.Unmarshal(j.Result, &result)
	}
	return result.Retried, result.Failed
}

// retryCause reports the result of an order retry.
func retryCause(j console.Job) ui.Cause {
	sent, failed := RetriedOrders(j)
	if j.Total == 0 {
		return ui.Cause{State: ui.Neutral, Text: text.CauseJobNoOrder}
	}
	cause := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseJobResent, ui.Count(sent, text.OneOrder, text.Orders_))}
	if failed > 0 {
		cause.State = ui.Warn
		cause.Text += " " + fmt.Sprintf(text.ResendAgain, ui.Number(failed))
	}
	if failed > 0 && failed == sent {
		cause.State = ui.Err
	}
	return cause
}

// recheckCause reports the result of a check of stored items.
func recheckCause(j console.Job) ui.Cause {
	var result struct {
		Found int `json:"items_with_findings"`
	}
	_ = json.Unmarshal(j.Result, &result)
	cause := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseJobChecked, objectCount(j.Kind, j.Total))}
	if result.Found > 0 {
		cause.State = ui.Warn
		cause.Text += " " + fmt.Sprintf(text.CauseJobFound, ui.Number(result.Found))
	}
	return cause
}
