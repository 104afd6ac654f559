package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// DatabaseState is the state of a database, for the doctor command.
type DatabaseState struct {
	Version           int   // such as 160004
	Size              int64 // bytes
	TemporaryTables   bool  // its role may create temporary tables
	Superuser         bool  // its role is a superuser
	Fsync             bool
	FullPageWrites    bool
	SynchronousCommit string
	Checksums         bool
	ArchiveFailed     bool     // the last WAL archiving attempt failed
	ArchiveLate       bool     // WAL is archived only in full segments
	TimeZone          string   // of the sessions
	FreeConnections   int      // free connections
	PoolSize          int      // maximum connections of a hub, besides three for single purposes
	Missing, Unknown  []string // names of migrations
	EarlierBuild      bool     // the migrations of the database are not those of this program, see ErrEarlierBuild
}

// Examine returns the state of the database.
func Examine(ctx context.Context, db *postgres.DB) (DatabaseState, error) {
	c := DatabaseState{PoolSize: db.PoolStats().MaxOpenConnections}
	err := db.Bun().QueryRowContext(ctx, queries.With("examine", nil)).
		Scan(&c.Version, &c.Size, &c.TemporaryTables, &c.Fsync, &c.FullPageWrites, &c.SynchronousCommit, &c.Checksums,
			&c.TimeZone, &c.FreeConnections, &c.ArchiveFailed, &c.ArchiveLate, &c.Superuser)
	if err != nil {
		return c, fmt.Errorf("querying the state of the database: %w", err)
	}
	state, err := readState(ctx, db.Bun())
	c.Missing, c.Unknown, c.EarlierBuild = state.missing(), state.unknown, state.earlier
	return c, err
}

// PartitionsAhead returns for how many days after today every partitioned table has its
// partition. It also returns the rows of today or later in the default partitions, at most
// 100,000 per table.
func PartitionsAhead(ctx context.Context, db *postgres.DB) (days, stray int, err error) {
	existing, err := dayPartitions(ctx, db)
	if err != nil {
		return 0, 0, err
	}
	now := db.Clock().Now().UTC()
	for _, t := range partitioned {
		var n int
		if err := db.Bun().QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM ? WHERE ? >= ? LIMIT 100000) x`,
			bun.Ident(t.defaultPartition()), bun.Ident(t.key),
			core.FirstID(now.Truncate(24*time.Hour))).Scan(&n); err != nil {
			return 0, 0, fmt.Errorf("counting rows outside the partitions: %w", err)
		}
		stray += n
	}
	return daysAhead(now, existing), stray, nil
}
