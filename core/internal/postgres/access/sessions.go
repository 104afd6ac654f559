package access

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// SessionUser returns a session with its user.
func (a Store) SessionUser(ctx context.Context, hash []byte) (access.Session, access.User, error) {
	list, err := a.SessionUsers(ctx, [][]byte{hash})
	if err != nil {
		return access.Session{}, access.User{}, err
	}
	if len(list) == 0 {
		return access.Session{}, access.User{}, core.Errorf(core.NotFound, "there is no such session")
	}
	return list[0].Session, list[0].User, nil
}

// SessionUsers returns the sessions that exist, each with its user.
func (a Store) SessionUsers(ctx context.Context, hashes [][]byte) ([]access.UserSession, error) {
	var rows []struct {
		userRow
		Hash  []byte    `bun:"token_hash"`
		Begun time.Time `bun:"begun"`
		Used  time.Time `bun:"used"`
	}
	err := a.db.Bun().NewRaw(`SELECT `+userColumns+`, s.token_hash, s.created_at AS begun, s.seen_at AS used
		FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.token_hash IN (?)`, bun.List(hashes)).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading sessions: %w", err)
	}
	list := make([]access.UserSession, len(rows))
	for i, row := range rows {
		list[i] = access.UserSession{User: row.user(),
			Session: access.Session{Hash: row.Hash, User: row.ID, CreatedAt: row.Begun, SeenAt: row.Used}}
	}
	return list, nil
}

// StartSession stores a session that replaces another. It also deletes the user's expired
// sessions, and the least recently used ones beyond access.MaxSessions.
func (a Store) StartSession(ctx context.Context, session access.Session, instead []byte, change access.Change) error {
	return a.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, queries.With("end_old_sessions", postgres.Args{
			"replaced": instead, "user": session.User,
			"created_before": session.CreatedAt.Add(-access.SessionLifetime),
			"seen_before":    session.SeenAt.Add(-access.SessionIdleTimeout), "kept": access.MaxSessions - 1,
		})); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO sessions (token_hash, user_id, created_at, seen_at) VALUES (?, ?, ?, ?)`,
			session.Hash, session.User, session.CreatedAt, session.SeenAt); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE users SET seen_at = ? WHERE id = ?`, session.SeenAt,
			session.User); err != nil {
			return fmt.Errorf("starting a session: %w", err)
		}
		return audit.Record(ctx, a.db, tx, change)
	})
}

// TouchSession records that a session and its user are active.
func (a Store) TouchSession(ctx context.Context, hash []byte, user int64, now time.Time) error {
	_, err := a.db.Bun().ExecContext(ctx, `WITH s AS (UPDATE sessions SET seen_at = ?0 WHERE token_hash = ?1)
		UPDATE users SET seen_at = ?0 WHERE id = ?2`, now, hash, user)
	return err
}

// EndSession deletes a session.
func (a Store) EndSession(ctx context.Context, hash []byte) error {
	_, err := a.db.Bun().ExecContext(ctx, `DELETE FROM sessions WHERE token_hash = ?`, hash)
	return err
}

// EndSessions deletes the sessions of a user except keep, and the sign-in links.
func (a Store) EndSessions(ctx context.Context, user int64, keep []byte) error {
	if keep == nil {
		keep = []byte{}
	}
	_, err := a.db.Bun().ExecContext(ctx, `WITH links AS (DELETE FROM sign_in_links WHERE user_id = ?0)
		DELETE FROM sessions WHERE user_id = ?0 AND token_hash <> ?1`, user, keep)
	return err
}

// CreateLink stores a one-time link that replaces an earlier one of the user. It also
// deletes expired links.
func (a Store) CreateLink(ctx context.Context, hash []byte, user int64, expires time.Time) error {
	_, err := a.db.Bun().ExecContext(ctx, `WITH old AS (DELETE FROM sign_in_links WHERE expires_at < ?0 OR user_id = ?2)
		INSERT INTO sign_in_links (token_hash, user_id, expires_at) VALUES (?1, ?2, ?3)`, a.db.Clock().Now(), hash,
		user, expires)
	return err
}

// LinkUser returns the user of a link, and deletes the link if take is set.
func (a Store) LinkUser(ctx context.Context, hash []byte, now time.Time, take bool) (access.User, error) {
	links := `SELECT user_id FROM sign_in_links WHERE token_hash = ? AND expires_at > ?`
	if take {
		links = `DELETE FROM sign_in_links WHERE token_hash = ? AND expires_at > ? RETURNING user_id`
	}
	var row userRow
	err := a.db.Bun().NewRaw(`WITH link AS (`+links+`) SELECT `+userColumns+
		` FROM users u JOIN link ON link.user_id = u.id`, hash, now).Scan(ctx, &row)
	return row.user(), postgres.NotFound(err, "there is no such link")
}

// CountAttempt records a sign-in attempt for each subject, if none has reached its limit. A lock
// per subject serializes the counts.
func (a Store) CountAttempt(ctx context.Context, subjects []access.Subject, now,
	since time.Time) (allowed bool, err error) {
	err = a.db.InTx(ctx, func(tx bun.Conn) error {
		allowed = true
		for _, subject := range subjects { // always in the same order: account, then address
			var had int
			if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext(?))`,
				"sign-in/"+subject.Name); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sign_in_attempts WHERE subject = ? AND at >= ?`,
				subject.Name, since).Scan(&had); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
			allowed = allowed && had < subject.Limit
		}
		if !allowed {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE at < ?`, since); err != nil {
			return fmt.Errorf("counting sign-ins: %w", err)
		}
		for _, subject := range subjects {
			if _, err := tx.ExecContext(ctx, `INSERT INTO sign_in_attempts (subject, at) VALUES (?, ?)`, subject.Name,
				now); err != nil {
				return fmt.Errorf("counting sign-ins: %w", err)
			}
		}
		return nil
	})
	return allowed, err
}

// ForgetAttempts deletes all attempts of a subject, and the attempt of an address at the given
// time.
func (a Store) ForgetAttempts(ctx context.Context, subject, address string, at time.Time) error {
	_, err := a.db.Bun().ExecContext(ctx, `DELETE FROM sign_in_attempts WHERE subject = ? OR subject = ? AND at = ?`,
		subject, address, at)
	return err
}
