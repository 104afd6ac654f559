package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
)

// FailureWeek returns how often objects of a business's jobs failed in the last seven days, today included.
func (c Store) FailureWeek(ctx context.Context, business core.BusinessID) (console.FailureWeek, error) {
	return failureWeek(ctx, c.db, business)
}

// failureWeek queries each day in the time zone of the business. One index lookup finds a day without such jobs.
func failureWeek(ctx context.Context, db *postgres.DB, business core.BusinessID) (week console.FailureWeek, err error) {
	var name string
	if err := db.Tenant(business).QueryRowContext(ctx, `SELECT timezone FROM businesses WHERE id = ?`, business).
		Scan(&name); err != nil {
		return week, fmt.Errorf("reading the time zone of the business: %w", err)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return week, err
	}
	year, month, day := db.Clock().Now().In(zone).Date()
	starts := make([]string, console.WeekDays+1)
	for i := range starts {
		starts[i] = core.FirstID(time.Date(year, month, day+1-i, 0, 0, 0, 0, zone)).String()
	}
	var latest uuid.NullUUID
	if err := db.Tenant(business).QueryRowContext(ctx, queries.With("failed_week", postgres.Args{
		"business": business, "ends": postgres.Array(starts[:console.WeekDays]), "starts": postgres.Array(starts[1:]),
		"has_refusals": bun.Safe(jobs.HasFailures), "most": console.MaxCount,
	})).Scan(&week.Days, &week.Jobs, &latest); err != nil {
		return week, fmt.Errorf("counting the days on which objects failed: %w", err)
	}
	week.Latest = latest.UUID
	return week, nil
}
