package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Retention of counts.
const (
	minuteRetention = 48 * time.Hour
	hourRetention   = 90 * 24 * time.Hour
)

// Counts returns the attempts of businesses since a time, in spans of the grain. Spans
// without attempts are omitted. Webhook 0 means all webhooks.
func (c Store) Counts(ctx context.Context, businesses []core.BusinessID, webhook int64, grain time.Duration,
	since time.Time) ([]console.Count, error) {
	rows, err := c.db.Bun().QueryContext(ctx,
		`SELECT bucket_start, sum(succeeded)::bigint, sum(failed)::bigint, sum(total_us)::bigint, max(max_us)
		FROM attempt_counts WHERE business_id = ANY (?) AND bucket_seconds = ? AND bucket_start >= ? AND webhook_id = ?
		GROUP BY bucket_start
			ORDER BY bucket_start`,
		postgres.Array(businesses), int(grain/time.Second), since, webhook)
	if err != nil {
		return nil, fmt.Errorf("reading counts: %w", err)
	}
	defer rows.Close()
	list := []console.Count{}
	for rows.Next() {
		var count console.Count
		var took, slow int64
		if err := rows.Scan(&count.At, &count.Succeeded, &count.Failed, &took, &slow); err != nil {
			return nil, fmt.Errorf("reading counts: %w", err)
		}
		count.TotalTime, count.Slowest = time.Duration(took)*time.Microsecond, time.Duration(slow)*time.Microsecond
		list = append(list, count)
	}
	return list, rows.Err()
}

// Figures returns the numbers of waiting and failed work in businesses.
func (c Store) Figures(ctx context.Context, businesses []core.BusinessID, since time.Time) (console.Figures, error) {
	var f console.Figures
	err := c.db.Bun().QueryRowContext(ctx, queries.With("figures", postgres.Args{
		"businesses": postgres.Array(businesses), "since": since, "first": core.FirstID(since),
		"most": console.MaxCount, "most_queued": 2 * console.MaxCount,
	})).Scan(&f.Waiting, &f.Held, &f.FailedDeliveries, &f.OpenProblems, &f.Undelivered, &f.FailedJobs,
		&f.OpenJobs)
	if err != nil {
		return f, fmt.Errorf("counting pending work: %w", err)
	}
	return f, nil
}

// AddSums adds counts from memory to the stored ones, in two statements.
func (c Store) AddSums(ctx context.Context, sums console.Sums) error {
	if len(sums.Counts) == 0 {
		return nil
	}
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		if err := addCounts(ctx, tx, sums.Counts); err != nil {
			return fmt.Errorf("storing counts: %w", err)
		}
		if err := addHealth(ctx, tx, sums.Health); err != nil {
			return fmt.Errorf("storing the health of webhooks: %w", err)
		}
		return nil
	})
}

func addCounts(ctx context.Context, tx bun.Conn, counts map[console.CounterKey]console.Count) error {
	var businesses, grains, webhooks, succeeded, failed, took, slow []int64
	var at []string
	for span, count := range counts {
		businesses, grains = append(businesses, int64(span.Business)), append(grains, int64(span.Grain/time.Second))
		webhooks, at = append(webhooks, span.Webhook), append(at, span.At.UTC().Format(time.RFC3339))
		succeeded, failed = append(succeeded, count.Succeeded), append(failed, count.Failed)
		took, slow = append(took, count.TotalTime.Microseconds()), append(slow, count.Slowest.Microseconds())
	}
	_, err := tx.ExecContext(ctx, queries.With("add_counts", postgres.Args{
		"businesses": pgdialect.Array(businesses), "grains": pgdialect.Array(grains), "at": pgdialect.Array(at),
		"webhooks": pgdialect.Array(webhooks), "succeeded": pgdialect.Array(succeeded),
		"failed": pgdialect.Array(failed), "took": pgdialect.Array(took), "slow": pgdialect.Array(slow),
	}))
	return err
}

// addHealth ignores attempts that started before the webhook's URL or headers last changed.
func addHealth(ctx context.Context, tx bun.Conn, changes map[console.WebhookKey]console.HealthChange) error {
	if len(changes) == 0 {
		return nil
	}
	var businesses, webhooks, statuses []int64
	var succeeded, failed, since, classes, errors, deliveries []string
	instant := func(t time.Time) string {
		if t.IsZero() {
			return "-infinity"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	for key, change := range changes {
		businesses, webhooks = append(businesses, int64(key.Business)), append(webhooks, key.Webhook)
		succeeded, failed, since = append(succeeded, instant(change.SucceededAt)),
			append(failed, instant(change.FailedAt)), append(since, instant(change.FailingSince))
		statuses, classes = append(statuses, int64(change.Status)), append(classes, change.Class)
		errors, deliveries = append(errors, change.Error), append(deliveries, change.Delivery.String())
	}
	_, err := tx.ExecContext(ctx, queries.With("add_health", postgres.Args{
		"businesses": pgdialect.Array(businesses), "webhooks": pgdialect.Array(webhooks),
		"succeeded": pgdialect.Array(succeeded), "failed": pgdialect.Array(failed), "failing": pgdialect.Array(since),
		"statuses": pgdialect.Array(statuses), "classes": pgdialect.Array(classes), "errors": pgdialect.Array(errors),
		"deliveries": pgdialect.Array(deliveries),
	}))
	return err
}

// DeleteExpiredCounts deletes expired counts.
func (c Store) DeleteExpiredCounts(ctx context.Context) error {
	now := c.db.Clock().Now()
	_, err := c.db.Bun().ExecContext(ctx,
		`DELETE FROM attempt_counts WHERE bucket_seconds = 60 AND bucket_start < ? OR bucket_start < ?`,
		now.Add(-minuteRetention), now.Add(-hourRetention))
	return err
}

// ChangeToken returns a cheap token that differs after a change. It covers jobs, orders,
// deliveries, webhooks and publications of a business.
func (c Store) ChangeToken(ctx context.Context, business core.BusinessID) (string, error) {
	var token string
	err := c.db.Tenant(business).QueryRowContext(ctx, queries.With("change_token", postgres.Args{
		"business": business, "hour": c.db.Clock().Now().Add(-time.Hour).Truncate(time.Hour),
	})).Scan(&token)
	return token, err
}
