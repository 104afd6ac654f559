package consolelists

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
)

const (
	jobColumns = `business_id, id, kind, subject, actor, state, dry_run, created_at, started_at, finished_at,
		attempts, progress, total, error`
	// The result of a dry run lists its changes, other results the failures; a list needs neither. Those of resends
	// count the failures.
	jobListColumns = jobColumns + `, CASE WHEN dry_run THEN NULL
		WHEN jsonb_typeof(result->'failed') = 'number' THEN result ELSE result - 'failed' END AS result`
)

// jobFields returns the scan destinations of jobListColumns.
func jobFields(j *console.Job) []any {
	return []any{&j.Business, &j.Reference, &j.Kind, &j.Subject, &j.Actor, &j.State, &j.DryRun, &j.CreatedAt,
		postgres.OrZero(&j.StartedAt), postgres.OrZero(&j.FinishedAt), &j.Attempts, &j.Done, &j.Total, &j.Error,
		&j.Result}
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
	return postgres.Collect(ctx, c.db.Tenant(business), "reading jobs", jobFields,
		bun.SafeQuery(`SELECT `+jobListColumns+` FROM jobs WHERE business_id = ?`+only.Text+` ORDER BY id ? LIMIT ?`,
			slices.Concat([]any{business}, only.Args, []any{sorted, f.Limit})...))
}

// FailedJobs returns at most limit jobs that failed since a time. The newest of every
// business precedes the second of any.
func (c Store) FailedJobs(ctx context.Context, businesses []core.BusinessID, since time.Time,
	limit int) ([]console.Job, error) {
	return postgres.Collect(ctx, c.db.Bun(), "reading failed jobs", jobFields, bun.SafeQuery(`SELECT `+jobListColumns+
		` FROM jobs WHERE business_id = ANY (?) AND state = 'failed' AND id >= ?
			ORDER BY row_number() OVER (PARTITION BY business_id ORDER BY id DESC), id DESC LIMIT ?`,
		postgres.Array(businesses), core.FirstID(since), limit))
}

// Job returns a job with its request and outcome.
func (c Store) Job(ctx context.Context, business core.BusinessID, reference core.ID) (console.JobDetail, error) {
	var detail console.JobDetail
	var body []byte
	err := c.db.Tenant(business).QueryRowContext(ctx, `SELECT `+jobColumns+
		`, result, request_id, callback_url, event_id, body, rerun_of FROM jobs WHERE business_id = ? AND id = ?`,
		business, reference).Scan(append(jobFields(&detail.Job), &detail.RequestID, &detail.CallbackURL,
		postgres.OrZero(&detail.Event), &body, postgres.OrZero(&detail.RepeatOf))...)
	if err != nil {
		return console.JobDetail{}, postgres.NotFound(err, "there is no job with this reference")
	}
	if detail.Request, err = c.db.Decompress(body); err != nil {
		return detail, err
	}
	if err := c.db.Tenant(business).
		NewRaw(`SELECT id FROM jobs WHERE business_id = ? AND rerun_of = ? ORDER BY id DESC LIMIT 20`, business,
			reference).Scan(ctx, &detail.Repeats); err != nil {
		return detail, fmt.Errorf("reading the later runs of a job: %w", err)
	}
	if detail.Event != (core.ID{}) {
		detail.Outcome, err = c.EventBody(ctx, business, detail.Event)
	}
	if core.CodeOf(err) == core.NotFound { // past its retention
		err = nil
	}
	return detail, err
}
