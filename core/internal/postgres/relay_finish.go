package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// keptAnswer is how much of an answer, and of what was sent, is kept on record, in bytes.
const keptAnswer = 4 << 10

// pinOf stands between a number that leads to a customer and its pin in the result
// of a call.
const pinOf = " pin "

// Finish records what came of claimed calls, in one transaction: attempts, where
// each call stands, when its line goes on, and the events of what actions
// brought. A call that came to an end does so whoever holds its line by now; the
// line itself is only its holder's to change.
func (q Calls) Finish(ctx context.Context, owner core.ID, results []relay.Result) error {
	if len(results) == 0 {
		return nil
	}
	return q.tell(ctx, func(tx bun.Conn, box *outbox) error {
		n := len(results)
		businesses, lines := make([]int64, n), make([]string, n)
		for i, r := range results {
			businesses[i], lines[i] = int64(r.Call.Business), r.Call.Line
		}
		if err := lockTold(ctx, tx, results); err != nil {
			return err
		}
		// Locked first: what a transaction queues from now on sees the lines as they will be.
		if _, err := tx.ExecContext(ctx, `SELECT 1 FROM call_lines WHERE (business_id, line) IN (SELECT * FROM unnest(?::bigint[], ?::text[]))
			ORDER BY business_id, line FOR UPDATE`, array(businesses), array(lines)); err != nil {
			return fmt.Errorf("locking lines of calls: %w", err)
		}
		results, err := unrecordedCalls(ctx, tx, results)
		if err != nil {
			return err
		}
		if err := writeCallAttempts(ctx, tx, results); err != nil {
			return err
		}
		ended, err := endCalls(ctx, tx, results)
		if err != nil {
			return err
		}
		if err := advanceCallLines(ctx, tx, owner, results); err != nil {
			return err
		}
		events, err := actionEvents(ctx, tx, q.clock.Now(), ended)
		if err != nil {
			return err
		}
		shortages, err := shortageEvents(ctx, tx, q.clock.Now(), ended)
		if err != nil {
			return err
		}
		switches, err := q.switchesEnded(ctx, tx, ended)
		if err != nil {
			return err
		}
		return box.publish(ctx, tx, slices.Concat(events, shortages, switches)...)
	})
}

// lockTold locks the orders of which events may be told, in the order of their keys.
func lockTold(ctx context.Context, tx bun.Conn, results []relay.Result) error {
	var businesses, orders []int64
	for _, r := range results {
		if r.State != relay.Waiting && (r.Call.Kind == relay.Action || r.Call.Kind == relay.ItemsOOS) {
			businesses, orders = append(businesses, int64(r.Call.Business)), append(orders, r.Call.Order.ID)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `SELECT 1 FROM orders WHERE (business_id, id) IN (SELECT * FROM unnest(?::bigint[], ?::bigint[]))
		ORDER BY business_id, id FOR UPDATE`, array(businesses), array(orders)); err != nil {
		return fmt.Errorf("locking orders: %w", err)
	}
	return nil
}

// unrecordedCalls leaves out results whose attempts are on record: all of them has
// been done then, and the line may be leased again, for what comes next.
func unrecordedCalls(ctx context.Context, tx bun.Conn, results []relay.Result) (fresh []relay.Result, err error) {
	var tried []relay.Result
	var made []madeAttempt
	for _, r := range results {
		if r.Attempt == nil {
			fresh = append(fresh, r)
			continue
		}
		tried, made = append(tried, r), append(made, madeAttempt{r.Call.Business, r.Call.ID, r.Attempt.StartedAt})
	}
	missing, err := missingAttempts(ctx, tx, "call_attempts", "call_id", made)
	for _, i := range missing {
		fresh = append(fresh, tried[i])
	}
	return fresh, err
}

// writeCallAttempts keeps the attempts; those that told a place leave no trace.
func writeCallAttempts(ctx context.Context, tx bun.Conn, results []relay.Result) error {
	const columns = `business_id, call_id, order_id, n, started_at, method, url, request_headers, request_body, status, error_class, error, response_headers, response_body, total_us`
	var rows copyRows
	for _, r := range results {
		a := r.Attempt
		if a == nil || r.Call.Kind == relay.RiderLocation && a.ErrorClass == "" {
			continue
		}
		rows.int(int64(r.Call.Business))
		rows.id(r.Call.ID)
		rows.int(r.Call.Order.ID)
		rows.int(int64(r.Call.Attempts + 1))
		rows.time(a.StartedAt)
		rows.text(a.Method)
		rows.text(a.URL)
		rows.json(false, a.RequestHeaders)
		rows.bytes(a.RequestBody[:min(len(a.RequestBody), keptAnswer)])
		rows.int(int64(a.Status))
		rows.text(a.ErrorClass)
		rows.text(a.Error)
		rows.json(false, a.ResponseHeaders)
		rows.bytes(a.ResponseBody[:min(len(a.ResponseBody), keptAnswer)])
		rows.micros(a.Took)
		rows.end()
	}
	return rows.copyInto(ctx, tx, "call_attempts", columns)
}

// endCalls marks the calls that came to an end, each at most once, and returns
// those that this transaction ended.
func endCalls(ctx context.Context, tx bun.Conn, results []relay.Result) ([]endedCall, error) {
	var businesses, attempts []int64
	var ids, states, messages, brought, at []string
	for _, r := range results {
		if r.State == relay.Waiting || r.Call.Kind == relay.RiderLocation {
			continue
		}
		result := r.Outcome.CustomerPhone
		if r.Outcome.Pin != "" {
			result += pinOf + r.Outcome.Pin
		}
		if len(r.Outcome.Refused) > 0 {
			text, err := json.Marshal(r.Outcome.Refused)
			if err != nil {
				return nil, err
			}
			result = string(text)
		}
		made := r.Call.Attempts
		if r.Attempt != nil {
			made++
		}
		businesses, ids, states, attempts = append(businesses, int64(r.Call.Business)), append(ids, r.Call.ID.String()), append(states, string(r.State)), append(attempts, int64(made))
		messages, brought, at = append(messages, clean(r.Message)), append(brought, clean(result)), append(at, r.Executed.UTC().Format(time.RFC3339Nano))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return endedBy(ctx, tx, `UPDATE calls c SET state = r.state, message = r.message, result = r.result, attempts = r.attempts, finished_at = r.at
		FROM unnest(?::bigint[], ?::uuid[], ?::text[], ?::text[], ?::text[], ?::smallint[], ?::timestamptz[]) AS r (business_id, id, state, message, result, attempts, at)
		WHERE c.business_id = r.business_id AND c.id = r.id AND c.state = 'waiting'`,
		array(businesses), array(ids), array(states), array(messages), array(brought), array(attempts), array(at))
}

// advanceCallLines lets the lines go on: with the same call at its next attempt,
// with the next call at once (the next place when one may be told again), or,
// where nothing waits, not at all. A place leaves what became of it in its line:
// there is no other record of it.
func advanceCallLines(ctx context.Context, tx bun.Conn, owner core.ID, results []relay.Result) error {
	n := len(results)
	businesses, versions, attempts := make([]int64, n), make([]int64, n), make([]int64, n)
	lines, due, notes, told := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	again := make([]bool, n)
	for i, r := range results {
		businesses[i], versions[i], lines[i] = int64(r.Call.Business), r.Call.Version, r.Call.Line
		next := r.Executed
		if r.Call.Kind == relay.RiderLocation {
			told[i] = string(r.State)
			if r.State != relay.Done {
				notes[i] = clean(r.Message)
			}
			if r.Attempt != nil {
				next = next.Add(relay.PlaceEvery)
			}
		}
		due[i] = next.UTC().Format(time.RFC3339Nano)
		if r.State == relay.Waiting {
			again[i], due[i], attempts[i], notes[i] = true, r.RetryAt.UTC().Format(time.RFC3339Nano), int64(r.Call.Attempts), clean(r.Message)
			if !r.Untried {
				attempts[i]++
			}
		}
	}
	if _, err := tx.ExecContext(ctx, `WITH r AS (SELECT * FROM unnest(?0::bigint[], ?1::text[], ?2::bigint[], ?3::smallint[], ?4::boolean[], ?5::timestamptz[], ?6::text[], ?9::text[])
				AS r (business_id, line, version, attempts, again, due, note, told)),
			over AS (DELETE FROM call_lines l USING r WHERE l.business_id = r.business_id AND l.line = r.line AND l.owner = ?7 AND NOT r.again
				AND l.kind <> ?8 AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.business_id = r.business_id AND c.line = r.line AND c.state = 'waiting')
				RETURNING l.business_id, l.line)
		UPDATE call_lines l SET owner = NULL, attempts = r.attempts, due_at = r.due, note = r.note, told = r.told,
			available_at = CASE WHEN l.kind = ?8 AND NOT r.again AND l.version = r.version THEN 'infinity' ELSE r.due END
		FROM r WHERE l.business_id = r.business_id AND l.line = r.line AND l.owner = ?7
			AND NOT EXISTS (SELECT 1 FROM over WHERE over.business_id = r.business_id AND over.line = r.line)`,
		array(businesses), array(lines), array(versions), array(attempts), array(again), array(due), array(notes), owner, relay.RiderLocation, array(told)); err != nil {
		return fmt.Errorf("letting lines of calls go on: %w", err)
	}
	return nil
}

// Release gives leased calls back, due as they were.
func (q Calls) Release(ctx context.Context, owner core.ID, calls []relay.Call) error {
	businesses, lines := make([]int64, len(calls)), make([]string, len(calls))
	for i, c := range calls {
		businesses[i], lines[i] = int64(c.Business), c.Line
	}
	_, err := q.bun.ExecContext(ctx, `UPDATE call_lines l SET owner = NULL, available_at = l.due_at
		FROM (SELECT business_id, line FROM call_lines WHERE owner = ? AND (business_id, line) IN (SELECT * FROM unnest(?::bigint[], ?::text[]))
			ORDER BY business_id, line FOR UPDATE) r
		WHERE l.business_id = r.business_id AND l.line = r.line`, owner, array(businesses), array(lines))
	if err != nil {
		return fmt.Errorf("giving calls back: %w", err)
	}
	return nil
}

// Keep keeps an attempt at a call that stands in no line of calls.
func (q Calls) Keep(ctx context.Context, result relay.Result) error {
	return q.inTx(ctx, func(tx bun.Conn) error { return writeCallAttempts(ctx, tx, []relay.Result{result}) })
}
