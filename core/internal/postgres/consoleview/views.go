package consoleview

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
)

// SavedViews returns the views of a list that a user sees: first the own, then those that others share, each by name.
func (c Store) SavedViews(ctx context.Context, business core.BusinessID, user int64,
	list string) ([]console.SavedView, error) {
	return postgres.Collect(ctx, c.db.Tenant(business), "reading saved views", func(v *console.SavedView) []any {
		return []any{&v.Business, &v.ID, &v.User, &v.Owner, &v.List, &v.Name, &v.Filters, &v.Shared, &v.At}
	}, bun.SafeQuery(`SELECT business_id, id, user_id, owner, list, name, filters, shared, created_at
		FROM saved_views WHERE business_id = ?0 AND list = ?1 AND (user_id = ?2 OR shared)
		ORDER BY user_id = ?2 DESC, name, id LIMIT ?3`, business, list, user, 2*console.MaxViews))
}

// SaveView stores a view and returns its id. A shared view needs the role Support, and is recorded in the audit trail.
// SaveView returns Conflict if the user has a view of that name, or if there are too many.
func (c Store) SaveView(ctx context.Context, view console.SavedView, change access.Change) (id int64, err error) {
	if err := view.Check(); err != nil {
		return 0, err
	}
	err = c.db.InTx(ctx, func(tx bun.Conn) error {
		if view.Owner, err = checkUser(ctx, tx, view); err != nil {
			return err
		}
		if err := checkCapacity(ctx, tx, view); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx,
			`INSERT INTO saved_views (business_id, user_id, owner, list, name, filters, shared, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, view.Business, view.User, view.Owner, view.List, view.Name,
			view.Filters, view.Shared, c.db.Clock().Now()).Scan(&id); err != nil {
			return fmt.Errorf("storing a view: %w", err)
		}
		if !view.Shared {
			return nil
		}
		change.Object, change.After = console.ViewObject(id), auditFields(view)
		return audit.Record(ctx, c.db, tx, change)
	})
	return id, err
}

// DeleteView deletes a view by its Business, List and ID, for the user in User. If Shared is set, it deletes a shared
// view of any user: this needs the role Support, and is recorded in the audit trail. Otherwise it deletes an own view
// that is not shared. It returns NotFound if there is none.
func (c Store) DeleteView(ctx context.Context, view console.SavedView, change access.Change) error {
	return c.db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := checkUser(ctx, tx, view); err != nil {
			return err
		}
		deleted := view
		if err := tx.QueryRowContext(ctx, `DELETE FROM saved_views WHERE business_id = ?0 AND id = ?1 AND list = ?2
			AND shared = ?3 AND (shared OR user_id = ?4) RETURNING name, filters`,
			view.Business, view.ID, view.List, view.Shared, view.User).
			Scan(&deleted.Name, &deleted.Filters); err != nil {
			return postgres.NotFound(err, "there is no such view")
		}
		if !view.Shared {
			return nil
		}
		change.Object, change.Before = console.ViewObject(view.ID), auditFields(deleted)
		return audit.Record(ctx, c.db, tx, change)
	})
}

// auditFields returns the fields of a view for the audit trail.
func auditFields(v console.SavedView) map[string]any {
	return map[string]any{"list": v.List, "name": v.Name, "filters": v.Filters}
}

// checkUser returns the email address of the user of a view. It returns Forbidden unless the user may see the business,
// and may act in it if the view is shared.
func checkUser(ctx context.Context, tx bun.Conn, view console.SavedView) (email string, err error) {
	var role access.Role
	err = tx.QueryRowContext(ctx, `SELECT role, email FROM users u WHERE id = ?0 AND disabled_at IS NULL AND (role = ?1
		OR EXISTS (SELECT FROM user_grants g WHERE g.user_id = u.id AND g.business_id = ?2)) FOR SHARE`,
		view.User, access.Admin, view.Business).Scan(&role, &email)
	if err = postgres.NotFound(err, "there is no such user"); err != nil && core.CodeOf(err) != core.NotFound {
		return "", err
	}
	if err != nil || view.Shared && !role.AtLeast(access.Support) {
		return "", core.Errorf(core.Forbidden, "this user may not change these views")
	}
	return email, nil
}

// checkCapacity returns Conflict if there are too many views, or if the name is taken. It locks the views of the
// business.
func checkCapacity(ctx context.Context, tx bun.Conn, view console.SavedView) error {
	if _, err := tx.ExecContext(ctx,
		`SELECT pg_advisory_xact_lock(hashtextextended('servery saved views ' || ?, 0))`, view.Business); err != nil {
		return fmt.Errorf("locking the views of a business: %w", err)
	}
	var own, shared, same int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE user_id = ?0), count(*) FILTER (WHERE shared),
			count(*) FILTER (WHERE user_id = ?0 AND name = ?1)
		FROM saved_views WHERE business_id = ?2 AND list = ?3`,
		view.User, view.Name, view.Business, view.List).Scan(&own, &shared, &same); err != nil {
		return fmt.Errorf("counting views: %w", err)
	}
	switch {
	case same > 0:
		return core.Errorf(core.Conflict, "you already have a view of this name: delete it first")
	case own >= console.MaxViews:
		return core.Errorf(core.Conflict, "you already have %d views of this list: delete one first",
			console.MaxViews)
	case view.Shared && shared >= console.MaxViews:
		return core.Errorf(core.Conflict, "there are already %d shared views of this list: delete one first",
			console.MaxViews)
	}
	return nil
}
