package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// dropBatch is the number of jobs that one statement deletes.
const dropBatch = 500

// DropOld deletes the jobs that ended before the retention, with their requests and results.
func (j Store) DropOld(ctx context.Context, retention time.Duration) error {
	before := j.db.Clock().Now().Add(-retention)
	var businesses []int64
	if err := j.db.Bun().NewRaw(`SELECT id FROM businesses ORDER BY id`).Scan(ctx, &businesses); err != nil {
		return fmt.Errorf("deleting old jobs: %w", err)
	}
	for _, business := range businesses {
		for deleted := int64(dropBatch); deleted == dropBatch; {
			result, err := j.db.Bun().ExecContext(ctx, `DELETE FROM jobs WHERE business_id = ?0 AND id IN (
				SELECT id FROM jobs WHERE business_id = ?0 AND id < ?1 AND finished_at < ?2
				ORDER BY id LIMIT ?3)`, business, core.FirstID(before), before, dropBatch)
			if err != nil {
				return fmt.Errorf("deleting old jobs: %w", err)
			}
			if deleted, err = result.RowsAffected(); err != nil {
				return err
			}
		}
	}
	return nil
}
