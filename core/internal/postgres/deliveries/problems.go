package deliveries

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
	"github.com/servery-hub/servery/core/webhook"
)

// problemKey identifies the cause of failed deliveries.
type problemKey struct {
	BusinessID core.BusinessID `bun:"business_id"`
	Server     string          `bun:"server"`
	ErrorClass string          `bun:"error_class"`
	Status     int             `bun:"status"`
}

// problemInterval is how often the time of a problem is stored. A failed delivery in between only reads its row.
const problemInterval = 10 * time.Second

// recordProblems records the problems of failed deliveries that the owner still holds, because others do not count. It
// locks these deliveries. It returns the problem of each result, 0 for a delivered one.
func (q Store) recordProblems(ctx context.Context, tx bun.Conn, owner core.ID,
	results []webhook.Result) ([]int64, error) {
	ids, keys := make([]int64, len(results)), make([]problemKey, len(results))
	var failed []webhook.Delivery
	var statuses []int64
	var servers, classes []string
	for i, r := range results {
		if r.State != webhook.Failed {
			continue
		}
		key := problemKey{r.Delivery.Business, webhook.Host(r.Attempt.URL), string(r.Attempt.ErrorClass),
			r.Attempt.Status}
		keys[i] = key
		failed, servers = append(failed, r.Delivery), append(servers, key.Server)
		classes, statuses = append(classes, key.ErrorClass), append(statuses, int64(key.Status))
	}
	if len(failed) == 0 {
		return ids, nil
	}
	now, args := q.db.Clock().Now(), leaseArgs(owner, failed)
	args["servers"], args["classes"], args["statuses"] = postgres.Array(servers), postgres.Array(classes),
		postgres.Array(statuses)
	args["now"], args["recent"] = now, now.Add(-problemInterval)
	var rows []struct {
		problemKey `bun:",extend"`
		ID         int64 `bun:"id"`
	}
	if err := tx.NewRaw(queries.With("record_problems", args)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("recording the problems of failed deliveries: %w", err)
	}
	byKey := make(map[problemKey]int64, len(rows))
	for _, row := range rows {
		byKey[row.problemKey] = row.ID
	}
	for i, key := range keys {
		ids[i] = byKey[key]
	}
	return ids, nil
}

// fields are values of a record for the audit trail.
type fields = map[string]any

// SetProblemState changes the state of a problem. It returns Conflict if the state is not transition.From.
func (q Store) SetProblemState(ctx context.Context, business core.BusinessID, id int64,
	transition console.ProblemTransition, change access.Change) error {
	return q.changeProblem(ctx, business, id, change, func(tx bun.Conn, p console.Problem) (was, is fields, err error) {
		if p.State != transition.From {
			return nil, nil, core.Errorf(core.Conflict,
				"nothing was done, because the problem has changed: reload the page")
		}
		_, err = tx.ExecContext(ctx, `UPDATE problems SET state = ?0, changed_by = ?1, changed_at = ?2,
				reopened_at = CASE WHEN ?0 = 'resolved' THEN NULL ELSE reopened_at END
			WHERE business_id = ?3 AND id = ?4`, transition.To, change.Actor, q.db.Clock().Now(), business, id)
		return fields{"state": transition.From}, fields{"state": transition.To}, err
	})
}

// AssignProblem assigns a problem to a user by email address, or to none if that is "".
func (q Store) AssignProblem(ctx context.Context, business core.BusinessID, id int64, assignee string,
	change access.Change) error {
	return q.changeProblem(ctx, business, id, change, func(tx bun.Conn, p console.Problem) (was, is fields, err error) {
		_, err = tx.ExecContext(ctx, `UPDATE problems SET assignee = ? WHERE business_id = ? AND id = ?`, assignee,
			business, id)
		return fields{"assignee": p.Assignee}, fields{"assignee": assignee}, err
	})
}

// NoteProblem stores the reason of the change as the latest note on a problem.
func (q Store) NoteProblem(ctx context.Context, business core.BusinessID, id int64, change access.Change) error {
	return q.changeProblem(ctx, business, id, change, func(tx bun.Conn, _ console.Problem) (was, is fields, err error) {
		_, err = tx.ExecContext(ctx, `UPDATE problems SET note = ? WHERE business_id = ? AND id = ?`, change.Why,
			business, id)
		return nil, nil, err
	})
}

// changeProblem locks a problem, applies a change and records it in the audit trail with the values
// before and after. It returns NotFound if the business has no such problem.
func (q Store) changeProblem(ctx context.Context, business core.BusinessID, id int64, change access.Change,
	apply func(tx bun.Conn, p console.Problem) (before, after fields, err error)) error {
	return q.db.InTx(ctx, func(tx bun.Conn) error {
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
		return audit.Record(ctx, q.db, tx, change)
	})
}

// DropOldProblems deletes problems without a failure since the retention, whose deliveries have expired.
func (q Store) DropOldProblems(ctx context.Context, retention time.Duration) error {
	before := q.db.Clock().Now().Add(-retention - problemInterval)
	var businesses []int64
	if err := q.db.Bun().NewRaw(`SELECT id FROM businesses ORDER BY id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("deleting old problems: %w", err)
	}
	for _, business := range businesses {
		if _, err := q.db.Bun().ExecContext(ctx, `DELETE FROM problems WHERE business_id = ? AND last_seen_at < ?`,
			business, before); err != nil {
			return fmt.Errorf("deleting old problems: %w", err)
		}
	}
	return nil
}
