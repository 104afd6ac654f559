package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// beginRevision has the database keep what the transaction changes of menus and
// stores, as they were before.
func (db *DB) beginRevision(ctx context.Context, tx bun.Conn) (id core.ID, err error) {
	id = core.NewID(db.clock.Now())
	if _, err = tx.ExecContext(ctx, `SELECT set_config('servery.revision', ?, true)`, id.String()); err != nil {
		err = fmt.Errorf("beginning a revision: %w", err)
	}
	return id, err
}

// endRevision keeps what the revision is, if anything was changed. undoes is nil
// where it is no rollback.
func (db *DB) endRevision(ctx context.Context, tx bun.Conn, work core.Job, id core.ID, undoes *core.ID) error {
	kind := string(work.Kind)
	if undoes != nil {
		kind = "rollback"
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO revisions (business_id, id, reference, kind, subject, actor, undoes, at)
		SELECT business_id, ?0, id, ?1, subject, actor, ?2, ?3 FROM jobs WHERE business_id = ?4 AND id = ?5
			AND EXISTS (SELECT 1 FROM revision_parts WHERE business_id = ?4 AND revision_id = ?0)`,
		id, kind, undoes, db.clock.Now(), work.Business, work.ID)
	if err != nil {
		return fmt.Errorf("keeping a revision: %w", err)
	}
	return nil
}

// keptTable is a table of which revisions are kept: what identifies its rows
// within a business, and the columns of kind and id of what they belong to. A timing
// group has an id of its title, since it is made anew under it.
type keptTable struct{ name, keys, kind, id string }

// timingKind is the kind of timing groups, beside those of menus.
const timingKind menu.Kind = -1

var (
	keptMasters = keptTable{"menu_masters", "kind, id", "kind", "id"}
	keptLinks   = keptTable{"menu_links", "relation, from_id, to_id", "relation", "from_id"}
	keptAtStore = keptTable{"menu_at_store", "store_id, kind, id", "kind", "id"}
	keptTimings = keptTable{"timing_groups", "title", "-1", "hashtextextended(title, 0)"}
	keptStores  = keptTable{"stores", "id", "-1", "id"}
)

// row is the type of what is kept of a row.
func (t keptTable) row() string {
	if t == keptTimings {
		return "kept_timing"
	}
	return t.name
}

// present is where rows stand as they are now, in the form in which they are kept.
func (t keptTable) present() string {
	if t == keptTimings {
		return `(SELECT g.business_id, g.title, g.day_slots, g.updated_at, ARRAY(SELECT c.category_id FROM timed_categories c
			WHERE c.business_id = g.business_id AND c.group_id = g.id ORDER BY c.category_id) AS category_ids FROM timing_groups g)`
	}
	return t.name
}

// undone is a query of the rows that parts p tell of, each as it was before the
// first of them. The condition narrows the parts.
func (t keptTable) undone(condition string) string {
	return `SELECT DISTINCT ON (` + t.keys + `) x.*, p.made, r AS row FROM revision_parts p
		CROSS JOIN LATERAL json_array_elements(p.rows) AS r CROSS JOIN LATERAL json_populate_record(NULL::` + t.row() + `, r) AS x
		WHERE p.business_id = ?0 AND p.tbl = '` + t.name + `' AND ` + condition + ` ORDER BY ` + t.keys + `, p.n`
}

// putBack is a statement, changed, that puts those of the undone rows there again
// that had been.
func (t keptTable) putBack(undone string) string {
	back := `WITH back AS (SELECT x.* FROM (` + undone + `) u CROSS JOIN LATERAL json_populate_record(NULL::` + t.row() + `, u.row) AS x WHERE NOT u.made), `
	if t == keptTimings {
		return back + `changed AS (INSERT INTO timing_groups (business_id, title, day_slots, updated_at) SELECT business_id, title, day_slots, updated_at FROM back RETURNING *),
			members AS (INSERT INTO timed_categories (business_id, group_id, category_id) SELECT g.business_id, g.id, unnest(b.category_ids) FROM changed g JOIN back b ON b.title = g.title)`
	}
	return back + `changed AS (INSERT INTO ` + t.name + ` SELECT * FROM back RETURNING *)`
}

// qualified is column names with a table's name before each.
func qualified(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// named is a row's entity.
type named struct {
	kind menu.Kind
	id   int64
}

// RollBack makes the menu what it was right after a revision (menu.Rollbacks).
func (m Menus) RollBack(ctx context.Context, work core.Job, to core.ID, finish func(menu.Undone) (menu.Ingested, error)) error {
	return m.tell(ctx, func(tx bun.Conn, box *outbox) error {
		if err := m.hold(ctx, tx, work); err != nil {
			return err
		}
		if err := lockMenu(ctx, tx, work.Business); err != nil {
			return err
		}
		id, err := m.beginRevision(ctx, tx)
		if err != nil {
			return err
		}
		undone, err := m.undo(ctx, tx, work, to)
		if err != nil {
			return err
		}
		ingested, err := finish(undone)
		if err != nil {
			return err
		}
		if err := box.publish(ctx, tx, *ingested.Event); err != nil {
			return err
		}
		if err := m.endRevision(ctx, tx, work, id, &to); err != nil {
			return err
		}
		return m.end(ctx, tx, work, jobEnd{failure: ingested.Failure, result: ingested.Result, event: ingested.Event.ID})
	})
}

var errNoRevision = core.Errorf(core.NotFound, "there is no revision with this id; revisions are kept as long as events")

// undo takes back what came after a revision: it removes the rows that were
// changed since, and puts those there that had been. Rows of entities that were
// made since go, and with them their ids; so do times to turn something on that
// were set since.
func (m Menus) undo(ctx context.Context, tx bun.Conn, work core.Job, to core.ID) (undone menu.Undone, err error) {
	business := work.Business
	var from, until sql.NullInt64
	if err := tx.QueryRowContext(ctx, `SELECT (SELECT max(n) FROM revision_parts WHERE business_id = ?0 AND revision_id = ?1),
		(SELECT max(n) FROM revision_parts WHERE business_id = ?0)`, business, to).Scan(&from, &until); err != nil {
		return undone, fmt.Errorf("reading a revision: %w", err)
	}
	if !from.Valid {
		return undone, errNoRevision
	}
	// Set since is what was asked for since, where a switch that is the revision itself
	// is no younger than it, and what was noted since: a switch may have waited.
	if _, err := tx.ExecContext(ctx, `DELETE FROM item_turn_ons t WHERE t.business_id = ?0 AND (t.reference >= ?2 OR EXISTS (
			SELECT 1 FROM item_switches w JOIN revisions r ON r.business_id = w.business_id AND r.id = ?1 AND w.at > r.at
			WHERE (w.business_id, w.store_id, w.kind, w.name) = (t.business_id, t.store_id, t.kind, t.name)))`,
		business, to, core.FirstID(core.TimeOf(to).Add(time.Millisecond))); err != nil {
		return undone, fmt.Errorf("forgetting what was to be turned on: %w", err)
	}
	const since = `p.n > ?1 AND p.n <= ?2`
	var stores []int64
	if err := tx.NewRaw(`SELECT DISTINCT store_id FROM revision_parts p WHERE p.business_id = ?0 AND p.tbl = 'menu_at_store' AND `+since+` ORDER BY store_id`,
		business, from.Int64, until.Int64).Scan(ctx, &stores); err != nil {
		return undone, fmt.Errorf("reading a revision: %w", err)
	}
	gone, back, touched := map[named]bool{}, map[named]bool{}, map[named]bool{}
	for _, t := range []keptTable{keptAtStore, keptLinks, keptMasters, keptTimings} {
		removed, restored := touched, touched
		if t == keptMasters || t == keptTimings {
			removed, restored = gone, back
		}
		if err := m.touched(ctx, tx, t, removed, `WITH changed AS (DELETE FROM `+t.name+` USING (`+t.undone(since)+`) u
			WHERE `+t.name+`.business_id = ?0 AND (`+qualified(t.name, t.keys)+`) = (`+qualified("u", t.keys)+`) RETURNING `+t.name+`.*)`,
			business, from.Int64, until.Int64); err != nil {
			return undone, err
		}
		if err := m.touched(ctx, tx, t, restored, t.putBack(t.undone(since)), business, from.Int64, until.Int64); err != nil {
			return undone, err
		}
	}
	if len(gone)+len(back)+len(touched) == 0 {
		return undone, nil
	}
	return rollbackStats(gone, back, touched), m.rolledBack(ctx, tx, work, stores)
}

// touched runs a statement and notes the entities of the rows that it changed.
func (m Menus) touched(ctx context.Context, tx bun.Conn, t keptTable, into map[named]bool, statement string, args ...any) error {
	rows, err := tx.QueryContext(ctx, statement+` SELECT DISTINCT `+t.kind+`, `+t.id+` FROM changed`, args...)
	if err != nil {
		return fmt.Errorf("going back to a revision: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var n named
		if err := rows.Scan(&n.kind, &n.id); err != nil {
			return fmt.Errorf("going back to a revision: %w", err)
		}
		if t == keptLinks {
			n.kind = menu.Relation(n.kind).Owner()
		}
		into[n] = true
	}
	return rows.Err()
}

// rollbackStats counts entities: those that are there again, those that are there
// no longer, and those that are otherwise as they were.
func rollbackStats(gone, back, touched map[named]bool) (undone menu.Undone) {
	all := maps.Clone(gone)
	maps.Copy(all, back)
	maps.Copy(all, touched)
	for n := range all {
		s := &undone.Timings
		if n.kind != timingKind {
			s = &undone.Stats[n.kind]
		}
		switch {
		case gone[n] && !back[n]:
			s.Deleted++
		case back[n] && !gone[n]:
			s.Created++
		default:
			s.Updated++
		}
	}
	return undone
}

// rolledBack makes readers see that something is new, and has every platform told
// and its rules asked.
func (m Menus) rolledBack(ctx context.Context, tx bun.Conn, work core.Job, stores []int64) error {
	writer := menuWriter{ctx: ctx, tx: tx, business: work.Business, now: m.clock.Now()}
	for _, store := range slices.Insert(stores, 0, 0) {
		if err := writer.countVersion(store); err != nil {
			return err
		}
	}
	if err := m.publishMenus(ctx, tx, work, 0, menu.Reach{All: true}); err != nil {
		return err
	}
	var platforms []string
	if err := tx.NewRaw(`SELECT name FROM platforms WHERE business_id = ? AND served_by <> ? ORDER BY name`, work.Business, core.ServedByOwn).Scan(ctx, &platforms); err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	for _, platform := range platforms {
		if err := m.recheck(ctx, tx, work.Business, platform); err != nil {
			return err
		}
	}
	return nil
}
