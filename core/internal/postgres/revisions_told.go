package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// The bounds of what is read to name what revisions changed.
const (
	namedParts = 6 // of a revision
	namedIDs   = 3 // of a part
)

// FirstNames reads the first few ref_ids, each once, of what revisions changed.
func (m Menus) FirstNames(ctx context.Context, business core.BusinessID, revisions []core.ID) (map[core.ID][]string, error) {
	rows, err := m.of(business).QueryContext(ctx, `SELECT p.revision_id, coalesce(s.ref_id, m.name, kept.row ->> 'name', kept.row ->> 'title')
		FROM unnest(?1::uuid[]) AS r (id) CROSS JOIN LATERAL (SELECT * FROM revision_parts
			WHERE business_id = ?0 AND revision_id = r.id ORDER BY n LIMIT ?2) p
		CROSS JOIN LATERAL unnest(p.ids[:?3]) WITH ORDINALITY AS e (id, place)
		CROSS JOIN LATERAL (SELECT p.rows -> (e.place - 1)::int AS row) kept
		LEFT JOIN stores s ON p.tbl = 'stores' AND s.business_id = ?0 AND s.id = e.id
		LEFT JOIN menu_masters m ON m.business_id = ?0 AND m.id = e.id
			AND m.kind = CASE p.tbl WHEN 'stores' THEN NULL WHEN 'timing_groups' THEN NULL WHEN 'menu_links' THEN (?4::int[])[p.kind + 1] ELSE p.kind END
		WHERE coalesce(s.ref_id, m.name, kept.row ->> 'name', kept.row ->> 'title') IS NOT NULL ORDER BY p.n, e.place`,
		business, array(revisions), namedParts, namedIDs, array(owners()))
	if err != nil {
		return nil, fmt.Errorf("reading what revisions changed: %w", err)
	}
	defer rows.Close()
	names := map[core.ID][]string{}
	for rows.Next() {
		var id core.ID
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, fmt.Errorf("reading what revisions changed: %w", err)
		}
		if !slices.Contains(names[id], name) {
			names[id] = append(names[id], name)
		}
	}
	return names, rows.Err()
}

// owners are the kinds to which relations belong.
func owners() (kinds []int) {
	for relation := range len(menu.PerRelation[int]{}) {
		kinds = append(kinds, int(menu.Relation(relation).Owner()))
	}
	return kinds
}

// Undoing counts what a rollback to a revision would change if it ran now;
// NotFound where the business has no such revision.
func (m Menus) Undoing(ctx context.Context, business core.BusinessID, to core.ID) (u menu.Undoing, err error) {
	if _, err := m.Revision(ctx, business, to); err != nil {
		return u, err
	}
	rows, err := m.of(business).QueryContext(ctx, `SELECT l.id, x.kind, count(DISTINCT x.id)
		FROM (SELECT id FROM revisions WHERE business_id = ?0 ORDER BY id DESC LIMIT 1) l
		LEFT JOIN (SELECT CASE p.tbl WHEN 'timing_groups' THEN ?3 WHEN 'menu_links' THEN (?2::int[])[p.kind + 1] ELSE p.kind END AS kind, unnest(p.ids) AS id
			FROM revision_parts p WHERE p.business_id = ?0 AND p.tbl IN ('menu_masters', 'menu_links', 'menu_at_store', 'timing_groups')
				AND p.n > (SELECT max(n) FROM revision_parts WHERE business_id = ?0 AND revision_id = ?1)) x ON true
		GROUP BY 1, 2`, business, to, array(owners()), int(timingKind))
	if err != nil {
		return u, fmt.Errorf("counting what came after a revision: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind *menu.Kind
		var objects int
		if err := rows.Scan(&u.Latest, &kind, &objects); err != nil {
			return u, fmt.Errorf("counting what came after a revision: %w", err)
		}
		switch {
		case kind == nil:
		case *kind == timingKind:
			u.Timings = objects
		default:
			u.Objects[*kind] = objects
		}
	}
	return u, rows.Err()
}
