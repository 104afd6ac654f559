package deliveries

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// followedResends stores deliveries that a job resends until their outcome is known.
type followedResends struct{ db *postgres.DB }

// The states of followed_resends.
const (
	resendChosen = iota
	resendSent
	resendAccepted
	resendFailed
)

// isSelected reports whether the job has selected its deliveries.
func (r followedResends) isSelected(ctx context.Context, tx bun.Conn, work core.Job) (done bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (
			SELECT 1 FROM followed_resends WHERE business_id = ? AND reference = ?)`, work.Business, work.ID).
		Scan(&done)
	return done, err
}

// Resend makes the next selected deliveries with greater ids than after due now. It deselects those that were accepted
// meanwhile, whose webhook was disabled, or that ended for a cancelled order. Without after, each call would read
// the rows of all earlier ones.
func (r followedResends) Resend(ctx context.Context, work core.Job, after core.ID,
	limit int) (last core.ID, err error) {
	err = jobs.InTx(ctx, r.db, work, func(tx bun.Conn) error {
		var ids []core.ID
		if err := tx.NewRaw(`SELECT delivery_id FROM followed_resends
			WHERE business_id = ? AND reference = ? AND delivery_id > ? AND state = ? ORDER BY delivery_id LIMIT ?`,
			work.Business, work.ID, after, resendChosen, limit).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("reading deliveries to resend: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		last = ids[len(ids)-1]
		sent, err := r.send(ctx, tx, work, ids)
		if err != nil {
			return err
		}
		if sent < len(ids) {
			if _, err := tx.ExecContext(ctx, queries.With("deselect", postgres.Args{
				"business": work.Business, "reference": work.ID, "chosen": resendChosen, "first": ids[0], "last": last,
				"is_switched_off": isSwitchedOff,
			})); err != nil {
				return fmt.Errorf("resending deliveries: %w", err)
			}
		}
		return postgres.Notify(ctx, tx, outbox.DeliveriesChannel)
	})
	if err == nil && last != (core.ID{}) {
		outbox.Wake(r.db)
	}
	return last, err
}

// send makes the deliveries due now, except ended ones of cancelled orders. It marks and counts those that are queued.
func (r followedResends) send(ctx context.Context, tx bun.Conn, work core.Job, chosen []core.ID) (int, error) {
	first, last := chosen[0], chosen[len(chosen)-1]
	var rows []struct {
		DeliveryID core.ID `bun:"delivery_id,type:uuid"`
		Cancelled  bool    `bun:"cancelled"`
	}
	if err := tx.NewRaw(queries.With("resends_to_send", postgres.Args{
		"business": work.Business, "reference": work.ID, "first": first, "last": last, "ids": postgres.Array(chosen),
		"cancelled": order.Cancelled,
	})).Scan(ctx, &rows); err != nil {
		return 0, fmt.Errorf("finding cancelled orders: %w", err)
	}
	queued := resending{business: work.Business, manual: true, end: webhook.Failed}
	others := queued
	for _, row := range rows {
		if row.Cancelled { // the cancellation waits for it while it is queued
			queued.ids = append(queued.ids, row.DeliveryID)
		} else {
			others.ids = append(others.ids, row.DeliveryID)
		}
	}
	sent := 0
	for attempt := range 2 { // the second is for those that ended during the first
		if attempt == 1 && sent == len(chosen) {
			break
		}
		if err := r.makeDue(ctx, tx, queued, others); err != nil {
			return 0, err
		}
		marked := 0
		if err := tx.QueryRowContext(ctx, queries.With("mark_resends", postgres.Args{
			"business": work.Business, "reference": work.ID, "chosen": resendChosen, "sent": resendSent,
			"first": first, "last": last, "ids": postgres.Array(chosen), "is_switched_off": isSwitchedOff,
		})).Scan(&marked); err != nil {
			return 0, fmt.Errorf("resending deliveries: %w", err)
		}
		sent += marked
	}
	return sent, nil
}

// makeDue makes deliveries due now: the first ones only if they are queued, the others even if they have ended.
func (r followedResends) makeDue(ctx context.Context, tx bun.Conn, queued, others resending) error {
	deliveries := New(r.db)
	if len(others.ids) > 0 {
		if _, err := deliveries.resend(ctx, tx, others); err != nil {
			return err
		}
	}
	_, err := deliveries.retryWaiting(ctx, tx, queued, r.db.Clock().Now())
	return err
}

// tally records new outcomes and counts by order, or by delivery if the rows have no event. With final,
// a delivery counts when it has ended. Otherwise its first response counts.
func (r followedResends) tally(ctx context.Context, tx bun.Conn, work core.Job,
	final bool) (tally webhook.Tally, err error) {
	if err := jobs.LockLease(ctx, tx, work); err != nil {
		return tally, err
	}
	if _, err := tx.ExecContext(ctx, queries.With("record_responses", postgres.Args{
		"business": work.Business, "reference": work.ID, "sent": resendSent, "accepted": resendAccepted,
		"failed": resendFailed, "is_switched_off": isSwitchedOff, "final": final,
	})); err != nil {
		return tally, fmt.Errorf("finding responses: %w", err)
	}
	if err := tx.QueryRowContext(ctx, queries.With("tally_resends", postgres.Args{
		"business": work.Business, "reference": work.ID, "sent": resendSent, "failed": resendFailed,
	})).Scan(&tally.Selected, &tally.Sent, &tally.Responded, &tally.Failed); err != nil {
		return tally, fmt.Errorf("counting responses: %w", err)
	}
	return tally, nil
}

// forget deletes the rows of a job.
func (r followedResends) forget(ctx context.Context, tx bun.Conn, work core.Job) error {
	return postgres.Exec(ctx, tx, "deleting the deliveries of job "+work.ID.String(),
		`DELETE FROM followed_resends WHERE business_id = ? AND reference = ?`, work.Business, work.ID)
}
