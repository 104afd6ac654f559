package jobs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/job"
)

// QueueJob stores a job that a person requested, with its audit entry. The entry is about the job if
// it has no object.
func (j Store) QueueJob(ctx context.Context, work core.Job, change access.Change) error {
	return j.db.InTx(ctx, func(tx bun.Conn) error {
		work.Actor, change.Object = change.Actor, cmp.Or(change.Object, "job/"+work.ID.String())
		if err := audit.Record(ctx, j.db, tx, change); err != nil {
			return err
		}
		return Enqueue(ctx, j.db, tx, work, "")
	})
}

// Rerun queues the request of a job again and returns the reference of the new job. It returns
// Conflict while the job, or an earlier rerun of it, has not ended.
func (j Store) Rerun(ctx context.Context, business core.BusinessID, reference core.ID,
	change access.Change) (core.ID, error) {
	now := j.db.Clock().Now()
	rerun := core.Job{ID: core.NewID(now), Business: business, CreatedAt: now, Actor: change.Actor}
	err := j.db.InTx(ctx, func(tx bun.Conn) error {
		// Of two concurrent reruns, the second sees the first.
		if _, err := tx.ExecContext(ctx, `SELECT FROM jobs WHERE business_id = ? AND id = ? FOR UPDATE`, business,
			reference); err != nil {
			return fmt.Errorf("locking the job to rerun: %w", err)
		}
		var state string
		var running bool
		if err := tx.QueryRowContext(ctx, `SELECT kind, subject, body, callback_url, dry_run, state,
				EXISTS (SELECT 1 FROM jobs r WHERE r.business_id = j.business_id AND r.rerun_of = j.id
					AND r.state IN ('queued', 'running'))
			FROM jobs j WHERE business_id = ? AND id = ?`, business, reference).
			Scan(&rerun.Kind, &rerun.Subject, &rerun.Body, &rerun.CallbackURL, &rerun.DryRun, &state,
				&running); err != nil {
			return postgres.NotFound(err, "there is no job with this reference")
		}
		switch {
		case rerun.Kind != core.StoreJob && rerun.Kind != core.MenuJob:
			return core.Errorf(core.Conflict, "only store and menu requests can be rerun")
		case state != string(job.Done) && state != string(job.Failed):
			return core.Errorf(core.Conflict, "the job has not finished")
		case running:
			return core.Errorf(core.Conflict, "the job is already being rerun: its page links to the new job")
		}
		var err error
		if rerun.Body, err = j.db.Decompress(rerun.Body); err != nil {
			return err
		}
		if err := Enqueue(ctx, j.db, tx, rerun, ""); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET rerun_of = ? WHERE business_id = ? AND id = ?`, reference,
			business, rerun.ID); err != nil {
			return fmt.Errorf("linking the job: %w", err)
		}
		change.Object, change.After = "job/"+rerun.ID.String(), map[string]any{"rerun_of": reference.String()}
		return audit.Record(ctx, j.db, tx, change)
	})
	return rerun.ID, err
}
