package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/order"
)

// Backlog is the amount of waiting work, for metrics.
type Backlog struct {
	Jobs, Due, Scheduled, Held int64
	OldestJob                  time.Duration // age of the oldest runnable job, without blocked jobs and retries
	OldestDue                  time.Duration // likewise of due deliveries, without busy endpoints: too few workers
	WorstEndpoint              time.Duration // likewise for any endpoint, even a slow one
	OldestCall                 time.Duration // likewise for due calls to aggregators
	OpenCircuits               int64         // endpoints with an open circuit
	Calls                      int64         // ordering keys with calls to aggregators
	Publications               int64         // menus to publish
	OldestPublication          time.Duration // age of the oldest due publication
	Unacknowledged             int64         // orders of the last day whose acknowledgement is overdue
	Silent                     int64         // stores whose POS is silent
	PartitionDays              int           // days after today with all partitions
}

// ReadBacklog counts waiting work, up to 100,000 of each kind.
func ReadBacklog(ctx context.Context, db *postgres.DB) (Backlog, error) {
	var b Backlog
	var oldestJob, oldestDue, worst, oldestCall, oldestPublication *float64
	now := db.Clock().Now()
	err := db.Bun().QueryRowContext(ctx, queries.With("backlog", postgres.Args{
		"endpoints": deliveries.QueuedEndpoints, "job_heads": jobs.FirstJobs, "is_held": deliveries.IsHeld,
		"now": now, "placed": order.Placed, "since": now.Add(-orders.EscalationWindow),
	})).
		Scan(&b.Jobs, &oldestJob, &b.Due, &oldestDue, &worst, &b.Scheduled, &b.Held, &b.OpenCircuits, &b.Calls,
			&oldestCall,
			&b.Unacknowledged, &b.Silent, &b.Publications, &oldestPublication)
	if err != nil {
		return b, fmt.Errorf("counting the backlog: %w", err)
	}
	existing, err := dayPartitions(ctx, db)
	if err != nil {
		return b, err
	}
	b.PartitionDays = daysAhead(now, existing)
	seconds := func(s *float64) time.Duration {
		if s == nil || *s < 0 {
			return 0
		}
		return time.Duration(*s * float64(time.Second))
	}
	b.OldestJob, b.OldestDue, b.WorstEndpoint = seconds(oldestJob), seconds(oldestDue), seconds(worst)
	b.OldestCall, b.OldestPublication = seconds(oldestCall), seconds(oldestPublication)
	return b, nil
}
