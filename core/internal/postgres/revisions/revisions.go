// Package revisions stores earlier versions of menus.
package revisions

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/menu"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Revision is a revision that a transaction makes.
type Revision struct {
	ID         core.ID
	RollbackTo *core.ID // of a rollback: the revision that it restores; else nil
}

// Begin starts a revision. The database records the previous rows of menus and stores that the
// transaction changes.
func Begin(ctx context.Context, db *postgres.DB, tx bun.Conn) (Revision, error) {
	id := core.NewID(db.Clock().Now())
	if _, err := tx.ExecContext(ctx, `SELECT set_config('servery.revision', ?, true)`, id.String()); err != nil {
		return Revision{}, fmt.Errorf("starting a revision: %w", err)
	}
	return Revision{ID: id}, nil
}

// End stores the revision of a job if anything was changed.
func (r Revision) End(ctx context.Context, db *postgres.DB, tx bun.Conn, work core.Job) error {
	kind := string(work.Kind)
	if r.RollbackTo != nil {
		kind = "rollback"
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO revisions (business_id, id, reference, kind, subject, actor, rollback_to, at)
		SELECT business_id, ?0, id, ?1, subject, actor, ?2, ?3 FROM jobs WHERE business_id = ?4 AND id = ?5
			AND EXISTS (SELECT 1 FROM revision_parts WHERE business_id = ?4 AND revision_id = ?0)`,
		r.ID, kind, r.RollbackTo, db.Clock().Now(), work.Business, work.ID)
	if err != nil {
		return fmt.Errorf("storing a revision: %w", err)
	}
	return nil
}

// VersionedTable is a table whose revisions are stored. Keys identify its rows within a
// business; Kind and ID are the columns of the owning entity. The id of a timing group
// derives from its title, because a restored group has another id. Values are the other
// columns that a change sets.
type VersionedTable struct{ Name, Keys, Kind, ID, Values string }

// TimingKind is the kind of timing groups, in addition to the kinds of menus.
const TimingKind menu.Kind = -1

var (
	EntitiesTable = VersionedTable{"catalogue_entities", "kind, id", "kind", "id",
		"active, parent_id, all_items, record, updated_at"}
	LinksTable     = VersionedTable{"menu_links", "relation, from_id, to_id", "relation", "from_id", "position"}
	OverridesTable = VersionedTable{"store_overrides", "store_id, kind, id", "kind", "id", "content"}
	TimingsTable   = VersionedTable{"timing_groups", "title", "-1", "hashtextextended(title, 0)", ""}
	StoresTable    = VersionedTable{"stores", "id", "-1", "id", ""}
)

// row returns the row type of the stored versions.
func (t VersionedTable) row() string {
	if t == TimingsTable {
		return "timing_revision"
	}
	return t.Name
}

// Current returns the source of the current rows, in the form of the stored versions.
func (t VersionedTable) Current() string {
	if t == TimingsTable {
		return `(SELECT g.business_id, g.title, g.day_slots, g.updated_at, ARRAY(SELECT c.category_id
			FROM timed_categories c
			WHERE c.business_id = g.business_id AND c.group_id = g.id ORDER BY c.category_id) AS category_ids
				FROM timing_groups g)`
	}
	return t.Name
}

// EarlierRows returns a query of the rows in the parts p, each as it was before its first
// change. The condition narrows the parts.
func (t VersionedTable) EarlierRows(condition string) string {
	return `SELECT DISTINCT ON (` + t.Keys + `) x.*, p.created, r AS row FROM revision_parts p
		CROSS JOIN LATERAL json_array_elements(p.rows) AS r CROSS JOIN LATERAL json_populate_record(NULL::` + t.row() +
		`, r) AS x
		WHERE p.business_id = ?0 AND p.table_name = '` + t.Name + `' AND ` + condition + ` ORDER BY ` + t.Keys + `, p.n`
}

// Remove returns a common table expression, changed, that deletes the rows that did not exist
// before.
func (t VersionedTable) Remove(undone string) string {
	return queries.With("remove", postgres.Args{"undone": bun.Safe(undone), "table": bun.Ident(t.Name),
		"business": bun.Safe("?0"), "same": bun.Safe(`(` + Qualified("present", t.Keys) + `) = (` + Qualified("undone",
			t.Keys) + `)`)})
}

// Restore returns a common table expression, changed, that restores the rows that existed
// before. Their time of change becomes now.
func (t VersionedTable) Restore(undone string, now time.Time) string {
	args := postgres.Args{"undone": bun.Safe(undone), "row": bun.Safe(t.row()), "now": now}
	if t == TimingsTable {
		args["present"], args["business"] = bun.Safe(t.Current()), bun.Safe("?0")
		return queries.With("restore_timings", args)
	}
	assignments := strings.Split(t.Values, ", ")
	for i, column := range assignments {
		assignments[i] = column + ` = excluded.` + column
	}
	args["table"], args["keys"] = bun.Ident(t.Name), bun.Safe(t.Keys)
	args["assignments"] = bun.Safe(strings.Join(assignments, ", "))
	return queries.With("restore", args)
}

// Qualified prefixes column names with a table's name.
func Qualified(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// Change identifies the entity of a changed row.
type Change struct {
	Kind menu.Kind
	ID   int64
}

// ErrNoRevision is returned for an unknown revision id.
var ErrNoRevision = core.Errorf(core.NotFound,
	"there is no revision with this id, or it is past its retention")

// RollbackStats counts the entities of a rollback: restored ones as created, removed ones
// as deleted, others as updated.
func RollbackStats(removed, restored, touched map[Change]bool) (undone menu.RollbackResult) {
	all := maps.Clone(removed)
	maps.Copy(all, restored)
	maps.Copy(all, touched)
	for n := range all {
		s := &undone.Timings
		if n.Kind != TimingKind {
			s = &undone.Stats[n.Kind]
		}
		switch {
		case removed[n] && !restored[n]:
			s.Deleted++
		case restored[n] && !removed[n]:
			s.Created++
		default:
			s.Updated++
		}
	}
	return undone
}
