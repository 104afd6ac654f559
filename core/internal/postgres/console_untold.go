package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// UntoldOrders tells of which orders that businesses got since a time nobody was told.
func (c Console) UntoldOrders(ctx context.Context, businesses []core.BusinessID, since time.Time) ([]console.Untold, error) {
	return listOf(ctx, c.bun, "reading orders that nobody was told of", func(u *console.Untold) []any {
		return []any{&u.Business, &u.Count, &u.First, &u.Last, &u.Heard}
	}, `SELECT b.id, n.count, n.first, n.last,
			EXISTS (SELECT 1 FROM webhooks w WHERE w.business_id = b.id AND w.event_type = ? AND w.active)
		FROM unnest(?::bigint[]) AS b (id) CROSS JOIN LATERAL (SELECT count(*), min(created_at) AS first, max(created_at) AS last FROM (
			SELECT created_at FROM orders WHERE business_id = b.id AND untold AND created_at >= ? AND state = ? ORDER BY created_at DESC, id DESC LIMIT ?) o) n
		WHERE n.count > 0 ORDER BY n.last DESC LIMIT ?`, core.OrderPlaced, array(businesses), since, order.Placed, console.Many, noticesShown)
}

// refusedCalls tells what platforms did not take since a time.
func (c Console) refusedCalls(ctx context.Context, businesses []core.BusinessID, since time.Time) (list []console.RefusedCalls, err error) {
	rows, err := c.bun.QueryContext(ctx, `SELECT n.business, n.platform, coalesce(p.served_by, ''), n.kind, n.count, n.orders, n.at,
			(SELECT message FROM calls c WHERE c.business_id = n.business AND c.state = 'failed' AND c.finished_at = n.at AND c.platform = n.platform AND c.kind = n.kind LIMIT 1)
		FROM (SELECT b.id AS business, x.platform, x.kind, count(*), bool_or(x.order_id <> 0) AS orders, max(x.finished_at) AS at
			FROM unnest(?::bigint[]) AS b (id) CROSS JOIN LATERAL (SELECT platform, kind, order_id, finished_at FROM calls
				WHERE business_id = b.id AND state = 'failed' AND finished_at >= ? ORDER BY finished_at DESC LIMIT ?) x GROUP BY 1, 2, 3) n
		LEFT JOIN platforms p ON p.business_id = n.business AND p.name = n.platform
		ORDER BY max(n.at) OVER (PARTITION BY n.business, n.platform) DESC, 1, 2, n.count DESC, n.kind`, array(businesses), since, console.Many)
	if err != nil {
		return nil, fmt.Errorf("reading what platforms did not take: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one console.RefusedCalls
		var kind console.CallCount
		if err := rows.Scan(&one.Business, &one.Platform, &one.ServedBy, &kind.Kind, &kind.Count, &one.Orders, &one.At, &one.Message); err != nil {
			return nil, fmt.Errorf("reading what platforms did not take: %w", err)
		}
		if last := len(list) - 1; last < 0 || list[last].Business != one.Business || list[last].Platform != one.Platform {
			if len(list) == noticesShown {
				break
			}
			list = append(list, one)
		}
		told := &list[len(list)-1]
		told.Kinds, told.Orders = append(told.Kinds, kind), told.Orders || one.Orders
		if one.At.After(told.At) {
			told.At, told.Message = one.At, one.Message
		}
	}
	return list, rows.Err()
}

// hasRefusals is a job that was carried out, but not for all of its objects.
const hasRefusals = `state = 'done' AND NOT dry_run
	AND (kind IN ('stores', 'menu') AND result->'failed' IS NOT NULL OR kind = 'timing_groups' AND result->>'errors' <> '0')`

// requestsRead is of how many such jobs the latest are looked at.
const requestsRead = 1000

// refusedJobs tells of which requests since a time half of the objects or more were refused.
func (c Console) refusedJobs(ctx context.Context, businesses []core.BusinessID, since time.Time) ([]console.RefusedJobs, error) {
	return listOf(ctx, c.bun, "reading requests that were refused", func(j *console.RefusedJobs) []any {
		return []any{&j.Business, &j.Count, &j.Reference, &j.Kind, &j.Subject, &j.Refused, &j.Total}
	}, `SELECT DISTINCT ON (business_id) business_id, count(*) OVER (PARTITION BY business_id), id, kind, subject, refused, total
		FROM (SELECT business_id, id, kind, subject, total,
				coalesce((result->>'errors')::int, (SELECT sum((s.value->>'errors')::int) FROM jsonb_each(result->'stats') s)) AS refused
			FROM jobs WHERE business_id = ANY (?) AND id >= ? AND `+hasRefusals+` ORDER BY id DESC LIMIT ?) j
		WHERE refused * 2 >= total ORDER BY business_id, id DESC LIMIT ?`, array(businesses), core.FirstID(since), requestsRead, noticesShown)
}
