package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// databaseClock is what a replica knows of the database's clock.
type databaseClock struct {
	setting sync.Mutex    // held while the clock is followed
	offset  atomic.Int64  // nanoseconds that it is ahead of this machine's
	epoch   atomic.Int64  // how often it had been set when last looked at; 0 before
	back    time.Duration // by which it was last set back, at backAt of this machine
	backAt  time.Time
	read    func(context.Context) (time.Time, error) // instead of the database, for tests
}

// Clock is the time by which everything is stored: the database's, so that
// replicas agree whatever their machines say.
func (db *DB) Clock() core.Clock { return db.clock }

// A difference below drift is noise; one above leap is no drift: somebody set
// the database's clock.
const (
	drift = 5 * time.Millisecond
	leap  = time.Second
)

// After a step back replicas may store things by the former time, which is to come
// again: those that have not looked at the clock yet, and whoever had read it just before.
// What is due later than anything waits, the last retry of a delivery being due after
// 16 minutes, is moved too for a while.
const (
	longestWait  = 20 * time.Minute
	afterthought = 5 * time.Minute
)

// deadlocksMost is how often following the clock is begun again where others hold
// rows crosswise.
const deadlocksMost = 5

// SetClock follows the database's clock. Call it at the start and now and then:
// clocks drift. Where the clock was set, by hand or after a failover, all that
// waits for a time is moved along, so that nothing comes early or late by the leap.
func (db *DB) SetClock(ctx context.Context) error {
	db.time.setting.Lock()
	defer db.time.setting.Unlock()
	off, err := db.measureClock(ctx)
	if err != nil {
		return err
	}
	if off.Abs() <= drift {
		off = 0
	}
	switch {
	case off < -leap:
		db.time.back, db.time.backAt = off, time.Now()
	case off > leap:
		db.time.backAt = time.Time{}
	}
	// Of clock and queues, that goes first which makes things late and not early meanwhile.
	back := min(off, 0)
	db.time.offset.Add(int64(back))
	err = db.followClock(ctx, off)
	for n := 0; n < deadlocksMost && isCode(err, "40P01"); n++ { // it locks whole queues, others single rows of them: who was in the way has gone on
		err = db.followClock(ctx, off)
	}
	if err != nil {
		db.time.offset.Add(-int64(back))
		return err
	}
	db.time.offset.Add(int64(off - back))
	return nil
}

// unset holds while the clock has not been set since reading, whose epoch stands
// before it (0: this replica does not follow the clock). What waits may have been
// moved along meanwhile, by this replica or by another, and would be found due too
// early by the former time.
const unset = ` IN (0, (SELECT epoch FROM clock_epoch))`

// reading is the present instant for a claim, and how often the clock had been
// set by then. The epoch is read first: SetClock stores it after the clock has gone back.
func (db *DB) reading() (now time.Time, epoch int64) {
	epoch = db.time.epoch.Load()
	return db.clock.Now(), epoch
}

// follow sets the clock where another replica has found it set: epoch is how
// often that was done.
func (db *DB) follow(ctx context.Context, epoch int64) error {
	if known := db.time.epoch.Load(); known == 0 || known == epoch {
		return nil
	}
	return db.SetClock(ctx)
}

// measureClock tells how far the database's clock is ahead of ours, by the
// quickest of three answers.
func (db *DB) measureClock(ctx context.Context) (off time.Duration, err error) {
	read := db.time.read
	if read == nil {
		read = func(ctx context.Context) (there time.Time, err error) {
			err = db.bun.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there)
			return there, err
		}
	}
	best := time.Hour
	for range 3 {
		before := db.clock.Now()
		there, err := read(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the database's clock: %w", err)
		}
		if trip := db.clock.Now().Sub(before); trip < best {
			best, off = trip, there.Sub(before.Add(trip/2))
		}
	}
	return off, nil
}

// followClock moves what waits when the clock was set, unless another replica
// has done so since this one last looked.
func (db *DB) followClock(ctx context.Context, off time.Duration) error {
	known := db.time.epoch.Load()
	wasSet, lock := off.Abs() > leap && known != 0, ""
	if wasSet {
		lock = " FOR UPDATE"
	}
	var epoch int64
	err := db.inTx(ctx, func(tx bun.Conn) error {
		if err := tx.QueryRowContext(ctx, `SELECT epoch FROM clock_epoch`+lock).Scan(&epoch); err != nil {
			return fmt.Errorf("reading how often the clock was set: %w", err)
		}
		from := db.clock.Now() // the earlier of before and after
		var err error
		switch {
		case wasSet && epoch == known:
			db.log.Warn("the database's clock was set; what waits is moved along", "by", off)
			epoch++
			if err = moveQueues(ctx, tx, from, off); err == nil {
				_, err = tx.ExecContext(ctx, `UPDATE clock_epoch SET epoch = epoch + 1; DELETE FROM throttles`) // counting starts anew
			}
		case time.Since(db.time.backAt) < afterthought:
			err = moveQueues(ctx, tx, from.Add(longestWait), db.time.back)
		}
		if err != nil {
			return fmt.Errorf("following the database's clock: %w", err)
		}
		return nil
	})
	if err == nil { // not before: what was not committed has still to be moved
		db.time.epoch.Store(epoch)
	}
	return err
}

// moveQueues moves along what waits for a time after an instant.
func moveQueues(ctx context.Context, tx bun.Conn, from time.Time, off time.Duration) error {
	for _, statement := range []string{
		`UPDATE delivery_queue SET due_at = CASE WHEN due_at > ?0 THEN due_at + ?1 * interval '1 microsecond' ELSE due_at END,
			available_at = CASE WHEN available_at > ?0 THEN available_at + ?1 * interval '1 microsecond' ELSE available_at END
			WHERE due_at > ?0 OR available_at > ?0`,
		`UPDATE call_lines SET due_at = CASE WHEN due_at > ?0 THEN due_at + ?1 * interval '1 microsecond' ELSE due_at END,
			available_at = CASE WHEN available_at > ?0 THEN available_at + ?1 * interval '1 microsecond' ELSE available_at END,
			seen_at = CASE WHEN seen_at > ?0 THEN seen_at + ?1 * interval '1 microsecond' ELSE seen_at END
			WHERE due_at > ?0 OR available_at > ?0 OR seen_at > ?0`,
		`UPDATE publications SET due_at = CASE WHEN due_at > ?0 THEN due_at + ?1 * interval '1 microsecond' ELSE due_at END,
			available_at = CASE WHEN available_at > ?0 THEN available_at + ?1 * interval '1 microsecond' ELSE available_at END,
			first_at = CASE WHEN first_at > ?0 THEN first_at + ?1 * interval '1 microsecond' ELSE first_at END
			WHERE due_at > ?0 OR available_at > ?0 AND available_at < 'infinity' OR first_at > ?0`,
		`UPDATE job_queue SET available_at = available_at + ?1 * interval '1 microsecond' WHERE available_at > ?0`,
		`UPDATE unwell_endpoints SET next_probe = next_probe + ?1 * interval '1 microsecond' WHERE next_probe > ?0`,
	} {
		if _, err := tx.ExecContext(ctx, statement, from, off.Microseconds()); err != nil {
			return err
		}
	}
	return nil
}
