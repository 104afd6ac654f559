// Package jobs is the queue of bulk requests.
package jobs

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/compress"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/job"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores jobs (job.Queue).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// Channel notifies replicas of queued jobs.
const Channel = "servery_jobs"

// Conditions of jobs with the column result.
const (
	failures = `state = 'done' AND NOT dry_run AND (
	kind IN ('stores', 'menu') AND result->'failed' IS NOT NULL OR kind = 'timing_groups' AND result->>'errors' <> '0'`
	// HasFailures selects jobs that completed with failed objects.
	HasFailures = failures + `)`
	// HasErrors also selects order retries with orders that failed again, and resends that missed deliveries.
	HasErrors = failures + ` OR kind = 'order_retry' AND result->>'failed' <> '0'
	OR kind = 'redelivery' AND result->>'skipped' <> '0'
	OR kind = 'problem_resend' AND result->>'delivered' <> result->>'selected')`
	// HasWarnings selects jobs that completed with warnings, but without failed objects.
	HasWarnings = `state = 'done' AND NOT dry_run AND coalesce(result->'warnings', '[]') <> '[]'
	AND (` + HasFailures + `) IS NOT TRUE`
)

// Enqueue stores a job after those with the same business and ordering key. The job is
// durable when Enqueue returns.
func (j Store) Enqueue(ctx context.Context, work core.Job, requestID string) error {
	return j.db.InTx(ctx, func(tx bun.Conn) error { return Enqueue(ctx, j.db, tx, work, requestID) })
}

// Enqueue does what Store.Enqueue does, within a transaction.
func Enqueue(ctx context.Context, db *postgres.DB, tx bun.Conn, work core.Job, requestID string) error {
	// The lock admits one transaction per ordering key, so that the order of seq is the order of commits. No job can
	// then appear before one that is already running. Rechecks of all platforms share a lock, as do resends of all
	// problems, so that a transaction with several of them cannot deadlock.
	kind, _, _ := strings.Cut(work.OrderingKey(), "/")
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext(?), ?::bigint::int)`,
		"job/"+kind, int64(work.Business)&0x7fffffff); err != nil {
		return fmt.Errorf("queueing the job: %w", err)
	}
	_, err := tx.ExecContext(ctx, queries.With("enqueue", postgres.Args{
		"business": work.Business, "id": work.ID, "kind": work.Kind, "subject": work.Subject,
		"body": db.Compress(work.Body), "callback_url": work.CallbackURL, "request": requestID,
		"created_at": work.CreatedAt, "dry_run": work.DryRun, "trace": core.TraceFromContext(ctx), "actor": work.Actor,
		"ordering_key": work.OrderingKey(),
	}))
	if postgres.IsCode(err, "23505") && work.Kind == core.ProblemResendJob {
		return core.Errorf(core.Conflict, "a resend of this problem is in progress")
	}
	if err != nil {
		return fmt.Errorf("queueing the job: %w", err)
	}
	return postgres.Notify(ctx, tx, Channel)
}

// claimedJob is a row that Claim returns.
type claimedJob struct {
	BusinessID  core.BusinessID `bun:"business_id"`
	ID          core.ID         `bun:"id,type:uuid"`
	Kind        core.JobKind    `bun:"kind"`
	Subject     string          `bun:"subject"`
	Body        []byte          `bun:"body"` // only its head if the body is large
	Stored      int             `bun:"stored"`
	CallbackURL string          `bun:"callback_url"`
	DryRun      bool            `bun:"dry_run"`
	CreatedAt   time.Time       `bun:"created_at"`
	StartedAt   time.Time       `bun:"started_at"`
	Attempts    int             `bun:"attempts"`
	Seq         int64           `bun:"seq"`
	Trace       core.Trace      `bun:"trace"`
	Cause       string          `bun:"error"`
}

// FirstJobs selects the first job of each business and ordering key. Only these are run.
var FirstJobs = bun.Safe(queries.With("heads", nil))

var (
	claimable = map[string]bun.Safe{"heads": FirstJobs}
	claim     = queries.Get("claim").Fill("claim_jobs", claimable)
	nextDue   = queries.Get("next_due").Fill("next_job", claimable)
)

// maxClaimedBody bounds the bodies that Claim returns, in stored and in decompressed bytes.
const maxClaimedBody = 64 << 10

// Claim leases due jobs: the first of each business and ordering key. The jobs that it returns with an error are to be
// released: they may be leased.
func (j Store) Claim(ctx context.Context, owner core.ID, limit int, until time.Time) ([]core.Job, time.Time, error) {
	now, epoch := j.db.ReadClock()
	rows, err := postgres.QueryRows[claimedJob](ctx, j.db, postgres.Statement{Query: claim, Args: postgres.Args{
		"now": now, "epoch": epoch, "limit": limit, "owner": owner, "until": until, "large": maxClaimedBody,
		"head": compress.HeadSize,
	}})
	claimed := make([]core.Job, len(rows))
	for i, row := range rows {
		claimed[i] = core.Job{
			ID: row.ID, Business: row.BusinessID, Kind: row.Kind, Subject: row.Subject,
			CallbackURL: row.CallbackURL, DryRun: row.DryRun, CreatedAt: row.CreatedAt,
			StartedAt: row.StartedAt, Attempts: row.Attempts,
			Seq: row.Seq, Owner: owner, Trace: row.Trace,
			LastError: row.Cause,
		}
		if size := compress.Size(row.Body, row.Stored); row.Stored > maxClaimedBody || size > maxClaimedBody {
			claimed[i].Size = row.Stored + size // both are in memory at once
			continue
		}
		j.decompressBody(&claimed[i], row.Body)
	}
	if err != nil {
		return claimed, time.Time{}, fmt.Errorf("claiming jobs: %w", err)
	}
	if len(claimed) > 0 {
		return claimed, time.Time{}, nil
	}
	next, err := j.db.NextDue(ctx, postgres.Statement{Query: nextDue, Args: postgres.Args{}})
	return nil, next, err
}

func (j Store) decompressBody(work *core.Job, stored []byte) {
	var err error
	if work.Body, err = j.db.Decompress(stored); err != nil {
		work.BodyError = err.Error()
	}
}

// Load reads the body of a claimed job.
func (j Store) Load(ctx context.Context, work core.Job) (core.Job, error) {
	var stored []byte
	if err := j.db.Tenant(work.Business).QueryRowContext(ctx, `SELECT body FROM jobs WHERE business_id = ? AND id = ?`,
		work.Business, work.ID).Scan(&stored); err != nil {
		return work, fmt.Errorf("reading the body of job %s: %w", work.ID, err)
	}
	work.Size = 0
	j.decompressBody(&work, stored)
	return work, nil
}

// Renew extends leases that are still held, and records progress. A transaction may lock the lease of its job for long,
// so Renew waits for such leases last.
func (j Store) Renew(ctx context.Context, owner core.ID, running []job.Progress, until time.Time) error {
	for _, skipLocked := range []bun.Safe{"SKIP LOCKED", ""} {
		var rest []job.Progress
		for _, p := range running {
			var renewed bool
			if err := j.db.Bun().QueryRowContext(ctx, queries.With("renew", postgres.Args{
				"business": p.Job.Business, "ordering_key": p.Job.OrderingKey(), "seq": p.Job.Seq, "owner": owner,
				"until": until, "done": p.Done, "total": p.Total, "skip_locked": skipLocked,
			})).Scan(&renewed); err != nil {
				return fmt.Errorf("renewing the lease of job %s: %w", p.Job.ID, err)
			}
			if !renewed {
				rest = append(rest, p)
			}
		}
		running = rest
	}
	return nil
}

// Retry requeues a job. Without a cause the attempt is not counted.
func (j Store) Retry(ctx context.Context, work core.Job, at time.Time, cause string) error {
	uncounted := 0
	if cause == "" {
		uncounted = 1
	}
	_, err := j.db.Bun().ExecContext(ctx, queries.With("retry", postgres.Args{
		"business": work.Business, "ordering_key": work.OrderingKey(), "seq": work.Seq, "owner": work.Owner,
		"at": at, "uncounted": uncounted, "cause": truncate(cause),
	}))
	if err != nil {
		return fmt.Errorf("releasing job %s: %w", work.ID, err)
	}
	return nil
}

// MarkFailed marks a job as failed. It sends no event.
func (j Store) MarkFailed(ctx context.Context, work core.Job, cause string) error {
	return InTx(ctx, j.db, work, func(tx bun.Conn) error {
		return Finish(ctx, j.db, tx, work, Ended{Failure: cause, Result: []byte("{}")})
	})
}

// Status returns the status of a job, or NotFound if the business has no such job.
func (j Store) Status(ctx context.Context, business core.BusinessID, reference core.ID) (job.Status, error) {
	status := job.Status{Reference: reference}
	err := j.db.Tenant(business).QueryRowContext(ctx,
		`SELECT kind, subject, state, created_at, started_at, finished_at, attempts, progress, total, error, result
		FROM jobs WHERE business_id = ? AND id = ?`, business, reference).
		Scan(&status.Kind, &status.Subject, &status.State, &status.CreatedAt,
			postgres.OrZero(&status.StartedAt), postgres.OrZero(&status.FinishedAt), &status.Attempts, &status.Done,
			&status.Total, &status.Error, &status.Result)
	return status, postgres.NotFound(err, "there is no job with this reference")
}

// ListEnded returns those of the jobs that have ended (job.EndedLister).
func (j Store) ListEnded(ctx context.Context, refs []job.Ref) (ended []core.ID, err error) {
	businesses, ids := make([]int64, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		businesses[i], ids[i] = int64(ref.Business), ref.ID.String()
	}
	if err := j.db.Bun().NewRaw(queries.With("ended", postgres.Args{
		"businesses": postgres.Array(businesses), "ids": postgres.Array(ids),
	})).Scan(ctx, &ended); err != nil {
		return nil, fmt.Errorf("looking for jobs that have ended: %w", err)
	}
	return ended, nil
}

// InTx runs fn in a transaction that first locks the lease of a job, as LockLease does.
func InTx(ctx context.Context, db *postgres.DB, work core.Job, fn func(tx bun.Conn) error) error {
	return db.InTx(ctx, func(tx bun.Conn) error {
		if err := LockLease(ctx, tx, work); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Run is InTx for a transaction with an outbox.
func Run(ctx context.Context, db *postgres.DB, work core.Job,
	fn func(tx bun.Conn, box *outbox.Outbox) error) error {
	return outbox.Run(ctx, db, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := LockLease(ctx, tx, work); err != nil {
			return err
		}
		return fn(tx, box)
	})
}

// LockLease returns Conflict unless the lease of the job is still held. It locks the lease
// until the transaction ends.
func LockLease(ctx context.Context, tx bun.Conn, work core.Job) error {
	var one int
	err := tx.QueryRowContext(ctx,
		`SELECT 1 FROM job_queue WHERE business_id = ? AND ordering_key = ? AND seq = ? AND owner = ? FOR UPDATE`,
		work.Business, work.OrderingKey(), work.Seq, work.Owner).Scan(&one)
	if err := postgres.NotFound(err, "no lease"); core.CodeOf(err) == core.NotFound {
		return core.Errorf(core.Conflict, "another replica has the lease of job %s", work.ID)
	}
	return err
}

// Ended is the outcome of a job.
type Ended struct {
	Failure string
	Result  []byte // JSON
	Event   core.ID
	Objects int
}

// Finish records the outcome of a job and removes it from the queue.
func Finish(ctx context.Context, db *postgres.DB, tx bun.Conn, work core.Job, end Ended) error {
	state := "done"
	if end.Failure != "" {
		state = "failed"
	}
	_, err := tx.ExecContext(ctx, queries.With("finish", postgres.Args{
		"business": work.Business, "ordering_key": work.OrderingKey(), "seq": work.Seq, "id": work.ID,
		"state": state, "now": db.Clock().Now(), "error": truncate(end.Failure), "result": string(end.Result),
		"event": end.Event, "objects": end.Objects,
	}))
	if err != nil {
		return fmt.Errorf("ending job %s: %w", work.ID, err)
	}
	return nil
}

// maxError bounds the stored error of a job, in bytes.
const maxError = 4000

// truncate shortens an error between characters, and replaces what PostgreSQL cannot store.
func truncate(s string) string {
	if len(s) > maxError {
		s = strings.ToValidUTF8(s[:maxError], "")
	}
	return postgres.CleanText(s)
}
