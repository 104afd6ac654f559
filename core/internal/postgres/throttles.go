package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// Throttles keeps the states of throttles (limit.Records).
type Throttles struct{ *DB }

// Change replaces a state by what change makes of it. Requests that come at once
// are counted together, each after the other.
func (t Throttles) Change(ctx context.Context, business core.BusinessID, name string, change func([]byte) []byte) error {
	_, err := t.throttled.put(ctx, throttleChange{throttleKey{business, name}, change})
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

// changeThrottles is a round: changes of states, in the order in which they came.
func (db *DB) changeThrottles(ctx context.Context, changes []throttleChange) []verdict[struct{}] {
	err := db.inTx(ctx, func(tx bun.Conn) error {
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
			businesses, names, encoded = append(businesses, int64(key.business)), append(names, key.name), append(encoded, state)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE throttles t SET state = r.state FROM unnest(?::bigint[], ?::text[], ?::bytea[]) AS r (business_id, name, state)
			WHERE t.business_id = r.business_id AND t.name = r.name`, array(businesses), array(names), array(encoded)); err != nil {
			return fmt.Errorf("counting requests: %w", err)
		}
		return nil
	})
	return failed[struct{}](len(changes), err)
}

// lockThrottles reads the states, in the order of their keys. The upsert locks
// the row also where it is new, so that two first requests do not both count as
// the first.
func lockThrottles(ctx context.Context, tx bun.Conn, changes []throttleChange) (map[throttleKey][]byte, error) {
	businesses, names := make([]int64, len(changes)), make([]string, len(changes))
	for i, c := range changes {
		businesses[i], names[i] = int64(c.business), c.name
	}
	rows, err := tx.QueryContext(ctx, `INSERT INTO throttles AS t (business_id, name, state)
		SELECT DISTINCT business, name, ''::bytea FROM unnest(?::bigint[], ?::text[]) AS r (business, name) ORDER BY business, name
		ON CONFLICT (business_id, name) DO UPDATE SET state = t.state RETURNING business_id, name, state`, array(businesses), array(names))
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
