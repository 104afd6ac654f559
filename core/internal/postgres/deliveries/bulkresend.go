package deliveries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/compress"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

// selectorConditions returns the conditions that the row "delivery" of a table is selected and comes after the cursor.
func selectorConditions(business core.BusinessID, c webhook.Selector, after core.ID) (only postgres.Conditions) {
	only.Add(true, `delivery.business_id = ? AND delivery.id > ?`, business, after)
	if c.IDs != nil {
		only.Add(true, `delivery.id = ANY (?::uuid[])`, postgres.Array(c.IDs))
	} else {
		only.Add(!c.From.IsZero(), `delivery.id >= ?`, core.FirstID(c.From))
		only.Add(true, `delivery.id < ?`, core.FirstID(c.To))
		only.Add(c.EventType != "", `delivery.event_type = ?`, c.EventType)
		only.Add(c.WebhookID != 0, `delivery.webhook_id = ?`, c.WebhookID)
		only.Add(c.ProblemID != 0, `delivery.problem_id = ?`, c.ProblemID)
		only.Add(c.State != webhook.Pending, `delivery.state = ?`, c.State)
		only.Add(c.Status != 0, `delivery.status = ?`, c.Status)
		only.Add(!c.EndedFrom.IsZero(), `delivery.finished_at >= ?`, c.EndedFrom)
		only.Add(!c.EndedBy.IsZero(), `delivery.finished_at <= ?`, c.EndedBy)
	}
	addFinalOrders(&only, c.FinalOrders)
	return only
}

func addFinalOrders(only *postgres.Conditions, choice webhook.FinalOrders) {
	only.Add(choice == webhook.OnlyFinalOrders, "?", isOfFinalOrder)
	only.Add(choice == webhook.WithoutFinalOrders, "NOT ?", isOfFinalOrder)
}

// conditions is selectorConditions with those that need other rows.
func (q Store) conditions(ctx context.Context, db bun.IDB, business core.BusinessID, c webhook.Selector,
	after core.ID) (postgres.Conditions, error) {
	only := selectorConditions(business, c, after)
	if c.Reference != "" {
		condition, err := q.ofReference(ctx, db, business, c.Reference)
		if err != nil {
			return only, err
		}
		only.Add(true, "?", condition)
	}
	if c.OrderID != 0 {
		condition, err := q.ofOrder(ctx, db, business, c.OrderID)
		if err != nil {
			return only, err
		}
		only.Add(true, "?", condition)
	}
	return only, nil
}

// selectedIDs returns a query of the ids of selected deliveries, ended and waiting. Deliveries
// that are running or held do not count as waiting.
func (q Store) selectedIDs(ctx context.Context, db bun.IDB, business core.BusinessID, c webhook.Selector,
	after core.ID) (bun.Safe, error) {
	conditions, err := q.conditions(ctx, db, business, c, after)
	if err != nil {
		return "", err
	}
	selected := func(table string) bun.Safe {
		return bun.Safe(postgres.Formatter.FormatQuery(`SELECT delivery.id FROM ? delivery WHERE true ?`,
			bun.Ident(table), conditions))
	}
	switch {
	case c.IDs != nil:
		return selected("deliveries") + " UNION ALL " + selected("delivery_queue"), nil
	case c.State == webhook.Pending:
		conditions.Add(true, "delivery.owner IS NULL AND NOT ?", IsHeld)
		conditions.Add(c.WebhookID != 0, "delivery.endpoint = ?", c.WebhookID) // its index
		return selected("delivery_queue"), nil
	default:
		return selected("deliveries"), nil
	}
}

// Count returns how many deliveries are selected now.
func (q Store) Count(ctx context.Context, business core.BusinessID, c webhook.Selector) (int, error) {
	return q.count(ctx, q.db.Bun(), business, c)
}

func (q Store) count(ctx context.Context, db bun.IDB, business core.BusinessID, c webhook.Selector) (n int, err error) {
	rows, err := q.selectedIDs(ctx, db, business, c, core.ID{})
	if err != nil {
		return 0, err
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM (?) selected`, rows).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting deliveries: %w", err)
	}
	return n, nil
}

// countLeftOut returns how many deliveries the selection leaves out, because their orders are in a final state.
func (q Store) countLeftOut(ctx context.Context, db bun.IDB, business core.BusinessID,
	c webhook.Selector) (int, error) {
	if c.FinalOrders != webhook.WithoutFinalOrders {
		return 0, nil
	}
	c.FinalOrders = webhook.OnlyFinalOrders
	return q.count(ctx, db, business, c)
}

// SelectedIDs returns the ids of the deliveries that are selected now.
func (q Store) SelectedIDs(ctx context.Context, business core.BusinessID,
	c webhook.Selector) (ids []core.ID, err error) {
	rows, err := q.selectedIDs(ctx, q.db.Tenant(business), business, c, core.ID{})
	if err != nil {
		return nil, err
	}
	if err := q.db.Tenant(business).NewRaw(`? ORDER BY id`, rows).Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("selecting deliveries: %w", err)
	}
	return ids, nil
}

// maxCounted bounds the ended deliveries that CountUpTo reads.
const maxCounted = 20_000

// CountUpTo counts selected ended deliveries without reading many. If there are more than it reads, more is set, and n
// counts the oldest of them.
func (q Store) CountUpTo(ctx context.Context, business core.BusinessID, c webhook.Selector) (n int, more bool,
	err error) {
	indexed := c
	indexed.EventType, indexed.Status, indexed.FinalOrders = "", 0, webhook.WithFinalOrders
	read, err := q.conditions(ctx, q.db.Tenant(business), business, indexed, core.ID{})
	if err != nil {
		return 0, false, err
	}
	var only postgres.Conditions
	only.Add(c.EventType != "", `delivery.event_type = ?`, c.EventType)
	only.Add(c.Status != 0, `delivery.status = ?`, c.Status)
	addFinalOrders(&only, c.FinalOrders)
	err = q.db.Tenant(business).QueryRowContext(ctx, queries.With("count_up_to", postgres.Args{
		"read": read, "only": only, "limit": maxCounted,
	})).Scan(&n, &more)
	if err != nil {
		return 0, false, fmt.Errorf("counting deliveries: %w", err)
	}
	return n, more, nil
}

// resendCursor is the progress of a bulk resend.
type resendCursor struct {
	After core.ID `json:"after"`
	webhook.ResendResult
}

func (q Store) cursor(ctx context.Context, tx bun.Conn, work core.Job) (resendCursor, error) {
	if err := jobs.LockLease(ctx, tx, work); err != nil {
		return resendCursor{}, err
	}
	var stored []byte
	if err := tx.QueryRowContext(ctx, `SELECT cursor FROM jobs WHERE business_id = ? AND id = ?`, work.Business,
		work.ID).Scan(&stored); err != nil {
		return resendCursor{}, fmt.Errorf("reading the progress of job %s: %w", work.ID, err)
	}
	var at resendCursor
	if stored == nil {
		return at, nil
	}
	return at, json.Unmarshal(stored, &at)
}

// ResendNext resends the next selected deliveries (webhook.BulkResends).
func (q Store) ResendNext(ctx context.Context, work core.Job, c webhook.Selector,
	limit int) (progress webhook.ResendResult, more bool, err error) {
	err = q.db.InTx(ctx, func(tx bun.Conn) error {
		at, err := q.cursor(ctx, tx, work)
		if err != nil {
			return err
		}
		rows, err := q.selectedIDs(ctx, tx, work.Business, c, at.After)
		if err != nil {
			return err
		}
		var ids []core.ID
		if err := tx.NewRaw(`? ORDER BY id LIMIT ?`, rows, limit).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("selecting deliveries: %w", err)
		}
		if len(ids) > 0 {
			resent, err := q.resend(ctx, tx, resending{business: work.Business, ids: ids})
			if err != nil {
				return err
			}
			at.Resent += resent
			at.Skipped += len(ids) - resent
			at.After = ids[len(ids)-1]
		}
		if more = len(ids) == limit; !more && c.IDs != nil {
			at.Skipped = len(c.IDs) - at.Resent // includes ids that do not exist
		}
		if !more { // those resent are not selected anymore
			if at.LeftOut, err = q.countLeftOut(ctx, tx, work.Business, c); err != nil {
				return err
			}
		}
		progress = at.ResendResult
		stored, err := json.Marshal(at)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET cursor = ? WHERE business_id = ? AND id = ?`, string(stored),
			work.Business, work.ID); err != nil {
			return fmt.Errorf("storing the progress of job %s: %w", work.ID, err)
		}
		return postgres.Notify(ctx, tx, outbox.DeliveriesChannel)
	})
	if err == nil {
		outbox.Wake(q.db)
	}
	return progress, more, err
}

// resending describes deliveries to resend.
type resending struct {
	business core.BusinessID
	ids      []core.ID     // sorted
	end      webhook.State // of ended deliveries to requeue; "": any
	manual   bool          // send them even if the circuit is open
}

// resend makes deliveries due now and returns the number of resent ones. An ended delivery is requeued with its
// sequence number while its webhook is on and its event is stored. A waiting one becomes due at once.
func (q Store) resend(ctx context.Context, tx bun.Conn, r resending) (int, error) {
	var ended []endedRow
	if err := tx.NewRaw(queries.With("take_ended", postgres.Args{
		"business": r.business, "first": r.ids[0], "last": r.ids[len(r.ids)-1], "ids": postgres.Array(r.ids),
		"state": r.end,
		"head":  compress.HeadSize, "is_switched_off": isSwitchedOff,
	})).Scan(ctx, &ended); err != nil {
		return 0, fmt.Errorf("requeueing deliveries: %w", err)
	}
	now, sent := q.db.Clock().Now(), len(ended)
	if sent < len(r.ids) {
		retried, err := q.retryWaiting(ctx, tx, r, now)
		if err != nil {
			return 0, err
		}
		sent += retried
	}
	return sent, r.requeue(ctx, tx, ended, now)
}

// retryWaiting makes waiting deliveries due now, and returns their number.
func (q Store) retryWaiting(ctx context.Context, tx bun.Conn, r resending, now time.Time) (int, error) {
	if len(r.ids) == 0 {
		return 0, nil
	}
	retried, err := tx.ExecContext(ctx, queries.With("retry_now", postgres.Args{
		"business": r.business, "ids": postgres.Array(r.ids), "now": now, "manual": r.manual,
		"is_switched_off": isSwitchedOff,
	}))
	if err != nil {
		return 0, fmt.Errorf("retrying deliveries now: %w", err)
	}
	n, err := retried.RowsAffected()
	return int(n), err
}

// endedRow is an ended delivery with the columns of its event.
type endedRow struct {
	recordRow
	Head        []byte `bun:"head"` // of the body
	Size        int    `bun:"size"` // of the stored body
	OrderingKey int64  `bun:"ordering_key"`
	Sequence    int64  `bun:"sequence"`
}

// requeue queues ended deliveries.
func (r resending) requeue(ctx context.Context, tx bun.Conn, ended []endedRow, now time.Time) error {
	var rows postgres.CopyWriter
	for _, d := range ended {
		endpoint, url := d.WebhookID, ""
		if endpoint == 0 {
			endpoint, url = outbox.EndpointOf(r.business, d.URL), d.URL
		}
		rows.Int(int64(r.business))
		rows.ID(d.ID)
		rows.ID(d.EventID)
		rows.Text(string(d.EventType))
		postgres.NonZero(&rows, d.WebhookID, rows.Int)
		rows.Text(url)
		for _, n := range []int64{endpoint, int64(compress.Size(d.Head, d.Size)), d.OrderingKey, d.Sequence,
			int64(d.Attempts), int64(d.Attempts)} {
			rows.Int(n)
		}
		rows.Time(now)
		rows.Time(now)
		rows.Bool(r.manual)
		rows.End()
	}
	return rows.CopyInto(ctx, tx, "delivery_queue",
		"business_id, id, event_id, event_type, webhook_id, url, endpoint, size, ordering_key, sequence, attempts, "+
			"prior_attempts, due_at, available_at, manual")
}

// EndBulkResend ends the job (webhook.BulkResends).
func (q Store) EndBulkResend(ctx context.Context, work core.Job, failure string) error {
	return q.db.InTx(ctx, func(tx bun.Conn) error {
		at, err := q.cursor(ctx, tx, work)
		if err != nil {
			return err
		}
		result, err := json.Marshal(at.ResendResult)
		if err != nil {
			return err
		}
		return jobs.Finish(ctx, q.db, tx, work,
			jobs.Ended{Failure: failure, Result: result, Objects: at.Resent + at.Skipped})
	})
}
