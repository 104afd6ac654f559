package consolelists

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
)

type jobRow struct {
	BusinessID  core.BusinessID `bun:"business_id"`
	ID          core.ID         `bun:"id,type:uuid"`
	Kind        core.JobKind    `bun:"kind"`
	Subject     string          `bun:"subject"`
	Actor       string          `bun:"actor"`
	State       string          `bun:"state"`
	DryRun      bool            `bun:"dry_run"`
	CreatedAt   time.Time       `bun:"created_at"`
	StartedAt   time.Time       `bun:"started_at"`
	FinishedAt  time.Time       `bun:"finished_at"`
	Attempts    int             `bun:"attempts"`
	Progress    int             `bun:"progress"`
	Total       int             `bun:"total"`
	Error       string          `bun:"error"`
	Result      json.RawMessage `bun:"result"`
	RequestID   string          `bun:"request_id"`
	CallbackURL string          `bun:"callback_url"`
	EventID     core.ID         `bun:"event_id,type:uuid"`
	RepeatOf    core.ID         `bun:"rerun_of,type:uuid"`
	Body        []byte          `bun:"body"`
}

const (
	jobColumns = `business_id, id, kind, subject, actor, state, dry_run, created_at, started_at, finished_at,
		attempts, progress, total, error`
	// The result of a dry run lists its changes, other results the failures; a list needs neither. Those of resends
	// count the failures.
	jobListColumns = jobColumns + `, CASE WHEN dry_run THEN NULL
		WHEN jsonb_typeof(result->'failed') = 'number' THEN result ELSE result - 'failed' END AS result`
)

func (r jobRow) job() console.Job {
	return console.Job{Business: r.BusinessID, Reference: r.ID, Kind: r.Kind, Subject: r.Subject, Actor: r.Actor,
		State: r.State, DryRun: r.DryRun,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Attempts: r.Attempts,
		Done: r.Progress, Total: r.Total, Error: r.Error, Result: r.Result}
}

// ListJobs returns jobs of a business by the time of creation.
func (c Store) ListJobs(ctx context.Context, business core.BusinessID, f console.JobFilter) ([]console.Job, error) {
	var only postgres.Conditions
	only.Add(f.Kind != "", "kind = ?", f.Kind)
	only.Add(f.State != "" && f.State != console.WithFailures && f.State != console.WithWarnings, "state = ?", f.State)
	only.Add(f.State == console.WithFailures, jobs.HasErrors)
	only.Add(f.State == console.WithWarnings, jobs.HasWarnings)
	only.Add(f.Subject != "", "subject = ?", f.Subject)
	sorted, after := sortOrder(f.Oldest)
	only.Add(f.Before != core.ID{}, "id ? ?", after, f.Before)
	only.Add(!f.From.IsZero(), "id >= ?", core.FirstID(f.From))
	only.Add(!f.To.IsZero(), "id < ?", core.FirstID(f.To))
	var rows []jobRow
	if err := c.db.Tenant(business).NewRaw(`SELECT `+jobListColumns+` FROM jobs WHERE business_id = ?`+only.Text+
		` ORDER BY id ? LIMIT ?`, slices.Concat([]any{business}, only.Args, []any{sorted, f.Limit})...).Scan(ctx,
		&rows); err != nil {
		return nil, fmt.Errorf("reading jobs: %w", err)
	}
	return jobsOf(rows), nil
}

func jobsOf(rows []jobRow) []console.Job {
	list := make([]console.Job, len(rows))
	for i, row := range rows {
		list[i] = row.job()
	}
	return list
}

// FailedJobs returns at most limit jobs that failed since a time. The newest of every
// business precedes the second of any.
func (c Store) FailedJobs(ctx context.Context, businesses []core.BusinessID, since time.Time,
	limit int) ([]console.Job, error) {
	var rows []jobRow
	if err := c.db.Bun().NewRaw(`SELECT `+jobListColumns+
		` FROM jobs WHERE business_id = ANY (?) AND state = 'failed' AND id >= ?
			ORDER BY row_number() OVER (PARTITION BY business_id ORDER BY id DESC), id DESC LIMIT ?`,
		postgres.Array(businesses), core.FirstID(since), limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading failed jobs: %w", err)
	}
	return jobsOf(rows), nil
}

// Job returns a job with its request and outcome.
func (c Store) Job(ctx context.Context, business core.BusinessID, reference core.ID) (console.JobDetail, error) {
	var row jobRow
	err := c.db.Tenant(business).NewRaw(`SELECT `+jobColumns+
		`, result, request_id, callback_url, coalesce(event_id, '00000000-0000-0000-0000-000000000000') AS event_id,
			body,
			coalesce(rerun_of, '00000000-0000-0000-0000-000000000000') AS rerun_of FROM jobs WHERE business_id = ?
				AND id = ?`, business, reference).Scan(ctx, &row)
	if err != nil {
		return console.JobDetail{}, postgres.NotFound(err, "there is no job with this reference")
	}
	detail := console.JobDetail{Job: row.job(), RequestID: row.RequestID, CallbackURL: row.CallbackURL,
		Event: row.EventID, RepeatOf: row.RepeatOf}
	if detail.Request, err = c.db.Decompress(row.Body); err != nil {
		return detail, err
	}
	if err := c.db.Tenant(business).
		NewRaw(`SELECT id FROM jobs WHERE business_id = ? AND rerun_of = ? ORDER BY id DESC LIMIT 20`, business,
			reference).Scan(ctx, &detail.Repeats); err != nil {
		return detail, fmt.Errorf("reading the later runs of a job: %w", err)
	}
	if row.EventID != (core.ID{}) {
		detail.Outcome, err = c.EventBody(ctx, business, row.EventID)
	}
	if core.CodeOf(err) == core.NotFound { // past its retention
		err = nil
	}
	return detail, err
}
