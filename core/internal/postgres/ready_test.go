package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unreachable fails with its cause once, then until the deadline.
type unreachable struct {
	cause    error
	attempts int
}

func (u *unreachable) Connect(ctx context.Context) (driver.Conn, error) {
	switch u.attempts++; u.attempts {
	case 1:
		return nil, u.cause
	case 2, 3: // the pool retries twice
	default:
		<-ctx.Done()
	}
	return nil, driver.ErrBadConn // as pgdriver does in the middle of an authentication
}

func (u *unreachable) Driver() driver.Driver { return nil }

func TestDeadlineKeepsTheCauseOfFailedConnections(t *testing.T) {
	cause := errors.New("the server is read-only")
	pool := newPool(&unreachable{cause: cause}, 1)
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	db := &DB{bun: pool, log: slog.New(slog.DiscardHandler)}
	require.ErrorIs(t, db.waitUntilReady(ctx), cause)
}
