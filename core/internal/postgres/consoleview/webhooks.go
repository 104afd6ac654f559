package consoleview

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
)

type endpointRow struct {
	BusinessID        core.BusinessID `bun:"business_id"`
	ID                int64           `bun:"id"`
	EventType         core.EventType  `bun:"event_type"`
	URL               string          `bun:"url"`
	Active            bool            `bun:"active"`
	DisabledReason    string          `bun:"disabled_reason"`
	Units             string          `bun:"retrial_interval_units"`
	EventHeader       string          `bun:"event_type_header"`
	EventValue        string          `bun:"event_type_header_value"`
	HeaderNames       []string        `bun:"header_names,array"`
	HeadersChangedAt  time.Time       `bun:"headers_changed_at"`
	CreatedAt         time.Time       `bun:"created_at"`
	SucceededAt       time.Time       `bun:"succeeded_at"`
	FailedAt          time.Time       `bun:"failed_at"`
	FailingSince      time.Time       `bun:"failing_since"`
	Status            int             `bun:"status"`
	Class             string          `bun:"error_class"`
	Error             string          `bun:"error"`
	DeliveryID        core.ID         `bun:"delivery_id,type:uuid"`
	Held              int             `bun:"held"`
	Waiting           int             `bun:"waiting"`
	FailedDeliveries  int             `bun:"failed_deliveries"`
	ServerSucceededAt time.Time       `bun:"server_succeeded_at"`
	Succeeded         int64           `bun:"succeeded"`
	Failed            int64           `bun:"failed"`
	TotalUS           int64           `bun:"total_us"`
	MaxUS             int64           `bun:"max_us"`
	OldSecretUntil    time.Time       `bun:"previous_secret_expires_at"`
	CircuitOpenedAt   time.Time       `bun:"probing_since"`
	PauseMS           int64           `bun:"pause_ms"`
}

// endpoints returns the webhooks that a query selects.
func (c Store) endpoints(ctx context.Context, in bun.IDB, which string, args ...any) ([]console.Endpoint, error) {
	var rows []endpointRow
	day := c.day()
	if err := in.NewRaw(queries.With("endpoints", postgres.Args{
		"webhooks": bun.SafeQuery(which, args...), "day": day, "most": console.MaxCount,
		"is_held": deliveries.IsHeld,
	})).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading webhooks: %w", err)
	}
	list := make([]console.Endpoint, len(rows))
	for i, r := range rows {
		list[i] = console.Endpoint{
			Business: r.BusinessID, ID: r.ID, EventType: r.EventType, URL: r.URL, Active: r.Active,
			DisabledReason: r.DisabledReason,
			EventHeader:    r.EventHeader, EventValue: r.EventValue,
			HeaderNames: r.HeaderNames, HeadersChangedAt: r.HeadersChangedAt,
			Units: r.Units, CreatedAt: r.CreatedAt, Held: r.Held, Waiting: r.Waiting,
			FailedDeliveries:  r.FailedDeliveries,
			ServerSucceededAt: r.ServerSucceededAt, OldSecretUntil: r.OldSecretUntil,
			CircuitOpenedAt: r.CircuitOpenedAt, ProbeInterval: time.Duration(r.PauseMS) * time.Millisecond,
			LastDay: console.Count{Succeeded: r.Succeeded, Failed: r.Failed,
				TotalTime: time.Duration(r.TotalUS) * time.Microsecond,
				Slowest:   time.Duration(r.MaxUS) * time.Microsecond},
			Health: console.Health{SucceededAt: r.SucceededAt, FailedAt: r.FailedAt, FailingSince: r.FailingSince,
				Status: r.Status, Class: r.Class, Error: r.Error, Delivery: r.DeliveryID},
		}
	}
	return list, nil
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
