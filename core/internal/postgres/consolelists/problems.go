package consolelists

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Problems returns problems of businesses, those that failed last first.
func (c Store) Problems(ctx context.Context, f console.ProblemFilter) ([]console.Problem, error) {
	var only postgres.Conditions
	only.Add(f.States != nil, "problem.state = ANY (?)", postgres.Array(f.States))
	only.Add(f.Assignee != "", "problem.assignee = ?", f.Assignee)
	only.Add(f.Unassigned, "problem.assignee = ''")
	only.Add(f.WithFailed, `(SELECT true FROM deliveries delivery
		WHERE delivery.business_id = problem.business_id AND delivery.problem_id = problem.id LIMIT 1)`)
	only.Add(!f.BeforeTime.IsZero(), "(problem.last_seen_at, problem.id) < (?, ?)", f.BeforeTime, f.BeforeID)
	return c.problems(ctx, c.db.Bun(), f.Businesses, only, f.Limit)
}

// Problem returns a problem of a business, or NotFound.
func (c Store) Problem(ctx context.Context, business core.BusinessID, id int64) (console.Problem, error) {
	var only postgres.Conditions
	only.Add(true, "problem.id = ?", id)
	list, err := c.problems(ctx, c.db.Tenant(business), []core.BusinessID{business}, only, 1)
	if err == nil && len(list) == 0 {
		err = core.Errorf(core.NotFound, "there is no such problem")
	}
	if err != nil {
		return console.Problem{}, err
	}
	return list[0], nil
}

func (c Store) problems(ctx context.Context, in bun.IDB, businesses []core.BusinessID, only postgres.Conditions,
	limit int) ([]console.Problem, error) {
	only.Add(businesses != nil, "problem.business_id = ANY (?)", postgres.Array(businesses))
	return postgres.Collect(ctx, in, "reading problems", func(p *console.Problem) []any {
		return []any{&p.Business, &p.ID, &p.Server, &p.Class, &p.Status, pgdialect.Array(&p.Webhooks), &p.FirstSeen,
			&p.LastSeen, &p.State, &p.ChangedBy, postgres.OrZero(&p.ChangedAt), postgres.OrZero(&p.ReopenedAt),
			&p.Assignee, &p.Note, pgdialect.Array(&p.Events), &p.Failed}
	}, bun.SafeQuery(queries.With("problems", postgres.Args{
		"only": only, "most": console.MaxProblemCount, "limit": limit,
	})))
}

// ProblemAssignees returns the email addresses of users who have problems of businesses. nil means all businesses.
func (c Store) ProblemAssignees(ctx context.Context, businesses []core.BusinessID) ([]string, error) {
	only := postgres.Conditions{Text: "assignee <> ''"}
	only.Add(businesses != nil, "business_id = ANY (?)", postgres.Array(businesses))
	return postgres.Collect(ctx, c.db.Bun(), "reading the assignees of problems", func(email *string) []any {
		return []any{email}
	}, bun.SafeQuery(`SELECT DISTINCT assignee FROM problems WHERE `+only.Text+` ORDER BY assignee LIMIT ?`,
		append(only.Args, assigneesRead)...))
}

// assigneesRead bounds the assignees, and shownTargets the webhooks and resends of a problem.
const assigneesRead, shownTargets = 200, 50

// ProblemTargets returns the webhooks and callback_urls with failed deliveries of a problem, most first. It counts the
// latest console.MaxProblemCount deliveries.
func (c Store) ProblemTargets(ctx context.Context, business core.BusinessID,
	id int64) ([]console.ProblemTarget, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading the webhooks of a problem",
		func(t *console.ProblemTarget) []any {
			return []any{&t.Webhook, &t.EventType, &t.URL, &t.Failed, &t.LastFailed}
		}, bun.SafeQuery(queries.With("problem_webhooks", postgres.Args{
			"business": business, "problem": id, "most": console.MaxProblemCount, "limit": shownTargets,
		})))
}

// ProblemResends returns the latest resends of a problem, newest first.
func (c Store) ProblemResends(ctx context.Context, business core.BusinessID,
	id int64) ([]console.ProblemResend, error) {
	type row struct {
		console.ProblemResend
		outcome []byte
	}
	rows, err := postgres.Collect(ctx, c.db.Tenant(business), "reading resends of a problem", func(r *row) []any {
		return []any{&r.Reference, &r.State, &r.Error, &r.Actor, &r.CreatedAt, &r.outcome}
	}, bun.SafeQuery(queries.With("problem_resends", postgres.Args{
		"business": business, "kind": core.ProblemResendJob, "subject": strconv.FormatInt(id, 10),
		"limit": shownTargets,
	})))
	list := make([]console.ProblemResend, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.outcome, &r.Outcome); err != nil {
			return nil, fmt.Errorf("reading a resend's outcome: %w", err)
		}
		list[i] = r.ProblemResend
	}
	return list, err
}
