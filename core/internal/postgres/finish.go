package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/webhook"
)

const attemptColumns = `business_id, delivery_id, n, started_at, url, request_headers, status, error_class, error,
	response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us`

// Finish records a batch of attempts and moves their deliveries on. A success
// counts also when its lease had run out; a failure only while the lease holds,
// since otherwise another replica is at it.
//
// One result that the database will not take must not keep the others from
// being recorded: the batch is halved until it stands alone, and is then
// recorded without what the endpoint answered.
func (q Deliveries) Finish(ctx context.Context, owner core.ID, results []webhook.Result, rules webhook.Probing) (webhook.Outlook, error) {
	outlook, err := q.finish(ctx, owner, results, rules)
	if !isDataError(err) {
		return outlook, err
	}
	if len(results) > 1 {
		half := len(results) / 2
		one, err := q.Finish(ctx, owner, results[:half], rules)
		two, err2 := q.Finish(ctx, owner, results[half:], rules)
		return webhook.Outlook{Probed: append(one.Probed, two.Probed...), Due: one.Due || two.Due}, errors.Join(err, err2)
	}
	q.log.Error("an attempt could not be recorded in full", "delivery", results[0].Delivery.ID, "error", err)
	bare := results[0]
	bare.Attempt.RequestHeaders, bare.Attempt.ResponseHeaders, bare.Attempt.ResponseBody = nil, nil, nil
	if outlook, err = q.finish(ctx, owner, []webhook.Result{bare}, rules); isDataError(err) {
		// Trying again would not help; the lease runs out and the attempt is repeated.
		q.log.Error("an attempt could not be recorded", "delivery", bare.Delivery.ID, "error", err)
		return outlook, nil
	}
	return outlook, err
}

// isDataError tells an error that comes of the values themselves: SQLSTATE
// classes 22 (data exception) and 23 (integrity constraint violation).
func isDataError(err error) bool {
	var answer pgdriver.Error
	return errors.As(err, &answer) && (strings.HasPrefix(answer.Field('C'), "22") || strings.HasPrefix(answer.Field('C'), "23"))
}

func (q Deliveries) finish(ctx context.Context, owner core.ID, results []webhook.Result, rules webhook.Probing) (webhook.Outlook, error) {
	var attempts copyRows
	var over, again []webhook.Result
	for _, r := range results {
		writeAttempt(&attempts, r)
		if r.State == webhook.Pending {
			again = append(again, r)
		} else {
			over = append(over, r)
		}
	}
	var judged judgement
	freed := 0
	err := q.inTx(ctx, func(tx bun.Conn) (err error) {
		ended, err := q.finishOver(ctx, tx, owner, over)
		if err != nil {
			return err
		}
		set, err := q.finishAgain(ctx, tx, owner, again)
		if err != nil {
			return err
		}
		if ended+set < int64(len(results)) { // others have taken some up, or some come once more
			if attempts, err = unrecorded(ctx, tx, results); err != nil {
				return err
			}
		}
		if err := attempts.copyInto(ctx, tx, "attempts", attemptColumns); err != nil {
			return err
		}
		for _, r := range results {
			if r.Disable {
				if err := q.disable(ctx, tx, r); err != nil {
					return err
				}
			}
		}
		if judged, err = q.judge(ctx, tx, results, rules); err != nil {
			return err
		}
		if freed, err = q.advance(ctx, tx, inLine(over)); err != nil || len(judged.recovered) == 0 {
			return err
		}
		return notify(ctx, tx, deliveriesChannel)
	})
	if err != nil {
		return webhook.Outlook{}, err
	}
	q.logHealth(judged)
	return webhook.Outlook{Probed: judged.probed, Due: freed > 0 || len(judged.recovered) > 0}, nil
}

func writeAttempt(c *copyRows, r webhook.Result) {
	a := r.Attempt
	c.int(int64(r.Delivery.Business))
	c.id(r.Delivery.ID)
	c.int(int64(r.Delivery.Attempts + 1))
	c.time(a.StartedAt)
	c.text(a.URL)
	c.json(false, a.RequestHeaders)
	c.int(int64(a.Status))
	c.text(string(a.ErrorClass))
	c.text(a.Error)
	c.json(false, a.ResponseHeaders)
	c.bytes(a.ResponseBody)
	c.micros(a.Timing.DNS)
	c.micros(a.Timing.Connect)
	c.micros(a.Timing.TLS)
	c.micros(a.Timing.FirstByte)
	c.micros(a.Timing.Total)
	c.end()
}

// unrecorded writes the attempts that are not on record.
func unrecorded(ctx context.Context, tx bun.Conn, results []webhook.Result) (rows copyRows, err error) {
	made := make([]madeAttempt, len(results))
	for i, r := range results {
		made[i] = madeAttempt{r.Delivery.Business, r.Delivery.ID, r.Attempt.StartedAt}
	}
	missing, err := missingAttempts(ctx, tx, "attempts", "delivery_id", made)
	for _, i := range missing {
		writeAttempt(&rows, results[i])
	}
	return rows, err
}

// madeAttempt is what tells an attempt from all others.
type madeAttempt struct {
	business core.BusinessID
	of       core.ID // the delivery or call
	at       time.Time
}

// missingAttempts tells which attempts are not in the table, by their places in
// the list: where the answer to a COMMIT was lost with the database, those come
// once more that were recorded already.
func missingAttempts(ctx context.Context, tx bun.Conn, table, key string, made []madeAttempt) (missing []int, err error) {
	businesses, ids, starts := make([]int64, len(made)), make([]string, len(made)), make([]string, len(made))
	for i, m := range made {
		businesses[i], ids[i], starts[i] = int64(m.business), m.of.String(), m.at.UTC().Format(copiedTime)
	}
	if err := tx.NewRaw(`SELECT r.place - 1 FROM unnest(?::bigint[], ?::uuid[], ?::timestamptz[]) WITH ORDINALITY AS r (business_id, id, at, place)
		WHERE NOT EXISTS (SELECT 1 FROM ? a WHERE a.business_id = r.business_id AND a.? = r.id AND a.started_at = r.at)`,
		array(businesses), array(ids), array(starts), bun.Ident(table), bun.Ident(key)).Scan(ctx, &missing); err != nil {
		return nil, fmt.Errorf("looking up what is in %s: %w", table, err)
	}
	return missing, nil
}

var intoHistory = planned{
	name: "into_history", types: "bigint[], uuid[], text[], text[], smallint[], uuid, timestamptz",
	query: `WITH over AS (
			DELETE FROM delivery_queue q USING unnest($1, $2, $3, $4, $5) AS r (business_id, id, url, state, status)
			WHERE q.business_id = r.business_id AND q.id = r.id AND (r.state = 'delivered' OR q.owner = $6)
			RETURNING q.business_id, q.id, q.event_id, q.event_type, q.webhook_id, r.url, r.state, q.attempts + 1 AS attempts, r.status)
		INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at)
		SELECT business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, $7 FROM over`,
}

// finishOver moves deliveries that came to an end from the queue to the history,
// and tells how many were still in it.
func (q Deliveries) finishOver(ctx context.Context, tx bun.Conn, owner core.ID, results []webhook.Result) (int64, error) {
	if len(results) == 0 {
		return 0, nil
	}
	n := len(results)
	businesses, statuses := make([]int64, n), make([]int64, n)
	ids, urls, states := make([]string, n), make([]string, n), make([]string, n)
	for i, r := range results {
		businesses[i], ids[i], urls[i] = int64(r.Delivery.Business), r.Delivery.ID.String(), r.Attempt.URL
		states[i], statuses[i] = string(r.State), int64(r.Attempt.Status)
	}
	query, err := q.prepared.ready(ctx, tx, &intoHistory, array(businesses), array(ids), array(urls), array(states), array(statuses), owner, q.clock.Now())
	if err != nil {
		return 0, err
	}
	done, err := tx.ExecContext(ctx, query)
	if err != nil {
		return 0, fmt.Errorf("recording finished deliveries: %w", err)
	}
	return done.RowsAffected()
}

// finishAgain sets the next attempt of deliveries that failed but are not given up,
// and tells how many were still the owner's.
func (q Deliveries) finishAgain(ctx context.Context, tx bun.Conn, owner core.ID, results []webhook.Result) (int64, error) {
	if len(results) == 0 {
		return 0, nil
	}
	businesses, ids, due := make([]int64, len(results)), make([]string, len(results)), make([]string, len(results))
	before := make([]int64, len(results)) // a result that comes once more must not end the lease of the next attempt
	for i, r := range results {
		businesses[i], ids[i], before[i] = int64(r.Delivery.Business), r.Delivery.ID.String(), int64(r.Delivery.Attempts)
		due[i] = r.RetryAt.UTC().Format(time.RFC3339Nano)
	}
	done, err := tx.ExecContext(ctx, `UPDATE delivery_queue q SET attempts = q.attempts + 1, due_at = r.due_at, available_at = r.due_at, owner = NULL, asked = false
		FROM unnest(?::bigint[], ?::uuid[], ?::timestamptz[], ?::smallint[]) AS r (business_id, id, due_at, attempts)
		WHERE q.business_id = r.business_id AND q.id = r.id AND q.owner = ? AND q.attempts = r.attempts`,
		pgdialect.Array(businesses), pgdialect.Array(ids), pgdialect.Array(due), pgdialect.Array(before), owner)
	if err != nil {
		return 0, fmt.Errorf("setting retries: %w", err)
	}
	return done.RowsAffected()
}

// disable switches a subscription off, as it was when the attempt was prepared, and
// says so in the audit trail.
func (q Deliveries) disable(ctx context.Context, tx bun.Conn, r webhook.Result) error {
	d := r.Delivery
	result, err := tx.ExecContext(ctx, `UPDATE webhooks SET active = false, disabled_reason = ?, updated_at = ?, version = version + 1
		WHERE business_id = ? AND id = ? AND active AND version = ?`, r.Attempt.Error, q.clock.Now(), d.Business, d.WebhookID, d.Version)
	if err != nil {
		return fmt.Errorf("switching webhook %d off: %w", d.WebhookID, err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		return nil // switched off already, or changed since the attempt was prepared
	}
	if err := forgetHealth(ctx, tx, d.Business, d.WebhookID); err != nil {
		return err
	}
	if err := recall(ctx, tx, d.Business, d.WebhookID); err != nil {
		return err
	}
	return q.record(ctx, tx, access.Change{Business: d.Business, Actor: "hub", Action: "webhook.disable",
		Object: fmt.Sprintf("webhook/%d", d.WebhookID), Why: r.Attempt.Error, After: map[string]any{"delivery": d.ID}})
}
