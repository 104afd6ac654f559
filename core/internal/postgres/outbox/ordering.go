package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// Deliveries of one order to one server (scheme, host and port) share an ordering key. A
// delivery starts once every earlier one was delivered, has failed, or is held at another
// endpoint. An endpoint holds deliveries while it is disabled or its circuit is open.
// The server is looked up with the webhook, so that a changed URL takes effect at once.
//
// Block makes a claimed row wait for its earlier rows. UnblockNext releases the next row
// when a row leaves the sequence; the next claim then checks that row again.
//
// A row may wait only for a row that will leave the sequence later and will then see the waiting
// row. A lock on the earlier row proves that. If the lock is not available at once, the earlier row
// is just leaving, and the later row does not wait.

// assignSequence assigns the next sequence numbers to order events that have none. The
// transaction has locked the orders, before any ordering key of calls.
func assignSequence(ctx context.Context, tx bun.Conn, events []core.Event) error {
	var businesses, orders []int64
	for _, event := range events {
		if event.OrderID != 0 && event.Sequence == 0 {
			businesses, orders = append(businesses, int64(event.Business)), append(orders, event.OrderID)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	had, err := postgres.CollectMap(ctx, tx, "assigning sequences", func(order *int64, events *int) []any {
		return []any{order, events}
	}, bun.SafeQuery(`UPDATE orders o SET events = o.events + t.n
		FROM (SELECT business, id, count(*) AS n FROM unnest(?::bigint[], ?::bigint[]) AS t (business, id)
			GROUP BY 1, 2) t
		WHERE o.business_id = t.business AND o.id = t.id RETURNING o.id, o.events - t.n`, postgres.Array(businesses),
		postgres.Array(orders)))
	if err != nil {
		return err
	}
	for i := range events {
		if e := &events[i]; e.OrderID != 0 && e.Sequence == 0 {
			had[e.OrderID]++
			e.Sequence = had[e.OrderID]
		}
	}
	return nil
}

// blockedRows returns the new rows with earlier pending rows, and those whose webhook changed since
// it was read. Such rows do not start from memory. The claim checks them again.
func (o *Outbox) blockedRows(ctx context.Context, tx bun.IDB, rows []queuedDelivery) (map[core.ID]bool, error) {
	type orderingKey struct {
		business core.BusinessID
		order    int64
	}
	waits, first, versions := map[core.ID]bool{}, map[orderingKey]int{}, map[core.ID]int64{}
	var later []QueueRow
	for _, row := range rows {
		if row.OrderingKey == 0 {
			continue
		}
		at := orderingKey{row.Business, row.OrderingKey}
		if sequence, known := first[at]; !known || row.Sequence < sequence {
			first[at] = row.Sequence
		}
		if row.Sequence > 1 {
			versions[row.ID] = row.Version
			later = append(later, QueueRow{BusinessID: row.Business, ID: row.ID, Endpoint: row.Endpoint,
				OrderingKey: row.OrderingKey,
				Sequence:    row.Sequence})
		}
	}
	if len(later) == 0 {
		return waits, nil
	}
	for _, row := range later {
		waits[row.ID] = first[orderingKey{row.BusinessID, row.OrderingKey}] < row.Sequence
	}
	text, err := "", error(nil)
	if conn, isTx := tx.(bun.Conn); isTx && o.keyed {
		text, err = o.db.Prepare(ctx, conn, queries.Get("blocked"), rowArgs(later))
	} else {
		text = queries.With("blocked", rowArgs(later))
	}
	if err != nil {
		return nil, err
	}
	var found []QueueRow
	if err := tx.NewRaw(text).Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("finding earlier deliveries of the order: %w", err)
	}
	for _, row := range found {
		waits[row.ID] = waits[row.ID] || row.Blocked || row.WebhookVersion != versions[row.ID]
	}
	return waits, nil
}

// RowsTable returns the rows as a table (id, business_id, endpoint, ordering_key, sequence).
func RowsTable(rows []QueueRow) bun.Safe { return bun.Safe(queries.With("rows_table", rowArgs(rows))) }

// rowArgs returns the columns of the table of rows.
func rowArgs(rows []QueueRow) postgres.Args {
	n := len(rows)
	ids, businesses, endpoints, keys, sequences := make([]string, n), make([]int64, n), make([]int64, n),
		make([]int64, n), make([]int64, n)
	for i, row := range rows {
		ids[i], businesses[i], endpoints[i], keys[i], sequences[i] = row.ID.String(), int64(row.BusinessID),
			row.Endpoint,
			row.OrderingKey, int64(row.Sequence)
	}
	return postgres.Args{"ids": postgres.Array(ids), "businesses": postgres.Array(businesses),
		"endpoints": postgres.Array(endpoints), "ordering_keys": postgres.Array(keys),
		"sequences": postgres.Array(sequences)}
}

// Block makes claimed rows with earlier rows of the same ordering key wait. It returns the others, with
// the version of the webhook for which that holds: another version may have another server.
func Block(ctx context.Context, db *postgres.DB, owner core.ID, claimed []QueueRow) ([]QueueRow, error) {
	var later []QueueRow
	for _, row := range claimed {
		if row.OrderingKey != 0 && row.Sequence > 1 {
			later = append(later, row)
		}
	}
	if len(later) == 0 {
		return claimed, nil
	}
	var checked []QueueRow
	if err := db.Bun().NewRaw(queries.With("blocked", rowArgs(later))).Scan(ctx, &checked); err != nil {
		return nil, fmt.Errorf("finding earlier deliveries of the orders: %w", err)
	}
	versions := make(map[core.ID]int64, len(checked))
	for _, row := range checked {
		versions[row.ID] = row.WebhookVersion
	}
	for i := range claimed {
		claimed[i].WebhookVersion = versions[claimed[i].ID]
	}
	behind := slices.DeleteFunc(checked, func(row QueueRow) bool { return !row.Blocked })
	if len(behind) == 0 {
		return claimed, nil
	}
	rows := RowsTable(behind)
	var blocked []core.ID
	err := db.InTx(ctx, func(tx bun.Conn) error {
		// Lock the claimed rows first, sorted, so that two claims that check each other's rows do not deadlock.
		if _, err := tx.ExecContext(ctx, `SELECT FROM delivery_queue queue
			JOIN ?0 AS claimed (id, business_id, endpoint, ordering_key, sequence)
				ON queue.business_id = claimed.business_id AND queue.id = claimed.id
			WHERE queue.owner = ?1 ORDER BY queue.id FOR UPDATE OF queue`, rows, owner); err != nil {
			return err
		}
		return tx.NewRaw(queries.With("block", postgres.Args{
			"rows": rows, "owner": owner, "later": db.Clock().Now().Add(recheckDelay),
		})).Scan(ctx, &blocked)
	})
	if err != nil {
		return nil, fmt.Errorf("storing the sequence of deliveries: %w", err)
	}
	return without(claimed, blocked), nil
}

// recheckDelay is how long a row is postponed while the one before it is leaving.
const recheckDelay = 10 * time.Millisecond

func without(rows []QueueRow, ids []core.ID) []QueueRow {
	removed := make(map[core.ID]bool, len(ids))
	for _, id := range ids {
		removed[id] = true
	}
	rest := rows[:0]
	for _, row := range rows {
		if !removed[row.ID] {
			rest = append(rest, row)
		}
	}
	return rest
}

// UnblockNext releases the next rows of the ordering keys that rows have left, in the same transaction, which
// is one of DB.InKeyedTx. It returns their number.
func UnblockNext(ctx context.Context, db *postgres.DB, tx bun.Conn, left []QueueRow) (int, error) {
	if len(left) == 0 {
		return 0, nil
	}
	args := rowArgs(left)
	query, err := db.Prepare(ctx, tx, queries.Get("blocked_of_ordering_keys"), postgres.Args{
		"businesses": args["businesses"], "ordering_keys": args["ordering_keys"],
	})
	if err != nil {
		return 0, err
	}
	var waiting []QueueRow
	// Sorted, so that concurrent calls do not deadlock.
	if err := tx.NewRaw(query).Scan(ctx, &waiting); err != nil {
		return 0, fmt.Errorf("finding the next deliveries of orders: %w", err)
	}
	if len(waiting) == 0 {
		return 0, nil
	}
	// the others wait for the first; an endpoint belongs to one business
	type stream struct{ orderingKey, endpoint int64 }
	first := map[stream]int{}
	for _, row := range waiting {
		at := stream{row.OrderingKey, row.Endpoint}
		if sequence, known := first[at]; !known || row.Sequence < sequence {
			first[at] = row.Sequence
		}
	}
	next := RowsTable(slices.DeleteFunc(waiting,
		func(row QueueRow) bool { return row.Sequence > first[stream{row.OrderingKey, row.Endpoint}] }))
	result, err := tx.ExecContext(ctx, queries.With("unblock", postgres.Args{
		"rows": next, "now": db.Clock().Now(),
	}))
	if err != nil {
		return 0, fmt.Errorf("unblocking the next deliveries of orders: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// OrderedRows returns the finished deliveries that have an ordering key, as queue rows.
func OrderedRows(finished []webhook.Result) []QueueRow {
	var rows []QueueRow
	for _, r := range finished {
		if d := r.Delivery; d.OrderingKey != 0 {
			rows = append(rows, QueueRow{BusinessID: d.Business, ID: d.ID, OrderingKey: d.OrderingKey,
				Sequence: d.Sequence})
		}
	}
	return rows
}

// Sweep releases rows without an earlier pending row, after an endpoint failed or its URL changed.
// It also deletes the health of endpoints without deliveries for an hour. Any replica may call it.
func Sweep(ctx context.Context, db *postgres.DB) error {
	var free []QueueRow
	if err := db.Bun().NewRaw(queries.With("unblocked_ordering_keys", nil)).Scan(ctx, &free); err != nil {
		return fmt.Errorf("finding blocked deliveries without an earlier one: %w", err)
	}
	if len(free) > 0 {
		unblocked := 0
		err := db.InKeyedTx(ctx, func(tx bun.Conn) (err error) {
			unblocked, err = UnblockNext(ctx, db, tx, free)
			return err
		})
		if err != nil {
			return err
		}
		if unblocked > 0 {
			db.Log().Info("unblocked deliveries without an earlier pending delivery", "deliveries", unblocked)
			Wake(db)
		}
	}
	_, err := db.Bun().ExecContext(ctx,
		`DELETE FROM endpoint_circuits h WHERE at < ?
			AND NOT EXISTS (SELECT 1 FROM delivery_queue WHERE endpoint = h.endpoint)`,
		db.Clock().Now().Add(-time.Hour))
	if err != nil {
		return fmt.Errorf("deleting the health of endpoints: %w", err)
	}
	return nil
}
