package adminui_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

func sampleProblems() []console.Problem {
	return []console.Problem{
		{Business: 7, ID: 31, Server: "pos.example.com", Class: webhook.Status, Status: 503, Webhooks: []int64{0, 3, 6},
			Events: []core.EventType{"order_placed", "rider_status_update"}, FirstSeen: minutesAgo(3000),
			LastSeen: minutesAgo(2), State: console.ProblemOpen, ChangedBy: "user:vera@example.com",
			ChangedAt: minutesAgo(700), ReopenedAt: minutesAgo(40), Assignee: "sam@example.com", Note: hostile,
			Failed: 430},
		{Business: 12, ID: 33, Server: "menu." + long, Class: webhook.Timeout, Webhooks: []int64{4},
			Events: []core.EventType{"inventory_update"}, FirstSeen: minutesAgo(90), LastSeen: minutesAgo(80),
			State: console.ProblemAcknowledged, ChangedBy: "user:sam@example.com", ChangedAt: minutesAgo(60),
			Failed: console.MaxProblemCount},
		{Business: 7, ID: 32, Class: webhook.TLS, Webhooks: []int64{5}, FirstSeen: minutesAgo(5000),
			LastSeen: minutesAgo(4000), State: console.ProblemResolved, ChangedBy: "user:sam@example.com",
			ChangedAt: minutesAgo(3900), Note: long},
	}
}

func sampleResends() []console.ProblemResend {
	return []console.ProblemResend{
		{Reference: idAt(20), State: "done", Actor: "user:sam@example.com", CreatedAt: minutesAgo(20),
			Outcome: webhook.ResendOutcome{Selected: 430, Sent: 428, Delivered: 412, Failed: 16}}}
}

func (f *fake) Problems(_ context.Context, filter console.ProblemFilter) (list []console.Problem, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.problems {
		if has(filter.Businesses, p.Business) && (filter.States == nil || slices.Contains(filter.States, p.State)) &&
			(filter.Assignee == "" || filter.Assignee == p.Assignee) && (!filter.Unassigned || p.Assignee == "") &&
			(!filter.WithFailed || p.Failed > 0) {
			list = append(list, p)
		}
	}
	return firstN(list, filter.Limit), f.broken
}

func (f *fake) Problem(_ context.Context, business core.BusinessID, id int64) (console.Problem, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.problems {
		if p.Business == business && p.ID == id {
			return p, f.broken
		}
	}
	return console.Problem{}, notFound()
}

func (f *fake) ProblemAssignees(context.Context, []core.BusinessID) ([]string, error) {
	return []string{"sam@example.com", long + "@example.com"}, f.broken
}

func (f *fake) ProblemTargets(_ context.Context, _ core.BusinessID, id int64) ([]console.ProblemTarget, error) {
	if id != 31 {
		return nil, f.broken
	}
	return []console.ProblemTarget{
		{Webhook: 3, EventType: "order_placed", URL: "https://pos.example.com/hooks/orders", Failed: 402,
			LastFailed: minutesAgo(2)},
		{Webhook: 6, EventType: "rider_status_update", URL: "https://pos.example.com/" + long, Failed: 27,
			LastFailed: minutesAgo(4)},
		{EventType: "store_creation", URL: "https://pos.example.com/callback", Failed: 1, LastFailed: minutesAgo(50)},
	}, f.broken
}

func (f *fake) ProblemResends(context.Context, core.BusinessID, int64) ([]console.ProblemResend, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.resends), f.broken
}

// changeProblem changes a problem of the fake and records the change as an audit entry.
func (f *fake) changeProblem(id int64, change access.Change, apply func(*console.Problem) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.problems {
		if f.problems[i].ID == id {
			if err := apply(&f.problems[i]); err != nil {
				return err
			}
		}
	}
	change.Object = console.ProblemObject(id)
	f.done = append(f.done, change)
	f.audit = append(f.audit, console.Entry{Business: change.Business, ID: idAt(0), At: noon, Actor: change.Actor,
		Action: change.Action, Object: change.Object, Detail: fmt.Appendf(nil, `{"why":%q}`, change.Why)})
	return nil
}

func (f *fake) SetProblemState(_ context.Context, _ core.BusinessID, id int64, transition console.ProblemTransition,
	change access.Change) error {
	return f.changeProblem(id, change, func(p *console.Problem) error {
		if p.State != transition.From {
			return core.Errorf(core.Conflict, "the problem has changed")
		}
		p.State, p.ChangedBy, p.ChangedAt = transition.To, change.Actor, noon
		return nil
	})
}

func (f *fake) AssignProblem(_ context.Context, _ core.BusinessID, id int64, assignee string,
	change access.Change) error {
	return f.changeProblem(id, change, func(p *console.Problem) error { p.Assignee = assignee; return nil })
}

func (f *fake) NoteProblem(_ context.Context, _ core.BusinessID, id int64, change access.Change) error {
	return f.changeProblem(id, change, func(p *console.Problem) error { p.Note = change.Why; return nil })
}

func (f *fake) Supporters(context.Context, core.BusinessID) ([]string, error) {
	return []string{"sam@example.com", long + "@example.com"}, f.broken
}
