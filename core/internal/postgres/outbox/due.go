package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// HasDueTime is the condition that a call or publication has a due time.
const HasDueTime = bun.Safe("available_at < 'infinity'")

// QueuedEndpoints returns the query of the endpoints whose rows in a queue meet a condition. It is part of a
// recursive common table expression named endpoints.
func QueuedEndpoints(table string, condition bun.Safe) bun.Safe {
	return bun.Safe(queries.With("endpoints", postgres.Args{"table": bun.Ident(table), "condition": condition}))
}

// Busy are the endpoints and plugins without capacity. Nothing is claimed for them.
type Busy struct {
	Endpoints []int64
	Plugins   []string
}

func (b Busy) hasCapacity() bun.Safe {
	return bun.Safe(queries.With("has_capacity", postgres.Args{
		"busy": postgres.Array(b.Endpoints), "plugins": postgres.Array(b.Plugins),
	}))
}

// ClaimableEndpoints returns the query of at most limit endpoints with claimable rows in a queue of calls or
// publications. It needs QueuedEndpoints.
func ClaimableEndpoints(table string, now time.Time, limit int, busy Busy) bun.Safe {
	return bun.Safe(queries.With("heads", postgres.Args{
		"table": bun.Ident(table), "now": now, "limit": limit, "has_capacity": busy.hasCapacity(),
	}))
}

// NextDue returns the earliest due time in a queue of calls or publications.
func NextDue(ctx context.Context, db *postgres.DB, table string, busy Busy) (time.Time, error) {
	var next sql.NullTime
	var epoch int64
	err := db.Bun().QueryRowContext(ctx, queries.With("next_due", postgres.Args{
		"table": bun.Ident(table), "endpoints": QueuedEndpoints(table, HasDueTime), "has_capacity": busy.hasCapacity(),
	})).Scan(&next, &epoch)
	if err != nil {
		return time.Time{}, fmt.Errorf("finding the next of %s: %w", table, err)
	}
	return next.Time, db.CheckEpoch(ctx, epoch)
}
