package menus

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
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// Revisions returns revisions of a business, the newest first.
func (m Store) Revisions(ctx context.Context, business core.BusinessID,
	f menu.RevisionFilter) ([]menu.Revision, error) {
	conditions := timeConditions(f, "r.id")
	if parts := partConditions(business, f); parts.Text != "" {
		touching, err := m.matchingRevisions(ctx, business, f, parts)
		if err != nil {
			return nil, err
		}
		conditions.Add(true, "r.id = ANY (?::uuid[])", postgres.Array(touching))
	}
	type row struct {
		menu.Revision
		at time.Time
	}
	rows, err := postgres.Collect(ctx, m.db.Tenant(business), "reading revisions", func(r *row) []any {
		return []any{&r.ID, &r.at, &r.Reference, &r.Kind, &r.Location, &r.Actor, &r.RolledBackTo}
	}, bun.SafeQuery(`SELECT r.id, r.at, r.reference, r.kind, r.subject, r.actor, r.rollback_to FROM revisions r
		WHERE r.business_id = ?`+conditions.Text+` ORDER BY r.id DESC LIMIT ?`,
		slices.Concat([]any{business}, conditions.Args, []any{f.Limit})...))
	if err != nil {
		return nil, err
	}
	list := make([]menu.Revision, len(rows))
	for i, r := range rows {
		r.At = r.at.UnixMilli()
		list[i] = r.Revision
	}
	return list, m.countRows(ctx, business, list)
}

// countRows adds to each revision the number of rows it changed.
func (m Store) countRows(ctx context.Context, business core.BusinessID, list []menu.Revision) error {
	byID, ids := map[core.ID]*menu.Revision{}, make([]string, len(list))
	for i := range list {
		list[i].Changes = []menu.ChangeCount{}
		byID[list[i].ID], ids[i] = &list[i], list[i].ID.String()
	}
	rows, err := m.db.Tenant(business).QueryContext(ctx,
		`SELECT p.revision_id, p.table_name, p.kind, coalesce(s.ref_id, ''), sum(cardinality(p.ids))::int
		FROM revision_parts p LEFT JOIN stores s ON s.business_id = p.business_id AND s.id = p.store_id
		WHERE p.business_id = ? AND p.revision_id = ANY (?::uuid[]) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, business,
		postgres.Array(ids))
	if err != nil {
		return fmt.Errorf("reading the changes of revisions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id core.ID
		var table string
		var kind int
		var t menu.ChangeCount
		if err := rows.Scan(&id, &table, &kind, &t.Location, &t.Rows); err != nil {
			return fmt.Errorf("reading the changes of revisions: %w", err)
		}
		t.Entity, _ = entityOf(table, kind)
		byID[id].Changes = append(byID[id].Changes, t)
	}
	return rows.Err()
}

// entityOf returns the entity that rows of a versioned table belong to. For associations it
// also returns their field name in a request.
func entityOf(table string, kind int) (entity, relation string) {
	switch table {
	case revisions.StoresTable.Name:
		return menu.StoresEntity, ""
	case revisions.TimingsTable.Name:
		return menu.TimingsEntity, ""
	case revisions.LinksTable.Name:
		return menu.Relation(kind).Owner().String(), menu.Relation(kind).Field()
	}
	return menu.Kind(kind).String(), ""
}

// Revision returns one revision, or NotFound.
func (m Store) Revision(ctx context.Context, business core.BusinessID, id core.ID) (menu.Revision, error) {
	found, err := m.Revisions(ctx, business,
		menu.RevisionFilter{From: core.TimeOf(id), To: core.TimeOf(id).Add(time.Millisecond), Limit: 1000})
	if err != nil {
		return menu.Revision{}, err
	}
	at := slices.IndexFunc(found, func(f menu.Revision) bool { return f.ID == id })
	if at < 0 {
		return menu.Revision{}, revisions.ErrNoRevision
	}
	return found[at], nil
}

// Differences returns the rows that a revision changed, starting at an offset.
func (m Store) Differences(ctx context.Context, business core.BusinessID, id core.ID, offset,
	limit int) ([]menu.Difference, error) {
	found, err := m.DifferencesOf(ctx, business,
		menu.DifferenceQuery{Revisions: []core.ID{id}, Offset: offset, Limit: limit})
	return append([]menu.Difference{}, found[id]...), err
}

// Present returns the object of a difference as it is now, in the form of the difference. It returns nil for an object
// that does not exist, and for stores, category timings and associations.
func (m Store) Present(ctx context.Context, business core.BusinessID, d menu.Difference) (jsontext.Value, error) {
	kind := slices.Index(menu.RevisionEntities(), d.Entity)
	if kind < 0 || kind >= len(menu.Kinds()) || d.Relation != "" {
		return nil, nil
	}
	var shown []string
	if err := m.db.Tenant(business).NewRaw(queries.With("present", postgres.Args{
		"business": business, "kind": kind, "name": d.RefID, "store": d.Location})).Scan(ctx, &shown); err != nil {
		return nil, fmt.Errorf("reading a changed object: %w", err)
	}
	if len(shown) == 0 || shown[0] == "" {
		return nil, nil
	}
	return jsontext.Value(shown[0]), nil
}

// DifferencesOf returns the changes of each revision, of one object if the filter names one. For
// one object it bypasses the tenant role, like matchingRevisions.
func (m Store) DifferencesOf(ctx context.Context, business core.BusinessID,
	of menu.DifferenceQuery) (map[core.ID][]menu.Difference, error) {
	ids, f := of.Revisions, of.Filter
	found := map[core.ID][]menu.Difference{}
	if len(ids) == 0 {
		return found, nil
	}
	var db bun.IDB = m.db.Tenant(business)
	changed := revisions.Differences{Business: business}
	if f.RefID != "" {
		db = m.db.Bun()
		changed.Only = partConditions(business, menu.RevisionFilter{Entity: f.Entity})
		changed.Objects = []int64{}
		query, args := objectIDs(business, f)
		if err := db.NewRaw(query, args...).Scan(ctx, &changed.Objects); err != nil {
			return nil, fmt.Errorf("finding an object of revisions: %w", err)
		}
	}
	byAge := slices.SortedFunc(slices.Values(ids), func(a, b core.ID) int { return bytes.Compare(a[:], b[:]) })
	changed.First, changed.Last = byAge[0], byAge[len(byAge)-1]
	var queries []string
	for _, t := range tablesOf(f) {
		queries = append(queries, string(t.Differences(changed)))
	}
	rows, err := db.QueryContext(ctx, `SELECT revision.id, difference.* FROM unnest(?0::uuid[]) AS revision (id)
		CROSS JOIN LATERAL (?1 ORDER BY 1, 2 LIMIT ?2 OFFSET ?3) difference ORDER BY difference.n, difference.position`,
		postgres.Array(ids), bun.Safe(strings.Join(queries, " UNION ALL ")), of.Limit, of.Offset)
	if err != nil {
		return nil, fmt.Errorf("reading differences: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id core.ID
		var n, position int64
		var table string
		var kind int
		var d menu.Difference
		var before, after []byte
		if err := rows.Scan(&id, &n, &position, &table, &kind, &d.RefID, &d.Location, &before, &after); err != nil {
			return nil, fmt.Errorf("reading differences: %w", err)
		}
		d.Entity, d.Relation = entityOf(table, kind)
		d.Before, d.After = jsontext.Value(before), jsontext.Value(after)
		found[id] = append(found[id], d)
	}
	return found, rows.Err()
}

// tablesOf returns the versioned tables that a filter applies to.
func tablesOf(f menu.RevisionFilter) []revisions.VersionedTable {
	switch {
	case f.RefID == "":
		return []revisions.VersionedTable{revisions.EntitiesTable, revisions.LinksTable, revisions.OverridesTable,
			revisions.TimingsTable, revisions.StoresTable}
	case f.Entity == menu.StoresEntity:
		return []revisions.VersionedTable{revisions.StoresTable}
	case f.Entity == menu.TimingsEntity:
		return []revisions.VersionedTable{revisions.TimingsTable}
	}
	return []revisions.VersionedTable{revisions.EntitiesTable, revisions.LinksTable, revisions.OverridesTable}
}
