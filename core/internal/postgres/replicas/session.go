package replicas

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
)

// Session is a connection that holds the lock of a replica. No other session ever has its key, so a lock that was once
// free stays free.
type Session struct {
	conn *pgdriver.Conn
	key  int64
	lost chan struct{}
}

// Open opens a session and takes its lock.
func (s Store) Open(ctx context.Context) (*Session, error) {
	conn, err := s.db.OpenSession(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the session of this replica: %w", err)
	}
	session := &Session{conn: conn, key: rand.Int64(), lost: make(chan struct{})}
	if _, err := session.exec(ctx, `SELECT pg_advisory_lock($1)`, session.key); err != nil {
		session.Close()
		return nil, fmt.Errorf("taking the lock of this replica: %w", err)
	}
	return session, nil
}

func (s *Session) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	result, err := s.conn.ExecContext(ctx, statement, values)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Register makes the session that of a replica, which has no other.
func (s *Session) Register(ctx context.Context, owner core.ID, now time.Time) error {
	_, err := s.exec(ctx, `INSERT INTO replicas (owner, session_key, started_at) VALUES ($1, $2, $3)
		ON CONFLICT (owner) DO UPDATE SET session_key = excluded.session_key, ended_at = NULL`,
		owner.String(), s.key, now)
	if err == nil {
		_, err = s.exec(ctx, `SELECT pg_notify($1, '')`, Channel)
	}
	if err != nil {
		return fmt.Errorf("registering this replica: %w", err)
	}
	return nil
}

// Retake makes the session that of a replica whose session was lost. It reports whether the replica has kept its
// leases.
func (s *Session) Retake(ctx context.Context, owner core.ID, lost *Session) (kept bool, err error) {
	n, err := s.exec(ctx, `UPDATE replicas SET session_key = $1
		WHERE owner = $2 AND session_key = $3 AND ended_at IS NULL`, s.key, owner.String(), lost.key)
	if err != nil {
		return false, fmt.Errorf("retaking the identity of this replica: %w", err)
	}
	return n > 0, nil
}

// Watch calls onLost as soon as the connection ends, and then closes the channel that Lost returns. The session takes
// no statements after it.
func (s *Session) Watch(onLost func()) {
	wire := s.conn.Conn()
	_ = wire.SetDeadline(time.Time{})
	go func() {
		defer close(s.lost)
		_, _ = io.Copy(io.Discard, wire) // the server sends notices at most
		onLost()
	}()
}

// Lost returns a channel that is closed when the session has ended.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Close ends the session.
func (s *Session) Close() { _ = s.conn.Close() }
