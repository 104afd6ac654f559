package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// Deliveries of one order to one server stand in a line: a later place starts
// when every earlier one was delivered, was given up, or is held because its
// subscription is switched off. When a claim comes upon a row that has earlier
// ones before it, it lets the row wait (await), and whoever takes a row out of
// the line lets the next go (advance), which the next claim looks at once more.
// A row may wait only behind one that is sure to leave later and to see it: a
// lock on that one proves it. Where the lock is not to be had at once, somebody
// is taking that one out just now, and the row does not wait.

// lineOf is the line of an order's deliveries to the server of the address:
// scheme, host and port.
func lineOf(business core.BusinessID, order int64, address string) int64 {
	u, err := url.Parse(address)
	if order == 0 || err != nil {
		return 0
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" && scheme == "https" {
		port = "443"
	} else if port == "" {
		port = "80"
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s %s %s", business, order, scheme, strings.ToLower(u.Hostname()), port)
	return int64(h.Sum64() | 1) // never 0
}

// behind tells which of the new rows stand behind others that may still start.
// Those are not to be started from memory; the claim looks once more.
func behind(ctx context.Context, tx bun.Conn, rows []queued) (map[core.ID]bool, error) {
	waits, first := map[core.ID]bool{}, map[int64]int{}
	var later []queueRow
	for _, row := range rows {
		if row.Line == 0 {
			continue
		}
		place, known := first[row.Line]
		if !known || row.Place < place {
			first[row.Line] = row.Place
		}
		if row.Place > 1 {
			later = append(later, queueRow{BusinessID: row.Business, ID: row.ID, Line: row.Line, Place: row.Place})
		}
	}
	if len(later) == 0 {
		return waits, nil
	}
	for _, row := range later {
		waits[row.ID] = first[row.Line] < row.Place
	}
	var found []core.ID
	if err := tx.NewRaw(`SELECT r.id FROM `+placesOf(later)+` `+before).Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("looking for earlier deliveries of the order: %w", err)
	}
	for _, id := range found {
		waits[id] = true
	}
	return waits, nil
}

// placesOf is the rows as a table r (id, business_id, line, place).
func placesOf(rows []queueRow) string {
	n := len(rows)
	ids, businesses, lines, places := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, row := range rows {
		ids[i], businesses[i], lines[i], places[i] = row.ID.String(), int64(row.BusinessID), row.Line, int64(row.Place)
	}
	return formatter.FormatQuery(`unnest(?::uuid[], ?::bigint[], ?::bigint[], ?::integer[]) AS r (id, business_id, line, place)`,
		pgdialect.Array(ids), pgdialect.Array(businesses), pgdialect.Array(lines), pgdialect.Array(places))
}

// before joins rows r with the earlier ones a of their lines that may still start.
const before = `JOIN delivery_queue a ON a.business_id = r.business_id AND a.line = r.line AND a.line <> 0 AND a.place < r.place AND a.available_at < 'infinity'`

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
	var back []core.ID
	err := q.bun.NewRaw(`WITH sure AS MATERIALIZED (SELECT r.id FROM `+placesOf(later)+` `+before+` FOR SHARE OF a SKIP LOCKED)
		UPDATE delivery_queue q SET owner = NULL, waits = behind.sure, available_at = CASE WHEN behind.sure THEN 'infinity' ELSE ?::timestamptz END
		FROM (SELECT DISTINCT r.business_id, r.id, r.id IN (SELECT id FROM sure) AS sure FROM `+placesOf(later)+` `+before+`) behind
		WHERE q.business_id = behind.business_id AND q.id = behind.id AND q.owner = ? RETURNING q.id`,
		q.clock.Now().Add(undecided), owner).Scan(ctx, &back)
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
	if err := tx.NewRaw(`SELECT b.business_id, b.id, b.line, b.place FROM delivery_queue b JOIN `+lines+` l ON b.business_id = l.business_id AND b.line = l.line
		WHERE b.line <> 0 AND b.waits ORDER BY b.id FOR UPDATE OF b`).Scan(ctx, &waiting); err != nil { // sorted: two at once do not lock crosswise
		return 0, fmt.Errorf("looking for the next deliveries of the orders: %w", err)
	}
	first := map[int64]int{}
	for _, row := range waiting {
		if place, known := first[row.Line]; !known || row.Place < place {
			first[row.Line] = row.Place
		}
	}
	next := slices.DeleteFunc(waiting, func(row queueRow) bool { return row.Place > first[row.Line] })
	if len(next) == 0 {
		return 0, nil
	}
	result, err := tx.ExecContext(ctx, `WITH sure AS MATERIALIZED (SELECT r.id FROM `+placesOf(next)+` `+before+` FOR SHARE OF a SKIP LOCKED)
		UPDATE delivery_queue q SET waits = false, available_at = greatest(q.due_at, ?) FROM `+placesOf(next)+`
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

// Sweep lets go what waits behind nothing and forgets the health of endpoints
// that have had nothing to take for an hour. Neither should be needed often; any
// replica may call it at any time.
func (q Deliveries) Sweep(ctx context.Context) error {
	freed := 0
	err := q.inTx(ctx, func(tx bun.Conn) (err error) {
		freed, err = q.advanceLines(ctx, tx, `(SELECT r.business_id, r.line FROM delivery_queue r LEFT `+before+`
			WHERE r.line <> 0 AND r.waits GROUP BY r.business_id, r.line HAVING count(a.id) = 0)`)
		return err
	})
	if err != nil {
		return err
	}
	if freed > 0 {
		q.log.Warn("deliveries waited behind nothing; they go on", "deliveries", freed)
		q.look()
	}
	_, err = q.bun.ExecContext(ctx, `DELETE FROM unwell_endpoints h WHERE at < ? AND NOT EXISTS (SELECT 1 FROM delivery_queue WHERE endpoint = h.endpoint)`,
		q.clock.Now().Add(-time.Hour))
	if err != nil {
		return fmt.Errorf("forgetting the health of endpoints: %w", err)
	}
	return nil
}

// look has this replica look at the queue.
func (q Deliveries) look() {
	if q.starter != nil {
		q.starter.Wake()
	}
}
