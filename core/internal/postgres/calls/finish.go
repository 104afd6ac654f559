package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/relay"
)

// PinSeparator separates the customer's phone number from its pin in the result of a call.
const PinSeparator = " pin "

// Finish records the results of claimed calls in one transaction: attempts, states, the next call
// of each ordering key, and the events of actions. A call ends even if the lease was lost. The next
// call is scheduled only while the owner holds the lease of the ordering key.
//
// One result that the database rejects must not prevent the others from being recorded. The batch is halved until that
// result is alone; its call then fails.
func (q Store) Finish(ctx context.Context, owner core.ID, results []relay.Result) error {
	if len(results) == 0 {
		return nil
	}
	err := q.finish(ctx, owner, results)
	if !postgres.IsDataError(err) {
		return err
	}
	if half := len(results) / 2; half > 0 {
		return errors.Join(q.Finish(ctx, owner, results[:half]), q.Finish(ctx, owner, results[half:]))
	}
	call := results[0].Call
	q.db.Log().Error("the result of a call could not be recorded", "call", call.ID, "error", err)
	failed := []relay.Result{{Call: call, State: relay.Failed, FinishedAt: results[0].FinishedAt,
		Message: "the result could not be recorded"}}
	if err = q.finish(ctx, owner, failed); postgres.IsDataError(err) {
		err = New(q.db).finish(ctx, owner, failed)
	}
	return err
}

func (q Store) finish(ctx context.Context, owner core.ID, results []relay.Result) error {
	return outbox.RunKeyed(ctx, q.db, func(tx bun.Conn, box *outbox.Outbox) error {
		n := len(results)
		businesses, keys := make([]int64, n), make([]string, n)
		for i, r := range results {
			businesses[i], keys[i] = int64(r.Call.Business), r.Call.OrderingKey
		}
		if err := lockOrders(ctx, tx, results); err != nil {
			return err
		}
		// Locked first, so that later transactions see the final state of the ordering keys.
		if _, err := tx.ExecContext(ctx,
			`SELECT 1 FROM call_queue WHERE (business_id, ordering_key) IN (SELECT *
				FROM unnest(?::bigint[], ?::text[]))
			ORDER BY business_id, ordering_key FOR UPDATE`, postgres.Array(businesses),
			postgres.Array(keys)); err != nil {
			return fmt.Errorf("locking the ordering keys of calls: %w", err)
		}
		results, err := withoutRecorded(ctx, tx, results)
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
		if err := scheduleOrderingKeys(ctx, tx, owner, results); err != nil {
			return err
		}
		events, err := q.afterEnd(ctx, tx, ended)
		if err != nil {
			return err
		}
		early, err := q.registerPending(ctx, tx, box, results)
		if err != nil {
			return err
		}
		return box.Publish(ctx, tx, append(events, early...)...)
	})
}

// afterEnd returns the events of ended calls.
func (q Store) afterEnd(ctx context.Context, tx bun.Conn, ended []Ended) (events []core.Event, err error) {
	for _, after := range q.onEnded {
		more, err := after(ctx, tx, ended)
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return events, nil
}

// lockOrders locks the orders that may get events, in key order.
func lockOrders(ctx context.Context, tx bun.Conn, results []relay.Result) error {
	var businesses, orders []int64
	for _, r := range results {
		if r.State != relay.Waiting && (r.Call.Kind == relay.Action || r.Call.Kind == relay.ItemsOOS) {
			businesses, orders = append(businesses, int64(r.Call.Business)), append(orders, r.Call.Order.ID)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	return postgres.Exec(ctx, tx, "locking orders",
		`SELECT 1 FROM orders WHERE (business_id, id) IN (SELECT * FROM unnest(?::bigint[], ?::bigint[]))
		ORDER BY business_id, id FOR UPDATE`, postgres.Array(businesses), postgres.Array(orders))
}

// withoutRecorded omits results whose attempts are already recorded. Their transaction has
// committed, and the ordering key may be leased again for the next call.
func withoutRecorded(ctx context.Context, tx bun.Conn, results []relay.Result) (unrecorded []relay.Result, err error) {
	var withAttempt []relay.Result
	var madeAttempts []outbox.Attempt
	for _, r := range results {
		if r.Attempt == nil {
			unrecorded = append(unrecorded, r)
			continue
		}
		withAttempt, madeAttempts = append(withAttempt, r),
			append(madeAttempts, outbox.Attempt{Business: r.Call.Business, ID: r.Call.ID,
				StartedAt: r.Attempt.StartedAt})
	}
	missing, err := outbox.MissingAttempts(ctx, tx, "call_attempts", "call_id", madeAttempts)
	for _, i := range missing {
		unrecorded = append(unrecorded, withAttempt[i])
	}
	return unrecorded, err
}

// writeCallAttempts stores the attempts. Successful sends of a rider location are not stored.
func writeCallAttempts(ctx context.Context, tx bun.Conn, results []relay.Result) error {
	const columns = `business_id, call_id, order_id, n, started_at, method, url, request_headers, request_body,` +
		` status, error_class, error, response_headers, response_body, total_us, step`
	var rows postgres.CopyWriter
	for _, r := range results {
		for i := range r.Earlier {
			writeCallAttempt(&rows, r.Call, &r.Earlier[i])
		}
		if r.Attempt != nil && (r.Call.Kind != relay.RiderLocation || r.Attempt.ErrorClass != "") {
			writeCallAttempt(&rows, r.Call, r.Attempt)
		}
	}
	return rows.CopyInto(ctx, tx, "call_attempts", columns)
}

func writeCallAttempt(rows *postgres.CopyWriter, call relay.Call, a *relay.Attempt) {
	rows.Int(int64(call.Business))
	rows.ID(call.ID)
	rows.Int(call.Order.ID)
	rows.Int(int64(call.Attempts + 1))
	rows.Time(a.StartedAt)
	rows.Text(a.Method)
	rows.Text(a.URL)
	rows.JSON(false, a.RequestHeaders)
	rows.Bytes(a.RequestBody[:min(len(a.RequestBody), relay.MaxRecordedBody)])
	rows.Int(int64(a.Status))
	rows.Text(a.ErrorClass)
	rows.Text(a.Error)
	rows.JSON(false, a.ResponseHeaders)
	rows.Bytes(a.ResponseBody[:min(len(a.ResponseBody), relay.MaxRecordedBody)])
	rows.Micros(a.Took)
	rows.Text(a.Step)
	rows.End()
}

// endCalls marks calls as ended, each at most once. It returns those that this transaction
// ended.
func endCalls(ctx context.Context, tx bun.Conn, results []relay.Result) ([]Ended, error) {
	var businesses, attempts []int64
	var ids, states, messages, callResults, at, deadlines []string
	for _, r := range results {
		if r.State == relay.Waiting || r.Call.Kind == relay.RiderLocation {
			continue
		}
		result := r.Outcome.CustomerPhone
		if r.Outcome.Pin != "" {
			result += PinSeparator + r.Outcome.Pin
		}
		if len(r.Outcome.Rejected) > 0 {
			text, err := json.Marshal(r.Outcome.Rejected)
			if err != nil {
				return nil, err
			}
			result = string(text)
		}
		madeAttempts := r.Call.Attempts
		if r.Attempt != nil {
			madeAttempts++
		}
		businesses, ids, states, attempts = append(businesses, int64(r.Call.Business)), append(ids, r.Call.ID.String()),
			append(states, string(r.State)), append(attempts, int64(madeAttempts))
		messages, callResults, at = append(messages, postgres.CleanText(r.Message)),
			append(callResults, postgres.CleanText(result)), append(at, r.FinishedAt.UTC().Format(time.RFC3339Nano))
		deadline := ""
		if awaitsReport(r) {
			deadline = deadlineOf(r).UTC().Format(time.RFC3339Nano)
		}
		deadlines = append(deadlines, deadline)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return End(ctx, tx, queries.With("end_calls", postgres.Args{
		"businesses": postgres.Array(businesses), "ids": postgres.Array(ids), "states": postgres.Array(states),
		"messages": postgres.Array(messages), "results": postgres.Array(callResults),
		"attempts": postgres.Array(attempts),
		"at":       postgres.Array(at), "deadlines": postgres.Array(deadlines), "ended": EndedColumns,
	}))
}

// scheduleOrderingKeys schedules each ordering key whose lease is held. That is the same call for its next attempt, the
// next call at once, or nothing if no call waits. The next rider location is sent when the rate limit allows. A
// location's outcome is stored in call_queue, because it has no other record.
func scheduleOrderingKeys(ctx context.Context, tx bun.Conn, owner core.ID, results []relay.Result) error {
	// The owner itself may have claimed the ordering key of a lost lease again.
	results = slices.DeleteFunc(slices.Clone(results), func(r relay.Result) bool { return r.LeaseLost })
	n := len(results)
	businesses, versions, attempts := make([]int64, n), make([]int64, n), make([]int64, n)
	keys, due, notes, locationStates := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	sent := make([]string, n) // when a platform accepted a rider location
	leases := make([]int64, n)
	retry := make([]bool, n)
	for i, r := range results {
		businesses[i], versions[i], keys[i] = int64(r.Call.Business), r.Call.Version, r.Call.OrderingKey
		leases[i] = r.Call.Lease
		next := r.FinishedAt
		if r.Call.Kind == relay.RiderLocation {
			locationStates[i] = string(r.State)
			if r.State != relay.Done {
				notes[i] = postgres.CleanText(r.Message)
			} else {
				sent[i] = r.FinishedAt.UTC().Format(time.RFC3339Nano)
			}
			if r.Attempt != nil {
				next = next.Add(relay.LocationInterval)
			}
		}
		due[i] = next.UTC().Format(time.RFC3339Nano)
		if r.State == relay.Waiting {
			retry[i], due[i], attempts[i], notes[i] = true, r.RetryAt.UTC().Format(time.RFC3339Nano),
				int64(r.Call.Attempts), postgres.CleanText(r.Message)
			if !r.Uncounted {
				attempts[i]++
			}
		}
	}
	return postgres.Exec(ctx, tx, "unblocking calls", queries.With("advance", postgres.Args{
		"businesses": postgres.Array(businesses), "ordering_keys": postgres.Array(keys),
		"versions": postgres.Array(versions),
		"attempts": postgres.Array(attempts), "retry": postgres.Array(retry), "due": postgres.Array(due),
		"notes": postgres.Array(notes), "location_states": postgres.Array(locationStates), "owner": owner,
		"sent": postgres.Array(sent), "leases": postgres.Array(leases),
		"location": relay.RiderLocation,
	}))
}

// Release requeues leased calls with their due times unchanged.
func (q Store) Release(ctx context.Context, owner core.ID, calls []relay.Call) error {
	businesses, keys, leases := make([]int64, len(calls)), make([]string, len(calls)), make([]int64, len(calls))
	for i, c := range calls {
		businesses[i], keys[i] = int64(c.Business), c.OrderingKey
		leases[i] = c.Lease
	}
	_, err := q.db.Bun().ExecContext(ctx, queries.With("release", postgres.Args{
		"owner": owner, "businesses": postgres.Array(businesses), "ordering_keys": postgres.Array(keys),
		"leases": postgres.Array(leases),
	}))
	if err != nil {
		return fmt.Errorf("releasing calls: %w", err)
	}
	outbox.NotifyLater(q.db, outbox.CallsChannel) // a replica with the plugin may be at rest
	return nil
}

// RecordCall stores an attempt at a call outside the queue.
func (q Store) RecordCall(ctx context.Context, result relay.Result) error {
	return q.db.InTx(ctx, func(tx bun.Conn) error { return writeCallAttempts(ctx, tx, []relay.Result{result}) })
}
