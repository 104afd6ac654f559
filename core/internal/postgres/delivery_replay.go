package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// chosen is the conditions under which a row d of a table of deliveries belongs
// to the choice and comes after the cursor.
func chosen(business core.BusinessID, c webhook.Choice, after core.ID) string {
	only := conditions{text: `d.business_id = ? AND d.id > ?`, args: []any{business, after}}
	if c.IDs != nil {
		only.add(true, `d.id = ANY (?::uuid[])`, array(c.IDs))
	} else {
		only.add(!c.From.IsZero(), `d.id >= ?`, core.FirstID(c.From))
		only.add(true, `d.id < ?`, core.FirstID(c.To))
		only.add(c.EventType != "", `d.event_type = ?`, c.EventType)
		only.add(c.WebhookID != 0, `d.webhook_id = ?`, c.WebhookID)
		only.add(c.State != webhook.Pending, `d.state = ?`, c.State)
		only.add(!c.EndedBy.IsZero(), `d.finished_at <= ?`, c.EndedBy)
	}
	return formatter.FormatQuery(only.text, only.args...)
}

// chosenRows is a query of the ids of chosen deliveries, ended and waiting. One
// that is under way or held is not waiting for its time.
func (q Deliveries) chosenRows(ctx context.Context, db bun.IDB, business core.BusinessID, c webhook.Choice, after core.ID) (string, error) {
	conditions := chosen(business, c, after)
	if c.Reference != "" {
		answers, err := q.answering(ctx, db, business, c.Reference)
		if err != nil {
			return "", err
		}
		conditions += " AND " + answers
	}
	if c.OrderID != 0 {
		tells, err := q.ofOrder(ctx, db, business, c.OrderID)
		if err != nil {
			return "", err
		}
		conditions += " AND " + tells
	}
	ended := `SELECT d.id FROM deliveries d WHERE ` + conditions
	waiting := `SELECT d.id FROM delivery_queue d WHERE ` + conditions
	switch {
	case c.IDs != nil:
		return ended + ` UNION ALL ` + waiting, nil
	case c.State == webhook.Pending:
		return waiting + ` AND d.owner IS NULL AND NOT ` + isHeld, nil
	default:
		return ended, nil
	}
}

// Count tells how many deliveries belong to the choice now.
func (q Deliveries) Count(ctx context.Context, business core.BusinessID, c webhook.Choice) (n int, err error) {
	rows, err := q.chosenRows(ctx, q.bun, business, c, core.ID{})
	if err != nil {
		return 0, err
	}
	if err := q.bun.QueryRowContext(ctx, `SELECT count(*) FROM (`+rows+`) x`).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting deliveries: %w", err)
	}
	return n, nil
}

// replayCursor is where a redelivery goes on.
type replayCursor struct {
	After core.ID `json:"after"`
	webhook.Redone
}

func (q Deliveries) cursor(ctx context.Context, tx bun.Conn, work core.Job) (replayCursor, error) {
	if err := q.hold(ctx, tx, work); err != nil {
		return replayCursor{}, err
	}
	var stored []byte
	if err := tx.QueryRowContext(ctx, `SELECT cursor FROM jobs WHERE business_id = ? AND id = ?`, work.Business, work.ID).Scan(&stored); err != nil {
		return replayCursor{}, fmt.Errorf("reading how far job %s is: %w", work.ID, err)
	}
	var at replayCursor
	if stored == nil {
		return at, nil
	}
	return at, json.Unmarshal(stored, &at)
}

// Again sends the next chosen deliveries again (webhook.Redeliveries).
func (q Deliveries) Again(ctx context.Context, work core.Job, c webhook.Choice, limit int) (so webhook.Redone, more bool, err error) {
	err = q.inTx(ctx, func(tx bun.Conn) error {
		at, err := q.cursor(ctx, tx, work)
		if err != nil {
			return err
		}
		rows, err := q.chosenRows(ctx, tx, work.Business, c, at.After)
		if err != nil {
			return err
		}
		var ids []string
		if err := tx.NewRaw(rows+` ORDER BY id LIMIT ?`, limit).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("choosing deliveries: %w", err)
		}
		if len(ids) > 0 {
			resent, err := q.resend(ctx, tx, work.Business, ids, "", false)
			if err != nil {
				return err
			}
			at.Resent += resent
			at.Skipped += len(ids) - resent
			if err := at.After.UnmarshalText([]byte(ids[len(ids)-1])); err != nil {
				return err
			}
		}
		if more = len(ids) == limit; !more && c.IDs != nil {
			at.Skipped = len(c.IDs) - at.Resent // those that there are not, too
		}
		so = at.Redone
		stored, err := json.Marshal(at)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET cursor = ? WHERE business_id = ? AND id = ?`, string(stored), work.Business, work.ID); err != nil {
			return fmt.Errorf("remembering how far job %s is: %w", work.ID, err)
		}
		return notify(ctx, tx, deliveriesChannel)
	})
	if err == nil {
		q.look()
	}
	return so, more, err
}

// resend makes the deliveries of the ids, which are sorted, due now and tells how
// many it could: what came to an end, to that of the state where one is given, begins
// anew in its place among the events of its order while its webhook is on and its
// event kept, what waits for its time is hastened. It goes out also to an endpoint
// that fails where it is asked for; else it waits until that is well.
func (q Deliveries) resend(ctx context.Context, tx bun.Conn, business core.BusinessID, ids []string, end webhook.State, asked bool) (int, error) {
	var ended []struct {
		recordRow
		Head  []byte `bun:"head"` // of the body
		Size  int    `bun:"size"` // of it, as stored
		Line  int64  `bun:"line"`
		Place int64  `bun:"place"`
	}
	// By their range, and events one by one by the key: a day without statistics yet would else be read whole.
	if err := tx.NewRaw(`WITH again AS (DELETE FROM deliveries d WHERE d.business_id = ? AND d.id BETWEEN ? AND ? AND d.id = ANY (?::uuid[]) AND (? = '' OR d.state = ?) AND NOT `+isSwitchedOff+`
			AND (SELECT true FROM events WHERE id = d.event_id AND business_id = d.business_id LIMIT 1)
			RETURNING d.business_id, d.id, d.event_id, d.event_type, coalesce(d.webhook_id, 0) AS webhook_id, d.url, d.attempts)
		SELECT d.id, d.event_id, d.event_type, d.webhook_id, d.url, d.attempts, e.head, e.size, e.line, e.place FROM again d CROSS JOIN LATERAL (
			SELECT substring(body FOR ?) AS head, length(body) AS size, coalesce(order_id, 0) AS line, coalesce(place, 0) AS place FROM events WHERE id = d.event_id AND business_id = d.business_id LIMIT 1) e
		ORDER BY d.id`, business, ids[0], ids[len(ids)-1], array(ids), end, end, packedHead).Scan(ctx, &ended); err != nil {
		return 0, fmt.Errorf("beginning deliveries anew: %w", err)
	}
	now, sent := q.clock.Now(), len(ended)
	if sent < len(ids) {
		hastened, err := tx.ExecContext(ctx, `UPDATE delivery_queue d SET due_at = ?0, available_at = ?0, asked = asked OR ?3
			WHERE business_id = ?1 AND id = ANY (?2::uuid[]) AND owner IS NULL AND available_at < 'infinity' AND NOT `+isSwitchedOff,
			now, business, array(ids), asked)
		if err != nil {
			return 0, fmt.Errorf("hastening deliveries: %w", err)
		}
		n, err := hastened.RowsAffected()
		if err != nil {
			return 0, err
		}
		sent += int(n)
	}
	var rows copyRows
	for _, d := range ended {
		endpoint, url := d.WebhookID, ""
		if endpoint == 0 {
			endpoint, url = endpointOf(business, d.URL), d.URL
		}
		rows.int(int64(business))
		rows.id(d.ID)
		rows.id(d.EventID)
		rows.text(string(d.EventType))
		nonZero(&rows, d.WebhookID)
		rows.text(url)
		for _, n := range []int64{endpoint, int64(unpackedLength(d.Head, d.Size)), d.Line, d.Place, int64(d.Attempts), int64(d.Attempts)} {
			rows.int(n)
		}
		rows.time(now)
		rows.time(now)
		rows.bool(asked)
		rows.end()
	}
	return sent, rows.copyInto(ctx, tx, "delivery_queue",
		"business_id, id, event_id, event_type, webhook_id, url, endpoint, size, line, place, attempts, base, due_at, available_at, asked")
}

// EndRedelivery ends the job (webhook.Redeliveries).
func (q Deliveries) EndRedelivery(ctx context.Context, work core.Job, failure string) error {
	return q.inTx(ctx, func(tx bun.Conn) error {
		at, err := q.cursor(ctx, tx, work)
		if err != nil {
			return err
		}
		result, err := json.Marshal(at.Redone)
		if err != nil {
			return err
		}
		return q.end(ctx, tx, work, jobEnd{failure: failure, result: result, objects: at.Resent + at.Skipped})
	})
}
