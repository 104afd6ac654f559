package calls

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// StepsAssociatedData returns the associated data of the sealed steps of an ordering key.
func StepsAssociatedData(business core.BusinessID, orderingKey string) string {
	return fmt.Sprintf("call_queue/%d/%s", business, orderingKey)
}

// openSteps decrypts the completed steps of a call. Without them, or without their key, the call restarts.
func (q Store) openSteps(c relay.Call, sealed []byte) []byte {
	if sealed == nil {
		return nil
	}
	plain, err := q.db.Sealer().Open(StepsAssociatedData(c.Business, c.OrderingKey), sealed)
	if err != nil {
		return nil
	}
	return plain
}

// SaveSteps stores the completed steps of a leased call (relay.SaveSteps).
func (q Store) SaveSteps(ctx context.Context, c relay.Call, steps []byte) (held bool, err error) {
	err = q.db.InKeyedTx(ctx, func(tx bun.Conn) error {
		sealed, err := q.db.SealIn(ctx, tx, StepsAssociatedData(c.Business, c.OrderingKey), steps)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, queries.With("save_steps", postgres.Args{"sealed": sealed,
			"business": c.Business, "ordering_key": c.OrderingKey, "owner": c.Owner, "lease": c.Lease}))
		if err != nil {
			return fmt.Errorf("storing the steps of a call: %w", err)
		}
		rows, err := result.RowsAffected()
		held = rows > 0
		return err
	})
	return held && err == nil, err
}
