package deliveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

const attemptColumns = `business_id, delivery_id, n, started_at, url, request_headers, status, error_class, error,
	response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us, sent_twice`

// Finish records a batch of attempts and updates their deliveries. A success counts even after its lease has expired. A
// failure counts only while the lease is held, because otherwise another attempt follows.
//
// One result that the database rejects must not prevent the others from being recorded. The
// batch is halved until that result is alone; it is then recorded without the response.
func (q Store) Finish(ctx context.Context, owner core.ID, results []webhook.Result,
	rules webhook.CircuitRules) (queue.FinishResult, error) {
	effect, err := q.finish(ctx, owner, results, rules)
	if !postgres.IsDataError(err) {
		return effect, err
	}
	if len(results) > 1 {
		half := len(results) / 2
		one, err := q.Finish(ctx, owner, results[:half], rules)
		two, err2 := q.Finish(ctx, owner, results[half:], rules)
		return queue.FinishResult{Blocked: append(one.Blocked, two.Blocked...), Due: one.Due || two.Due},
			errors.Join(err, err2)
	}
	q.db.Log().Error("an attempt could not be recorded in full", "delivery", results[0].Delivery.ID, "error", err)
	bare := results[0]
	bare.Attempt.RequestHeaders, bare.Attempt.ResponseHeaders, bare.Attempt.ResponseBody = nil, nil, nil
	if effect, err = q.finish(ctx, owner, []webhook.Result{bare}, rules); postgres.IsDataError(err) {
		// A retry would not help; the lease expires and the attempt is repeated.
		q.db.Log().Error("an attempt could not be recorded", "delivery", bare.Delivery.ID, "error", err)
		return effect, nil
	}
	return effect, err
}

func (q Store) finish(ctx context.Context, owner core.ID, results []webhook.Result,
	rules webhook.CircuitRules) (queue.FinishResult, error) {
	var attempts postgres.CopyWriter
	var finished, retries []webhook.Result
	for _, r := range results {
		writeAttempt(&attempts, r)
		if r.State == webhook.Pending {
			retries = append(retries, r)
		} else {
			finished = append(finished, r)
		}
	}
	var health healthUpdate
	unblocked := 0
	news := results // those that no earlier transaction has recorded
	err := q.db.InKeyedTx(ctx, func(tx bun.Conn) (err error) {
		problems, err := q.recordProblems(ctx, tx, owner, finished)
		if err != nil {
			return err
		}
		ended, err := q.moveToHistory(ctx, tx, owner, finished, problems)
		if err != nil {
			return err
		}
		set, err := q.scheduleRetries(ctx, tx, owner, retries)
		if err != nil {
			return err
		}
		if ended+set < int64(len(results)) { // others hold some of the leases, or some results are already recorded
			if attempts, news, err = unrecorded(ctx, tx, results); err != nil {
				return err
			}
		}
		if err := attempts.CopyInto(ctx, tx, "attempts", attemptColumns); err != nil {
			return err
		}
		for _, r := range results {
			if r.Disable {
				if err := q.disable(ctx, tx, r); err != nil {
					return err
				}
			}
		}
		if health, err = q.updateHealth(ctx, tx, news, rules); err != nil {
			return err
		}
		if unblocked, err = outbox.UnblockNext(ctx, q.db, tx, outbox.OrderedRows(finished)); err != nil ||
			len(health.closed) == 0 {
			return err
		}
		return postgres.Notify(ctx, tx, outbox.DeliveriesChannel)
	})
	if err != nil {
		return queue.FinishResult{}, err
	}
	q.logHealth(health)
	return queue.FinishResult{Blocked: health.probed, Due: unblocked > 0 || len(health.closed) > 0}, nil
}

func writeAttempt(c *postgres.CopyWriter, r webhook.Result) {
	a := r.Attempt
	c.Int(int64(r.Delivery.Business))
	c.ID(r.Delivery.ID)
	c.Int(int64(r.Delivery.Attempts + 1))
	c.Time(a.StartedAt)
	c.Text(a.URL)
	c.JSON(false, a.RequestHeaders)
	c.Int(int64(a.Status))
	c.Text(string(a.ErrorClass))
	c.Text(a.Error)
	c.JSON(false, a.ResponseHeaders)
	c.Bytes(a.ResponseBody)
	c.Micros(a.Timing.DNS)
	c.Micros(a.Timing.Connect)
	c.Micros(a.Timing.TLS)
	c.Micros(a.Timing.FirstByte)
	c.Micros(a.Timing.Total)
	c.Bool(a.SentTwice)
	c.End()
}

// unrecorded returns the results whose attempts are not yet recorded, and the rows of these attempts.
func unrecorded(ctx context.Context, tx bun.Conn,
	results []webhook.Result) (rows postgres.CopyWriter, news []webhook.Result, err error) {
	all := make([]outbox.Attempt, len(results))
	for i, r := range results {
		all[i] = outbox.Attempt{Business: r.Delivery.Business, ID: r.Delivery.ID, StartedAt: r.Attempt.StartedAt}
	}
	missing, err := outbox.MissingAttempts(ctx, tx, "attempts", "delivery_id", all)
	for _, i := range missing {
		writeAttempt(&rows, results[i])
		news = append(news, results[i])
	}
	return rows, news, err
}

// moveToHistory moves ended deliveries from the queue to the history, each with its problem or 0. It
// returns how many were still queued.
func (q Store) moveToHistory(ctx context.Context, tx bun.Conn, owner core.ID, results []webhook.Result,
	problems []int64) (int64, error) {
	if len(results) == 0 {
		return 0, nil
	}
	n := len(results)
	ended := make([]webhook.Delivery, n)
	urls, states, statuses := make([]string, n), make([]string, n), make([]int64, n)
	for i, r := range results {
		ended[i], urls[i], states[i], statuses[i] = r.Delivery, r.Attempt.URL, string(r.State), int64(r.Attempt.Status)
	}
	args := leaseArgs(owner, ended)
	args["urls"], args["states"], args["statuses"] = postgres.Array(urls), postgres.Array(states),
		postgres.Array(statuses)
	args["problems"], args["now"] = postgres.Array(problems), q.db.Clock().Now()
	query, err := q.db.Prepare(ctx, tx, queries.Get("move_to_history"), args)
	if err != nil {
		return 0, err
	}
	done, err := tx.ExecContext(ctx, query)
	if err != nil {
		return 0, fmt.Errorf("recording finished deliveries: %w", err)
	}
	return done.RowsAffected()
}

// scheduleRetries schedules the next attempt of failed deliveries that will be retried. It
// returns how many the owner still held.
func (q Store) scheduleRetries(ctx context.Context, tx bun.Conn, owner core.ID,
	results []webhook.Result) (int64, error) {
	if len(results) == 0 {
		return 0, nil
	}
	retried, due := make([]webhook.Delivery, len(results)), make([]string, len(results))
	for i, r := range results {
		retried[i], due[i] = r.Delivery, r.RetryAt.UTC().Format(time.RFC3339Nano)
	}
	args := leaseArgs(owner, retried)
	args["due"] = postgres.Array(due)
	done, err := tx.ExecContext(ctx, queries.With("set_retries", args))
	if err != nil {
		return 0, fmt.Errorf("scheduling retries: %w", err)
	}
	return done.RowsAffected()
}

// disable disables a subscription, unless it has changed since the attempt was prepared.
// It records this in the audit trail.
func (q Store) disable(ctx context.Context, tx bun.Conn, r webhook.Result) error {
	d := r.Delivery
	result, err := tx.ExecContext(ctx,
		`UPDATE webhooks SET active = false, disabled_reason = ?0, disabled_at = ?1, updated_at = ?1,
			version = version + 1
		WHERE business_id = ?2 AND id = ?3 AND active AND version = ?4`, r.Attempt.Error, q.db.Clock().Now(),
		d.Business, d.WebhookID, d.Version)
	if err != nil {
		return fmt.Errorf("disabling webhook %d: %w", d.WebhookID, err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return nil // already disabled, or changed since the attempt was prepared
	}
	if err := webhooks.DeleteCircuit(ctx, tx, d.Business, d.WebhookID); err != nil {
		return err
	}
	if err := outbox.Invalidate(ctx, tx, d.Business, d.WebhookID); err != nil {
		return err
	}
	return audit.Record(ctx, q.db, tx, access.Change{Business: d.Business, Actor: "hub", Action: "webhook.disable",
		Object: fmt.Sprintf("webhook/%d", d.WebhookID), Why: r.Attempt.Error, After: map[string]any{"delivery": d.ID}})
}
