package menus

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// FirstNames returns the first few distinct ref_ids that revisions changed.
func (m Store) FirstNames(ctx context.Context, business core.BusinessID, ids []core.ID) (map[core.ID][]string, error) {
	type row struct {
		id   core.ID
		name string
	}
	rows, err := postgres.Collect(ctx, m.db.Tenant(business), "reading the changes of revisions", func(r *row) []any {
		return []any{&r.id, &r.name}
	}, bun.SafeQuery(queries.With("first_names", postgres.Args{
		"business": business, "revisions": postgres.Array(ids), "parts": revisions.NamedParts,
		"ids": revisions.NamedIDs, "owners": postgres.Array(revisions.Owners()),
	})))
	names := map[core.ID][]string{}
	for _, r := range rows {
		if !slices.Contains(names[r.id], r.name) {
			names[r.id] = append(names[r.id], r.name)
		}
	}
	return names, err
}

// PreviewRollback counts what a rollback to a revision would change now. It returns NotFound if
// there is no such revision.
func (m Store) PreviewRollback(ctx context.Context, business core.BusinessID,
	to core.ID) (u menu.RollbackPreview, err error) {
	if _, err := m.Revision(ctx, business, to); err != nil {
		return u, err
	}
	rows, err := m.db.Tenant(business).QueryContext(ctx, queries.With("changed_since", postgres.Args{
		"business": business, "revision": to, "owners": postgres.Array(revisions.Owners()),
		"timing": int(revisions.TimingKind), "names": menu.RollbackNames,
	}))
	if err != nil {
		return u, fmt.Errorf("counting changes after a revision: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind *menu.Kind
		var objects int
		var names []string
		if err := rows.Scan(&u.Latest, &kind, &objects, pgdialect.Array(&names)); err != nil {
			return u, fmt.Errorf("counting changes after a revision: %w", err)
		}
		switch {
		case kind == nil:
		case *kind == revisions.TimingKind:
			u.Timings = objects
		default:
			u.Objects[*kind], u.Names[*kind] = objects, names
		}
	}
	return u, rows.Err()
}

// RollBack restores the menu as it was right after a revision (menu.RollbackStorage).
func (m Store) RollBack(ctx context.Context, work core.Job, to core.ID,
	finish func(menu.RollbackResult) (menu.IngestResult, error)) error {
	return jobs.Run(ctx, m.db, work, func(tx bun.Conn, box *outbox.Outbox) error {
		if err := lockMenu(ctx, tx, work.Business); err != nil {
			return err
		}
		revision, err := revisions.Begin(ctx, m.db, tx)
		if err != nil {
			return err
		}
		undone, err := m.revert(ctx, tx, work, to)
		if err != nil {
			return err
		}
		if err := m.repeatLaterSwitches(ctx, tx, work); err != nil {
			return err
		}
		ingested, err := finish(undone)
		if err != nil {
			return err
		}
		if err := box.Publish(ctx, tx, *ingested.Event); err != nil {
			return err
		}
		revision.RollbackTo = &to
		if err := revision.End(ctx, m.db, tx, work); err != nil {
			return err
		}
		return jobs.Finish(ctx, m.db, tx, work,
			jobs.Ended{Failure: ingested.Failure, Result: ingested.Result, Event: ingested.Event.ID,
				Objects: undone.Count()})
	})
}

// revert reverts the changes after a revision. It deletes the rows that changed and restores the
// earlier ones. It also removes newer entities, with their ids, and newer timers.
func (m Store) revert(ctx context.Context, tx bun.Conn, work core.Job,
	to core.ID) (undone menu.RollbackResult, err error) {
	business := work.Business
	var from, until sql.NullInt64
	if err := tx.QueryRowContext(ctx,
		`SELECT (SELECT max(n) FROM revision_parts WHERE business_id = ?0 AND revision_id = ?1),
		(SELECT max(n) FROM revision_parts WHERE business_id = ?0)`, business, to).Scan(&from, &until); err != nil {
		return undone, fmt.Errorf("reading a revision: %w", err)
	}
	if !from.Valid {
		return undone, revisions.ErrNoRevision
	}
	if _, err := tx.ExecContext(ctx, queries.With("forget_timers", postgres.Args{
		"business": business, "revision": to, "first": core.FirstID(core.TimeOf(to).Add(time.Millisecond)),
		"accepted": work.CreatedAt,
	})); err != nil {
		return undone, fmt.Errorf("deleting timed availability changes: %w", err)
	}
	const since = `p.n > ?1 AND p.n <= ?2`
	var stores []int64
	if err :=
		tx.NewRaw(`SELECT DISTINCT store_id FROM revision_parts p WHERE p.business_id = ?0
			AND p.table_name = 'store_overrides'
			AND `+since+` ORDER BY store_id`,
			business, from.Int64, until.Int64).Scan(ctx, &stores); err != nil {
		return undone, fmt.Errorf("reading a revision: %w", err)
	}
	removed, restored, updated := map[revisions.Change]bool{}, map[revisions.Change]bool{}, map[revisions.Change]bool{}
	for _, t := range []revisions.VersionedTable{revisions.OverridesTable, revisions.LinksTable,
		revisions.EntitiesTable, revisions.TimingsTable} {
		earlier := t.EarlierRows(since)
		deleted, err := m.change(ctx, tx, t, t.Remove(earlier), business, from.Int64, until.Int64)
		if err != nil {
			return undone, err
		}
		written, err := m.change(ctx, tx, t, t.Restore(earlier, m.db.Clock().Now()), business, from.Int64, until.Int64)
		if err != nil {
			return undone, err
		}
		if t == revisions.EntitiesTable || t == revisions.TimingsTable {
			maps.Copy(removed, deleted)
			for change, existed := range written {
				restored[change] = !existed
			}
		} else {
			maps.Copy(updated, deleted)
		}
		maps.Copy(updated, written)
	}
	if len(removed)+len(updated) == 0 {
		return undone, nil
	}
	if err := renameAll(ctx, m.db, tx, business); err != nil {
		return undone, err
	}
	return revisions.RollbackStats(removed, restored, updated), m.republishAll(ctx, tx, work, stores)
}

// repeatLaterSwitches repeats the availability switches that were made after the rollback was accepted.
func (m Store) repeatLaterSwitches(ctx context.Context, tx bun.Conn, work core.Job) error {
	var later []struct {
		StoreID        int64    `bun:"store_id"`
		Available      bool     `bun:"available"`
		Items, Options []string `bun:",array"`
	}
	if err := tx.NewRaw(queries.With("later_switches", postgres.Args{
		"business": work.Business, "accepted": work.CreatedAt, "items": menu.Items, "options": menu.Options,
	})).Scan(ctx, &later); err != nil {
		return fmt.Errorf("reading availability changes: %w", err)
	}
	writer := MenuWriter{Ctx: ctx, Tx: tx, Business: work.Business, Now: m.db.Clock().Now()}
	for _, s := range later {
		loader := MenuLoader{Ctx: ctx, Tx: tx, Business: work.Business, Store: s.StoreID}
		change := menu.AvailabilityChange{Scope: menu.Scope{StoreID: s.StoreID}, Items: s.Items, Options: s.Options,
			Available: s.Available}
		state, err := loader.State(change.ReadSet())
		if err != nil {
			return err
		}
		plan, _, _ := change.Decide(state)
		if err := writer.Write(&plan); err != nil {
			return err
		}
	}
	return nil
}

// change runs a statement that changes rows of a table. It returns their owning entities, and whether their rows
// existed before.
func (m Store) change(ctx context.Context, tx bun.Conn, t revisions.VersionedTable, statement string,
	args ...any) (map[revisions.Change]bool, error) {
	rows, err := tx.QueryContext(ctx, statement+` SELECT `+t.Kind+`, `+t.ID+`, EXISTS (SELECT 1 FROM `+t.Name+
		` before WHERE before.business_id = ?0 AND (`+revisions.Qualified("before", t.Keys)+`) = (`+
		revisions.Qualified("changed", t.Keys)+`)) FROM changed`, args...)
	if err != nil {
		return nil, fmt.Errorf("rolling back to a revision: %w", err)
	}
	defer rows.Close()
	found := map[revisions.Change]bool{}
	for rows.Next() {
		var change revisions.Change
		var existed bool
		if err := rows.Scan(&change.Kind, &change.ID, &existed); err != nil {
			return nil, fmt.Errorf("rolling back to a revision: %w", err)
		}
		if t == revisions.LinksTable {
			change.Kind = menu.Relation(change.Kind).Owner()
		}
		found[change] = existed
	}
	return found, rows.Err()
}

// republishAll increases the menu versions, republishes all menus and rechecks all platforms.
func (m Store) republishAll(ctx context.Context, tx bun.Conn, work core.Job, stores []int64) error {
	writer := MenuWriter{Ctx: ctx, Tx: tx, Business: work.Business, Now: m.db.Clock().Now()}
	for _, store := range slices.Insert(stores, 0, 0) {
		if err := writer.incrementVersion(store); err != nil {
			return err
		}
	}
	if err := publications.PublishMenus(ctx, m.db, tx,
		publications.MenuChange{Job: work, Affected: menu.AffectedStores{All: true}}); err != nil {
		return err
	}
	var platforms []string
	if err := tx.NewRaw(`SELECT name FROM platforms WHERE business_id = ? AND served_by <> ? ORDER BY name`,
		work.Business, core.ServedByMerchant).Scan(ctx, &platforms); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	for _, platform := range platforms {
		if err := publications.Recheck(ctx, m.db, tx, work.Business, platform); err != nil {
			return err
		}
	}
	return nil
}
