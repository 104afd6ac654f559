package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// Listen calls the function of a channel for each notification, until the context ends. It also calls each function
// with "" after every connect, because notifications are lost while the connection is down.
func (db *DB) Listen(ctx context.Context, channels map[string]func(payload string)) {
	for ctx.Err() == nil {
		if err := db.listenOnce(ctx, channels); err != nil && ctx.Err() == nil {
			db.log.Warn("LISTEN connection lost", "error", err)
		}
		_ = Pause(ctx, time.Second)
	}
}

// Notify wakes the workers of all replicas for a queue when the transaction commits.
func Notify(ctx context.Context, tx bun.IDB, channel string) error {
	return Exec(ctx, tx, "waking workers", `SELECT pg_notify(?, '')`, channel)
}

// silentTime is how long a connection without notifications is used. TCP notices earlier that a server is gone.
const silentTime = 10 * time.Minute

// confirmTime is how long a connection waits for the first notification, before it asks for another.
const confirmTime = 100 * time.Millisecond

func (db *DB) listenOnce(ctx context.Context, channels map[string]func(payload string)) error {
	listener := pgdriver.NewListener(db.bun)
	defer listener.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() }) // the driver's read ignores the context
	defer stop()
	beginning, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	confirmed := "servery_listening_" + rand.Text()
	if err := listener.Listen(beginning, append(slices.Sorted(maps.Keys(channels)), confirmed)...); err != nil {
		return err
	}
	receive := func(within time.Duration) (channel string, silent bool, err error) {
		channel, payload, err := listener.ReceiveTimeout(ctx, within)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return "", true, nil
		}
		if call := channels[channel]; call != nil && err == nil {
			call(payload)
		}
		return channel, false, err
	}
	// The driver does not wait until the server has processed LISTEN.
	for channel := ""; channel != confirmed; {
		err := pgdriver.Notify(beginning, db.bun, confirmed, "")
		if err == nil {
			channel, _, err = receive(confirmTime)
		}
		if err != nil {
			return err
		}
	}
	for _, call := range channels {
		call("")
	}
	for {
		if _, silent, err := receive(silentTime); err != nil || silent {
			return err // reconnect after a silence, in case the server is gone
		}
	}
}

// Pause waits for d or until the context ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
