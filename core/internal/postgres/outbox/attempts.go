package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Attempt identifies an attempt.
type Attempt struct {
	Business  core.BusinessID
	ID        core.ID // delivery or call
	StartedAt time.Time
}

// MissingAttempts returns the indices of the attempts that a table lacks. If the response
// to a COMMIT was lost, attempts are recorded twice; those in the table are skipped.
func MissingAttempts(ctx context.Context, tx bun.Conn, table, key string,
	attempts []Attempt) (missing []int, err error) {
	businesses, ids, starts := make([]int64, len(attempts)), make([]string, len(attempts)),
		make([]string, len(attempts))
	for i, m := range attempts {
		businesses[i], ids[i], starts[i] = int64(m.Business), m.ID.String(),
			m.StartedAt.UTC().Format(postgres.CopyTimeLayout)
	}
	if err :=
		tx.NewRaw(`SELECT r.position - 1 FROM unnest(?::bigint[], ?::uuid[],
			?::timestamptz[]) WITH ORDINALITY AS r (business_id, id, at, position)
		WHERE NOT EXISTS (SELECT 1 FROM ? a
			WHERE a.business_id = r.business_id AND a.? = r.id AND a.started_at = r.at)`,
			postgres.Array(businesses), postgres.Array(ids), postgres.Array(starts), bun.Ident(table),
			bun.Ident(key)).Scan(ctx,
			&missing); err != nil {
		return nil, fmt.Errorf("looking up rows of %s: %w", table, err)
	}
	return missing, nil
}
