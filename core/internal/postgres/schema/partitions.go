package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// partitionDays is the number of days for which partitions are created in advance.
const partitionDays = 7

// partitionLock is the advisory lock that admits one replica at a time to maintenance.
const partitionLock = 0x5e57e272

// Other statements queue behind a partition change. partitionLockTimeout bounds how long it waits
// for its lock, and partitionStatementTimeout how long it runs.
const (
	partitionLockTimeout      = 200 * time.Millisecond
	partitionStatementTimeout = 5 * time.Second
)

// partitionedTable is a table partitioned by the day of an id.
type partitionedTable struct{ table, key string }

var partitioned = []partitionedTable{
	{"events", "id"}, {"deliveries", "id"}, {"attempts", "delivery_id"}, {"call_attempts", "call_id"},
	{"revisions", "id"}, {"revision_parts", "revision_id"},
}

// partition returns the name of a day's partition.
func (t partitionedTable) partition(day time.Time) string {
	return t.table + "_" + day.Format("20060102")
}

// defaultPartition returns the name of the default partition, for days without their own.
func (t partitionedTable) defaultPartition() string { return t.table + "_other" }

// maxBusinessChanges bounds the rows of business_changes.
const maxBusinessChanges = 10_000

// forgetBusinessChanges deletes the rows of business_changes when there are many. The row of business 0, which it adds,
// makes every cached value of every replica be read again.
func forgetBusinessChanges(ctx context.Context, db *postgres.DB) error {
	_, err := db.Bun().ExecContext(ctx, `WITH many AS (
			SELECT count(*) > ?0 AS reached FROM (SELECT FROM business_changes LIMIT ?0 + 1) change
		), forgotten AS (
			DELETE FROM business_changes WHERE (SELECT reached FROM many)
		)
		INSERT INTO business_changes (business_id) SELECT 0 FROM many WHERE reached`, maxBusinessChanges)
	if err != nil {
		return fmt.Errorf("deleting the changes of businesses: %w", err)
	}
	return nil
}

// Maintain creates the partitions of the coming week and drops those past the retention. Any
// replica may call it; one runs at a time. A change that cannot get its lock is retried in the next
// run. Until then rows go to the default partition.
func Maintain(ctx context.Context, db *postgres.DB, retention time.Duration) error {
	return MaintainDays(ctx, db, retention, partitionDays)
}

// MaintainDays is Maintain with another number of days for which partitions are created, today included.
func MaintainDays(ctx context.Context, db *postgres.DB, retention time.Duration, days int) error {
	conn, err := db.Bun().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var locked bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(?)`, partitionLock).Scan(&locked); err != nil ||
		!locked {
		return err
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(?)`,
			partitionLock); err != nil {
			postgres.Discard(conn)
		}
	}()
	existing, err := dayPartitions(ctx, db)
	if err != nil {
		return err
	}
	now := db.Clock().Now().UTC()
	before, coming := now.Add(-retention), make([]time.Time, days)
	for n := range coming {
		coming[n] = now.Truncate(24*time.Hour).AddDate(0, 0, n)
	}
	failures := []error{forgetBusinessChanges(ctx, db)}
	for _, t := range partitioned {
		failures = append(failures, createPartitions(ctx, db, t, coming, existing),
			dropPartitions(ctx, db, t, before, existing), deleteExpired(ctx, db, t, before))
	}
	return errors.Join(failures...)
}

// retentionMaxAge is how long a hub's retention setting counts after the hub was last seen.
const retentionMaxAge = 24 * time.Hour

// Retention returns the longest retention that this hub or a recently seen one has set. So a hub
// with a shorter setting does not delete the data of others.
func Retention(ctx context.Context, db *postgres.DB, own time.Duration) (time.Duration, error) {
	now, seconds := db.Clock().Now(), int64(own/time.Second)
	if _, err := db.Bun().ExecContext(ctx,
		`INSERT INTO retentions (seconds, seen_at) VALUES (?, ?) ON CONFLICT (seconds) DO UPDATE
			SET seen_at = excluded.seen_at`,
		seconds, now); err != nil {
		return 0, fmt.Errorf("storing the retention: %w", err)
	}
	if err := db.Bun().QueryRowContext(ctx, `SELECT max(seconds) FROM retentions WHERE seen_at > ?`,
		now.Add(-retentionMaxAge)).Scan(&seconds); err != nil {
		return 0, fmt.Errorf("reading the retention: %w", err)
	}
	return max(own, time.Duration(seconds)*time.Second), nil
}

// dayPartitions returns the names of the existing day partitions.
func dayPartitions(ctx context.Context, db *postgres.DB) (names []string, err error) {
	parents := make([]string, len(partitioned))
	for i, t := range partitioned {
		parents[i] = t.table
	}
	err = db.Bun().NewRaw(`SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = ANY (?::regclass[]) AND c.relname ~ '_[0-9]{8}'`, postgres.Array(parents)).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("listing partitions: %w", err)
	}
	return names, nil
}

// daysAhead returns for how many days after now every table has its partition.
func daysAhead(now time.Time, existing []string) (days int) {
	for ; days < partitionDays; days++ {
		for _, t := range partitioned {
			if !slices.Contains(existing, t.partition(now.UTC().AddDate(0, 0, days+1))) {
				return days
			}
		}
	}
	return days
}

// alterPartitions changes partitions in a transaction with short timeouts.
func alterPartitions(ctx context.Context, db *postgres.DB, change func(tx bun.Conn) error) error {
	return db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx,
			`SELECT set_config('lock_timeout', ?::text, true), set_config('statement_timeout', ?::text, true)`,
			partitionLockTimeout.Milliseconds(), partitionStatementTimeout.Milliseconds()); err != nil {
			return err
		}
		return change(tx)
	})
}

// createPartitions creates the missing partitions of days. The first day is today.
func createPartitions(ctx context.Context, db *postgres.DB, t partitionedTable, days []time.Time,
	existing []string) error {
	for n, day := range days {
		if slices.Contains(existing, t.partition(day)) {
			continue
		}
		if err := alterPartitions(ctx, db,
			func(tx bun.Conn) error { return t.createDay(ctx, tx, day, n == 0) }); err != nil {
			return fmt.Errorf("creating the partition %s: %w", t.partition(day), err)
		}
	}
	return nil
}

// createDay creates the partition of a day, or two around rows already in the default partition.
// It creates tables and then attaches them, because CREATE TABLE PARTITION OF blocks readers
// and writers of the other days.
func (t partitionedTable) createDay(ctx context.Context, tx bun.Conn, day time.Time, today bool) error {
	if today { // rows written meanwhile would go to the default partition
		if _, err := tx.ExecContext(ctx, `LOCK TABLE ONLY ? IN SHARE ROW EXCLUSIVE MODE`,
			bun.Ident(t.table)); err != nil {
			return err
		}
	}
	next := day.AddDate(0, 0, 1)
	var held []core.ID
	if err :=
		tx.NewRaw(`(SELECT ?1 FROM ?0 WHERE ?1 >= ?2 AND ?1 < ?3 ORDER BY 1 LIMIT 1)
			UNION ALL (SELECT ?1 FROM ?0 WHERE ?1 >= ?2 AND ?1 < ?3 ORDER BY 1 DESC LIMIT 1)`,
			bun.Ident(t.defaultPartition()), bun.Ident(t.key), core.FirstID(day), core.FirstID(next)).Scan(ctx,
			&held); err != nil {
		return err
	}
	name := t.partition(day)
	for _, part := range periodsWithout(day, next, held) {
		for _, statement := range []string{`CREATE TABLE ?0 (LIKE ?1 INCLUDING ALL EXCLUDING IDENTITY)`,
			`ALTER TABLE ?1 ATTACH PARTITION ?0 FOR VALUES FROM (?2) TO (?3)`} {
			if _, err := tx.ExecContext(ctx, statement, bun.Ident(name), bun.Ident(t.table), core.FirstID(part[0]),
				core.FirstID(part[1])); err != nil {
				return err
			}
		}
		name += "_2"
	}
	return nil
}

// periodsWithout returns the period from one time to another without the period of existing rows,
// given by their first and last id. The rows are not moved, because readers would miss them
// meanwhile.
func periodsWithout(from, to time.Time, held []core.ID) [][2]time.Time {
	if len(held) == 0 {
		return [][2]time.Time{{from, to}}
	}
	parts := [][2]time.Time{{from, core.TimeOf(held[0])}, {core.TimeOf(held[1]).Add(time.Millisecond), to}}
	return slices.DeleteFunc(parts, func(part [2]time.Time) bool { return !part[0].Before(part[1]) })
}

func dropPartitions(ctx context.Context, db *postgres.DB, t partitionedTable, before time.Time,
	existing []string) error {
	for _, name := range existing {
		if !strings.HasPrefix(name, t.table+"_2") || name >= t.partition(before) {
			continue
		}
		if err := alterPartitions(ctx, db, func(tx bun.Conn) error {
			if t.table == "events" {
				if err := keepScheduledOrders(ctx, tx, name, before); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, `DROP TABLE ?`, bun.Ident(name))
			return err
		}); err != nil {
			return fmt.Errorf("dropping the partition %s: %w", name, err)
		}
		db.Log().Info("dropped a day that is past the retention", "partition", name)
	}
	return nil
}

// scheduledLater is the condition that order o is scheduled for a day within the retention. ?0 is the
// end of the retention.
const scheduledLater = `o.scheduled_for >= ?0`

// keepScheduledOrders moves the events of scheduled orders from a partition to the default
// partition. DETACH CONCURRENTLY is not possible with a default partition.
func keepScheduledOrders(ctx context.Context, tx bun.Conn, name string, before time.Time) error {
	if _, err := tx.ExecContext(ctx, `ALTER TABLE events DETACH PARTITION ?`, bun.Ident(name)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO events SELECT e.* FROM orders o
		CROSS JOIN LATERAL (SELECT * FROM ?1 WHERE id = ANY (ARRAY[o.placed_event, o.updated_event])
			AND business_id = o.business_id) e
			WHERE `+scheduledLater, before, bun.Ident(name))
	return err
}

// deleteBatch is the number of rows that one statement deletes.
const deleteBatch = 10_000

// deleteExpired deletes rows past the retention from the default partition, in steps.
func deleteExpired(ctx context.Context, db *postgres.DB, t partitionedTable, before time.Time) error {
	keep := ``
	if t.table == "events" {
		keep =
			` AND NOT EXISTS (SELECT FROM orders o WHERE o.business_id = r.business_id
				AND (o.placed_event = r.id OR o.updated_event = r.id) AND ` +
				scheduledLater + `)`
	}
	for deleted := int64(deleteBatch); deleted == deleteBatch; {
		result, err := db.Bun().ExecContext(ctx,
			`DELETE FROM ?1 WHERE ctid = ANY (ARRAY(SELECT ctid FROM ?1 r WHERE r.?2 < ?3`+keep+` LIMIT ?4))`,
			before, bun.Ident(t.defaultPartition()), bun.Ident(t.key), core.FirstID(before), deleteBatch)
		if err != nil {
			return fmt.Errorf("deleting old rows of %s: %w", t.defaultPartition(), err)
		}
		if deleted, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	return nil
}
