package consoleview

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
)

// endpoints returns the webhooks that a query selects.
func (c Store) endpoints(ctx context.Context, in bun.IDB, which string, args ...any) ([]console.Endpoint, error) {
	type row struct {
		console.Endpoint
		pauseMS, totalUS, maxUS int64
	}
	rows, err := postgres.Collect(ctx, in, "reading webhooks", func(r *row) []any {
		h := &r.Health
		return []any{&r.Business, &r.ID, &r.EventType, &r.URL, &r.Active, &r.DisabledReason,
			postgres.OrZero(&r.DisabledAt), &r.Units, &r.EventHeader, &r.EventValue,
			pgdialect.Array(&r.HeaderNames), postgres.OrZero(&r.HeadersChangedAt), &r.CreatedAt,
			postgres.OrZero(&r.OldSecretUntil), postgres.OrZero(&r.CircuitOpenedAt), &r.pauseMS,
			postgres.OrZero(&h.SucceededAt), postgres.OrZero(&h.FailedAt), postgres.OrZero(&h.FailingSince), &h.Status,
			&h.Class, &h.Error, &h.Delivery, &r.Held, &r.Waiting, &r.FailedDeliveries,
			postgres.OrZero(&r.ServerSucceededAt), &r.OthersActive, &r.LastDay.Succeeded, &r.LastDay.Failed,
			&r.totalUS, &r.maxUS}
	}, bun.SafeQuery(queries.With("endpoints", postgres.Args{
		"webhooks": bun.SafeQuery(which, args...), "day": c.day(), "most": console.MaxCount,
		"is_held": deliveries.IsHeld,
	})))
	list := make([]console.Endpoint, len(rows))
	for i, r := range rows {
		r.ProbeInterval = time.Duration(r.pauseMS) * time.Millisecond
		r.LastDay.TotalTime = time.Duration(r.totalUS) * time.Microsecond
		r.LastDay.Slowest = time.Duration(r.maxUS) * time.Microsecond
		list[i] = r.Endpoint
	}
	return list, err
}

// day returns the start of the day for which failures and attempts are counted.
func (c Store) day() time.Time { return c.db.Clock().Now().Add(-24 * time.Hour) }

// Endpoints returns at most limit webhooks of a business, those after the given id.
func (c Store) Endpoints(ctx context.Context, business core.BusinessID, after int64,
	limit int) ([]console.Endpoint, error) {
	return c.endpoints(ctx, c.db.Tenant(business),
		`SELECT * FROM webhooks WHERE business_id = ? AND id > ? ORDER BY id LIMIT ?`, business, after, limit)
}

// Endpoint returns one webhook, or NotFound.
func (c Store) Endpoint(ctx context.Context, business core.BusinessID, id int64) (console.Endpoint, error) {
	list, err := c.endpoints(ctx, c.db.Tenant(business), `SELECT * FROM webhooks WHERE business_id = ? AND id = ?`,
		business, id)
	if err == nil && len(list) == 0 {
		err = core.Errorf(core.NotFound, "there is no webhook %d", id)
	}
	if err != nil {
		return console.Endpoint{}, err
	}
	return list[0], nil
}

// UnhealthyEndpoints returns at most limit webhooks of businesses that need attention. They fail, are disabled with
// held deliveries, or had failed deliveries in the last 24 hours. Failing webhooks come first, and the limit is shared
// evenly among businesses.
func (c Store) UnhealthyEndpoints(ctx context.Context, businesses []core.BusinessID,
	limit int) ([]console.Endpoint, error) {
	return c.endpoints(ctx, c.db.Bun(), "?", bun.Safe(queries.With("webhooks_with_problems", postgres.Args{
		"businesses": postgres.Array(businesses), "since": c.day(), "limit": limit,
	})))
}
