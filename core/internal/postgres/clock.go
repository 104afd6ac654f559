package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// databaseClock is a replica's view of the database's clock.
type databaseClock struct {
	setMu         sync.Mutex    // held by SyncClock
	offset        atomic.Int64  // nanoseconds that the database is ahead of this machine
	epoch         atomic.Int64  // number of clock changes at the last sync; 0 before the first
	stepBack      time.Duration // last backward step
	steppedBackAt time.Time
}

// Clock returns the clock for stored times. It follows the database's clock, so that
// replicas agree even if their machines do not.
func (db *DB) Clock() core.Clock { return db.clock }

// A difference below driftTolerance is noise. From minStep on, the database's clock was set, by hand or by a failover.
const (
	driftTolerance = 5 * time.Millisecond
	minStep        = time.Second
)

// After a backward step, a replica that has not synchronized may still store times of the old
// clock. They are further ahead than longestWait, which exceeds each wait for a retry and each Retry-After. They are
// moved too, until staleClockPeriod has passed. Deadlines and polls may be further ahead, at most longestDeadline.
const longestWait = 75 * time.Minute

// longestDeadline exceeds the longest time for an outcome, and the longest period of a poll with its variation.
const longestDeadline = 26 * time.Hour

const staleClockPeriod = 5 * time.Minute

// maxDeadlockRetries bounds the retries of applyStep after a deadlock.
const maxDeadlockRetries = 5

// SyncClock follows the database's clock. Call it at the start and periodically, because clocks drift. If the clock was
// set, all due times move by the same amount, so that nothing runs early or late.
func (db *DB) SyncClock(ctx context.Context) error {
	db.time.setMu.Lock()
	defer db.time.setMu.Unlock()
	off, err := db.measureClock(ctx)
	if err == nil && off.Abs() > minStep { // a single wrong measurement moves no due times
		first := off
		if off, err = db.measureClock(ctx); err == nil && (off-first).Abs() >= minStep {
			err = errors.New("measurements of the database's clock differ")
		}
	}
	if err != nil {
		return err
	}
	if off.Abs() <= driftTolerance {
		off = 0
	}
	switch {
	case off < -minStep:
		db.time.stepBack, db.time.steppedBackAt = off, time.Now()
	case off > minStep:
		db.time.steppedBackAt = time.Time{}
	}
	// In between, work may be late but not early. So the clock moves first if it was set back, and
	// the queues first otherwise.
	backward := min(off, 0)
	db.time.offset.Add(int64(backward))
	err = db.applyStep(ctx, off)
	// applyStep locks whole queues. A transaction that locked single rows may have ended meanwhile.
	for n := 0; n < maxDeadlockRetries && IsCode(err, "40P01"); n++ {
		err = db.applyStep(ctx, off)
	}
	if err != nil {
		db.time.offset.Add(-int64(backward))
		return err
	}
	db.time.offset.Add(int64(off - backward))
	return nil
}

// ReadClock returns the current time for a claim, and the clock's epoch. It reads the epoch first,
// because SyncClock stores it after the clock has moved back. A claim checks that the epoch is
// still current. Otherwise due times may have moved, and the old time would find them due too
// early. Epoch 0 means that this replica does not follow the clock.
func (db *DB) ReadClock() (now time.Time, epoch int64) {
	epoch = db.time.epoch.Load()
	return db.clock.Now(), epoch
}

// ClockChannel notifies replicas, with the payload "set", that a replica has moved due times with the clock.
const ClockChannel = "servery_clock"

// CheckEpoch calls SyncClock if another replica has changed the epoch.
func (db *DB) CheckEpoch(ctx context.Context, epoch int64) error {
	if known := db.time.epoch.Load(); known == 0 || known == epoch {
		return nil
	}
	return db.SyncClock(ctx)
}

// NextDue runs a statement of QueryKeyed that returns the earliest due time of a queue and the epoch of the clock. It
// returns zero if nothing is due.
func (db *DB) NextDue(ctx context.Context, statement Statement) (time.Time, error) {
	var next time.Time
	var epoch int64
	if err := db.QueryKeyed(ctx, statement, func(rows *sql.Rows) error {
		return rows.Scan(OrZero(&next), &epoch)
	}); err != nil {
		return time.Time{}, fmt.Errorf("finding the earliest due time: %w", err)
	}
	return next, db.CheckEpoch(ctx, epoch)
}

// measureClock returns how far the database's clock is ahead of this machine's. It uses a fast round trip, or the
// fastest of three. The transaction waits for its connection before these.
func (db *DB) measureClock(ctx context.Context) (off time.Duration, err error) {
	best := time.Hour
	err = db.InTx(ctx, func(tx bun.Conn) error {
		for n := 0; n < 3 && best >= driftTolerance; n++ {
			var dbTime time.Time
			before := db.clock.Now()
			if err := tx.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&dbTime); err != nil {
				return err
			}
			if trip := db.clock.Now().Sub(before); trip < best {
				best, off = trip, dbTime.Sub(before.Add(trip/2))
			}
		}
		return nil
	})
	if err == nil && best/2 >= minStep {
		err = fmt.Errorf("a round trip takes %s", best)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the database's clock: %w", err)
	}
	return off, nil
}

// applyStep moves the due times, unless another replica has done so or only this machine was paused.
func (db *DB) applyStep(ctx context.Context, off time.Duration) error {
	known := db.time.epoch.Load()
	wasSet := off.Abs() > minStep && known != 0
	var epoch int64
	if !wasSet && time.Since(db.time.steppedBackAt) >= staleClockPeriod {
		read := queries.With("read_clock", Args{"follows": known != 0, "now": db.clock.Now()})
		if err := db.bun.QueryRowContext(ctx, read).Scan(&epoch); err != nil {
			return fmt.Errorf("reading the clock epoch: %w", err)
		}
		db.time.epoch.Store(epoch)
		return nil
	}
	err := db.InTx(ctx, func(tx bun.Conn) error {
		var paused bool // another replica has read a later time, and the clock was not set
		if err := tx.QueryRowContext(ctx, `SELECT epoch, coalesce(read_at > ?, false) FROM clock_epoch FOR UPDATE`,
			db.clock.Now().Add(minStep)).Scan(&epoch, &paused); err != nil {
			return fmt.Errorf("reading the clock epoch: %w", err)
		}
		from := db.clock.Now() // the earlier of the old and the new time
		var err error
		switch {
		case wasSet && epoch == known && off > 0 && paused:
			db.log.Warn("this machine was paused", "for", off)
		case wasSet && epoch == known:
			db.log.Warn("clock of the database was set", "by", off)
			epoch++
			if err = shiftDueTimes(ctx, tx, off, from, from); err == nil {
				_, err = tx.ExecContext(ctx, queries.With("count_step", nil))
			}
		case time.Since(db.time.steppedBackAt) < staleClockPeriod:
			err = shiftDueTimes(ctx, tx, db.time.stepBack, from.Add(longestWait), from.Add(longestDeadline))
		}
		if err != nil {
			return fmt.Errorf("adjusting to the database's clock: %w", err)
		}
		return nil
	})
	if err == nil { // not before the commit: until then, due times are of the old epoch
		db.time.epoch.Store(epoch)
	}
	return err
}

// shiftDueTimes moves due times by off: those of deliveries, jobs and calls after from, deadlines and polls after
// deadlines.
func shiftDueTimes(ctx context.Context, tx bun.Conn, off time.Duration, from, deadlines time.Time) error {
	args := func(from time.Time) Args { return Args{"from": from, "microseconds": off.Microseconds()} }
	part := func(from time.Time, late bool) Args {
		a := args(from)
		a["late"] = late
		return a
	}
	for _, statement := range []string{
		queries.With("move_deliveries", args(from)),
		queries.With("move_calls", part(from, false)),
		queries.With("move_calls", part(deadlines, true)),
		queries.With("move_publications", part(from, false)),
		queries.With("move_publications", part(deadlines, true)),
		queries.With("move_outcomes", args(deadlines)),
		queries.With("move_tasks", args(deadlines)),
		queries.With("move_jobs", args(from)),
		queries.With("move_probes", args(from)),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// ClockOffset returns how far the database's clock is ahead of this machine's.
func (db *DB) ClockOffset() time.Duration { return time.Duration(db.time.offset.Load()) }
