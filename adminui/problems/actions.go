package problems

import (
	"context"
	"fmt"
	"slices"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// buttons returns the actions on a problem. Those that set the state expect the state that the page shows.
func (p Pages) buttons(ctx context.Context, v *shell.PageContext, problem console.Problem) ([]ui.Button, error) {
	people, err := p.Editor.Supporters(ctx, v.Business.ID)
	if err != nil {
		return nil, err
	}
	here := pathOf(problem)
	set := func(label, help, path string) ui.Button {
		return ui.Button{Label: label, Help: help, Action: here + path, ReasonLabel: text.Why,
			Hidden: []ui.Option{{Label: "seen", Value: string(problem.State)}}}
	}
	var list []ui.Button
	if problem.State == console.ProblemOpen {
		list = append(list, set(text.Acknowledge, text.AcknowledgeHelp, "acknowledge/"))
	}
	if problem.State == console.ProblemResolved {
		list = append(list, set(text.Reopen, text.ReopenHelp, "reopen/"))
	} else {
		list = append(list, set(text.Resolve, text.ResolveHelp, "resolve/"))
	}
	options := []ui.Option{{Value: "", Label: text.ProblemUnassigned}}
	for _, email := range people {
		options = append(options, ui.Option{Value: email, Label: email})
	}
	return append(list, ui.Button{Label: text.Assign, Action: here + "assign/", Help: text.AssignHelp,
		ReasonLabel: text.Why, Fields: []ui.Filter{
			{Name: "assignee", Label: text.ProblemAssignee, Value: problem.Assignee, Options: options}}},
		ui.Button{Label: text.AddNote, Action: here + "note/", ReasonLabel: text.NoteText}), nil
}

// stateActions are the audit action and the message of a new state.
var stateActions = map[console.ProblemState]struct{ action, done string }{
	console.ProblemAcknowledged: {"problem.acknowledge", "acknowledged"},
	console.ProblemResolved:     {"problem.resolve", "resolved"},
	console.ProblemOpen:         {"problem.reopen", "reopened"},
}

// setState returns the handler that sets a state.
func (p Pages) setState(state console.ProblemState) shell.Handler {
	return func(c *fiber.Ctx, v *shell.PageContext) error {
		problem, err := p.problem(c, v)
		if err != nil {
			return err
		}
		if err := p.Editor.SetProblemState(c.UserContext(), v.Business.ID, problem.ID,
			console.ProblemTransition{From: console.ProblemState(shell.Field(c, "seen")), To: state},
			v.Change(c, stateActions[state].action)); err != nil {
			return err
		}
		return shell.RedirectDone(c, pathOf(problem), stateActions[state].done)
	}
}

// Note adds a note to a problem.
func (p Pages) Note(c *fiber.Ctx, v *shell.PageContext) error {
	problem, err := p.problem(c, v)
	if err != nil {
		return err
	}
	if err := p.Editor.NoteProblem(c.UserContext(), v.Business.ID, problem.ID,
		v.Change(c, "problem.note")); err != nil {
		return err
	}
	return shell.RedirectDone(c, pathOf(problem), "noted")
}

// Assign assigns a problem to a user who may act in the business, or to none.
func (p Pages) Assign(c *fiber.Ctx, v *shell.PageContext) error {
	problem, err := p.problem(c, v)
	if err != nil {
		return err
	}
	people, err := p.Editor.Supporters(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	assignee := shell.Field(c, "assignee")
	if assignee != "" && !slices.Contains(people, assignee) {
		return v.Redisplay(c, core.Errorf(core.Invalid, text.AssignNot, assignee), pathOf(problem), p.One)
	}
	if err := p.Editor.AssignProblem(c.UserContext(), v.Business.ID, problem.ID, assignee,
		v.Change(c, "problem.assign")); err != nil {
		return err
	}
	return shell.RedirectDone(c, pathOf(problem), "assigned")
}

// Resend shows how many deliveries of a problem are left, before they are resent.
func (p Pages) Resend(c *fiber.Ctx, v *shell.PageContext) error {
	problem, err := p.problem(c, v)
	if err != nil {
		return err
	}
	return p.showResend(c, v, problem, "")
}

func (p Pages) showResend(c *fiber.Ctx, v *shell.PageContext, problem console.Problem, changed string) error {
	counted := deliveries.NewSnapshot(v)
	selector := webhook.ProblemSelector(problem.ID, counted.At)
	if err := counted.CountFor(c.UserContext(), p.Deliveries, v.Business.ID, selector); err != nil {
		return err
	}
	targets, err := p.Problems.ProblemTargets(c.UserContext(), v.Business.ID, problem.ID)
	if err != nil {
		return err
	}
	button := counted.Button(v, pathOf(problem)+"resend/", text.ProblemResendHelp)
	head := shell.Head{Title: text.ProblemResendHead, Note: fmt.Sprintf(text.ProblemN, problem.ID),
		Parent: ui.Link{Href: pathOf(problem), Label: problem.Server}}
	deliveries.ShowChanged(c, &head, &button, changed)
	if counted.Count == 0 {
		return v.Show(c, head, ui.Quiet(text.ProblemResendNone))
	}
	return v.Show(c, head, templ.Join(ui.Confirm(button),
		ui.Part(text.ProblemTargets, ui.Link{}, ui.ListOf(targetTable(v, targets)))))
}

// QueueResend queues a job that resends the counted deliveries. If the count has changed since, it shows the new count
// instead.
func (p Pages) QueueResend(c *fiber.Ctx, v *shell.PageContext) error {
	problem, err := p.problem(c, v)
	if err != nil {
		return err
	}
	counted, err := deliveries.ReadSnapshot(c)
	if err != nil {
		return err
	}
	resends, err := p.Problems.ProblemResends(c.UserContext(), v.Business.ID, problem.ID)
	if err != nil {
		return err
	}
	if len(resends) > 0 && resends[0].Running() {
		return core.Errorf(core.Conflict, text.ProblemResendRuns)
	}
	selector := webhook.ProblemSelector(problem.ID, counted.At)
	confirmed, err := counted.Confirm(c, p.Deliveries, v.Business.ID, selector)
	if err != nil {
		return err
	}
	if confirmed.Changed != "" {
		return p.showResend(c, v, problem, confirmed.Changed)
	}
	job, err := confirmed.Selector.ProblemJob(v.Business.ID, confirmed.Count, v.Now)
	if err != nil {
		return err
	}
	change := v.Change(c, "problem.resend")
	change.Object, change.After = console.ProblemObject(problem.ID),
		confirmed.Audit(map[string]any{"job": job.ID.String()})
	if err := p.Resender.QueueJob(c.UserContext(), job, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, pathOf(problem), "resending")
}
