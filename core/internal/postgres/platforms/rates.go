package platforms

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// Rates counts requests to endpoints with a rate limit (relay.Rates).
type Rates struct{ db *postgres.DB }

// NewRates returns Rates that use db.
func NewRates(db *postgres.DB) Rates { return Rates{db} }

// Reserve reserves the next request, and returns when it may be sent. If that is after latest, it reserves nothing.
// It spaces requests evenly, after a burst (generic cell rate algorithm).
func (r Rates) Reserve(ctx context.Context, key relay.RateKey, limit relay.RateLimit,
	latest time.Time) (at time.Time, err error) {
	interval := limit.Period / time.Duration(limit.Requests)
	tolerance := interval * time.Duration(max(limit.Burst, 1)-1)
	for {
		err = r.db.Keyed().QueryRowContext(ctx, queries.With("reserve_rate", postgres.Args{
			"business": key.Business, "platform": key.Platform, "endpoint": key.Endpoint, "subject": key.Subject,
			"now":      r.db.Clock().Now(),
			"interval": interval.Microseconds(), "tolerance": tolerance.Microseconds(), "latest": latest,
		})).Scan(&at)
		if err == nil {
			return at, nil
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = r.db.Keyed().QueryRowContext(ctx, `SELECT next_at FROM endpoint_rates WHERE business_id = ?
				AND platform = ? AND endpoint = ? AND subject = ?`, key.Business, key.Platform, key.Endpoint,
				key.Subject).Scan(&at)
			if at = at.Add(-tolerance); err == nil && at.After(latest) {
				return at, nil
			}
			if err == nil { // another request was moved meanwhile
				continue
			}
		}
		return at, fmt.Errorf("counting the requests to endpoint %s: %w", key.Endpoint, err)
	}
}

// Sweep deletes the rates of stores and orders that delay no request any more.
func (r Rates) Sweep(ctx context.Context) error {
	for {
		result, err := r.db.Bun().ExecContext(ctx, queries.With("sweep_rates",
			postgres.Args{"now": r.db.Clock().Now(), "most": maxExpired}))
		if err != nil {
			return fmt.Errorf("deleting rates of stores and orders: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n < maxExpired {
			return err
		}
	}
}
