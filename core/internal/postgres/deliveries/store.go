// Package deliveries is the queue of webhook deliveries. It also stores their history and the health of endpoints.
package deliveries

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store is the queue of the delivery engine (webhook.Queue).
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// QueuedEndpoints is the query of the endpoints with queued deliveries (outbox.QueuedEndpoints).
var QueuedEndpoints = outbox.QueuedEndpoints("delivery_queue", "true")

var (
	claim = queries.Get("claim").Fill("claim_deliveries", map[string]bun.Safe{
		"upper": outbox.QueuedEndpointsAs("upper_endpoints", "delivery_queue",
			"(SELECT needed FROM searched) AND endpoint >= ?from"),
		"lower": outbox.QueuedEndpointsAs("lower_endpoints", "delivery_queue",
			"(SELECT needed FROM searched) AND endpoint < ?from"),
	})
	nextDue = queries.Get("next_due").Fill("next_delivery", map[string]bun.Safe{
		"endpoints": outbox.QueuedEndpoints("delivery_queue", "(SELECT needed FROM searched)"),
	})

	receivers = queries.Get("receivers").Fill("receivers", map[string]bun.Safe{
		"webhook_target": outbox.WebhookTarget, "callback_target": outbox.CallbackTarget,
	})
)

// Claim leases due deliveries, the longest waiting endpoints first. Each endpoint gets a share, so that the backlog of
// one does not delay others. Others get the rest of a share that exceeds the capacity of its endpoint. If the longest
// waiting deliveries may not start, it searches the endpoints from a random one on, so that none waits for the others.
//
// For an endpoint with an open circuit it takes a due probe, the longest waiting delivery, and
// those that a person requested. Deliveries of a switched-off subscription are held until it is
// switched on. Large bodies without capacity stay queued and block no other deliveries.
func (q Store) Claim(ctx context.Context, owner core.ID, capacity webhook.Capacity,
	until time.Time) (batch queue.Batch[webhook.Delivery], err error) {
	now, epoch := q.db.ReadClock()
	known := slices.Sorted(maps.Keys(capacity.PerKey)) // sorted: the same set gives the same statement
	capacities := make([]int, len(known))
	for i, endpoint := range known {
		capacities[i] = capacity.PerKey[endpoint]
	}
	from := int64(math.MinInt64)
	if len(known) > 0 {
		from = known[rand.IntN(len(known))]
	}
	largest := math.MaxInt32
	if capacity.Bodies == 0 {
		largest = webhook.LargeBody
	}
	rows, err := postgres.QueryRows[outbox.QueueRow](ctx, q.db, postgres.Statement{Query: claim, Args: postgres.Args{
		"now": now, "soon": now.Add(capacity.Ahead), "epoch": epoch, "busy": postgres.Array(capacity.Busy),
		"deliveries": capacity.Items, "owner": owner, "until": until, "bodies": capacity.Bodies,
		"large": webhook.LargeBody, "largest": largest,
		"known": postgres.Array(known), "capacity": postgres.Array(capacities), "first_capacity": capacity.OtherKeys,
		"from": from,
	}})
	if err != nil {
		batch.Items = leases(rows)
		return batch, fmt.Errorf("claiming deliveries: %w", err)
	}
	if len(rows) > 0 {
		if batch.Items, err = q.loadStartable(ctx, owner, rows, until); err != nil {
			batch.Items = leases(rows)
			return batch, err
		}
	}
	batch.More = len(rows) >= capacity.Items || len(rows) > 0 && len(batch.Items) == 0 // none may start
	if !batch.More {
		batch.NextDue, err = q.nextDue(ctx, capacity.Busy, largest)
	}
	if err != nil && len(batch.Items) > 0 { // an error would lose them until their leases end
		q.db.Log().Warn("reading the next due time of deliveries failed", "error", err)
		return batch, nil
	}
	return batch, err
}

// loadStartable returns the claimed deliveries that may start, complete. A probe that did not
// start is replaced by another row.
func (q Store) loadStartable(ctx context.Context, owner core.ID, claimed []outbox.QueueRow,
	until time.Time) ([]webhook.Delivery, error) {
	probes := map[int64]bool{}
	for _, row := range claimed {
		if row.Probe {
			probes[row.Endpoint] = true
		}
	}
	rows, err := outbox.Block(ctx, q.db, owner, claimed)
	if err != nil {
		return nil, err
	}
	deliveries, err := q.load(ctx, owner, rows, until)
	if err != nil {
		return nil, err
	}
	for _, d := range deliveries {
		if d.Probe {
			delete(probes, d.Endpoint)
		}
	}
	return deliveries, q.probeNow(ctx, slices.Collect(maps.Keys(probes)))
}

// nextDue returns the earliest due time of a delivery or probe, zero if none waits. Bodies
// above largest wait for capacity instead.
func (q Store) nextDue(ctx context.Context, busy []int64, largest int) (time.Time, error) {
	return q.db.NextDue(ctx, postgres.Statement{Query: nextDue, Args: postgres.Args{
		"busy": postgres.Array(busy), "largest": largest,
	}})
}

// load adds the body and the receiver to claimed rows.
func (q Store) load(ctx context.Context, owner core.ID, rows []outbox.QueueRow,
	until time.Time) ([]webhook.Delivery, error) {
	events, err := q.events(ctx, rows)
	if err != nil {
		return nil, err
	}
	receivers, err := q.receivers(ctx, rows)
	if err != nil {
		return nil, err
	}
	deliveries := make([]webhook.Delivery, 0, len(rows))
	var off, lost, changed []outbox.QueueRow
	for _, row := range rows {
		event, stored := events[row.EventID]
		receiver, known := receivers[receiverKey{row.BusinessID, row.WebhookID}]
		switch {
		case !stored || !known:
			lost = append(lost, row)
			continue
		case !receiver.Active:
			off = append(off, row)
			continue
		case row.WebhookVersion != 0 && row.WebhookVersion != receiver.Version:
			// Its place in the order was checked for the former server.
			changed = append(changed, row)
			continue
		}
		d := webhook.Delivery{
			ID: row.ID, Business: row.BusinessID, EventID: row.EventID, EventType: event.EventType,
			WebhookID: row.WebhookID,
			Endpoint:  row.Endpoint, Attempts: row.Attempts, AttemptsBeforeRestart: row.PriorAttempts,
			DueAt: row.DueAt, StartAt: row.StartAt, LeasedUntil: until, Lease: row.Lease,
			OrderingKey: row.OrderingKey, Sequence: row.Sequence, Manual: row.Manual, Probe: row.Probe,
			Test: event.Test, Trace: event.Trace,
			Body: event.Body, // shared by all deliveries of the event
		}
		receiver.URL = cmp.Or(row.URL, receiver.URL)
		receiver.ApplyTo(&d)
		if event.Err != nil {
			d.BuildError = fmt.Sprintf("the stored body of event %s: %v", row.EventID, event.Err)
		}
		deliveries = append(deliveries, d)
	}
	if len(lost) > 0 {
		if err := q.dropExpired(ctx, lost); err != nil {
			return nil, err
		}
	}
	if len(off) > 0 {
		if err := q.hold(ctx, owner, off); err != nil {
			return nil, err
		}
	}
	if len(changed) > 0 {
		if err := release(ctx, q.db.Bun(), owner, leases(changed)); err != nil {
			return nil, err
		}
	}
	return deliveries, nil
}

type eventRow struct {
	ID        core.ID        `bun:"id,type:uuid"`
	EventType core.EventType `bun:"event_type"`
	Body      []byte         `bun:"body"`
	Test      bool           `bun:"test"`
	Trace     core.Trace     `bun:"trace"`
	Err       error          `bun:"-"` // error of its body
}

func (q Store) events(ctx context.Context, rows []outbox.QueueRow) (map[core.ID]eventRow, error) {
	ids, businesses := make([]string, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		ids[i], businesses[i] = row.EventID.String(), int64(row.BusinessID)
	}
	list, err := postgres.QueryRows[eventRow](ctx, q.db, postgres.Statement{Query: queries.Get("delivered_events"),
		Args: postgres.Args{"ids": pgdialect.Array(ids), "businesses": pgdialect.Array(businesses)}})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events := make(map[core.ID]eventRow, len(list))
	for _, event := range list {
		if _, twice := events[event.ID]; !twice {
			event.Body, event.Err = q.db.Decompress(event.Body)
			events[event.ID] = event
		}
	}
	return events, nil
}

type receiverKey struct {
	business core.BusinessID
	webhook  int64 // 0: callback_url deliveries of the business
}

type receiver struct {
	BusinessID core.BusinessID `bun:"business_id"`
	Active     bool            `bun:"active"`
	outbox.Target
}

func (q Store) receivers(ctx context.Context, rows []outbox.QueueRow) (map[receiverKey]receiver, error) {
	webhooks, businesses := []int64{}, []int64{}
	for _, row := range rows {
		if row.WebhookID != 0 {
			webhooks = append(webhooks, row.WebhookID)
		} else {
			businesses = append(businesses, int64(row.BusinessID))
		}
	}
	list, err := postgres.QueryRows[receiver](ctx, q.db, postgres.Statement{Query: receivers,
		Args: postgres.Args{"webhooks": pgdialect.Array(webhooks), "businesses": pgdialect.Array(businesses)}})
	if err != nil {
		return nil, fmt.Errorf("reading receivers: %w", err)
	}
	found := make(map[receiverKey]receiver, len(list))
	for _, r := range list {
		outbox.Decrypt(q.db, r.BusinessID, &r.Target)
		found[receiverKey{r.BusinessID, r.ID}] = r
	}
	return found, nil
}

// dropExpired deletes deliveries whose event has expired.
func (q Store) dropExpired(ctx context.Context, rows []outbox.QueueRow) error {
	q.db.Log().Warn("dropping deliveries whose event is past retention", "deliveries", len(rows))
	return q.inUnblockingTx(ctx, rows, func(tx bun.Conn) error {
		_, err := tx.ExecContext(ctx,
			`DELETE FROM delivery_queue queue
			USING ? AS gone (id, business_id, endpoint, ordering_key, sequence)
			WHERE queue.business_id = gone.business_id AND queue.id = gone.id`, outbox.RowsTable(rows))
		return err
	})
}

// expiredBatch is the number of held deliveries that one transaction deletes.
const expiredBatch = 1000

// DropHeld deletes the held deliveries whose events are past the retention. Others are dropped when they are claimed.
func (q Store) DropHeld(ctx context.Context, retention time.Duration) error {
	before := core.FirstID(q.db.Clock().Now().Add(-retention))
	for {
		var rows []outbox.QueueRow
		err := q.db.Bun().NewRaw(queries.With("expired_held", postgres.Args{"before": before, "limit": expiredBatch})).
			Scan(ctx, &rows)
		if err == nil && len(rows) > 0 {
			err = q.dropExpired(ctx, rows)
		}
		if err != nil {
			return fmt.Errorf("deleting held deliveries without an event: %w", err)
		}
		if len(rows) < expiredBatch {
			return nil
		}
	}
}

// inUnblockingTx calls remove in a transaction, which then unblocks the next rows after those that have left the queue.
// It wakes this replica after the COMMIT: a claim before it would not find them.
func (q Store) inUnblockingTx(ctx context.Context, left []outbox.QueueRow, remove func(tx bun.Conn) error) error {
	ordered := slices.DeleteFunc(slices.Clone(left), func(row outbox.QueueRow) bool { return row.OrderingKey == 0 })
	unblocked := 0
	err := q.db.InKeyedTx(ctx, func(tx bun.Conn) (err error) {
		if err := remove(tx); err != nil {
			return err
		}
		unblocked, err = outbox.UnblockNext(ctx, q.db, tx, ordered)
		return err
	})
	if err == nil && unblocked > 0 {
		outbox.Wake(q.db)
	}
	return err
}

// hold holds deliveries of switched-off subscriptions. The lock on the subscription serializes this
// with switching it on, so that no delivery of an active one stays held. Deliveries of a
// subscription that was switched on meanwhile are requeued.
func (q Store) hold(ctx context.Context, owner core.ID, rows []outbox.QueueRow) error {
	webhooks := make([]int64, len(rows))
	for i, row := range rows {
		webhooks[i] = row.WebhookID
	}
	return q.inUnblockingTx(ctx, rows, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, queries.With("park", postgres.Args{
			"webhooks": pgdialect.Array(webhooks), "rows": outbox.RowsTable(rows), "owner": owner,
		})); err != nil {
			return fmt.Errorf("holding deliveries: %w", err)
		}
		return release(ctx, tx, owner, leases(rows))
	})
}

// Release requeues leased deliveries with their due times unchanged.
func (q Store) Release(ctx context.Context, owner core.ID, deliveries []webhook.Delivery) error {
	var probes []int64
	for _, d := range deliveries {
		if d.Probe {
			probes = append(probes, d.Endpoint)
		}
	}
	if err := release(ctx, q.db.Bun(), owner, deliveries); err != nil {
		return err
	}
	return q.probeNow(ctx, probes)
}

func release(ctx context.Context, in bun.IDB, owner core.ID, deliveries []webhook.Delivery) error {
	return postgres.Exec(ctx, in, "releasing deliveries", queries.With("release", leaseArgs(owner, deliveries)))
}

// leases returns claimed rows as deliveries that can only be released.
func leases(rows []outbox.QueueRow) []webhook.Delivery {
	deliveries := make([]webhook.Delivery, len(rows))
	for i, row := range rows {
		deliveries[i] = webhook.Delivery{ID: row.ID, Business: row.BusinessID, Endpoint: row.Endpoint, Lease: row.Lease,
			Probe: row.Probe}
	}
	return deliveries
}

// leaseArgs returns the leases of deliveries as arguments. A lease that ended may be held again, even by the same
// owner, so its number is a part of it.
func leaseArgs(owner core.ID, deliveries []webhook.Delivery) postgres.Args {
	n := len(deliveries)
	businesses, ids, leases := make([]int64, n), make([]string, n), make([]int64, n)
	for i, d := range deliveries {
		businesses[i], ids[i], leases[i] = int64(d.Business), d.ID.String(), d.Lease
	}
	return postgres.Args{"owner": owner, "businesses": postgres.Array(businesses), "ids": postgres.Array(ids),
		"leases": postgres.Array(leases)}
}
