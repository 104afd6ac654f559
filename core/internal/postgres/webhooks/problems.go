package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// ProblemInterval is how often the time of a problem is stored. A failed delivery in between only reads its row.
const ProblemInterval = 10 * time.Second

// fields are values of a record for the audit trail.
type fields = map[string]any

// SetProblemState changes the state of a problem. It returns Conflict if the state is not transition.From.
func (w Store) SetProblemState(ctx context.Context, business core.BusinessID, id int64,
	transition console.ProblemTransition, change access.Change) error {
	return w.changeProblem(ctx, business, id, change, func(tx bun.Conn, p console.Problem) (was, is fields, err error) {
		if p.State != transition.From {
			return nil, nil, core.Errorf(core.Conflict,
				"nothing was done, because the problem has changed: reload the page")
		}
		_, err = tx.ExecContext(ctx, `UPDATE problems SET state = ?0, changed_by = ?1, changed_at = ?2,
				reopened_at = CASE WHEN ?0 = 'resolved' THEN NULL ELSE reopened_at END
			WHERE business_id = ?3 AND id = ?4`, transition.To, change.Actor, w.db.Clock().Now(), business, id)
		return fields{"state": transition.From}, fields{"state": transition.To}, err
	})
}

// AssignProblem assigns a problem to a user by email address, or to none if that is "".
func (w Store) AssignProblem(ctx context.Context, business core.BusinessID, id int64, assignee string,
	change access.Change) error {
	return w.changeProblem(ctx, business, id, change, func(tx bun.Conn, p console.Problem) (was, is fields, err error) {
		_, err = tx.ExecContext(ctx, `UPDATE problems SET assignee = ? WHERE business_id = ? AND id = ?`, assignee,
			business, id)
		return fields{"assignee": p.Assignee}, fields{"assignee": assignee}, err
	})
}

// NoteProblem stores the reason of the change as the latest note on a problem.
func (w Store) NoteProblem(ctx context.Context, business core.BusinessID, id int64, change access.Change) error {
	return w.changeProblem(ctx, business, id, change, func(tx bun.Conn, _ console.Problem) (was, is fields, err error) {
		_, err = tx.ExecContext(ctx, `UPDATE problems SET note = ? WHERE business_id = ? AND id = ?`, change.Why,
			business, id)
		return nil, nil, err
	})
}

// changeProblem locks a problem, applies a change and records it in the audit trail with the values
// before and after. It returns NotFound if the business has no such problem.
func (w Store) changeProblem(ctx context.Context, business core.BusinessID, id int64, change access.Change,
	apply func(tx bun.Conn, p console.Problem) (before, after fields, err error)) error {
	return w.db.InTx(ctx, func(tx bun.Conn) error {
		var p console.Problem
		err := tx.QueryRowContext(ctx,
			`SELECT state, assignee FROM problems WHERE business_id = ? AND id = ? FOR UPDATE`, business, id).
			Scan(&p.State, &p.Assignee)
		if err != nil {
			return postgres.NotFound(err, "there is no such problem")
		}
		change.Object = console.ProblemObject(id)
		if change.Before, change.After, err = apply(tx, p); err != nil {
			return err
		}
		return audit.Record(ctx, w.db, tx, change)
	})
}

// DropOldProblems deletes problems without a failure since the retention, whose deliveries have expired.
func (w Store) DropOldProblems(ctx context.Context, retention time.Duration) error {
	before := w.db.Clock().Now().Add(-retention - ProblemInterval)
	var businesses []int64
	if err := w.db.Bun().NewRaw(`SELECT id FROM businesses ORDER BY id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("deleting old problems: %w", err)
	}
	for _, business := range businesses {
		if _, err := w.db.Bun().ExecContext(ctx, `DELETE FROM problems WHERE business_id = ? AND last_seen_at < ?`,
			business, before); err != nil {
			return fmt.Errorf("deleting old problems: %w", err)
		}
	}
	return nil
}
