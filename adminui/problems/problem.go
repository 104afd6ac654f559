package problems

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// problemView is the view model of a problem.
type problemView struct {
	progress string // percent of a running resend
	facts    []ui.Fact
	targets  ui.List
	samples  ui.List
	all      string // URL of all failed deliveries
	history  *timeline.Timeline
}

// The number of samples, and of audit entries in the history.
const maxSamples, maxEntries = 10, 100

// One shows a problem.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	ctx := c.UserContext()
	problem, err := p.problem(c, v)
	if err != nil {
		return err
	}
	targets, err := p.Problems.ProblemTargets(ctx, v.Business.ID, problem.ID)
	if err != nil {
		return err
	}
	failed, err := p.Deliveries.List(ctx, v.Business.ID, webhook.Filter{ProblemID: problem.ID, Limit: maxSamples})
	if err != nil {
		return err
	}
	entries, err := p.Trail.Audit(ctx, v.Business.ID, console.EntryFilter{Object: console.ProblemObject(problem.ID),
		Limit: maxEntries})
	if err != nil {
		return err
	}
	resends, err := p.Problems.ProblemResends(ctx, v.Business.ID, problem.ID)
	if err != nil {
		return err
	}
	view := problemView{facts: facts(v, problem), targets: targetTable(v, targets),
		samples: deliveries.Table(v, failed, false), history: history(v, problem, entries),
		all: v.Link(fmt.Sprintf("deliveries/?state=%s&problem=%d", webhook.Failed, problem.ID))}
	view.samples.Name = text.ProblemSamples
	head := shell.Head{Title: problem.Server, Note: fmt.Sprintf(text.ProblemN, problem.ID),
		Parent: ui.Link{Href: v.Link("problems/"), Label: text.Problems},
		Causes: []ui.Cause{cause.Problem(problem, v.Zone)}, Live: true}
	if head.Title == "" {
		head.Title = text.ProblemNoServer
	}
	running := len(resends) > 0 && resends[0].Running()
	if len(resends) > 0 {
		head.Causes = append(head.Causes, resendCause(v, resends[0]))
	}
	if o := firstOutcome(resends); running && o.Selected > 0 {
		view.progress = fmt.Sprint(100 * (o.Selected - o.Pending()) / o.Selected)
	}
	if v.MayAct() {
		if head.Buttons, err = p.buttons(ctx, v, problem); err != nil {
			return err
		}
		if problem.Failed > 0 && !running {
			head.Links = []ui.Link{{Href: pathOf(problem) + "resend/", Label: text.ProblemResend}}
		}
	}
	return v.Show(c, head, problemPage(view))
}

func firstOutcome(resends []console.ProblemResend) webhook.ResendOutcome {
	if len(resends) == 0 {
		return webhook.ResendOutcome{}
	}
	return resends[0].Outcome
}

// resendCause reports a resend, with a link to its job.
func resendCause(v *shell.PageContext, r console.ProblemResend) ui.Cause {
	result := cause.Resend(r, v.Zone)
	result.Link = ui.Link{Href: v.Link("jobs/" + r.Reference.String() + "/"), Label: text.ActSeeJob}
	return result
}

func facts(v *shell.PageContext, p console.Problem) []ui.Fact {
	return []ui.Fact{{Label: text.State, Cell: ui.StateCell(cause.ProblemState(p))},
		{Label: text.ProblemAssignee, Cell: ui.T(assigneeName(p))}, {Label: text.ProblemNote, Cell: ui.T(p.Note)},
		{Label: text.ProblemFailed, Cell: ui.T(cause.FailedNumber(p.Failed))},
		{Label: text.ProblemEvents, Cell: ui.T(eventNames(p))},
		{Label: text.ProblemFirstSeen, Cell: ui.TimeCell(v.At(p.FirstSeen))},
		{Label: text.ProblemLastSeen, Cell: ui.TimeCell(v.At(p.LastSeen))}}
}

// targetTable lists the webhooks with failed deliveries.
func targetTable(v *shell.PageContext, targets []console.ProblemTarget) ui.List {
	list := ui.List{Name: text.ProblemTargets, EmptyTitle: text.ProblemNoneLeft, EmptyText: text.ProblemNoTargets,
		Columns: []ui.Column{{Label: text.Event}, {Label: text.Address, Kind: ui.Wide},
			{Label: text.ProblemFailed, Kind: ui.Figure}, {Label: text.LastFailed}, {Label: text.Webhook}}}
	for _, t := range targets {
		target := ui.T(text.CallbackURLOf)
		if t.Webhook != 0 {
			target = ui.LinkCell(fmt.Sprint(t.Webhook), v.Link(fmt.Sprintf("webhooks/%d/", t.Webhook)))
		}
		list.Add(ui.T(string(t.EventType)), ui.CodeCell(t.URL), ui.T(cause.FailedNumber(t.Failed)),
			ui.TimeCell(v.At(t.LastFailed)), target)
	}
	return list
}

// historyTitles are the badges of audit entries, by action.
var historyTitles = map[string]struct {
	state ui.State
	title string
}{
	"problem.acknowledge": {ui.Warn, text.HistoryAcknowledged}, "problem.resolve": {ui.OK, text.HistoryResolved},
	"problem.reopen": {ui.Err, text.HistoryReopened}, "problem.note": {ui.Neutral, text.HistoryNoted},
	"problem.assign": {ui.Neutral, text.HistoryAssigned}, "problem.resend": {ui.Run, text.HistoryResent},
}

// history is what happened to a problem: its failures, and what users did.
func history(v *shell.PageContext, p console.Problem, entries []console.Entry) *timeline.Timeline {
	line := timeline.New(v, "")
	line.Add(p.FirstSeen, timeline.Entry{State: ui.Err, Title: text.HistoryFirst, Words: text.HistoryAfterAll})
	if !p.ReopenedAt.IsZero() {
		line.Add(p.ReopenedAt, timeline.Entry{State: ui.Err, Title: text.HistoryAgain, Words: text.HistoryAfterAll})
	}
	for _, e := range slices.Backward(entries) {
		known, ok := historyTitles[e.Action]
		if !ok {
			continue
		}
		line.Add(e.At, timeline.Entry{State: known.state, Title: known.title, Words: historyWords(e),
			Note: deliveries.AuditReason(e, v.Zone)})
	}
	return line
}

// historyWords says who did what.
func historyWords(e console.Entry) string {
	var detail struct {
		After struct {
			Assignee string `json:"assignee"`
			Count    int    `json:"count"`
			LeftOut  int    `json:"final_orders_left_out"`
			Included int    `json:"final_orders_included"`
		} `json:"after"`
	}
	_ = json.Unmarshal(e.Detail, &detail)
	by := cause.ActorName(e.Actor)
	switch {
	case e.Action == "problem.assign" && detail.After.Assignee == "":
		return fmt.Sprintf(text.HistoryUnassigned, by)
	case e.Action == "problem.assign":
		return fmt.Sprintf(text.HistoryAssignedTo, detail.After.Assignee, by)
	case e.Action == "problem.resend":
		words := fmt.Sprintf(text.HistoryResentCount,
			ui.Count(detail.After.Count, text.OneDelivery, text.Deliveries_), by)
		switch {
		case detail.After.LeftOut > 0:
			words += ". " + fmt.Sprintf(text.FinalOmitted, ui.Number(detail.After.LeftOut))
		case detail.After.Included > 0:
			words += ". " + fmt.Sprintf(text.FinalIncluded, ui.Number(detail.After.Included))
		}
		return words
	}
	return fmt.Sprintf(text.HistoryBy, by)
}
