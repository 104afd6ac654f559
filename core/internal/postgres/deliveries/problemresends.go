package deliveries

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/webhook"
)

// ProblemResends stores the deliveries that resends of problems send (webhook.ProblemResends).
type ProblemResends struct{ followedResends }

// NewProblemResends returns ProblemResends that use db.
func NewProblemResends(db *postgres.DB) ProblemResends { return ProblemResends{followedResends{db}} }

// Select fixes the deliveries that the job resends.
func (r ProblemResends) Select(ctx context.Context, work core.Job, c webhook.Selector) error {
	return jobs.InTx(ctx, r.db, work, func(tx bun.Conn) error {
		if done, err := r.isSelected(ctx, tx, work); err != nil || done {
			return err
		}
		if _, err := tx.ExecContext(ctx, queries.With("choose_problem_resends", postgres.Args{
			"business": work.Business, "reference": work.ID, "chosen": resendChosen,
			"selected": selectorConditions(work.Business, c, core.ID{}),
		})); err != nil {
			return fmt.Errorf("selecting the deliveries of a problem: %w", err)
		}
		leftOut, err := New(r.db).countLeftOut(ctx, tx, work.Business, c)
		if err != nil {
			return err
		}
		stored, err := json.Marshal(webhook.ResendOutcome{LeftOut: leftOut})
		if err != nil {
			return err
		}
		// The count remains when rows of deliveries that cannot be sent are deleted.
		_, err = tx.ExecContext(ctx, `UPDATE jobs SET cursor = ?2, total = (
				SELECT count(*) FROM followed_resends WHERE business_id = ?0 AND reference = ?1)
			WHERE business_id = ?0 AND id = ?1`, work.Business, work.ID, string(stored))
		return err
	})
}

// Outcome counts the deliveries that have ended. It stores the counts as the cursor of the job, which
// the console shows.
func (r ProblemResends) Outcome(ctx context.Context, work core.Job) (outcome webhook.ResendOutcome, err error) {
	err = r.db.InTx(ctx, func(tx bun.Conn) error {
		var selected, leftOut int
		if err := tx.QueryRowContext(ctx, `SELECT total, coalesce((cursor->>'left_out')::integer, 0)
			FROM jobs WHERE business_id = ? AND id = ?`, work.Business, work.ID).Scan(&selected, &leftOut); err != nil {
			return fmt.Errorf("reading the progress of job %s: %w", work.ID, err)
		}
		tally, err := r.tally(ctx, tx, work, true)
		if err != nil {
			return err
		}
		outcome = webhook.ResendOutcome{Selected: selected, Sent: tally.Sent,
			Delivered: tally.Responded - tally.Failed, Failed: tally.Failed, LeftOut: leftOut}
		stored, err := json.Marshal(outcome)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `UPDATE jobs SET cursor = ?, total = ? WHERE business_id = ? AND id = ?`,
			string(stored), selected, work.Business, work.ID); err != nil {
			return fmt.Errorf("storing the progress of job %s: %w", work.ID, err)
		}
		return nil
	})
	return outcome, err
}

// End ends the job with its outcome.
func (r ProblemResends) End(ctx context.Context, work core.Job, outcome webhook.ResendOutcome, failure string) error {
	result, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	return jobs.InTx(ctx, r.db, work, func(tx bun.Conn) error {
		if err := r.forget(ctx, tx, work); err != nil {
			return err
		}
		return jobs.Finish(ctx, r.db, tx, work, jobs.Ended{Failure: failure, Result: result, Objects: outcome.Selected})
	})
}
