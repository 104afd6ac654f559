package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

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
// attempt that is under way is left alone. An order that was neither accepted nor
// is any webhook's that is switched on goes to those that there are now.
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
		// Nothing tells the planner how many orders and deliveries these are: each is read once.
		if _, err := tx.ExecContext(ctx, `SET LOCAL enable_nestloop = off`); err != nil {
			return fmt.Errorf("choosing what to send again: %w", err)
		}
		var unheard []core.ID
		err := tx.NewRaw(`WITH placed AS MATERIALIZED (
				SELECT placed_event FROM orders WHERE business_id = ?0 AND created_at >= ?1 AND created_at < ?2),
			told AS MATERIALIZED (
				SELECT q.id, q.event_id, w.active, q.owner IS NULL OR q.attempts > 0 AS missing, false AS accepted
				FROM webhooks w JOIN delivery_queue q ON q.business_id = w.business_id AND q.webhook_id = w.id WHERE w.business_id = ?0 AND w.event_type = ?3
				UNION ALL
				SELECT d.id, d.event_id, w.active, d.state = 'failed', d.state = 'delivered'
				FROM webhooks w JOIN deliveries d ON d.business_id = w.business_id AND d.webhook_id = w.id WHERE w.business_id = ?0 AND w.event_type = ?3 AND d.id >= ?4),
			chosen AS (INSERT INTO order_resends (business_id, reference, delivery_id, event_id, state, before)
				SELECT ?0, ?5, t.id, t.event_id, ?6, 0 FROM told t JOIN placed p ON p.placed_event = t.event_id WHERE t.active AND t.missing)
			SELECT placed_event FROM placed p WHERE NOT EXISTS (SELECT 1 FROM told t WHERE t.event_id = p.placed_event AND (t.active OR t.accepted))`,
			work.Business, window.From, window.To, core.OrderPlaced, core.FirstID(window.From.Add(-time.Minute)), work.ID, resendChosen).Scan(ctx, &unheard)
		if err != nil {
			return fmt.Errorf("choosing what to send again: %w", err)
		}
		return r.chooseAnew(ctx, tx, work, window, unheard)
	})
}

// chooseAnew gives orders that no webhook has to those that are switched on now, as
// deliveries that failed without an attempt, and chooses these. Their ids are of the
// time of the event, as those of the deliveries that were made with it.
func (r Resends) chooseAnew(ctx context.Context, tx bun.Conn, work core.Job, window webhook.Window, events []core.ID) error {
	if len(events) == 0 {
		return nil
	}
	var receivers []target
	if err := tx.NewRaw(`SELECT id, url FROM webhooks WHERE business_id = ? AND event_type = ? AND active ORDER BY id`, work.Business, core.OrderPlaced).
		Scan(ctx, &receivers); err != nil {
		return fmt.Errorf("looking for the webhooks of orders: %w", err)
	}
	if len(receivers) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE orders SET untold = false WHERE business_id = ? AND untold AND created_at >= ? AND created_at < ? AND placed_event = ANY (?::uuid[])`,
		work.Business, window.From, window.To, array(events)); err != nil {
		return fmt.Errorf("choosing what to send again: %w", err)
	}
	now := r.clock.Now()
	var deliveries, resends copyRows
	for _, event := range events {
		for _, t := range receivers {
			id := core.NewID(core.TimeOf(event))
			deliveries.int(int64(work.Business))
			deliveries.id(id)
			deliveries.id(event)
			deliveries.text(string(core.OrderPlaced))
			deliveries.int(t.ID)
			deliveries.text(t.URL)
			deliveries.text(string(webhook.Failed))
			deliveries.int(0)
			deliveries.int(0)
			deliveries.time(now)
			deliveries.end()
			resends.int(int64(work.Business))
			resends.id(work.ID)
			resends.id(id)
			resends.id(event)
			resends.int(resendChosen)
			resends.int(0)
			resends.end()
		}
	}
	if err := deliveries.copyInto(ctx, tx, "deliveries", "business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at"); err != nil {
		return err
	}
	return resends.copyInto(ctx, tx, "order_resends", "business_id, reference, delivery_id, event_id, state, before")
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
		these := formatter.FormatQuery(`r.reference = ? AND r.state = ? AND r.delivery_id BETWEEN ? AND ?`, work.ID, resendChosen, ids[0], ids[n-1])
		marked, err := tx.ExecContext(ctx, `UPDATE order_resends r SET state = ?, before = d.attempts FROM delivery_queue d
			WHERE r.business_id = ? AND `+these+` AND d.business_id = r.business_id AND d.id = r.delivery_id AND NOT `+isSwitchedOff, resendSent, work.Business)
		if err != nil {
			return fmt.Errorf("sending orders again: %w", err)
		}
		if sent, err := marked.RowsAffected(); err != nil {
			return err
		} else if int(sent) < n {
			if _, err := tx.ExecContext(ctx, `DELETE FROM order_resends r WHERE r.business_id = ? AND `+these, work.Business); err != nil {
				return fmt.Errorf("sending orders again: %w", err)
			}
		}
		return notify(ctx, tx, deliveriesChannel)
	})
	if err == nil && n > 0 {
		r.look()
	}
	return n, err
}

// Tally finds the answers that have come, and counts by orders: one has its answer
// when every webhook that it was sent to has given one. What can have none any more,
// because its webhook was switched off or its event is no longer kept, has failed.
func (r Resends) Tally(ctx context.Context, work core.Job) (tally webhook.Tally, err error) {
	err = r.inTx(ctx, func(tx bun.Conn) error {
		if err := r.hold(ctx, tx, work); err != nil {
			return err
		}
		// Each by its key: what is waited for and what has come are many, and no statistics tell of them yet.
		if _, err := tx.ExecContext(ctx, `UPDATE order_resends r SET state = CASE
				(SELECT d.state FROM deliveries d WHERE d.business_id = r.business_id AND d.id = r.delivery_id LIMIT 1) WHEN 'delivered' THEN ?3 ELSE ?4 END
			WHERE r.business_id = ?0 AND r.reference = ?1 AND r.state = ?2 AND coalesce((SELECT d.attempts > r.before FROM delivery_queue d
				WHERE d.business_id = r.business_id AND d.id = r.delivery_id AND NOT `+isSwitchedOff+` LIMIT 1), true)`,
			work.Business, work.ID, resendSent, resendAccepted, resendFailed); err != nil {
			return fmt.Errorf("looking for answers: %w", err)
		}
		err := tx.QueryRowContext(ctx, `WITH sends AS (
				SELECT bool_or(state >= ?2) AS sent, bool_or(state = ?2) AS open, bool_or(state = ?3) AS failed
				FROM order_resends WHERE business_id = ?0 AND reference = ?1 GROUP BY coalesce(event_id, delivery_id)),
			tally AS (SELECT count(*) AS chosen, count(*) FILTER (WHERE sent) AS sent, count(*) FILTER (WHERE sent AND NOT open) AS answered,
				count(*) FILTER (WHERE failed AND NOT open) AS failed FROM sends),
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
	return r.tell(ctx, func(tx bun.Conn, box *outbox) error {
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
}
