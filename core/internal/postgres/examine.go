package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// Condition is what a database says of itself, for the doctor.
type Condition struct {
	Version           int   // such as 160004
	Size              int64 // bytes
	Stages            bool  // its role may make temporary tables
	Fsync             bool
	FullPageWrites    bool
	SynchronousCommit string
	Checksums         bool
	Unarchived        bool     // what it was to archive last, it could not
	TimeZone          string   // of the sessions
	Spare             int      // connections that are not taken
	PoolSize          int      // connections that a hub takes at most, beside one that listens
	Missing, Unknown  []string // migrations
}

// Examine asks the database how it is.
func (db *DB) Examine(ctx context.Context) (Condition, error) {
	c := Condition{PoolSize: db.bun.DB.Stats().MaxOpenConnections}
	err := db.bun.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, pg_database_size(current_database()), has_database_privilege(current_database(), 'TEMPORARY'),
		current_setting('fsync')::bool, current_setting('full_page_writes')::bool, current_setting('synchronous_commit'),
		current_setting('data_checksums')::bool, current_setting('TimeZone'), current_setting('max_connections')::int
			- current_setting('superuser_reserved_connections')::int - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int,
		current_setting('archive_mode') <> 'off' AND (SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) FROM pg_stat_archiver)`).
		Scan(&c.Version, &c.Size, &c.Stages, &c.Fsync, &c.FullPageWrites, &c.SynchronousCommit, &c.Checksums, &c.TimeZone, &c.Spare, &c.Unarchived)
	if err != nil {
		return c, fmt.Errorf("asking the database how it is: %w", err)
	}
	list, err := db.Migrations(ctx)
	if err != nil {
		return c, err
	}
	for _, m := range list {
		if !m.Applied {
			c.Missing = append(c.Missing, m.Name)
		}
	}
	migrator, err := migrator(db.bun)
	if err != nil {
		return c, err
	}
	c.Unknown, err = unknownTo(ctx, migrator)
	return c, err
}

// ClockDifference is how far the database's clock is ahead of this machine's.
func (db *DB) ClockDifference() time.Duration { return time.Duration(db.time.offset.Load()) }

// PartitionsAhead is for how many days from now on, today not counted, every
// partitioned table has its partition, and how many rows of today or later are in the
// default ones, counted up to 100,000 of each table.
func (db *DB) PartitionsAhead(ctx context.Context) (days, stray int, err error) {
	there, err := db.dayPartitions(ctx)
	if err != nil {
		return 0, 0, err
	}
	now := db.clock.Now().UTC()
	for _, t := range partitioned {
		var n int
		if err := db.bun.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM ? WHERE ? >= ? LIMIT 100000) x`,
			bun.Ident(t.other()), bun.Ident(t.key), core.FirstID(now.Truncate(24*time.Hour))).Scan(&n); err != nil {
			return 0, 0, fmt.Errorf("looking for rows outside the partitions: %w", err)
		}
		stray += n
	}
	return daysMade(now, there), stray, nil
}
