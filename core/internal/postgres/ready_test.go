package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// unreachable fails with its cause once, then until it cancels the context of its caller.
type unreachable struct {
	cause    error
	cancel   context.CancelFunc
	attempts int
}

func (u *unreachable) Connect(ctx context.Context) (driver.Conn, error) {
	switch u.attempts++; u.attempts {
	case 1:
		return nil, u.cause
	case 2, 3: // the pool retries twice
	default:
		u.cancel()
		<-ctx.Done()
	}
	return nil, driver.ErrBadConn // as pgdriver does in the middle of an authentication
}

func (u *unreachable) Driver() driver.Driver { return nil }

func TestCancelKeepsTheCauseOfFailedConnections(t *testing.T) {
	cause := errors.New("the server is read-only")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pool := newPool(&unreachable{cause: cause, cancel: cancel}, 1)
	defer pool.Close()
	db := &DB{bun: pool, log: slog.New(slog.DiscardHandler)}
	require.ErrorIs(t, db.waitUntilReady(ctx), cause)
}
