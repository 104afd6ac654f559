package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Deliveries of one order to one server (scheme, host and port) stand in a line: a
// later place starts when every earlier one was delivered, was given up, or is held
// at another endpoint because that is switched off or probed. To which server a
// delivery goes is looked up with its webhook, so that one that is pointed
// elsewhere takes its place there. When a claim comes upon a row that has earlier
// ones before it, it lets the row wait (await), and whoever takes a row out of
// the line lets the next go (advance), which the next claim looks at once more.
// A row may wait only behind one that is sure to leave later and to see it: a
// lock on that one proves it. Where the lock is not to be had at once, somebody
// is taking that one out just now, and the row does not wait.

// queueUp gives events of orders that have no place the next ones in their lines.
// The transaction has locked their orders, before it locked any line of calls.
func queueUp(ctx context.Context, tx bun.Conn, events []core.Event) error {
	var businesses, orders []int64
	for _, event := range events {
		if event.Order != 0 && event.Place == 0 {
			businesses, orders = append(businesses, int64(event.Business)), append(orders, event.Order)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	rows, err := tx.QueryContext(ctx, `UPDATE orders o SET events = o.events + t.n
		FROM (SELECT business, id, count(*) AS n FROM unnest(?::bigint[], ?::bigint[]) AS t (business, id) GROUP BY 1, 2) t
		WHERE o.business_id = t.business AND o.id = t.id RETURNING o.id, o.events - t.n`, array(businesses), array(orders))
	if err != nil {
		return fmt.Errorf("counting the events of orders: %w", err)
	}
	defer rows.Close()
	had := map[int64]int{}
	for rows.Next() {
		var order int64
		var events int
		if err := rows.Scan(&order, &events); err != nil {
			return fmt.Errorf("counting the events of orders: %w", err)
		}
		had[order] = events
	}
	for i := range events {
		if e := &events[i]; e.Order != 0 && e.Place == 0 {
			had[e.Order]++
			e.Place = had[e.Order]
		}
	}
	return rows.Err()
}

// behind tells which of the new rows stand behind others that may still start.
// Those are not to be started from memory; the claim looks once more.
func behind(ctx context.Context, tx bun.Conn, rows []queued) (map[core.ID]bool, error) {
	type line struct {
		business core.BusinessID
		order    int64
	}
	waits, first := map[core.ID]bool{}, map[line]int{}
	var later []queueRow
	for _, row := range rows {
		if row.Line == 0 {
			continue
		}
		at := line{row.Business, row.Line}
		if place, known := first[at]; !known || row.Place < place {
			first[at] = row.Place
		}
		if row.Place > 1 {
			later = append(later, queueRow{BusinessID: row.Business, ID: row.ID, Endpoint: row.Endpoint, Line: row.Line, Place: row.Place})
		}
	}
	if len(later) == 0 {
		return waits, nil
	}
	for _, row := range later {
		waits[row.ID] = first[line{row.BusinessID, row.Line}] < row.Place
	}
	var found []core.ID
	if err := tx.NewRaw(`SELECT r.id FROM `+placesOf(later)+` WHERE `+hasBefore).Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("looking for earlier deliveries of the order: %w", err)
	}
	for _, id := range found {
		waits[id] = true
	}
	return waits, nil
}

// placesOf is the rows as a table r (id, business_id, endpoint, line, place).
func placesOf(rows []queueRow) string {
	n := len(rows)
	ids, businesses, endpoints, lines, places := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, row := range rows {
		ids[i], businesses[i], endpoints[i], lines[i], places[i] = row.ID.String(), int64(row.BusinessID), row.Endpoint, row.Line, int64(row.Place)
	}
	return formatter.FormatQuery(`unnest(?::uuid[], ?::bigint[], ?::bigint[], ?::bigint[], ?::integer[]) AS r (id, business_id, endpoint, line, place)`,
		pgdialect.Array(ids), pgdialect.Array(businesses), pgdialect.Array(endpoints), pgdialect.Array(lines), pgdialect.Array(places))
}

// isBefore tells whether row r has to let row a of its order go first: a is an earlier
// one that may still start, to the same endpoint, or to another one of the same
// server that is neither switched off nor probed.
const isBefore = `a.business_id = r.business_id AND a.line = r.line AND a.line <> 0 AND a.place < r.place AND (a.available_at < 'infinity' OR a.waits)
	AND (a.endpoint = r.endpoint OR EXISTS (SELECT 1 FROM webhooks x JOIN webhooks y ON y.server = x.server
		WHERE x.business_id = a.business_id AND x.id = a.endpoint AND x.active AND y.business_id = r.business_id AND y.id = r.endpoint
		AND NOT EXISTS (SELECT 1 FROM unwell_endpoints h WHERE h.endpoint = a.endpoint AND h.business_id = a.business_id AND h.probing_since IS NOT NULL)))`

// before joins rows r with those that go first, and hasBefore tells whether there are any.
const (
	before    = `JOIN delivery_queue a ON ` + isBefore
	hasBefore = `EXISTS (SELECT 1 FROM delivery_queue a WHERE ` + isBefore + `)`
)

// await lets claimed rows wait that have earlier ones of their line before them,
// and returns the others.
func (q Deliveries) await(ctx context.Context, owner core.ID, claimed []queueRow) ([]queueRow, error) {
	var later []queueRow
	for _, row := range claimed {
		if row.Line != 0 && row.Place > 1 {
			later = append(later, row)
		}
	}
	if len(later) == 0 {
		return claimed, nil
	}
	var behind []queueRow
	if err := q.bun.NewRaw(`SELECT r.* FROM `+placesOf(later)+` WHERE `+hasBefore).Scan(ctx, &behind); err != nil {
		return nil, fmt.Errorf("looking for earlier deliveries of the orders: %w", err)
	}
	if len(behind) == 0 {
		return claimed, nil
	}
	rows := placesOf(behind)
	var back []core.ID
	err := q.inTx(ctx, func(tx bun.Conn) error {
		// The own rows first, in order: of two claims that look at each other's rows, none waits for the other.
		if _, err := tx.ExecContext(ctx, `SELECT FROM delivery_queue q JOIN `+rows+` ON q.business_id = r.business_id AND q.id = r.id
			WHERE q.owner = ? ORDER BY q.id FOR UPDATE OF q`, owner); err != nil {
			return err
		}
		return tx.NewRaw(`WITH sure AS MATERIALIZED (SELECT r.id FROM `+rows+` `+before+` FOR SHARE OF a SKIP LOCKED)
			UPDATE delivery_queue q SET owner = NULL, waits = behind.sure, available_at = CASE WHEN behind.sure THEN 'infinity' ELSE ?::timestamptz END
			FROM (SELECT r.business_id, r.id, r.id IN (SELECT id FROM sure) AS sure FROM `+rows+` WHERE `+hasBefore+`) behind
			WHERE q.business_id = behind.business_id AND q.id = behind.id AND q.owner = ? RETURNING q.id`,
			q.clock.Now().Add(undecided), owner).Scan(ctx, &back)
	})
	if err != nil {
		return nil, fmt.Errorf("keeping the order of deliveries: %w", err)
	}
	return without(claimed, back), nil
}

// undecided is how long a row is put off when the one before it is leaving.
const undecided = 10 * time.Millisecond

func without(rows []queueRow, ids []core.ID) []queueRow {
	gone := make(map[core.ID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	kept := rows[:0]
	for _, row := range rows {
		if !gone[row.ID] {
			kept = append(kept, row)
		}
	}
	return kept
}

// advance lets the next rows go of lines from which rows were taken, in the same
// transaction, and tells how many.
func (q Deliveries) advance(ctx context.Context, tx bun.Conn, left []queueRow) (int, error) {
	if len(left) == 0 {
		return 0, nil
	}
	return q.advanceLines(ctx, tx, `(SELECT DISTINCT business_id, line FROM `+placesOf(left)+`)`)
}

// advanceLines is advance for the lines that a query yields (business_id, line).
func (q Deliveries) advanceLines(ctx context.Context, tx bun.Conn, lines string) (int, error) {
	var waiting []queueRow
	if err := tx.NewRaw(`SELECT b.business_id, b.id, b.endpoint, b.line, b.place FROM delivery_queue b JOIN `+lines+` l ON b.business_id = l.business_id AND b.line = l.line
		WHERE b.line <> 0 AND b.waits ORDER BY b.id FOR UPDATE OF b`).Scan(ctx, &waiting); err != nil { // sorted: two at once do not lock crosswise
		return 0, fmt.Errorf("looking for the next deliveries of the orders: %w", err)
	}
	if len(waiting) == 0 {
		return 0, nil
	}
	type lane struct{ line, endpoint int64 } // where the others wait behind the first; an endpoint is of one business
	first := map[lane]int{}
	for _, row := range waiting {
		at := lane{row.Line, row.Endpoint}
		if place, known := first[at]; !known || row.Place < place {
			first[at] = row.Place
		}
	}
	next := placesOf(slices.DeleteFunc(waiting, func(row queueRow) bool { return row.Place > first[lane{row.Line, row.Endpoint}] }))
	result, err := tx.ExecContext(ctx, `WITH sure AS MATERIALIZED (SELECT r.id FROM `+next+` `+before+` FOR SHARE OF a SKIP LOCKED)
		UPDATE delivery_queue q SET waits = false, available_at = greatest(q.due_at, ?) FROM `+next+`
		WHERE q.business_id = r.business_id AND q.id = r.id AND q.id NOT IN (SELECT id FROM sure)`, q.clock.Now())
	if err != nil {
		return 0, fmt.Errorf("letting the next deliveries of the orders go: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// inLine are those of the results whose deliveries are over, as rows of lines.
func inLine(over []webhook.Result) []queueRow {
	var rows []queueRow
	for _, r := range over {
		if d := r.Delivery; d.Line != 0 {
			rows = append(rows, queueRow{BusinessID: d.Business, ID: d.ID, Line: d.Line, Place: d.Place})
		}
	}
	return rows
}

// Sweep lets go what waits behind nothing any more, because an endpoint was found
// to fail or was pointed elsewhere, and forgets the health of endpoints that have
// had nothing to take for an hour. Any replica may call it at any time.
func (q Deliveries) Sweep(ctx context.Context) error {
	freed := 0
	err := q.inTx(ctx, func(tx bun.Conn) (err error) {
		freed, err = q.advanceLines(ctx, tx, `(SELECT DISTINCT r.business_id, r.line FROM delivery_queue r
			WHERE r.line <> 0 AND r.waits AND NOT `+hasBefore+`)`)
		return err
	})
	if err != nil {
		return err
	}
	if freed > 0 {
		q.log.Info("deliveries wait behind nothing any more; they go on", "deliveries", freed)
		q.look()
	}
	_, err = q.bun.ExecContext(ctx, `DELETE FROM unwell_endpoints h WHERE at < ? AND NOT EXISTS (SELECT 1 FROM delivery_queue WHERE endpoint = h.endpoint)`,
		q.clock.Now().Add(-time.Hour))
	if err != nil {
		return fmt.Errorf("forgetting the health of endpoints: %w", err)
	}
	return nil
}
