package revisions

import (
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// AsOf returns a query of the rows as they were at ?1, a revision id. Rows that changed
// since are restored from later revisions. The condition narrows the rows, named x.
func (t VersionedTable) AsOf(condition string) string {
	later := t.EarlierRows("p.revision_id >= ?1::uuid")
	return `WITH undone AS MATERIALIZED (` + later + `)
		SELECT x.* FROM ` + t.Current() + ` x WHERE x.business_id = ?0 AND ` + condition + `
			AND NOT EXISTS (SELECT 1 FROM undone u WHERE (` + Qualified("u", t.Keys) + `) = (` +
		Qualified("x", t.Keys) + `))
		UNION ALL SELECT x.* FROM undone u CROSS JOIN LATERAL json_populate_record(NULL::` + t.row() + `, u.row) AS x
			WHERE NOT u.created AND ` + condition
}

// Differences selects the rows that revision.id changed.
type Differences struct {
	Business    core.BusinessID
	Only        postgres.Conditions // on the row part of revision_parts
	Objects     []int64             // nil: all; else the ids of the owning entities
	First, Last core.ID             // of the revisions
}

// Differences returns a query of the rows that a revision changed, before and after it.
func (t VersionedTable) Differences(d Differences) bun.Safe {
	name := func(condition string) string {
		return `coalesce((SELECT entity.name FROM catalogue_entities entity
			WHERE entity.business_id = part.business_id AND ` + condition + `), '')`
	}
	kind, id, ref := "x."+t.Kind, "x."+t.ID, name("entity.id = x.from_id")
	switch t.Name {
	case EntitiesTable.Name:
		ref = `coalesce(nullif(` + name("entity.id = x.id") + `, ''), x.name, '')`
	case OverridesTable.Name:
		ref = name("entity.kind = x.kind AND entity.id = x.id")
	case StoresTable.Name:
		kind, ref = "-1", "x.ref_id"
	case TimingsTable.Name:
		kind, id, ref = "-1", "hashtextextended(x.title, 0)", "x.title"
	}
	only := d.Only
	only.Add(d.Objects != nil, "part.ids && ?::bigint[] AND (?) = ANY (?::bigint[])", postgres.Array(d.Objects),
		bun.Safe(id), postgres.Array(d.Objects))
	return bun.Safe(queries.With("differences", postgres.Args{
		"business": d.Business, "first": d.First, "last": d.Last, "table": t.Name, "only": only,
		"kind": bun.Safe(kind), "id": bun.Safe(id), "ref": bun.Safe(ref), "row": bun.Safe(t.row()),
		"shown_x": t.shown("x"), "shown_y": t.shown("y"), "present": bun.Safe(t.Current()),
		"same": bun.Safe(`(` + Qualified("x", t.Keys) + `) = (` + Qualified("y", t.Keys) + `)`),
	}))
}

// shown returns the SQL of a row in a difference. It omits the hub's own columns.
func (t VersionedTable) shown(row bun.Safe) bun.Safe {
	switch t.Name {
	case EntitiesTable.Name:
		return `json_build_object('active', ` + row + `.active, 'record', ` + row + `.record)`
	case LinksTable.Name:
		return `json_build_object('ref_id', (SELECT target.name FROM catalogue_entities target
			WHERE target.business_id = part.business_id AND target.id = ` + row + `.to_id),
			'position', ` + row + `.position)`
	case OverridesTable.Name:
		return row + `.content`
	case TimingsTable.Name:
		return bun.Safe(queries.With("shown_timing", postgres.Args{"row": row}))
	}
	return `(to_jsonb(` + row + `) - '{business_id,created_at,updated_at}'::text[])::json`
}
