package publications

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/publish"
)

// StepsAssociatedData returns the associated data of the sealed steps of a publication. The key is the id of the store,
// a slash and the platform.
func StepsAssociatedData(business core.BusinessID, key string) string {
	return fmt.Sprintf("publications/%d/%s", business, key)
}

func stepsKey(w publish.Work) string { return fmt.Sprintf("%d/%s", w.StoreID, w.Platform) }

// openSteps decrypts the completed steps of a publication. Without them, or without their key, it restarts.
func (p Store) openSteps(w publish.Work, sealed []byte) []byte {
	if sealed == nil {
		return nil
	}
	plain, err := p.db.Sealer().Open(StepsAssociatedData(w.Business, stepsKey(w)), sealed)
	if err != nil {
		return nil
	}
	return plain
}

// SaveSteps stores the completed steps of a claimed publication, encrypted. It returns false, and stores nothing, if
// the owner no longer has the lease.
func (p Store) SaveSteps(ctx context.Context, w publish.Work, steps []byte) (held bool, err error) {
	err = p.db.InTx(ctx, func(tx bun.Conn) error {
		sealed, err := p.db.SealIn(ctx, tx, StepsAssociatedData(w.Business, stepsKey(w)), steps)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, queries.With("save_steps", postgres.Args{"sealed": sealed,
			"business": w.Business, "store": w.StoreID, "platform": w.Platform, "owner": w.Owner,
			"lease": w.Lease, "version": w.Version, "call": w.CallID}))
		if err != nil {
			return fmt.Errorf("storing the steps of a publication: %w", err)
		}
		rows, err := result.RowsAffected()
		held = rows > 0
		return err
	})
	return held && err == nil, err
}
