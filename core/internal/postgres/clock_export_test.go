package postgres

import (
	"context"
	"time"
)

// Start does what Open does once it has its pools.
func (db *DB) Start(ctx context.Context) error {
	db.config.Clock = nil
	return db.waitUntilReady(ctx)
}

// ChangeClock changes each time that the database returns.
func (db *DB) ChangeClock(change func(time.Time) time.Time) { db.time.read = change }

// StepClock makes the database's clock appear set forward by the given time.
func (db *DB) StepClock(by time.Duration) {
	db.ChangeClock(func(dbTime time.Time) time.Time { return dbTime.Add(by) })
}

// ResetClock gives the replica the state from before the database's clock was set.
func (db *DB) ResetClock() {
	db.time.offset.Store(0)
	db.time.epoch.Store(1)
}
