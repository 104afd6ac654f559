// Package problems lists the causes of failed deliveries. Users acknowledge, note, assign and resolve them, and resend
// the deliveries.
package problems

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Reader reads problems.
type Reader interface {
	Problems(ctx context.Context, f console.ProblemFilter) ([]console.Problem, error)
	Problem(ctx context.Context, business core.BusinessID, id int64) (console.Problem, error)
	ProblemAssignees(ctx context.Context, businesses []core.BusinessID) ([]string, error)
	ProblemTargets(ctx context.Context, business core.BusinessID, id int64) ([]console.ProblemTarget, error)
	ProblemResends(ctx context.Context, business core.BusinessID, id int64) ([]console.ProblemResend, error)
}

// Editor changes problems.
type Editor interface {
	SetProblemState(ctx context.Context, business core.BusinessID, id int64, transition console.ProblemTransition,
		change access.Change) error
	AssignProblem(ctx context.Context, business core.BusinessID, id int64, assignee string,
		change access.Change) error
	NoteProblem(ctx context.Context, business core.BusinessID, id int64, change access.Change) error
	// Supporters returns the email addresses of the users who may act in a business.
	Supporters(ctx context.Context, business core.BusinessID) ([]string, error)
}

// Pages is the problem pages.
type Pages struct {
	Problems   Reader
	Editor     Editor
	Deliveries deliveries.Reader
	Resender   deliveries.Resender
	Trail      deliveries.Trail
}

// HubPage describes the list of all visible businesses.
func (p Pages) HubPage() shell.Page {
	const path = shell.ProblemsPath
	return shell.Page{Path: path, Label: text.Problems,
		Routes: []shell.Route{shell.Get(path, access.Viewer, p.ListAll)}}
}

// Page describes the pages of a business.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "problems/"
	return shell.Page{Path: path, Label: text.Problems, Object: "problem",
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Post(path+":id/acknowledge/", access.Support, p.setState(console.ProblemAcknowledged)),
			shell.Post(path+":id/resolve/", access.Support, p.setState(console.ProblemResolved)),
			shell.Post(path+":id/reopen/", access.Support, p.setState(console.ProblemOpen)),
			shell.Post(path+":id/note/", access.Support, p.Note),
			shell.Post(path+":id/assign/", access.Support, p.Assign),
			shell.Get(path+":id/resend/", access.Support, p.Resend),
			shell.Post(path+":id/resend/", access.Support, p.QueueResend),
		},
		Done: map[string]string{"acknowledged": text.ProblemAcknowledged, "resolved": text.ProblemResolved,
			"reopened": text.ProblemReopened, "noted": text.ProblemNoted, "assigned": text.ProblemAssignedDone,
			"resending": text.ProblemResending}}
}

// ListAll shows the problems of all visible businesses.
func (p Pages) ListAll(c *fiber.Ctx, v *shell.PageContext) error {
	return p.list(c, v, v.Visible())
}

// List shows the problems of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	return p.list(c, v, []core.BusinessID{v.Business.ID})
}

// The values of the filters beside states and email addresses.
const (
	anyState   = "any"
	assignedMe = "me"
	unassigned = "none"
)

var stateOptions = []ui.Option{{Value: "", Label: text.ProblemNotOver},
	{Value: string(console.ProblemOpen), Label: text.ProblemState_open},
	{Value: string(console.ProblemAcknowledged), Label: text.ProblemState_ack},
	{Value: string(console.ProblemResolved), Label: text.ProblemState_over}, {Value: anyState, Label: text.ProblemAny}}

// list shows problems of businesses, nil: all. The hub's list names the businesses.
func (p Pages) list(c *fiber.Ctx, v *shell.PageContext, ids []core.BusinessID) error {
	f := filterOf(v, ids)
	found, err := p.Problems.Problems(c.UserContext(), f)
	if err != nil {
		return err
	}
	assignees, err := p.Problems.ProblemAssignees(c.UserContext(), ids)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Problems, EmptyTitle: text.NoProblemsTitle, EmptyText: text.NoProblemsText,
		NoMatchTitle: text.NoProblemsMatch,
		Filters: []ui.Filter{{Name: "state", Label: text.State, Value: v.Query.Get("state"), Options: stateOptions},
			{Name: "assignee", Label: text.ProblemAssignee, Value: v.Query.Get("assignee"),
				Options: assigneeOptions(v, assignees)}},
		Columns: []ui.Column{{Label: text.ProblemColumn, Kind: ui.Wide}, {Label: text.State},
			{Label: text.ProblemFailed, Kind: ui.Figure}, {Label: text.ProblemLastSeen},
			{Label: text.ProblemAssignee}}}
	names, err := businessNames(c.UserContext(), v, found)
	if err != nil {
		return err
	}
	if names != nil {
		list.Columns = append(list.Columns[:1:1], append([]ui.Column{{Label: text.Business}}, list.Columns[1:]...)...)
	}
	for _, problem := range found {
		list.AddAt(fmt.Sprintf("%d-%d", problem.LastSeen.UnixMicro(), problem.ID), cells(v, problem, names)...)
	}
	return v.ShowList(c, shell.Head{Title: text.Problems, Note: text.ProblemsNote, Live: true}, list, "before")
}

// businessNames returns the names of the businesses of problems, or nil on a page of one business.
func businessNames(ctx context.Context, v *shell.PageContext,
	found []console.Problem) (map[core.BusinessID]string, error) {
	if v.Business.ID != 0 {
		return nil, nil
	}
	ids := make([]core.BusinessID, len(found))
	for i, p := range found {
		ids[i] = p.Business
	}
	slices.Sort(ids)
	return v.BusinessNames(ctx, slices.Compact(ids))
}

func cells(v *shell.PageContext, p console.Problem, names map[core.BusinessID]string) []ui.Cell {
	title := ui.LinkCell(cause.ProblemTitle(p), pathOf(p))
	title.Note = eventNames(p)
	state := ui.StateCell(cause.ProblemState(p))
	if p.State == console.ProblemOpen && p.ReopenedAt.After(p.ChangedAt) {
		state.Note = text.ProblemAgain
	}
	list := []ui.Cell{title}
	if names != nil {
		list = append(list, ui.LinkCell(names[p.Business], shell.BusinessLink(p.Business, "problems/")))
	}
	seen := ui.TimeCell(v.At(p.LastSeen))
	seen.Note = fmt.Sprintf(text.ProblemFirst, v.At(p.FirstSeen).Ago())
	return append(list, state, ui.T(cause.FailedNumber(p.Failed)), seen, ui.T(p.Assignee))
}

func pathOf(p console.Problem) string {
	return shell.BusinessLink(p.Business, fmt.Sprintf("problems/%d/", p.ID))
}

// eventNames lists the events that have failed.
func eventNames(p console.Problem) string {
	names := make([]string, len(p.Events))
	for i, event := range p.Events {
		names[i] = string(event)
	}
	if len(p.Webhooks) > 0 && p.Webhooks[0] == 0 {
		names = append(names, text.CallbackURLOf)
	}
	return strings.Join(names, ", ")
}

// filterOf parses the filters. Without a state it selects what the overview counts: problems that are
// not resolved and have failed deliveries.
func filterOf(v *shell.PageContext, ids []core.BusinessID) console.ProblemFilter {
	f := console.ProblemFilter{Businesses: ids, Limit: v.Limit()}
	switch state := v.Query.Get("state"); state {
	case "":
		f.States, f.WithFailed = []console.ProblemState{console.ProblemOpen, console.ProblemAcknowledged}, true
	case anyState:
	default:
		f.States = []console.ProblemState{console.ProblemState(state)}
	}
	switch assignee := v.Query.Get("assignee"); assignee {
	case assignedMe:
		f.Assignee = v.User.Email
	case unassigned:
		f.Unassigned = true
	default:
		f.Assignee = assignee
	}
	at, id, _ := strings.Cut(v.Query.Get("before"), "-")
	if micros, err := strconv.ParseInt(at, 10, 64); err == nil {
		f.BeforeTime = time.UnixMicro(micros).UTC()
		f.BeforeID, _ = strconv.ParseInt(id, 10, 64)
	}
	return f
}

func assigneeOptions(v *shell.PageContext, assignees []string) []ui.Option {
	options := []ui.Option{{Value: "", Label: text.Any}, {Value: assignedMe, Label: text.ProblemMine},
		{Value: unassigned, Label: text.ProblemUnassigned}}
	for _, email := range assignees {
		if email != v.User.Email {
			options = append(options, ui.Option{Value: email, Label: email})
		}
	}
	return options
}

// problem reads the problem of the URL.
func (p Pages) problem(c *fiber.Ctx, v *shell.PageContext) (console.Problem, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return console.Problem{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Problems.Problem(c.UserContext(), v.Business.ID, id)
}

func assigneeName(p console.Problem) string { return cmp.Or(p.Assignee, text.ProblemUnassigned) }
