package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/order"
)

// UnnotifiedOrders returns the orders since a time that no active webhook received, by business.
func (c Store) UnnotifiedOrders(ctx context.Context, businesses []core.BusinessID,
	since time.Time) ([]console.UnnotifiedOrders, error) {
	return postgres.Collect(ctx, c.db.Bun(), "reading orders that no webhook received",
		func(u *console.UnnotifiedOrders) []any {
			return []any{&u.Business, &u.Count, &u.First, &u.Last, &u.HasWebhook}
		}, bun.SafeQuery(queries.With("unnotified_orders", postgres.Args{
			"businesses": postgres.Array(businesses), "event_type": core.OrderPlaced, "since": since,
			"placed": order.Placed, "most": console.MaxCount, "limit": noticesShown,
		})))
}

// recentRejections returns recently rejected orders that have not arrived since.
func (c Store) recentRejections(ctx context.Context,
	businesses []core.BusinessID) (orders []console.RejectedOrders, err error) {
	since := c.db.Clock().Now().Add(-console.RejectionWindow)
	if err := c.db.Bun().NewRaw(queries.With("rejected_orders", postgres.Args{
		"businesses": postgres.Array(businesses), "since": since, "limit": noticesShown,
	})).Scan(ctx, &orders); err != nil {
		return nil, fmt.Errorf("reading rejected orders: %w", err)
	}
	return orders, nil
}

// failedCalls returns the calls since a time that platforms rejected.
func (c Store) failedCalls(ctx context.Context, businesses []core.BusinessID,
	since time.Time) (list []console.FailedCalls, err error) {
	rows, err := c.db.Bun().QueryContext(ctx, queries.With("failed_calls", postgres.Args{
		"businesses": postgres.Array(businesses), "since": since, "most": console.MaxCount,
	}))
	if err != nil {
		return nil, fmt.Errorf("reading rejections of platforms: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var call console.FailedCalls
		var count console.CallCount
		if err := rows.Scan(&call.Business, &call.Platform, &call.ServedBy, &count.Kind, &count.Count, &call.Orders,
			&call.At, &call.Message, &call.Status); err != nil {
			return nil, fmt.Errorf("reading rejections of platforms: %w", err)
		}
		if last := len(list) - 1; last < 0 || list[last].Business != call.Business ||
			list[last].Platform != call.Platform {
			if len(list) == noticesShown {
				break
			}
			list = append(list, call)
		}
		group := &list[len(list)-1]
		group.Kinds, group.Orders = append(group.Kinds, count), group.Orders || call.Orders
		if call.At.After(group.At) {
			group.At, group.Message = call.At, call.Message
		}
	}
	return list, rows.Err()
}

// jobsRead bounds the jobs with failed objects that are read.
const jobsRead = 1000

// partlyFailedJobs returns the jobs since a time with at least half of their objects failed.
func (c Store) partlyFailedJobs(ctx context.Context, businesses []core.BusinessID,
	since time.Time) ([]console.PartlyFailedJobs, error) {
	return postgres.Collect(ctx, c.db.Bun(), "reading jobs with failures", func(j *console.PartlyFailedJobs) []any {
		return []any{&j.Business, &j.Count, &j.Reference, &j.Kind, &j.Subject, &j.Failed, &j.Total}
	}, bun.SafeQuery(queries.With("jobs_with_failures", postgres.Args{
		"businesses": postgres.Array(businesses), "first": core.FirstID(since), "most": jobsRead,
		"has_refusals": bun.Safe(jobs.HasFailures), "limit": noticesShown,
	})))
}
