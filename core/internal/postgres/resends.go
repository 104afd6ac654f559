package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Resends keeps what order retries send again (webhook.Resends).
type Resends struct{ *DB }

// The states of order_resends.
const (
	resendChosen = iota
	resendSent
	resendAccepted
	resendFailed
)

// Choose fixes what the job sends again: of the orders placed in the window, the
// deliveries that have had no 2xx, of webhooks that are switched on. A first
// attempt that is under way is left alone.
func (r Resends) Choose(ctx context.Context, work core.Job, window webhook.Window) error {
	return r.inTx(ctx, func(tx bun.Conn) error {
		if err := r.hold(ctx, tx, work); err != nil {
			return err
		}
		var done bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM order_resends WHERE business_id = ? AND reference = ?)`,
			work.Business, work.ID).Scan(&done); err != nil || done {
			return err
		}
		_, err := tx.ExecContext(ctx, `WITH placed AS MATERIALIZED (
				SELECT placed_event FROM orders WHERE business_id = ?0 AND created_at >= ?1 AND created_at < ?2),
			missing AS MATERIALIZED (
				SELECT id, event_id, webhook_id FROM delivery_queue
				WHERE business_id = ?0 AND event_type = ?3 AND (owner IS NULL OR attempts > 0)
				UNION ALL
				SELECT id, event_id, webhook_id FROM deliveries
				WHERE business_id = ?0 AND event_type = ?3 AND state = 'failed' AND id >= ?4)
			INSERT INTO order_resends (business_id, reference, delivery_id, state, before)
			SELECT ?0, ?5, m.id, ?6, 0 FROM missing m JOIN placed p ON p.placed_event = m.event_id
			JOIN webhooks w ON w.business_id = ?0 AND w.id = m.webhook_id AND w.active`,
			work.Business, window.From, window.To, core.OrderPlaced, core.FirstID(window.From.Add(-time.Minute)), work.ID, resendChosen)
		if err != nil {
			return fmt.Errorf("choosing what to send again: %w", err)
		}
		return nil
	})
}

// Resend makes the next chosen deliveries due now. One that has been accepted
// meanwhile, or whose webhook was switched off, is none any more.
func (r Resends) Resend(ctx context.Context, work core.Job, limit int) (n int, err error) {
	err = r.inTx(ctx, func(tx bun.Conn) error {
		if err := r.hold(ctx, tx, work); err != nil {
			return err
		}
		var ids []string
		if err := tx.NewRaw(`SELECT delivery_id FROM order_resends WHERE business_id = ? AND reference = ? AND state = ? ORDER BY delivery_id LIMIT ?`,
			work.Business, work.ID, resendChosen, limit).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("reading what to send again: %w", err)
		}
		if n = len(ids); n == 0 {
			return nil
		}
		if _, err := Deliveries(r).resend(ctx, tx, work.Business, ids, webhook.Failed, true); err != nil {
			return err
		}
		for _, statement := range []string{
			`UPDATE order_resends r SET state = ?3, before = q.attempts FROM delivery_queue q JOIN webhooks w ON w.business_id = ?0 AND w.id = q.webhook_id AND w.active
			WHERE r.business_id = ?0 AND r.reference = ?2 AND r.delivery_id = ANY (?1::uuid[]) AND q.business_id = ?0 AND q.id = r.delivery_id`,
			// Also to an endpoint that fails: every re-send is to have an answer.
			`UPDATE delivery_queue q SET asked = true FROM order_resends r
			WHERE r.business_id = ?0 AND r.reference = ?2 AND r.delivery_id = ANY (?1::uuid[]) AND r.state = ?3
			AND q.business_id = ?0 AND q.id = r.delivery_id AND q.owner IS NULL AND NOT q.asked`,
			`DELETE FROM order_resends WHERE business_id = ?0 AND reference = ?2 AND delivery_id = ANY (?1::uuid[]) AND state <> ?3`,
		} {
			if _, err := tx.ExecContext(ctx, statement, work.Business, pgdialect.Array(ids), work.ID, resendSent); err != nil {
				return fmt.Errorf("sending orders again: %w", err)
			}
		}
		_, err := tx.ExecContext(ctx, `SELECT pg_notify(?, '')`, deliveriesChannel)
		return err
	})
	if err == nil && n > 0 && r.starter != nil {
		r.starter.Wake()
	}
	return n, err
}

// Tally finds the answers that have come. What can have none any more, because
// its webhook was switched off or its event is no longer kept, counts as failed.
func (r Resends) Tally(ctx context.Context, work core.Job) (tally webhook.Tally, err error) {
	err = r.inTx(ctx, func(tx bun.Conn) error {
		if err := r.hold(ctx, tx, work); err != nil {
			return err
		}
		for _, statement := range []string{
			`UPDATE order_resends r SET state = CASE d.state WHEN 'delivered' THEN ?3 ELSE ?4 END FROM deliveries d
			WHERE r.business_id = ?0 AND r.reference = ?1 AND r.state = ?2 AND d.business_id = ?0 AND d.id = r.delivery_id AND d.id >= ?5`,
			`UPDATE order_resends r SET state = ?4 FROM delivery_queue q
			WHERE r.business_id = ?0 AND r.reference = ?1 AND r.state = ?2 AND q.business_id = ?0 AND q.id = r.delivery_id AND q.attempts > r.before`,
			`UPDATE order_resends r SET state = ?4 WHERE r.business_id = ?0 AND r.reference = ?1 AND r.state = ?2
			AND NOT EXISTS (SELECT 1 FROM delivery_queue q JOIN webhooks w ON w.business_id = ?0 AND w.id = q.webhook_id AND w.active
				WHERE q.business_id = ?0 AND q.id = r.delivery_id)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.business_id = ?0 AND d.id = r.delivery_id)`,
		} {
			if _, err := tx.ExecContext(ctx, statement, work.Business, work.ID, resendSent, resendAccepted, resendFailed,
				core.FirstID(core.TimeOf(work.ID).Add(-25*time.Hour))); err != nil { // what is covered began on the same day
				return fmt.Errorf("looking for answers: %w", err)
			}
		}
		err := tx.QueryRowContext(ctx, `WITH tally AS (
				SELECT count(*) AS chosen, count(*) FILTER (WHERE state >= ?2) AS sent, count(*) FILTER (WHERE state > ?2) AS answered,
					count(*) FILTER (WHERE state = ?3) AS failed
				FROM order_resends WHERE business_id = ?0 AND reference = ?1),
			told AS (UPDATE jobs SET progress = answered, total = chosen FROM tally WHERE business_id = ?0 AND id = ?1)
			SELECT chosen, sent, answered, failed FROM tally`, work.Business, work.ID, resendSent, resendFailed).
			Scan(&tally.Chosen, &tally.Sent, &tally.Answered, &tally.Failed)
		if err != nil {
			return fmt.Errorf("counting answers: %w", err)
		}
		return nil
	})
	return tally, err
}

// End stores the callback and ends the job, in one transaction.
func (r Resends) End(ctx context.Context, work core.Job, event core.Event, tally webhook.Tally, failure string) error {
	box := outbox{db: r.DB}
	defer box.rolledBack()
	err := r.inTx(ctx, func(tx bun.Conn) error {
		if err := r.hold(ctx, tx, work); err != nil {
			return err
		}
		if err := box.publish(ctx, tx, event); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM order_resends WHERE business_id = ? AND reference = ?`, work.Business, work.ID); err != nil {
			return fmt.Errorf("forgetting what was sent again: %w", err)
		}
		result := fmt.Appendf(nil, `{"retried":%d,"failed":%d}`, tally.Sent, tally.Failed)
		return r.end(ctx, tx, work, jobEnd{failure, result, event.ID, tally.Chosen})
	})
	if err == nil {
		box.committed()
	}
	return err
}
