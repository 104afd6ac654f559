package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/order"
)

// Backlog is how much work waits, for metrics.
type Backlog struct {
	Jobs, Due, Scheduled, Held int64
	OldestJob                  time.Duration // how long the first has waited that could be run: not those behind others, or tried again later
	OldestDue                  time.Duration // how long the first due delivery has waited, of endpoints to which no attempt is under way: of workers there are too few
	WorstEndpoint              time.Duration // likewise, of any endpoint: one that takes its time has its own line
	OldestCall                 time.Duration // likewise, of calls to aggregators that are due
	Probed                     int64         // endpoints that fail
	Calls                      int64         // lines of calls to aggregators
	Publications               int64         // menus of stores on their way to aggregators
	OldestPublication          time.Duration // how long the first of them that is due has waited
	Unacknowledged             int64         // orders of the last day that wait too long for it
	Silent                     int64         // stores whose POS is silent
	PartitionDays              int           // for how many days after today there are all partitions
}

// linesOfEndpoints are the endpoints that have something due and are not held: for how
// many seconds the first of it has waited, and whether an attempt is under way there.
// Leases end soon: they are among the first of what is not due.
const linesOfEndpoints = `lines AS (
	SELECT extract(epoch FROM ?0 - head.available_at)::float8 AS age, true IN (
		SELECT owner IS NOT NULL FROM (SELECT owner FROM delivery_queue WHERE endpoint = e.endpoint AND available_at > ?0 AND available_at < 'infinity'
			ORDER BY available_at LIMIT 1000) soon) AS served
	FROM endpoints e CROSS JOIN LATERAL (SELECT available_at FROM delivery_queue
		WHERE endpoint = e.endpoint AND available_at <= ?0 ORDER BY available_at LIMIT 1) head
	WHERE NOT ` + isProbed + ` AND NOT EXISTS (SELECT 1 FROM webhooks o WHERE o.id = e.endpoint AND NOT o.active))`

// Backlog counts what waits in the queues. Counting stops at 100,000 of a kind.
func (db *DB) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	var oldestJob, oldestDue, worst, oldestCall, oldestPublication *float64
	now := db.clock.Now()
	err := db.bun.QueryRowContext(ctx, `WITH RECURSIVE `+endpoints+`, `+linesOfEndpoints+` SELECT
		(SELECT count(*) FROM (SELECT 1 FROM job_queue LIMIT 100000) x),
		(SELECT extract(epoch FROM ?0 - min(available_at))::float8 FROM (`+jobHeads+`) heads WHERE available_at <= ?0),
		(SELECT count(*) FROM (SELECT 1 FROM delivery_queue d WHERE available_at <= ?0 AND NOT `+isHeld+` LIMIT 100000) x),
		(SELECT max(age) FROM lines WHERE NOT served), (SELECT max(age) FROM lines),
		(SELECT count(*) FROM (SELECT 1 FROM delivery_queue d WHERE available_at > ?0 AND available_at < 'infinity' AND NOT `+isHeld+` LIMIT 100000) x),
		(SELECT count(*) FROM (SELECT 1 FROM delivery_queue d WHERE `+isHeld+` LIMIT 100000) x),
		(SELECT count(*) FROM unwell_endpoints WHERE probing_since IS NOT NULL),
		(SELECT count(*) FROM (SELECT 1 FROM call_lines WHERE available_at < 'infinity' LIMIT 100000) x),
		(SELECT extract(epoch FROM ?0 - min(due_at))::float8 FROM call_lines WHERE available_at <= ?0 AND available_at < 'infinity'),
		(SELECT count(*) FROM (SELECT 1 FROM orders WHERE escalated_at IS NOT NULL AND state = ?1 AND created_at > ?2 LIMIT 100000) x),
		(SELECT count(*) FROM (SELECT 1 FROM pos_presence WHERE silent_since IS NOT NULL LIMIT 100000) x),
		(SELECT count(*) FROM (SELECT 1 FROM publications WHERE available_at < 'infinity' LIMIT 100000) x),
		(SELECT extract(epoch FROM ?0 - min(due_at))::float8 FROM (SELECT due_at FROM publications WHERE available_at <= ?0 AND available_at < 'infinity' LIMIT 100000) x)`, now, order.Placed, now.Add(-escalateBack)).
		Scan(&b.Jobs, &oldestJob, &b.Due, &oldestDue, &worst, &b.Scheduled, &b.Held, &b.Probed, &b.Calls, &oldestCall, &b.Unacknowledged, &b.Silent, &b.Publications, &oldestPublication)
	if err != nil {
		return b, fmt.Errorf("counting the backlog: %w", err)
	}
	there, err := db.dayPartitions(ctx)
	if err != nil {
		return b, err
	}
	b.PartitionDays = daysMade(now, there)
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
