package postgres

import (
	"context"
	"time"
)

// StepClock makes the database's clock appear set forward by the given time.
func (db *DB) StepClock(by time.Duration) {
	db.time.read = func(ctx context.Context) (dbTime time.Time, err error) {
		err = db.bun.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&dbTime)
		return dbTime.Add(by), err
	}
}

// ResetClock gives the replica the state from before the database's clock was set.
func (db *DB) ResetClock() {
	db.time.offset.Store(0)
	db.time.epoch.Store(1)
}
