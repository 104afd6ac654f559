package consolelists

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

type problemRow struct {
	BusinessID core.BusinessID      `bun:"business_id"`
	ID         int64                `bun:"id"`
	Server     string               `bun:"server"`
	ErrorClass webhook.ErrorClass   `bun:"error_class"`
	Status     int                  `bun:"status"`
	Webhooks   []int64              `bun:"webhooks,array"`
	FirstSeen  time.Time            `bun:"first_seen_at"`
	LastSeen   time.Time            `bun:"last_seen_at"`
	State      console.ProblemState `bun:"state"`
	ChangedBy  string               `bun:"changed_by"`
	ChangedAt  time.Time            `bun:"changed_at"`
	ReopenedAt time.Time            `bun:"reopened_at"`
	Assignee   string               `bun:"assignee"`
	Note       string               `bun:"note"`
	Events     []string             `bun:"events,array"`
	Failed     int                  `bun:"failed"`
}

func (r problemRow) problem() console.Problem {
	p := console.Problem{Business: r.BusinessID, ID: r.ID, Server: r.Server, Class: r.ErrorClass, Status: r.Status,
		Webhooks: r.Webhooks, FirstSeen: r.FirstSeen, LastSeen: r.LastSeen, State: r.State, ChangedBy: r.ChangedBy,
		ChangedAt: r.ChangedAt, ReopenedAt: r.ReopenedAt, Assignee: r.Assignee, Note: r.Note, Failed: r.Failed}
	for _, event := range r.Events {
		p.Events = append(p.Events, core.EventType(event))
	}
	return p
}

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
	var rows []problemRow
	if err := in.NewRaw(queries.With("problems", postgres.Args{
		"only": only, "most": console.MaxProblemCount, "limit": limit,
	})).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading problems: %w", err)
	}
	list := make([]console.Problem, len(rows))
	for i, row := range rows {
		list[i] = row.problem()
	}
	return list, nil
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
	rows, err := c.db.Tenant(business).QueryContext(ctx, queries.With("problem_resends", postgres.Args{
		"business": business, "kind": core.ProblemResendJob, "subject": strconv.FormatInt(id, 10),
		"limit": shownTargets,
	}))
	if err != nil {
		return nil, fmt.Errorf("reading resends of a problem: %w", err)
	}
	defer rows.Close()
	var list []console.ProblemResend
	for rows.Next() {
		var r console.ProblemResend
		var outcome []byte
		if err := rows.Scan(&r.Reference, &r.State, &r.Error, &r.Actor, &r.CreatedAt, &outcome); err != nil {
			return nil, fmt.Errorf("reading resends of a problem: %w", err)
		}
		if err := json.Unmarshal(outcome, &r.Outcome); err != nil {
			return nil, fmt.Errorf("reading a resend's outcome: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
