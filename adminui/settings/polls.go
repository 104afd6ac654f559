package settings

import (
	"cmp"
	"fmt"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// maxPolls bounds the polls that the page of a platform shows. Those that fail come first.
const maxPolls = 20

// pollFacts returns the time and the result of the last attempt of each poll, and when it is due next.
func pollFacts(v *shell.PageContext, platform console.PlatformSettings) (facts []ui.Fact) {
	for i, poll := range platform.Polls {
		if i == maxPolls {
			return append(facts, ui.Fact{Label: text.PollsMore, Cell: ui.T(fmt.Sprint(len(platform.Polls) - maxPolls))})
		}
		cell := ui.Cell{Text: text.PollNever, Note: pollDue(v, poll)}
		if !poll.AttemptedAt.IsZero() {
			cell = ui.Cell{Instant: new(v.At(poll.AttemptedAt)), Note: cmp.Or(poll.Message, text.PollNothing) + "; " +
				pollDue(v, poll)}
		}
		facts = append(facts, ui.Fact{Label: pollLabel(poll), Cell: cell})
	}
	return facts
}

func pollLabel(poll console.PlatformPoll) string {
	if poll.Store == "" {
		return fmt.Sprintf(text.PollOf, poll.Poll)
	}
	return fmt.Sprintf(text.PollOfStore, poll.Poll, poll.Store)
}

func pollDue(v *shell.PageContext, poll console.PlatformPoll) string {
	switch {
	case poll.DueAt.IsZero():
		return text.PollUnscheduled
	case poll.Running:
		return text.PollRunning
	}
	return fmt.Sprintf(text.PollDue, poll.DueAt.In(v.Zone).Format("2 Jan 2006 15:04:05 MST"))
}

// pollCauses returns the polls whose last attempt failed.
func pollCauses(platform console.PlatformSettings) (causes []ui.Cause) {
	for _, poll := range platform.Polls {
		if poll.Failed && !poll.DueAt.IsZero() && len(causes) < maxPolls {
			causes = append(causes, ui.Cause{State: ui.Err, Text: pollLabel(poll) + ": " +
				fmt.Sprintf(text.PollFailing, sentence(poll.Message))})
		}
	}
	return causes
}
