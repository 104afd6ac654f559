package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/job"
)

// Jobs keeps jobs (job.Queue).
type Jobs struct{ *DB }

const jobsChannel = "servery_jobs"

// Enqueue stores a job behind those of its business and line. It is durable
// when Enqueue returns.
func (j Jobs) Enqueue(ctx context.Context, work core.Job, requestID string) error {
	return j.inTx(ctx, func(tx bun.Conn) error { return j.enqueue(ctx, tx, work, requestID) })
}

func (db *DB) enqueue(ctx context.Context, tx bun.Conn, work core.Job, requestID string) error {
	// One at a time in each line, so that the order of seq is the order of commits:
	// no job can appear before one that is already running.
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext(?), ?::bigint::int)`,
		"job/"+string(work.Kind.Line()), int64(work.Business)&0x7fffffff); err != nil {
		return fmt.Errorf("queueing the job: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `WITH kept AS (
			INSERT INTO jobs (business_id, id, kind, subject, state, body, callback_url, request_id, created_at, dry_run, trace, actor)
			VALUES (?0, ?1, ?2, ?3, 'queued', ?4, ?5, ?6, ?7, ?8, nullif(?9, ''), ?10))
		INSERT INTO job_queue (business_id, kind, subject, job_id, available_at) VALUES (?0, ?2, ?3, ?1, ?7)`,
		work.Business, work.ID, work.Kind, work.Subject, db.packer.pack(work.Body), work.CallbackURL, requestID, work.CreatedAt, work.DryRun, core.TraceOf(ctx), work.Actor); err != nil {
		return fmt.Errorf("queueing the job: %w", err)
	}
	return notify(ctx, tx, jobsChannel)
}

// claimedJob is a row of the claim.
type claimedJob struct {
	BusinessID  core.BusinessID `bun:"business_id"`
	ID          core.ID         `bun:"id,type:uuid"`
	Kind        core.JobKind    `bun:"kind"`
	Subject     string          `bun:"subject"`
	Body        []byte          `bun:"body"` // its head where it is large
	Stored      int             `bun:"stored"`
	CallbackURL string          `bun:"callback_url"`
	DryRun      bool            `bun:"dry_run"`
	CreatedAt   time.Time       `bun:"created_at"`
	Attempts    int             `bun:"attempts"`
	Seq         int64           `bun:"seq"`
	Trace       core.Trace      `bun:"trace"`
	Cause       string          `bun:"error"`
}

// jobLine is the line in which a queued job waits: that of its kind
// (core.JobKind.Line), and of rechecks one for each platform.
const jobLine = `CASE kind WHEN '` + string(core.TimingJob) + `' THEN '` + string(core.MenuJob) + `'
	WHEN '` + string(core.RecheckJob) + `' THEN kind || '/' || subject ELSE kind END`

// jobHeads are the first jobs of each business and line: only they are run.
const jobHeads = `SELECT DISTINCT ON (business_id, ` + jobLine + `) business_id, kind, seq, available_at
	FROM job_queue ORDER BY business_id, ` + jobLine + `, seq`

// bodyClaimed is the size, as stored and unpacked, up to which a body comes with the claim.
const bodyClaimed = 64 << 10

// Claim leases due jobs, of each business and line only the first.
func (j Jobs) Claim(ctx context.Context, owner core.ID, limit int, until time.Time) ([]core.Job, time.Time, error) {
	now, epoch := j.reading()
	var rows []claimedJob
	// The condition on available_at stands twice: that of the row is judged again
	// after a concurrent claim has been waited for.
	err := j.bun.NewRaw(`WITH heads AS (`+jobHeads+`), due AS (
			SELECT q.business_id, q.kind, q.seq FROM job_queue q JOIN heads h USING (business_id, kind, seq)
			WHERE ?4`+unset+` AND h.available_at <= ?0 AND q.available_at <= ?0
			ORDER BY h.available_at LIMIT ?1 FOR UPDATE OF q SKIP LOCKED), claimed AS (
			UPDATE job_queue q SET owner = ?2, available_at = ?3, attempts = q.attempts + 1
			FROM due WHERE (q.business_id, q.kind, q.seq) = (due.business_id, due.kind, due.seq)
			RETURNING q.business_id, q.job_id, q.seq, q.attempts)
		UPDATE jobs SET state = 'running', error = CASE state WHEN 'queued' THEN error ELSE '' END, started_at = coalesce(started_at, ?0), attempts = claimed.attempts
		FROM claimed WHERE jobs.business_id = claimed.business_id AND jobs.id = claimed.job_id
		RETURNING jobs.business_id, jobs.id, jobs.kind, jobs.subject, octet_length(jobs.body) AS stored,
			CASE WHEN octet_length(jobs.body) <= ?5 THEN jobs.body ELSE substring(jobs.body FROM 1 FOR ?6) END AS body,
			jobs.callback_url, jobs.dry_run, jobs.created_at,
			claimed.attempts, claimed.seq, coalesce(jobs.trace, '') AS trace, jobs.error`, now, limit, owner, until, epoch, bodyClaimed, packedHead).Scan(ctx, &rows)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("claiming jobs: %w", err)
	}
	claimed := make([]core.Job, len(rows))
	for i, row := range rows {
		claimed[i] = core.Job{
			ID: row.ID, Business: row.BusinessID, Kind: row.Kind, Subject: row.Subject,
			CallbackURL: row.CallbackURL, DryRun: row.DryRun, CreatedAt: row.CreatedAt, Attempts: row.Attempts, Seq: row.Seq, Owner: owner, Trace: row.Trace,
			Cause: row.Cause,
		}
		if size := unpackedLength(row.Body, row.Stored); row.Stored > bodyClaimed || size > bodyClaimed {
			claimed[i].Size = row.Stored + size // both are in memory at once
			continue
		}
		j.unpackJob(&claimed[i], row.Body)
	}
	if len(claimed) > 0 {
		return claimed, time.Time{}, nil
	}
	var next sql.NullTime
	if err := j.bun.QueryRowContext(ctx, `SELECT min(available_at), (SELECT epoch FROM clock_epoch) FROM (`+jobHeads+`) heads`).Scan(&next, &epoch); err != nil {
		return nil, time.Time{}, fmt.Errorf("looking for the next job: %w", err)
	}
	return nil, next.Time, j.follow(ctx, epoch)
}

func (j Jobs) unpackJob(work *core.Job, stored []byte) {
	var err error
	if work.Body, err = j.packer.unpack(stored); err != nil {
		work.Unready = err.Error()
	}
}

// Load reads the body of a claimed job.
func (j Jobs) Load(ctx context.Context, work core.Job) (core.Job, error) {
	var stored []byte
	if err := j.of(work.Business).QueryRowContext(ctx, `SELECT body FROM jobs WHERE business_id = ? AND id = ?`, work.Business, work.ID).Scan(&stored); err != nil {
		return work, fmt.Errorf("reading the body of job %s: %w", work.ID, err)
	}
	work.Size = 0
	j.unpackJob(&work, stored)
	return work, nil
}

// Renew extends leases that are still held and records progress.
func (j Jobs) Renew(ctx context.Context, owner core.ID, running []job.Progress, until time.Time) error {
	for _, p := range running {
		if _, err := j.bun.ExecContext(ctx, `WITH held AS (
				UPDATE job_queue SET available_at = ? WHERE business_id = ? AND kind = ? AND seq = ? AND owner = ? RETURNING job_id)
			UPDATE jobs SET progress = ?, total = ? FROM held WHERE business_id = ? AND id = held.job_id`,
			until, p.Job.Business, p.Job.Kind, p.Job.Seq, owner, p.Done, p.Total, p.Job.Business); err != nil {
			return fmt.Errorf("renewing the lease of job %s: %w", p.Job.ID, err)
		}
	}
	return nil
}

// Retry gives a job back. Without a cause the attempt is not counted.
func (j Jobs) Retry(ctx context.Context, work core.Job, at time.Time, cause string) error {
	counted := 0
	if cause == "" {
		counted = 1
	}
	_, err := j.bun.ExecContext(ctx, `WITH back AS (
			UPDATE job_queue SET available_at = ?0, owner = NULL, attempts = attempts - ?1
			WHERE business_id = ?2 AND kind = ?3 AND seq = ?4 AND owner = ?5 RETURNING job_id)
		UPDATE jobs SET state = CASE WHEN ?1 = 0 THEN 'queued' ELSE state END, error = ?6 FROM back WHERE business_id = ?2 AND id = back.job_id`,
		at, counted, work.Business, work.Kind, work.Seq, work.Owner, clip(cause, 4000))
	if err != nil {
		return fmt.Errorf("giving job %s back: %w", work.ID, err)
	}
	return nil
}

// GiveUp ends a job as failed, without a word to anybody.
func (j Jobs) GiveUp(ctx context.Context, work core.Job, cause string) error {
	return j.inTx(ctx, func(tx bun.Conn) error {
		if err := j.hold(ctx, tx, work); err != nil {
			return err
		}
		return j.end(ctx, tx, work, jobEnd{failure: cause, result: []byte("{}")})
	})
}

// Status reads where a job stands; NotFound where the business has no such job.
func (j Jobs) Status(ctx context.Context, business core.BusinessID, reference core.ID) (job.Status, error) {
	status := job.Status{Reference: reference}
	var started, finished sql.NullTime
	err := j.of(business).QueryRowContext(ctx, `SELECT kind, subject, state, created_at, started_at, finished_at, attempts, progress, total, error, result
		FROM jobs WHERE business_id = ? AND id = ?`, business, reference).
		Scan(&status.Kind, &status.Subject, &status.State, &status.CreatedAt, &started, &finished, &status.Attempts,
			&status.Done, &status.Total, &status.Error, &status.Result)
	status.StartedAt, status.FinishedAt = started.Time, finished.Time
	return status, notFound(err, "there is no job with this reference")
}

// hold makes sure, within the transaction that ends a job, that its lease is
// still held, and keeps it so until the transaction ends.
func (db *DB) hold(ctx context.Context, tx bun.Conn, work core.Job) error {
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM job_queue WHERE business_id = ? AND kind = ? AND seq = ? AND owner = ? FOR UPDATE`,
		work.Business, work.Kind, work.Seq, work.Owner).Scan(&one)
	if err := notFound(err, "no lease"); core.CodeOf(err) == core.NotFound {
		return core.Errorf(core.Conflict, "the lease of job %s is held by another", work.ID)
	}
	return err
}

// jobEnd is what a job came to.
type jobEnd struct {
	failure string
	result  []byte // JSON
	event   core.ID
	objects int
}

// end records what a job came to and takes it out of the queue.
func (db *DB) end(ctx context.Context, tx bun.Conn, work core.Job, end jobEnd) error {
	state := "done"
	if end.failure != "" {
		state = "failed"
	}
	_, err := tx.ExecContext(ctx, `WITH over AS (DELETE FROM job_queue WHERE business_id = ?0 AND kind = ?1 AND seq = ?2)
		UPDATE jobs SET state = ?3, finished_at = ?4, error = ?5, result = ?6, event_id = ?7, progress = ?8, total = ?8
		WHERE business_id = ?0 AND id = ?9`,
		work.Business, work.Kind, work.Seq, state, db.clock.Now(), clip(end.failure, 4000), string(end.result), end.event, end.objects, work.ID)
	if err != nil {
		return fmt.Errorf("ending job %s: %w", work.ID, err)
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
