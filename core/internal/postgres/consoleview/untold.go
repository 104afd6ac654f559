package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/order"
)

// UntoldOrders returns, per business, the orders since a time that no active webhook received.
func (c Store) UntoldOrders(ctx context.Context, businesses []core.BusinessID,
	since time.Time) ([]console.Untold, error) {
	return postgres.Collect(ctx, c.db.Bun(), "reading orders that nobody was told of", func(u *console.Untold) []any {
		return []any{&u.Business, &u.Count, &u.First, &u.Last, &u.Heard}
	}, queries.With("unnotified_orders", postgres.Args{
		"businesses": postgres.Array(businesses), "event_type": core.OrderPlaced, "since": since,
		"placed": order.Placed, "most": console.Many, "limit": noticesShown,
	}))
}

// refusedCalls returns the calls since a time that platforms did not accept.
func (c Store) refusedCalls(ctx context.Context, businesses []core.BusinessID,
	since time.Time) (list []console.RefusedCalls, err error) {
	rows, err := c.db.Bun().QueryContext(ctx, queries.With("failed_calls", postgres.Args{
		"businesses": postgres.Array(businesses), "since": since, "most": console.Many,
	}))
	if err != nil {
		return nil, fmt.Errorf("reading rejections of platforms: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one console.RefusedCalls
		var kind console.CallCount
		if err := rows.Scan(&one.Business, &one.Platform, &one.ServedBy, &kind.Kind, &kind.Count, &one.Orders, &one.At,
			&one.Message); err != nil {
			return nil, fmt.Errorf("reading rejections of platforms: %w", err)
		}
		if last := len(list) - 1; last < 0 || list[last].Business != one.Business ||
			list[last].Platform != one.Platform {
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

// hasRefusals is the condition that a job succeeded, but not for all of its objects.
const hasRefusals = `state = 'done' AND NOT dry_run AND (
	kind IN ('stores', 'menu') AND result->'failed' IS NOT NULL OR kind = 'timing_groups' AND result->>'errors' <> '0')`

// requestsRead bounds how many such jobs are read.
const requestsRead = 1000

// refusedJobs returns the requests since a time with at least half of their objects refused.
func (c Store) refusedJobs(ctx context.Context, businesses []core.BusinessID,
	since time.Time) ([]console.RefusedJobs, error) {
	return postgres.Collect(ctx, c.db.Bun(), "reading requests that were refused", func(j *console.RefusedJobs) []any {
		return []any{&j.Business, &j.Count, &j.Reference, &j.Kind, &j.Subject, &j.Refused, &j.Total}
	}, queries.With("jobs_with_failures", postgres.Args{
		"businesses": postgres.Array(businesses), "first": core.FirstID(since), "has_refusals": bun.Safe(hasRefusals),
		"most": requestsRead, "limit": noticesShown,
	}))
}
