package access

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
)

// Throttles stores the states of throttles (limit.StateStore).
type Throttles struct{ db *postgres.DB }

// NewThrottles returns Throttles that use db.
func NewThrottles(db *postgres.DB) Throttles { return Throttles{db} }

// Change replaces a throttle's state with the result of change. Concurrent requests share
// one transaction and are counted one by one.
func (t Throttles) Change(ctx context.Context, business core.BusinessID, name string,
	change func([]byte) []byte) error {
	_, err := lookupsOf(t.db).throttles.Do(ctx, throttleChange{throttleKey{business, name}, change})
	return err
}

type throttleKey struct {
	business core.BusinessID
	name     string
}

type throttleChange struct {
	throttleKey
	change func([]byte) []byte
}

// changeThrottles runs a batch. It applies changes in the order of arrival.
func changeThrottles(ctx context.Context, db *postgres.DB, changes []throttleChange) []batch.Result[struct{}] {
	err := db.InTx(ctx, func(tx bun.Conn) error {
		states, err := lockThrottles(ctx, tx, changes)
		if err != nil {
			return fmt.Errorf("reading throttles: %w", err)
		}
		for _, c := range changes {
			states[c.throttleKey] = c.change(states[c.throttleKey])
		}
		var businesses []int64
		var names []string
		var encoded [][]byte
		for key, state := range states {
			businesses, names, encoded = append(businesses, int64(key.business)), append(names, key.name),
				append(encoded, state)
		}
		return postgres.Exec(ctx, tx, "counting requests", `UPDATE throttles t SET state = r.state
				FROM unnest(?::bigint[], ?::text[], ?::bytea[]) AS r (business_id, name, state)
			WHERE t.business_id = r.business_id AND t.name = r.name`, postgres.Array(businesses), postgres.Array(names),
			postgres.Array(encoded))
	})
	return batch.FailAll[struct{}](len(changes), err)
}

// lockThrottles reads the states, in the order of their keys. The upsert also locks new
// rows, so that two concurrent first requests do not both count as the first.
func lockThrottles(ctx context.Context, tx bun.Conn, changes []throttleChange) (map[throttleKey][]byte, error) {
	businesses, names := make([]int64, len(changes)), make([]string, len(changes))
	for i, c := range changes {
		businesses[i], names[i] = int64(c.business), c.name
	}
	rows, err := tx.QueryContext(ctx, `INSERT INTO throttles AS t (business_id, name, state)
		SELECT DISTINCT business, name, ''::bytea FROM unnest(?::bigint[], ?::text[]) AS r (business, name)
		ORDER BY business, name
		ON CONFLICT (business_id, name) DO UPDATE SET state = t.state RETURNING business_id, name, state`,
		postgres.Array(businesses), postgres.Array(names))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	states := map[throttleKey][]byte{}
	for rows.Next() {
		var key throttleKey
		var state []byte
		if err := rows.Scan(&key.business, &key.name, &state); err != nil {
			return nil, err
		}
		states[key] = state
	}
	return states, rows.Err()
}
