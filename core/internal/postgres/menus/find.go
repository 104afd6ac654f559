package menus

import (
	"context"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// timeConditions returns the time conditions of a filter, on the ids of revisions.
func timeConditions(f menu.RevisionFilter, id string) (c postgres.Conditions) {
	c.Add(!f.From.IsZero(), id+" >= ?", core.FirstID(f.From))
	c.Add(!f.To.IsZero(), id+" < ?", core.FirstID(f.To))
	c.Add(f.After != core.ID{}, id+" < ?", f.After)
	return c
}

// partConditions returns the conditions of a filter on the parts of revisions.
func partConditions(business core.BusinessID, f menu.RevisionFilter) (c postgres.Conditions) {
	kind := slices.Index(menu.RevisionEntities(), f.Entity)
	switch {
	case f.Entity == menu.TimingsEntity:
		c.Add(true, "part.table_name = 'timing_groups'")
	case f.Entity == menu.StoresEntity:
		c.Add(true, "part.table_name = 'stores'")
	case kind >= 0:
		owned := []int{}
		for relation, owner := range revisions.Owners() {
			if owner == kind {
				owned = append(owned, relation)
			}
		}
		c.Add(true,
			`(part.table_name IN ('catalogue_entities', 'store_overrides') AND part.kind = ?
				OR part.table_name = 'menu_links' AND part.kind = ANY (?))`,
			kind, postgres.Array(owned))
	}
	if kind >= 0 && f.RefID != "" {
		object, args := objectIDs(business, f)
		c.Add(true, "part.ids && ARRAY("+object+")", args...)
	}
	c.Add(f.Location == menu.MasterLocation, "part.table_name IN ('catalogue_entities', 'menu_links', 'timing_groups')")
	c.Add(f.Location != "" && f.Location != menu.MasterLocation,
		"part.store_id = (SELECT id FROM stores WHERE business_id = ? AND ref_id = ?)", business, f.Location)
	return c
}

// objectIDs returns a query of the id of the object that a filter names.
func objectIDs(business core.BusinessID, f menu.RevisionFilter) (query string, args []any) {
	switch f.Entity {
	case menu.TimingsEntity:
		return "SELECT hashtextextended(?, 0)", []any{f.RefID}
	case menu.StoresEntity:
		return "SELECT id FROM stores WHERE business_id = ? AND ref_id = ?", []any{business, f.RefID}
	}
	return "SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = ? AND name = ?",
		[]any{business, slices.Index(menu.RevisionEntities(), f.Entity), f.RefID}
}

// matchingRevisions returns the latest revisions with a matching part. It bypasses the tenant role,
// because with row-level security array indexes cannot be used.
func (m Store) matchingRevisions(ctx context.Context, business core.BusinessID, f menu.RevisionFilter,
	parts postgres.Conditions) ([]string, error) {
	span := timeConditions(f, "part.revision_id")
	var ids []string
	err := m.db.Bun().NewRaw(`SELECT DISTINCT part.revision_id FROM revision_parts part
		WHERE part.business_id = ? ? ? ORDER BY part.revision_id DESC LIMIT ?`,
		business, parts, span, f.Limit).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("finding revisions: %w", err)
	}
	return ids, nil
}
