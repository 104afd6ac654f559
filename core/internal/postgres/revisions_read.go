package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// Revisions reads revisions of a business, the newest first.
func (m Menus) Revisions(ctx context.Context, business core.BusinessID, f menu.RevisionFilter) ([]menu.Revision, error) {
	which := revisionSpan(f, "r.id")
	if parts := revisionParts(business, f); parts.text != "" {
		touching, err := m.touching(ctx, business, f, parts)
		if err != nil {
			return nil, err
		}
		which.add(true, "r.id = ANY (?::uuid[])", array(touching))
	}
	rows, err := m.of(business).QueryContext(ctx, `SELECT r.id, r.at, r.reference, r.kind, r.subject, r.actor, r.undoes FROM revisions r
		WHERE r.business_id = ?`+which.text+` ORDER BY r.id DESC LIMIT ?`, slices.Concat([]any{business}, which.args, []any{f.Limit})...)
	if err != nil {
		return nil, fmt.Errorf("reading revisions: %w", err)
	}
	defer rows.Close()
	list := []menu.Revision{}
	for rows.Next() {
		var r menu.Revision
		var at time.Time
		if err := rows.Scan(&r.ID, &at, &r.Reference, &r.Kind, &r.Location, &r.Actor, &r.Undoes); err != nil {
			return nil, fmt.Errorf("reading revisions: %w", err)
		}
		r.At = at.UnixMilli()
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading revisions: %w", err)
	}
	return list, m.countRows(ctx, business, list)
}

// countRows tells of each revision how much it changed.
func (m Menus) countRows(ctx context.Context, business core.BusinessID, list []menu.Revision) error {
	byID, ids := map[core.ID]*menu.Revision{}, make([]string, len(list))
	for i := range list {
		list[i].Touched = []menu.Touchings{}
		byID[list[i].ID], ids[i] = &list[i], list[i].ID.String()
	}
	rows, err := m.of(business).QueryContext(ctx, `SELECT p.revision_id, p.tbl, p.kind, coalesce(s.ref_id, ''), sum(cardinality(p.ids))::int
		FROM revision_parts p LEFT JOIN stores s ON s.business_id = p.business_id AND s.id = p.store_id
		WHERE p.business_id = ? AND p.revision_id = ANY (?::uuid[]) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, business, array(ids))
	if err != nil {
		return fmt.Errorf("reading what revisions changed: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id core.ID
		var table string
		var kind int
		var t menu.Touchings
		if err := rows.Scan(&id, &table, &kind, &t.Location, &t.Rows); err != nil {
			return fmt.Errorf("reading what revisions changed: %w", err)
		}
		t.Entity, _ = entityOf(table, kind)
		byID[id].Touched = append(byID[id].Touched, t)
	}
	return rows.Err()
}

// entityOf is what rows of a kept table belong to, and of associations what they
// are called in a request.
func entityOf(table string, kind int) (entity, relation string) {
	switch table {
	case keptStores.name:
		return menu.StoresEntity, ""
	case keptTimings.name:
		return menu.TimingsEntity, ""
	case keptLinks.name:
		return menu.Relation(kind).Owner().String(), menu.Relation(kind).Field()
	}
	return menu.Kind(kind).String(), ""
}

// Revision reads one revision; NotFound where the business has no such one.
func (m Menus) Revision(ctx context.Context, business core.BusinessID, id core.ID) (menu.Revision, error) {
	found, err := m.Revisions(ctx, business, menu.RevisionFilter{From: core.TimeOf(id), To: core.TimeOf(id).Add(time.Millisecond), Limit: 1000})
	if err != nil {
		return menu.Revision{}, err
	}
	at := slices.IndexFunc(found, func(f menu.Revision) bool { return f.ID == id })
	if at < 0 {
		return menu.Revision{}, errNoRevision
	}
	return found[at], nil
}

// Differences reads what a revision changed, row by row, from an offset on.
func (m Menus) Differences(ctx context.Context, business core.BusinessID, id core.ID, offset, limit int) ([]menu.Difference, error) {
	found, err := m.DifferencesOf(ctx, business, []core.ID{id}, menu.RevisionFilter{}, offset, limit)
	return append([]menu.Difference{}, found[id]...), err
}

// DifferencesOf reads of each revision what it changed, of one object where the filter
// names one, and else all. As touching does, it then asks as the hub.
func (m Menus) DifferencesOf(ctx context.Context, business core.BusinessID, ids []core.ID, f menu.RevisionFilter, offset, limit int) (map[core.ID][]menu.Difference, error) {
	found := map[core.ID][]menu.Difference{}
	if len(ids) == 0 {
		return found, nil
	}
	var db bun.IDB = m.of(business)
	only, object := "", []int64{}
	if f.RefID != "" {
		db = m.bun
		parts := revisionParts(business, menu.RevisionFilter{Entity: f.Entity})
		only = formatter.FormatQuery(parts.text, parts.args...)
		which, args := objectIDs(business, f)
		if err := db.NewRaw(which, args...).Scan(ctx, &object); err != nil {
			return nil, fmt.Errorf("looking for an object of revisions: %w", err)
		}
	}
	var queries []string
	for _, t := range tablesOf(f) {
		queries = append(queries, t.differences(only, f.RefID != ""))
	}
	byAge := slices.SortedFunc(slices.Values(ids), func(a, b core.ID) int { return bytes.Compare(a[:], b[:]) })
	rows, err := db.QueryContext(ctx, `SELECT asked.id, d.* FROM unnest(?1::uuid[]) AS asked (id) CROSS JOIN LATERAL (`+
		strings.Join(queries, " UNION ALL ")+` ORDER BY 1, 2 LIMIT ?2 OFFSET ?3) d ORDER BY d.n, d.place`, business, array(ids), limit, offset, array(object), byAge[0], byAge[len(byAge)-1])
	if err != nil {
		return nil, fmt.Errorf("reading differences: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id core.ID
		var n, place int64
		var table string
		var kind int
		var d menu.Difference
		var before, after []byte
		if err := rows.Scan(&id, &n, &place, &table, &kind, &d.RefID, &d.Location, &before, &after); err != nil {
			return nil, fmt.Errorf("reading differences: %w", err)
		}
		d.Entity, d.Relation = entityOf(table, kind)
		d.Before, d.After = jsontext.Value(before), jsontext.Value(after)
		found[id] = append(found[id], d)
	}
	return found, rows.Err()
}

// tablesOf are the tables that keep what a filter of one object asks for.
func tablesOf(f menu.RevisionFilter) []keptTable {
	switch {
	case f.RefID == "":
		return []keptTable{keptMasters, keptLinks, keptAtStore, keptTimings, keptStores}
	case f.Entity == menu.StoresEntity:
		return []keptTable{keptStores}
	case f.Entity == menu.TimingsEntity:
		return []keptTable{keptTimings}
	}
	return []keptTable{keptMasters, keptLinks, keptAtStore}
}

// differences is a query of the rows that a revision changed, as they were before
// it and as they were after it: before the next change of them, or as they are. only
// narrows the parts p, and one the rows to those of the objects ?4. Between the first
// and the last revision, ?5 and ?6, lie the partitions that are looked at.
func (t keptTable) differences(only string, one bool) string {
	same := `(` + qualified("x", t.keys) + `) = (` + qualified("y", t.keys) + `)`
	kind, id := "x."+t.kind, "x."+t.id
	ref := `coalesce((SELECT m.name FROM menu_masters m WHERE m.business_id = p.business_id AND m.id = ` + id + `), x.name, '')`
	switch t.name {
	case keptLinks.name:
		ref = `coalesce((SELECT m.name FROM menu_masters m WHERE m.business_id = p.business_id AND m.id = x.from_id), '')`
	case keptAtStore.name:
		ref = `coalesce((SELECT m.name FROM menu_masters m WHERE m.business_id = p.business_id AND m.kind = x.kind AND m.id = x.id), '')`
	case keptStores.name:
		kind, ref = "-1", "x.ref_id"
	case keptTimings.name:
		kind, id, ref = "-1", "hashtextextended(x.title, 0)", "x.title"
	}
	if one {
		only += ` AND p.ids && ?4::bigint[] AND (` + id + `) = ANY (?4::bigint[])`
	}
	populate := `json_populate_record(NULL::` + t.row() + `, `
	return `(SELECT p.n, r.place, p.tbl::text, (` + kind + `)::int AS kind, ` + ref + ` AS ref,
			coalesce((SELECT s.ref_id FROM stores s WHERE s.business_id = p.business_id AND s.id = p.store_id), '') AS location,
			CASE WHEN NOT p.made THEN ` + t.shown("x") + ` END AS was,
			CASE WHEN later.n IS NOT NULL THEN CASE WHEN NOT later.made THEN later.shown END
				ELSE (SELECT ` + t.shown("y") + ` FROM ` + t.present() + ` y WHERE y.business_id = p.business_id AND ` + same + `) END AS became
		FROM revision_parts p CROSS JOIN LATERAL json_array_elements(p.rows) WITH ORDINALITY AS r (row, place)
		CROSS JOIN LATERAL ` + populate + `r.row) AS x
		LEFT JOIN LATERAL (SELECT q.n, q.made, ` + t.shown("y") + ` AS shown FROM revision_parts q CROSS JOIN LATERAL json_array_elements(q.rows) AS l
			CROSS JOIN LATERAL ` + populate + `l) AS y
			WHERE q.business_id = p.business_id AND q.tbl = p.tbl AND q.n > p.n AND q.ids @> ARRAY[` + id + `] AND ` + same + ` ORDER BY q.n LIMIT 1) later ON true
		WHERE p.business_id = ?0 AND p.revision_id = asked.id AND p.revision_id BETWEEN ?5 AND ?6 AND p.tbl = '` + t.name + `'` + only + `)`
}

// shown is what a difference shows of a row: the hub's own columns are left out.
func (t keptTable) shown(row string) string {
	switch t.name {
	case keptMasters.name:
		return `json_build_object('active', ` + row + `.active, 'record', ` + row + `.record)`
	case keptLinks.name:
		return `json_build_object('ref_id', (SELECT o.name FROM menu_masters o WHERE o.business_id = p.business_id AND o.id = ` + row + `.to_id), 'position', ` + row + `.position)`
	case keptAtStore.name:
		return row + `.content`
	case keptTimings.name:
		return `json_build_object('title', ` + row + `.title, 'category_ref_ids', ARRAY(SELECT o.name FROM menu_masters o WHERE o.business_id = p.business_id
			AND o.kind = 0 AND o.id = ANY (` + row + `.category_ids) ORDER BY o.name), 'day_slots', ` + row + `.day_slots::json)`
	}
	return `(to_jsonb(` + row + `) - '{business_id,created_at,updated_at}'::text[])::json`
}
