package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// HasDueTime is the condition that a call or publication has a due time.
const HasDueTime = bun.Safe("available_at < 'infinity'")

// QueuedEndpoints returns the query of the endpoints whose rows in a queue meet a condition. It is part of a
// recursive common table expression named endpoints.
func QueuedEndpoints(table string, condition bun.Safe) bun.Safe {
	return bun.Safe(queries.With("endpoints", Args{"table": bun.Ident(table), "condition": condition}))
}

// Busy are the endpoints and plugins without capacity. Nothing is claimed for them.
type Busy struct {
	Endpoints []int64
	Plugins   []string
}

func (b Busy) hasCapacity() bun.Safe {
	return bun.Safe(queries.With("has_capacity", Args{"busy": Array(b.Endpoints), "plugins": Array(b.Plugins)}))
}

// ClaimableEndpoints returns the query of at most limit endpoints with claimable rows in a queue of calls or
// publications. It needs QueuedEndpoints.
func ClaimableEndpoints(table string, now time.Time, limit int, busy Busy) bun.Safe {
	return bun.Safe(queries.With("heads", Args{
		"table": bun.Ident(table), "now": now, "limit": limit, "has_capacity": busy.hasCapacity(),
	}))
}

// NextDue returns the earliest due time in a queue of calls or publications.
func (db *DB) NextDue(ctx context.Context, table string, busy Busy) (time.Time, error) {
	var next sql.NullTime
	var epoch int64
	err := db.bun.QueryRowContext(ctx, queries.With("next_due", Args{
		"table": bun.Ident(table), "endpoints": QueuedEndpoints(table, HasDueTime), "has_capacity": busy.hasCapacity(),
	})).Scan(&next, &epoch)
	if err != nil {
		return time.Time{}, fmt.Errorf("finding the next of %s: %w", table, err)
	}
	return next.Time, db.CheckEpoch(ctx, epoch)
}
