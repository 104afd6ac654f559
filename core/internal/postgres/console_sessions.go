package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// SessionUser reads a session with its user.
func (c Console) SessionUser(ctx context.Context, hash []byte) (access.Session, access.User, error) {
	list, err := c.SessionUsers(ctx, [][]byte{hash})
	if err != nil {
		return access.Session{}, access.User{}, err
	}
	if len(list) == 0 {
		return access.Session{}, access.User{}, core.Errorf(core.NotFound, "there is no such session")
	}
	return list[0].Session, list[0].User, nil
}

// SessionUsers reads those of the sessions that there are, each with its user.
func (c Console) SessionUsers(ctx context.Context, hashes [][]byte) ([]access.SignedIn, error) {
	var rows []struct {
		userRow
		Hash  []byte    `bun:"token_hash"`
		Begun time.Time `bun:"begun"`
		Used  time.Time `bun:"used"`
	}
	err := c.bun.NewRaw(`SELECT `+userColumns+`, s.token_hash, s.created_at AS begun, s.seen_at AS used
		FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.token_hash IN (?)`, bun.List(hashes)).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading sessions: %w", err)
	}
	list := make([]access.SignedIn, len(rows))
	for i, row := range rows {
		list[i] = access.SignedIn{User: row.user(),
			Session: access.Session{Hash: row.Hash, User: row.ID, CreatedAt: row.Begun, SeenAt: row.Used}}
	}
	return list, nil
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

// EndSessions ends the sessions of a user but one, and the links.
func (c Console) EndSessions(ctx context.Context, user int64, keep []byte) error {
	if keep == nil {
		keep = []byte{}
	}
	_, err := c.bun.ExecContext(ctx, `WITH links AS (DELETE FROM sign_in_links WHERE user_id = ?0)
		DELETE FROM sessions WHERE user_id = ?0 AND token_hash <> ?1`, user, keep)
	return err
}

// CreateLink stores a one-time link in place of an earlier one of the user; those
// that have expired are forgotten.
func (c Console) CreateLink(ctx context.Context, hash []byte, user int64, expires time.Time) error {
	_, err := c.bun.ExecContext(ctx, `WITH old AS (DELETE FROM sign_in_links WHERE expires_at < ?0 OR user_id = ?2)
		INSERT INTO sign_in_links (token_hash, user_id, expires_at) VALUES (?1, ?2, ?3)`, c.clock.Now(), hash, user, expires)
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

// CountAttempt notes an attempt to sign in for each subject, where each may have
// another. Those of a subject are counted one after the other.
func (c Console) CountAttempt(ctx context.Context, subjects []access.Subject, now, since time.Time) (allowed bool, err error) {
	err = c.inTx(ctx, func(tx bun.Conn) error {
		allowed = true
		for _, subject := range subjects { // always in the same order: an account, an address
			var had int
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext(?))`, "sign-in/"+subject.Name); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sign_in_attempts WHERE subject = ? AND at >= ?`, subject.Name, since).Scan(&had); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
			allowed = allowed && had < subject.Most
		}
		if !allowed {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE at < ?`, since); err != nil {
			return fmt.Errorf("counting sign-ins: %w", err)
		}
		for _, subject := range subjects {
			if _, err := tx.ExecContext(ctx, `INSERT INTO sign_in_attempts (subject, at) VALUES (?, ?)`, subject.Name, now); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
		}
		return nil
	})
	return allowed, err
}

// ForgetAttempts forgets all attempts of a subject, and of an address the one of that moment.
func (c Console) ForgetAttempts(ctx context.Context, subject, address string, at time.Time) error {
	_, err := c.bun.ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE subject = ? OR subject = ? AND at = ?`, subject, address, at)
	return err
}
