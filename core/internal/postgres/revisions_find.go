package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// revisionSpan is what a filter says of when revisions were made, by their ids.
func revisionSpan(f menu.RevisionFilter, id string) (c conditions) {
	c.add(!f.From.IsZero(), id+" >= ?", core.FirstID(f.From))
	c.add(!f.To.IsZero(), id+" < ?", core.FirstID(f.To))
	c.add(f.After != core.ID{}, id+" < ?", f.After)
	return c
}

// revisionParts is what a filter says of the parts p of revisions.
func revisionParts(business core.BusinessID, f menu.RevisionFilter) (c conditions) {
	kind := slices.Index(menu.RevisionEntities(), f.Entity)
	switch {
	case f.Entity == menu.TimingsEntity:
		c.add(true, "p.tbl = 'timing_groups'")
	case f.Entity == menu.StoresEntity:
		c.add(true, "p.tbl = 'stores'")
	case kind >= 0:
		owned := []int{}
		for relation, owner := range owners() {
			if owner == kind {
				owned = append(owned, relation)
			}
		}
		c.add(true, "(p.tbl IN ('menu_masters', 'menu_at_store') AND p.kind = ? OR p.tbl = 'menu_links' AND p.kind = ANY (?))", kind, array(owned))
	}
	if kind >= 0 && f.RefID != "" {
		object, args := objectIDs(business, f)
		c.add(true, "p.ids && ARRAY("+object+")", args...)
	}
	c.add(f.Location == menu.MasterLocation, "p.tbl IN ('menu_masters', 'menu_links', 'timing_groups')")
	c.add(f.Location != "" && f.Location != menu.MasterLocation, "p.store_id = (SELECT id FROM stores WHERE business_id = ? AND ref_id = ?)", business, f.Location)
	return c
}

// objectIDs is a query of the id of the object that a filter names.
func objectIDs(business core.BusinessID, f menu.RevisionFilter) (query string, args []any) {
	switch f.Entity {
	case menu.TimingsEntity:
		return "SELECT hashtextextended(?, 0)", []any{f.RefID}
	case menu.StoresEntity:
		return "SELECT id FROM stores WHERE business_id = ? AND ref_id = ?", []any{business, f.RefID}
	}
	return "SELECT id FROM menu_masters WHERE business_id = ? AND kind = ? AND name = ?", []any{business, slices.Index(menu.RevisionEntities(), f.Entity), f.RefID}
}

// touching finds the latest revisions of which some part is so. It asks as the hub,
// not as the business alone, which could use no index of arrays.
func (m Menus) touching(ctx context.Context, business core.BusinessID, f menu.RevisionFilter, parts conditions) ([]string, error) {
	span := revisionSpan(f, "p.revision_id")
	var ids []string
	err := m.bun.NewRaw(`SELECT DISTINCT p.revision_id FROM revision_parts p WHERE p.business_id = ?`+parts.text+span.text+` ORDER BY p.revision_id DESC LIMIT ?`,
		slices.Concat([]any{business}, parts.args, span.args, []any{f.Limit})...).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("looking for revisions: %w", err)
	}
	return ids, nil
}
