package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// partitionDays is how many days ahead partitions are made.
const partitionDays = 7

// partitionLock is the advisory lock under which one replica at a time looks
// after the partitions.
const partitionLock = 0x5e57e272

var partitioned = []string{"events", "deliveries", "attempts", "call_attempts", "revisions", "revision_parts"}

// Maintain makes the partitions of the coming week and drops those that are
// past the retention. Any replica may call it at any time; one at a time does it.
func (db *DB) Maintain(ctx context.Context, retention time.Duration) error {
	today := db.clock.Now().UTC().Truncate(24 * time.Hour)
	return db.inTx(ctx, func(tx bun.Conn) error {
		var mine bool
		if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(?)`, partitionLock).Scan(&mine); err != nil || !mine {
			return err
		}
		var existing []string
		if err := tx.NewRaw(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(events|deliveries|attempts|call_attempts|revisions|revision_parts)_[0-9]{8}$'`).Scan(ctx, &existing); err != nil {
			return fmt.Errorf("listing partitions: %w", err)
		}
		have := map[string]bool{}
		for _, name := range existing {
			have[name] = true
		}
		for day := range partitionDays {
			from := today.AddDate(0, 0, day)
			for _, table := range partitioned {
				name := table + "_" + from.Format("20060102")
				if have[name] {
					continue
				}
				if _, err := tx.ExecContext(ctx, `CREATE TABLE ?0 PARTITION OF ?1 FOR VALUES FROM (?2) TO (?3)`,
					bun.Ident(name), bun.Ident(table), core.FirstID(from), core.FirstID(from.AddDate(0, 0, 1))); err != nil {
					return fmt.Errorf("making the partition %s: %w", name, err)
				}
			}
		}
		oldest := today.Add(-retention).Format("20060102")
		for _, name := range existing {
			if day := name[strings.LastIndexByte(name, '_')+1:]; day < oldest {
				if _, err := tx.ExecContext(ctx, `DROP TABLE ?`, bun.Ident(name)); err != nil {
					return fmt.Errorf("dropping the partition %s: %w", name, err)
				}
			}
		}
		return nil
	})
}
