package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/job"
)

// Record stores a change in the audit trail that is made elsewhere.
func (c Console) Record(ctx context.Context, change access.Change) error {
	return c.record(ctx, c.bun, change)
}

// QueueJob stores a job that a person asked for, with the change that says so.
func (c Console) QueueJob(ctx context.Context, work core.Job, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		change.Object = "job/" + work.ID.String()
		if err := c.record(ctx, tx, change); err != nil {
			return err
		}
		return c.enqueue(ctx, tx, work, "")
	})
}

// RunAgain accepts the request of a job once more and returns the reference of
// the new job. Conflict while it has not ended, or is being run again already.
func (c Console) RunAgain(ctx context.Context, business core.BusinessID, reference core.ID, change access.Change) (core.ID, error) {
	now := c.clock.Now()
	again := core.Job{ID: core.NewID(now), Business: business, CreatedAt: now, Actor: change.Actor}
	err := c.inTx(ctx, func(tx bun.Conn) error {
		var state string
		var running bool
		if err := tx.QueryRowContext(ctx, `SELECT kind, subject, body, callback_url, dry_run, state,
				EXISTS (SELECT 1 FROM jobs r WHERE r.business_id = j.business_id AND r.again_of = j.id AND r.state IN ('queued', 'running'))
			FROM jobs j WHERE business_id = ? AND id = ? FOR UPDATE`, business, reference).
			Scan(&again.Kind, &again.Subject, &again.Body, &again.CallbackURL, &again.DryRun, &state, &running); err != nil {
			return notFound(err, "there is no job with this reference")
		}
		switch {
		case again.Kind != core.StoreJob && again.Kind != core.MenuJob:
			return core.Errorf(core.Conflict, "only requests of stores and menus can be run again")
		case state != string(job.Done) && state != string(job.Failed):
			return core.Errorf(core.Conflict, "the job has not ended yet")
		case running:
			return core.Errorf(core.Conflict, "the job is being run again already; its page leads there")
		}
		var err error
		if again.Body, err = c.packer.unpack(again.Body); err != nil {
			return err
		}
		if err := c.enqueue(ctx, tx, again, ""); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET again_of = ? WHERE business_id = ? AND id = ?`, reference, business, again.ID); err != nil {
			return fmt.Errorf("linking the job: %w", err)
		}
		change.Object, change.After = "job/"+again.ID.String(), map[string]any{"again_of": reference.String()}
		return c.record(ctx, tx, change)
	})
	return again.ID, err
}
