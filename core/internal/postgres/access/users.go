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

type userRow struct {
	ID         int64       `bun:"id"`
	Email      string      `bun:"email"`
	Role       access.Role `bun:"role"`
	Password   string      `bun:"password"`
	Businesses []int64     `bun:"businesses,array"`
	CreatedAt  time.Time   `bun:"created_at"`
	SeenAt     time.Time   `bun:"seen_at"`
	DisabledAt time.Time   `bun:"disabled_at"`
}

const userColumns = `u.id, u.email, u.role, u.password, u.created_at, u.seen_at, u.disabled_at,
	array(SELECT business_id FROM user_grants WHERE user_id = u.id ORDER BY business_id) AS businesses`

func (r userRow) user() access.User {
	user := access.User{ID: r.ID, Email: r.Email, Role: r.Role, Password: r.Password,
		CreatedAt: r.CreatedAt, SeenAt: r.SeenAt, DisabledAt: r.DisabledAt}
	for _, business := range r.Businesses {
		user.Businesses = append(user.Businesses, core.BusinessID(business))
	}
	return user
}

// UserByEmail returns the user with an email address.
func (a Store) UserByEmail(ctx context.Context, email string) (access.User, error) {
	var row userRow
	err := a.db.Bun().NewRaw(`SELECT `+userColumns+` FROM users u WHERE email = ?`, email).Scan(ctx, &row)
	return row.user(), postgres.NotFound(err, "there is no user with this address")
}

// ListUsers returns at most limit users whose email address sorts after the given one.
func (a Store) ListUsers(ctx context.Context, after string, limit int) ([]access.User, error) {
	var rows []userRow
	if err := a.db.Bun().NewRaw(`SELECT `+userColumns+` FROM users u WHERE email > ? ORDER BY email LIMIT ?`, after,
		limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading users: %w", err)
	}
	list := make([]access.User, len(rows))
	for i, row := range rows {
		list[i] = row.user()
	}
	return list, nil
}

// Supporters returns the email addresses of the users who may act in a business, in order.
func (a Store) Supporters(ctx context.Context, business core.BusinessID) ([]string, error) {
	return postgres.Collect(ctx, a.db.Bun(), "reading the supporters of a business", func(email *string) []any {
		return []any{email}
	}, bun.SafeQuery(`SELECT email FROM users u WHERE disabled_at IS NULL AND (role = ? OR role = ? AND EXISTS (
			SELECT FROM user_grants WHERE user_id = u.id AND business_id = ?))
		ORDER BY email LIMIT ?`, access.Admin, access.Support, business, maxSupporters))
}

// maxSupporters bounds the users that one can choose from.
const maxSupporters = 500

// UserByID returns a user.
func (a Store) UserByID(ctx context.Context, id int64) (access.User, error) {
	var row userRow
	err := a.db.Bun().NewRaw(`SELECT `+userColumns+` FROM users u WHERE id = ?`, id).Scan(ctx, &row)
	return row.user(), postgres.NotFound(err, "there is no such user")
}

// CreateUser stores a user with grants.
func (a Store) CreateUser(ctx context.Context, user access.User, change access.Change) (access.User, error) {
	err := a.db.InTx(ctx, func(tx bun.Conn) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO users (email, role, created_at) VALUES (?, ?, ?) RETURNING id`,
			user.Email, user.Role, user.CreatedAt).Scan(&user.ID)
		if postgres.IsCode(err, "23505") {
			return core.Errorf(core.Conflict, "a user with this e-mail address already exists")
		}
		if err != nil {
			return fmt.Errorf("storing the user: %w", err)
		}
		if err := storeGrants(ctx, tx, user); err != nil {
			return err
		}
		change.Object = userObject(user.ID)
		return audit.Record(ctx, a.db, tx, change)
	})
	return user, err
}

func userObject(id int64) string { return fmt.Sprintf("user/%d", id) }

func storeGrants(ctx context.Context, tx bun.Conn, user access.User) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM user_grants WHERE user_id = ?`, user.ID); err != nil {
		return fmt.Errorf("storing grants: %w", err)
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO user_grants (user_id, business_id) SELECT DISTINCT ?0::bigint, b FROM unnest(?1::bigint[]) AS b`,
		user.ID, postgres.Array(user.Businesses))
	if postgres.IsCode(err, "23503") {
		return core.Errorf(core.NotFound, "one of the businesses %v does not exist", user.Businesses)
	}
	return err
}

// ChangeUser stores the result of decide for a user.
func (a Store) ChangeUser(ctx context.Context, id int64, decide func(*access.User) (access.Change, error)) error {
	return a.db.InTx(ctx, func(tx bun.Conn) error {
		// The lock is a separate statement: one that waits for a lock reads the grants as they were before.
		if _, err := tx.ExecContext(ctx, `SELECT FROM users WHERE id = ? FOR UPDATE`, id); err != nil {
			return fmt.Errorf("locking the user: %w", err)
		}
		var row userRow
		if err := tx.NewRaw(`SELECT `+userColumns+` FROM users u WHERE id = ?`, id).Scan(ctx, &row); err != nil {
			return postgres.NotFound(err, "there is no such user")
		}
		user := row.user()
		change, err := decide(&user)
		if err != nil || change.Action == "" {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE users SET role = ?, password = ?, disabled_at = ? WHERE id = ?`,
			user.Role, user.Password, postgres.NullTime(user.DisabledAt), id); err != nil {
			return fmt.Errorf("storing the user: %w", err)
		}
		if err := storeGrants(ctx, tx, user); err != nil {
			return err
		}
		change.Object = userObject(id)
		return audit.Record(ctx, a.db, tx, change)
	})
}

// NewAccounts returns the accounts of the console's users.
func NewAccounts(db *postgres.DB) access.Accounts {
	s := New(db)
	return access.Accounts{Users: s, Sessions: s, Attempts: s, Clock: db.Clock()}
}
