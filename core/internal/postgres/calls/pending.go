package calls

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/tasks"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/retry"
)

// awaitsReport reports whether the aggregator reports the outcome of a call by its own id of a task. The outcomes of
// actions name the action.
func awaitsReport(r relay.Result) bool { return r.State == relay.Pending && r.Outcome.ExpiresAfter > 0 }

func deadlineOf(r relay.Result) time.Time { return r.FinishedAt.Add(r.Outcome.ExpiresAfter) }

// registerPending stores the tasks of calls whose outcomes are pending. It applies outcomes that arrived before the
// responses, and returns their events.
func (q Store) registerPending(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	results []relay.Result) (events []core.Event, err error) {
	for _, r := range results {
		if !awaitsReport(r) {
			continue
		}
		var store relay.PlatformStore
		_ = json.Unmarshal(r.Call.Payload, &store) // only availability changes have a store
		early, err := tasks.Register(ctx, q.db, tx, outcome.Task{Business: r.Call.Business, Platform: r.Call.Platform,
			Reference: cmp.Or(r.Outcome.Task, r.Call.ID.String()), Kind: string(r.Call.Kind), StoreID: store.StoreID,
			CallID: r.Call.ID, Deadline: deadlineOf(r)})
		if err != nil {
			return nil, err
		}
		if early == nil {
			continue
		}
		_, more, err := q.apply(ctx, tx, box, outcome.Task{Business: r.Call.Business, CallID: r.Call.ID}, *early)
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return events, nil
}

// Settle stores the outcome of a call that an aggregator reports, with its events.
func (q Store) Settle(ctx context.Context, task outcome.Task, report outcome.Report) (effect outcome.Effect,
	err error) {
	err = outbox.RunKeyed(ctx, q.db, func(tx bun.Conn, box *outbox.Outbox) error {
		var events []core.Event
		if effect, events, err = q.apply(ctx, tx, box, task, report); err != nil {
			return err
		}
		return box.Publish(ctx, tx, events...)
	})
	return effect, err
}

// apply applies a report to a pending call.
func (q Store) apply(ctx context.Context, tx bun.Conn, box *outbox.Outbox, task outcome.Task,
	report outcome.Report) (outcome.Effect, []core.Event, error) {
	c := outbox.Call{Business: task.Business, ID: task.CallID, At: q.db.Clock().Now()}
	var payload string
	var attempts int
	var pending, followed bool
	err := tx.QueryRowContext(ctx, queries.With("read_pending", postgres.Args{
		"business": task.Business, "id": task.CallID,
	})).Scan(&c.Kind, &c.Platform, &c.OrderingKey, &c.Order, &payload, &attempts, &pending, &followed)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !pending {
		return outcome.Repeated, nil, tasks.End(ctx, q.db, tx,
			tasks.Ended{Business: task.Business, CallID: task.CallID, State: tasks.Superseded})
	}
	if err != nil {
		return "", nil, fmt.Errorf("reading the call of an outcome: %w", err)
	}
	// An acknowledgement is not sent after the later calls of its order.
	if report.State == outcome.Retry && c.Kind == relay.OrderAcknowledge && !followed {
		if wait, more := retry.Default(time.Second).After(attempts); more {
			return outcome.Retried, nil, q.sendAgain(ctx, tx, box, c, retrying{attempts, report.Reason(), wait})
		}
	}
	result, err := relay.ReportedOutcome(c.Kind, []byte(payload), report)
	if err != nil {
		return "", nil, err
	}
	events, err := q.settle(ctx, tx, c, result)
	return outcome.Settled, events, err
}

// settle ends a pending call with its outcome.
func (q Store) settle(ctx context.Context, tx bun.Conn, c outbox.Call, result relay.Outcome) ([]core.Event, error) {
	state, ended := relay.Done, tasks.Ended{Business: c.Business, CallID: c.ID, State: outcome.Done}
	if result.State != outcome.Done {
		state, ended.State = relay.Failed, outcome.Failed
	}
	rejected := ""
	if len(result.Rejected) > 0 {
		text, err := json.Marshal(result.Rejected)
		if err != nil {
			return nil, err
		}
		rejected = string(text)
	}
	list, err := End(ctx, tx, queries.With("settle", postgres.Args{
		"business": c.Business, "id": c.ID, "state": state,
		"message": postgres.CleanText(result.Message), "result": postgres.CleanText(rejected),
		"now": c.At, "ended": EndedColumns,
	}))
	if err != nil {
		return nil, err
	}
	events, err := q.afterEnd(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	return events, tasks.End(ctx, q.db, tx, ended)
}

// retrying is a call that is resent after a while.
type retrying struct {
	attempts int
	reason   string
	wait     time.Duration
}

// sendAgain queues a call again that failed after the aggregator had accepted it.
func (q Store) sendAgain(ctx context.Context, tx bun.Conn, box *outbox.Outbox, c outbox.Call, r retrying) error {
	if err := box.RequeueCalls(ctx, tx, []outbox.Call{c}); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, queries.With("send_again", postgres.Args{
		"business": c.Business, "id": c.ID, "now": c.At,
	})); err != nil {
		return fmt.Errorf("queueing a call again: %w", err)
	}
	if _, err := tx.ExecContext(ctx, queries.With("delay_again", postgres.Args{
		"attempts": r.attempts, "note": postgres.CleanText(r.reason), "retry_at": c.At.Add(r.wait),
		"business": c.Business, "ordering_key": c.OrderingKey, "id": c.ID,
	})); err != nil {
		return fmt.Errorf("delaying a call: %w", err)
	}
	return tasks.End(ctx, q.db, tx, tasks.Ended{Business: c.Business, CallID: c.ID, State: outcome.Retry})
}

// expireBatch is the number of calls that one transaction fails.
const expireBatch = 500

// Expire fails the calls whose outcome is overdue, and publishes their events. It returns their number by kind. Any
// replica may call it.
func (q Store) Expire(ctx context.Context) (map[relay.Kind]int, error) {
	var overdue bool
	if err := q.db.Bun().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM calls WHERE state = 'pending' AND outcome_deadline <= ?)`,
		q.db.Clock().Now()).Scan(&overdue); err != nil {
		return nil, fmt.Errorf("finding overdue outcomes: %w", err)
	}
	expired := map[relay.Kind]int{}
	for more := overdue; more; {
		err := outbox.RunKeyed(ctx, q.db, func(tx bun.Conn, box *outbox.Outbox) error {
			list, err := End(ctx, tx, queries.With("overdue", postgres.Args{
				"now": q.db.Clock().Now(), "limit": expireBatch, "ended": EndedColumns,
			}))
			if more = len(list) == expireBatch; err != nil {
				return err
			}
			events, err := q.afterEnd(ctx, tx, list)
			if err != nil {
				return err
			}
			ended := make([]tasks.Ended, len(list))
			for i, c := range list {
				ended[i] = tasks.Ended{Business: c.Business, CallID: c.ID, State: tasks.Expired}
				expired[c.Kind]++
			}
			if err := tasks.End(ctx, q.db, tx, ended...); err != nil {
				return err
			}
			return box.Publish(ctx, tx, events...)
		})
		if err != nil {
			return expired, fmt.Errorf("failing calls with an overdue outcome: %w", err)
		}
	}
	return expired, nil
}
