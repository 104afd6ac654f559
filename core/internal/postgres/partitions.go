package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A change of partitions waits for whoever uses the table, and others wait behind
// it: not longer than the first, nor for it to be carried out longer than the second.
const (
	partitionWait = 200 * time.Millisecond
	partitionTime = 5 * time.Second
)

// dated is a table that is partitioned by the day of an id.
type dated struct{ table, key string }

var partitioned = []dated{
	{"events", "id"}, {"deliveries", "id"}, {"attempts", "delivery_id"}, {"call_attempts", "call_id"}, {"revisions", "id"}, {"revision_parts", "revision_id"},
}

// of names the partition of a day.
func (t dated) of(day time.Time) string { return t.table + "_" + day.Format("20060102") }

// other names the default partition, which takes the rows of days that have none.
func (t dated) other() string { return t.table + "_other" }

// Maintain makes the partitions of the coming week and drops what is past the
// retention. Any replica may call it at any time; one at a time does it. What cannot be
// done at once, because somebody uses a table for long, is left for the next time:
// until then rows go to the default partition.
func (db *DB) Maintain(ctx context.Context, retention time.Duration) error {
	conn, err := db.bun.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var mine bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(?)`, partitionLock).Scan(&mine); err != nil || !mine {
		return err
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(?)`, partitionLock); err != nil {
			discard(conn)
		}
	}()
	there, err := db.dayPartitions(ctx)
	if err != nil {
		return err
	}
	now := db.clock.Now().UTC()
	before := now.Add(-retention)
	var failures []error
	for _, t := range partitioned {
		failures = append(failures, db.makePartitions(ctx, t, now.Truncate(24*time.Hour), there), db.dropPartitions(ctx, t, before, there), db.dropOutside(ctx, t, before))
	}
	return errors.Join(failures...)
}

// retentionsOfLate is how long a hub's retention counts after it was last seen.
const retentionsOfLate = 24 * time.Hour

// Retention is for how long what has been is to be kept: as this hub says, or longer
// where another one said so of late, so that one that was started without the setting of
// the others does not drop what they keep.
func (db *DB) Retention(ctx context.Context, own time.Duration) (time.Duration, error) {
	now, seconds := db.clock.Now(), int64(own/time.Second)
	if _, err := db.bun.ExecContext(ctx, `INSERT INTO retentions (seconds, seen_at) VALUES (?, ?) ON CONFLICT (seconds) DO UPDATE SET seen_at = excluded.seen_at`,
		seconds, now); err != nil {
		return 0, fmt.Errorf("telling the retention: %w", err)
	}
	if err := db.bun.QueryRowContext(ctx, `SELECT max(seconds) FROM retentions WHERE seen_at > ?`, now.Add(-retentionsOfLate)).Scan(&seconds); err != nil {
		return 0, fmt.Errorf("reading the retention: %w", err)
	}
	return max(own, time.Duration(seconds)*time.Second), nil
}

// dayPartitions names the partitions of days that there are.
func (db *DB) dayPartitions(ctx context.Context) (names []string, err error) {
	parents := make([]string, len(partitioned))
	for i, t := range partitioned {
		parents[i] = t.table
	}
	err = db.bun.NewRaw(`SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = ANY (?::regclass[]) AND c.relname ~ '_[0-9]{8}'`, array(parents)).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("listing partitions: %w", err)
	}
	return names, nil
}

// daysMade is for how many days after the present one every table has its partition.
func daysMade(now time.Time, there []string) (days int) {
	for ; days < partitionDays; days++ {
		for _, t := range partitioned {
			if !slices.Contains(there, t.of(now.UTC().AddDate(0, 0, days+1))) {
				return days
			}
		}
	}
	return days
}

// alterPartitions changes partitions in a transaction that holds nobody up for long.
func (db *DB) alterPartitions(ctx context.Context, change func(tx bun.Conn) error) error {
	return db.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SELECT set_config('lock_timeout', ?::text, true), set_config('statement_timeout', ?::text, true)`,
			partitionWait.Milliseconds(), partitionTime.Milliseconds()); err != nil {
			return err
		}
		return change(tx)
	})
}

func (db *DB) makePartitions(ctx context.Context, t dated, today time.Time, there []string) error {
	for n := range partitionDays {
		day := today.AddDate(0, 0, n)
		if slices.Contains(there, t.of(day)) {
			continue
		}
		if err := db.alterPartitions(ctx, func(tx bun.Conn) error { return t.makeDay(ctx, tx, day, n == 0) }); err != nil {
			return fmt.Errorf("making the partition %s: %w", t.of(day), err)
		}
	}
	return nil
}

// makeDay makes the partition of a day, or two around the rows of it that the
// default partition holds. They are made apart and then attached, which, unlike making
// them as partitions, stops neither readers nor writers of the other days.
func (t dated) makeDay(ctx context.Context, tx bun.Conn, day time.Time, today bool) error {
	if today { // what is written meanwhile would go to the default partition
		if _, err := tx.ExecContext(ctx, `LOCK TABLE ONLY ? IN SHARE ROW EXCLUSIVE MODE`, bun.Ident(t.table)); err != nil {
			return err
		}
	}
	next := day.AddDate(0, 0, 1)
	var held []core.ID
	if err := tx.NewRaw(`(SELECT ?1 FROM ?0 WHERE ?1 >= ?2 AND ?1 < ?3 ORDER BY 1 LIMIT 1) UNION ALL (SELECT ?1 FROM ?0 WHERE ?1 >= ?2 AND ?1 < ?3 ORDER BY 1 DESC LIMIT 1)`,
		bun.Ident(t.other()), bun.Ident(t.key), core.FirstID(day), core.FirstID(next)).Scan(ctx, &held); err != nil {
		return err
	}
	name := t.of(day)
	for _, part := range around(day, next, held) {
		for _, statement := range []string{`CREATE TABLE ?0 (LIKE ?1 INCLUDING ALL EXCLUDING IDENTITY)`, `ALTER TABLE ?1 ATTACH PARTITION ?0 FOR VALUES FROM (?2) TO (?3)`} {
			if _, err := tx.ExecContext(ctx, statement, bun.Ident(name), bun.Ident(t.table), core.FirstID(part[0]), core.FirstID(part[1])); err != nil {
				return err
			}
		}
		name += "_2"
	}
	return nil
}

// around is the time from one instant to another without that of the ids that are
// held, whose first and last are given. Those stay where they are: while they were moved,
// who looks for them would not find them.
func around(from, to time.Time, held []core.ID) [][2]time.Time {
	if len(held) == 0 {
		return [][2]time.Time{{from, to}}
	}
	parts := [][2]time.Time{{from, core.TimeOf(held[0])}, {core.TimeOf(held[1]).Add(time.Millisecond), to}}
	return slices.DeleteFunc(parts, func(part [2]time.Time) bool { return !part[0].Before(part[1]) })
}

func (db *DB) dropPartitions(ctx context.Context, t dated, before time.Time, there []string) error {
	for _, name := range there {
		if !strings.HasPrefix(name, t.table+"_2") || name >= t.of(before) {
			continue
		}
		if err := db.alterPartitions(ctx, func(tx bun.Conn) error {
			if t.table == "events" {
				if err := keepOrdersToCome(ctx, tx, name, before); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, `DROP TABLE ?`, bun.Ident(name))
			return err
		}); err != nil {
			return fmt.Errorf("dropping the partition %s: %w", name, err)
		}
		db.log.Info("dropped a day that is past the retention", "partition", name)
	}
	return nil
}

// toCome holds for an order o that is for a later day than it was placed, and whose day
// (?0 is what is past the retention) is not long over.
const toCome = `o.scheduled_for >= ?0`

// keepOrdersToCome puts what tells of orders to come from a partition of events into the
// default partition. (A default partition rules out DETACH … CONCURRENTLY.)
func keepOrdersToCome(ctx context.Context, tx bun.Conn, name string, before time.Time) error {
	if _, err := tx.ExecContext(ctx, `ALTER TABLE events DETACH PARTITION ?`, bun.Ident(name)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO events SELECT e.* FROM orders o
		CROSS JOIN LATERAL (SELECT * FROM ?1 WHERE id = o.placed_event AND business_id = o.business_id LIMIT 1) e WHERE `+toCome, before, bun.Ident(name))
	return err
}

// outsideAtOnce is how many rows one step deletes from a default partition.
const outsideAtOnce = 10_000

// dropOutside deletes what is past the retention from the default partition, step by step.
func (db *DB) dropOutside(ctx context.Context, t dated, before time.Time) error {
	keep := ``
	if t.table == "events" {
		keep = ` AND NOT EXISTS (SELECT FROM orders o WHERE o.business_id = r.business_id AND o.placed_event = r.id AND ` + toCome + `)`
	}
	for deleted := int64(outsideAtOnce); deleted == outsideAtOnce; {
		result, err := db.bun.ExecContext(ctx, `DELETE FROM ?1 WHERE ctid = ANY (ARRAY(SELECT ctid FROM ?1 r WHERE r.?2 < ?3`+keep+` LIMIT ?4))`,
			before, bun.Ident(t.other()), bun.Ident(t.key), core.FirstID(before), outsideAtOnce)
		if err != nil {
			return fmt.Errorf("deleting old rows of %s: %w", t.other(), err)
		}
		if deleted, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	return nil
}
