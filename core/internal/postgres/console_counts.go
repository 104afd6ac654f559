package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// How long counts are kept.
const (
	minuteLife = 48 * time.Hour
	hourLife   = 90 * 24 * time.Hour
)

// AddSums adds what was counted in memory to what is stored, in two statements.
func (c Console) AddSums(ctx context.Context, sums console.Sums) error {
	if len(sums.Counts) == 0 {
		return nil
	}
	return c.inTx(ctx, func(tx bun.Conn) error {
		if err := addCounts(ctx, tx, sums.Counts); err != nil {
			return fmt.Errorf("storing counts: %w", err)
		}
		if err := addHealth(ctx, tx, sums.Health); err != nil {
			return fmt.Errorf("storing the health of webhooks: %w", err)
		}
		return nil
	})
}

func addCounts(ctx context.Context, tx bun.Conn, counts map[console.Span]console.Count) error {
	var businesses, grains, webhooks, accepted, refused, took, slow []int64
	var at []string
	for span, count := range counts {
		businesses, grains = append(businesses, int64(span.Business)), append(grains, int64(span.Grain/time.Second))
		webhooks, at = append(webhooks, span.Webhook), append(at, span.At.UTC().Format(time.RFC3339))
		accepted, refused = append(accepted, count.Accepted), append(refused, count.Refused)
		took, slow = append(took, count.Took.Microseconds()), append(slow, count.Slowest.Microseconds())
	}
	// In the order of the key, so that two replicas never wait for each other crosswise.
	_, err := tx.ExecContext(ctx, `INSERT INTO attempt_counts AS c (business_id, grain, at, webhook_id, accepted, refused, took_us, slow_us)
		SELECT * FROM unnest(?::bigint[], ?::int[], ?::timestamptz[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) AS n (b, g, a, w)
		ORDER BY b, g, a, w
		ON CONFLICT (business_id, grain, at, webhook_id) DO UPDATE SET accepted = c.accepted + excluded.accepted,
			refused = c.refused + excluded.refused, took_us = c.took_us + excluded.took_us, slow_us = greatest(c.slow_us, excluded.slow_us)`,
		pgdialect.Array(businesses), pgdialect.Array(grains), pgdialect.Array(at), pgdialect.Array(webhooks),
		pgdialect.Array(accepted), pgdialect.Array(refused), pgdialect.Array(took), pgdialect.Array(slow))
	return err
}

// addHealth leaves out what attempts say that began before their webhook got another
// address or other headers.
func addHealth(ctx context.Context, tx bun.Conn, changes map[console.Place]console.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var businesses, webhooks, statuses []int64
	var accepted, refused, since, classes, errors, deliveries []string
	instant := func(t time.Time) string {
		if t.IsZero() {
			return "-infinity"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	for place, change := range changes {
		businesses, webhooks = append(businesses, int64(place.Business)), append(webhooks, place.Webhook)
		accepted, refused, since = append(accepted, instant(change.AcceptedAt)), append(refused, instant(change.RefusedAt)), append(since, instant(change.FailingSince))
		statuses, classes = append(statuses, int64(change.Status)), append(classes, change.Class)
		errors, deliveries = append(errors, change.Error), append(deliveries, change.Delivery.String())
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO endpoint_health AS h (business_id, webhook_id, accepted_at, refused_at, failing_since, status, error_class, error, delivery_id)
		SELECT b, w, CASE WHEN a >= since THEN a END, CASE WHEN r >= since THEN r END,
			CASE WHEN f >= since THEN f WHEN r >= since AND f > '-infinity' THEN r END, s, c, e, d
		FROM unnest(?::bigint[], ?::bigint[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[], ?::smallint[], ?::text[], ?::text[], ?::uuid[])
			AS n (b, w, a, r, f, s, c, e, d)
		CROSS JOIN LATERAL (SELECT coalesce((SELECT k.anew_at FROM endpoint_health k WHERE k.business_id = b AND k.webhook_id = w), '0001-01-01') AS since) known
		ORDER BY b, w
		ON CONFLICT (business_id, webhook_id) DO UPDATE SET
			accepted_at = greatest(h.accepted_at, excluded.accepted_at),
			refused_at = greatest(h.refused_at, excluded.refused_at),
			failing_since = least(CASE WHEN excluded.accepted_at IS NULL OR excluded.accepted_at < h.failing_since THEN h.failing_since END,
				CASE WHEN h.accepted_at IS NULL OR h.accepted_at < excluded.failing_since THEN excluded.failing_since END),
			status = CASE WHEN excluded.refused_at IS NULL THEN h.status ELSE excluded.status END,
			error_class = CASE WHEN excluded.refused_at IS NULL THEN h.error_class ELSE excluded.error_class END,
			error = CASE WHEN excluded.refused_at IS NULL THEN h.error ELSE excluded.error END,
			delivery_id = CASE WHEN excluded.refused_at IS NULL THEN h.delivery_id ELSE excluded.delivery_id END
		WHERE h.anew_at IS NULL OR greatest(excluded.accepted_at, excluded.refused_at) >= h.anew_at`,
		pgdialect.Array(businesses), pgdialect.Array(webhooks), pgdialect.Array(accepted), pgdialect.Array(refused), pgdialect.Array(since),
		pgdialect.Array(statuses), pgdialect.Array(classes), pgdialect.Array(errors), pgdialect.Array(deliveries))
	return err
}

// ForgetCounts drops counts whose time is over.
func (c Console) ForgetCounts(ctx context.Context) error {
	now := c.clock.Now()
	_, err := c.bun.ExecContext(ctx, `DELETE FROM attempt_counts WHERE grain = 60 AND at < ? OR at < ?`, now.Add(-minuteLife), now.Add(-hourLife))
	return err
}

// Pulse tells, cheaply, something that differs once jobs, orders, deliveries, webhooks
// or what platforms have of the menus of the business have changed.
func (c Console) Pulse(ctx context.Context, business core.BusinessID) (string, error) {
	var pulse string
	err := c.of(business).QueryRowContext(ctx, `SELECT concat_ws('/',
		(SELECT concat_ws('.', max(x.id::text), sum(x.progress), sum(x.attempts), count(x.finished_at)) FROM (SELECT id, progress, attempts, finished_at FROM jobs
			WHERE business_id = ?0 ORDER BY id DESC LIMIT 50) x),
		(SELECT sum(accepted + refused) FROM attempt_counts WHERE business_id = ?0 AND grain = 3600 AND at >= ?1 AND webhook_id = 0),
		(SELECT concat_ws('.', max(x.updated_at), sum(x.events)) FROM (SELECT updated_at, events FROM orders
			WHERE business_id = ?0 ORDER BY created_at DESC, id DESC LIMIT 200) x),
		(SELECT concat_ws('.', max(x.id::text), count(x.finished_at), sum(x.attempts)) FROM (SELECT id, finished_at, attempts FROM calls
			WHERE business_id = ?0 ORDER BY id DESC LIMIT 50) x),
		(SELECT concat_ws('.', count(*), sum(version)) FROM webhooks WHERE business_id = ?0),
		(SELECT max(last_at) FROM refused_orders WHERE business_id = ?0),
		(SELECT max(settled_at) FROM publications WHERE business_id = ?0),
		(SELECT max(x.id::text) FROM (SELECT id FROM audit WHERE business_id = ?0 ORDER BY id DESC LIMIT 1) x))`,
		business, c.clock.Now().Add(-time.Hour).Truncate(time.Hour)).Scan(&pulse)
	return pulse, err
}
