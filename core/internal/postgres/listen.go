package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// Listen calls the functions when work has been queued by any replica, until
// the context ends. It connects again by itself; what is missed meanwhile is
// found by polling.
func (db *DB) Listen(ctx context.Context, jobs, deliveries, calls, publications func()) {
	for ctx.Err() == nil {
		if err := db.listenOnce(ctx, jobs, deliveries, calls, publications); err != nil && ctx.Err() == nil {
			db.log.Warn("listening for work broke off; connecting again", "error", err)
		}
		_ = pause(ctx, time.Second)
	}
}

// notify has the workers of all replicas look at a queue when the transaction has committed.
func notify(ctx context.Context, tx bun.IDB, channel string) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_notify(?, '')`, channel); err != nil {
		return fmt.Errorf("waking workers: %w", err)
	}
	return nil
}

// look has this replica look at its queue of deliveries.
func (db *DB) look() {
	if db.starter != nil {
		db.starter.Wake()
	}
}

func (db *DB) listenOnce(ctx context.Context, jobs, deliveries, calls, publications func()) error {
	listener := pgdriver.NewListener(db.bun)
	defer listener.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() }) // the driver's read does not end with the context
	defer stop()
	beginning, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := listener.Listen(beginning, jobsChannel, deliveriesChannel, callsChannel, publicationsChannel); err != nil {
		return err
	}
	jobs()
	deliveries()
	calls()
	publications()
	for {
		channel, about, err := listener.ReceiveTimeout(ctx, time.Minute)
		var silence net.Error
		if errors.As(err, &silence) && silence.Timeout() {
			return nil // a quiet minute: connect again, in case nobody is there any more
		}
		if err != nil {
			return err
		}
		switch channel {
		case jobsChannel:
			jobs()
		case deliveriesChannel:
			db.recalled(about)
			deliveries()
		case callsChannel:
			calls()
		case publicationsChannel:
			publications()
		}
	}
}
