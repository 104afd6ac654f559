package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/access"
)

// SessionUser reads a session with its user.
func (c Console) SessionUser(ctx context.Context, hash []byte) (access.Session, access.User, error) {
	var row struct {
		userRow
		Begun time.Time `bun:"begun"`
		Used  time.Time `bun:"used"`
	}
	err := c.bun.NewRaw(`SELECT `+userColumns+`, s.created_at AS begun, s.seen_at AS used
		FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.token_hash = ?`, hash).Scan(ctx, &row)
	if err != nil {
		return access.Session{}, access.User{}, notFound(err, "there is no such session")
	}
	return access.Session{Hash: hash, User: row.ID, CreatedAt: row.Begun, SeenAt: row.Used}, row.user(), nil
}

// StartSession stores a session in place of another. Those that are past their
// life are forgotten on the way.
func (c Console) StartSession(ctx context.Context, session access.Session, instead []byte, change access.Change) error {
	return c.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE token_hash = ? OR user_id = ? AND (created_at < ? OR seen_at < ?)`,
			instead, session.User, session.CreatedAt.Add(-access.SessionLife), session.SeenAt.Add(-access.SessionIdle)); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (token_hash, user_id, created_at, seen_at) VALUES (?, ?, ?, ?)`,
			session.Hash, session.User, session.CreatedAt, session.SeenAt); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE users SET seen_at = ? WHERE id = ?`, session.SeenAt, session.User); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		return c.record(ctx, tx, change)
	})
}

// TouchSession notes that a session and its user are there.
func (c Console) TouchSession(ctx context.Context, hash []byte, user int64, now time.Time) error {
	_, err := c.bun.ExecContext(ctx, `WITH s AS (UPDATE sessions SET seen_at = ?0 WHERE token_hash = ?1)
		UPDATE users SET seen_at = ?0 WHERE id = ?2`, now, hash, user)
	return err
}

// EndSession ends a session.
func (c Console) EndSession(ctx context.Context, hash []byte) error {
	_, err := c.bun.ExecContext(ctx, `DELETE FROM sessions WHERE token_hash = ?`, hash)
	return err
}

// EndSessions ends the sessions of a user but one.
func (c Console) EndSessions(ctx context.Context, user int64, keep []byte) error {
	if keep == nil {
		keep = []byte{}
	}
	_, err := c.bun.ExecContext(ctx, `DELETE FROM sessions WHERE user_id = ? AND token_hash <> ?`, user, keep)
	return err
}

// CreateLink stores a one-time link; those that have expired are forgotten.
func (c Console) CreateLink(ctx context.Context, hash []byte, user int64, expires time.Time) error {
	_, err := c.bun.ExecContext(ctx, `WITH old AS (DELETE FROM sign_in_links WHERE expires_at < ?)
		INSERT INTO sign_in_links (token_hash, user_id, expires_at) VALUES (?, ?, ?)`, c.clock.Now(), hash, user, expires)
	return err
}

// LinkUser reads the user of a link, and takes the link away if told to.
func (c Console) LinkUser(ctx context.Context, hash []byte, now time.Time, take bool) (access.User, error) {
	links := `SELECT user_id FROM sign_in_links WHERE token_hash = ? AND expires_at > ?`
	if take {
		links = `DELETE FROM sign_in_links WHERE token_hash = ? AND expires_at > ? RETURNING user_id`
	}
	var row userRow
	err := c.bun.NewRaw(`WITH link AS (`+links+`) SELECT `+userColumns+` FROM users u JOIN link ON link.user_id = u.id`, hash, now).Scan(ctx, &row)
	return row.user(), notFound(err, "there is no such link")
}

// CountAttempt notes an attempt to sign in for each subject and counts theirs.
func (c Console) CountAttempt(ctx context.Context, subjects []string, now, since time.Time) ([]int, error) {
	counts := make([]int, len(subjects))
	err := c.inTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE at < ?`, since); err != nil {
			return fmt.Errorf("counting sign-ins: %w", err)
		}
		for i, subject := range subjects {
			if _, err := tx.ExecContext(ctx, `INSERT INTO sign_in_attempts (subject, at) VALUES (?, ?)`, subject, now); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sign_in_attempts WHERE subject = ?`, subject).Scan(&counts[i]); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
		}
		return nil
	})
	return counts, err
}

// ForgetAttempts forgets the attempts of a subject, who has signed in.
func (c Console) ForgetAttempts(ctx context.Context, subject string) error {
	_, err := c.bun.ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE subject = ?`, subject)
	return err
}
