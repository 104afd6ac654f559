package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

// ListItems returns items of the master catalogue, sorted by ref_id.
func (c Store) ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error) {
	var only postgres.Conditions
	pattern := postgres.ContainsPattern(f.Text)
	only.Add(f.Text != "", "(item.name ILIKE ? OR item.record->>'title' ILIKE ?)", pattern, pattern)
	listed := f.Platform != "" && f.Problem != console.ItemBreaksRule && f.Problem != console.ItemLacking
	only.Add(listed, "?", itemListed(f.Platform))
	switch f.Problem {
	case console.ItemBreaksRule:
		only.Add(true, `EXISTS (SELECT FROM platform_findings finding WHERE finding.business_id = item.business_id
			AND finding.item_id = item.id AND NOT finding.warning AND (?0 = '' OR finding.platform = ?0))`, f.Platform)
	case console.ItemLacking:
		only.Add(true, "?", bun.Safe(queries.With("lacking_items", postgres.Args{"business": business,
			"platform": f.Platform, "store": f.Store})))
	case console.ItemInactive:
		only.Add(true, "(NOT item.active OR ?)", categoryInactive)
	}
	return postgres.Collect(ctx, c.db.Tenant(business), "reading items", func(i *console.Item) []any {
		return []any{&i.ID, &i.RefID, &i.Title, &i.Price, &i.Active, postgres.OrZero(&i.Unlisted), &i.CategoryInactive,
			&i.Findings, &i.Updated}
	}, bun.SafeQuery(queries.With("list_items", postgres.Args{
		"category_inactive": categoryInactive, "business": business, "after": f.After, "only": only, "limit": f.Limit,
	})))
}

// ItemID returns the id of an item by its ref_id, or NotFound.
func (c Store) ItemID(ctx context.Context, business core.BusinessID, refID string) (id int64, err error) {
	err = c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = ? AND name = ?`, business, int(menu.Items),
		refID).Scan(&id)
	return id, postgres.NotFound(err, "there is no such item")
}

// Item returns an item with its categories and findings.
func (c Store) Item(ctx context.Context, business core.BusinessID, id int64) (console.ItemDetail, error) {
	detail := console.ItemDetail{Item: console.Item{ID: id}}
	if err := c.db.Tenant(business).QueryRowContext(ctx, `SELECT name, coalesce(record->>'title', ''),
		coalesce(record->>'price', ''), active, updated_at, record FROM catalogue_entities
		WHERE business_id = ? AND kind = ? AND id = ?`, business, int(menu.Items), id).
		Scan(&detail.RefID, &detail.Title, &detail.Price, &detail.Active, &detail.Updated,
			&detail.Record); err != nil {
		return console.ItemDetail{}, postgres.NotFound(err, "there is no such item")
	}
	var listed struct {
		Platforms []string `json:"included_platforms"`
	}
	if err := json.Unmarshal(detail.Record, &listed); err != nil {
		return detail, fmt.Errorf("reading item %d: %w", id, err)
	}
	detail.Platforms = listed.Platforms
	err := c.itemCategories(ctx, business, &detail)
	if err != nil {
		return detail, err
	}
	if detail.Findings, err = c.findings(ctx, business, `item_id = ? ORDER BY platform, rule`, id); err != nil {
		return detail, err
	}
	detail.Rejections, err = c.itemRejections(ctx, business, detail.RefID)
	return detail, err
}

// itemCategories adds the categories of an item, with the times at which they are on sale.
func (c Store) itemCategories(ctx context.Context, business core.BusinessID, detail *console.ItemDetail) error {
	var rows []struct {
		ID     int64  `bun:"id"`
		Parent int64  `bun:"parent_id"`
		RefID  string `bun:"name"`
		Name   string `bun:"title"`
		Active bool   `bun:"open"`
		Under  string `bun:"under"`
	}
	if err := c.db.Tenant(business).NewRaw(queries.With("item_categories", postgres.Args{
		"business": business, "categories": int(menu.Categories), "item_category": int(menu.ItemCategory),
		"item": detail.ID,
	})).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("reading the categories of item %d: %w", detail.ID, err)
	}
	timings, _, err := menus.ReadTimings(ctx, c.db.Tenant(business), business, revisions.TimingsTable.Current())
	for _, r := range rows {
		detail.Categories = append(detail.Categories,
			console.ItemCategory{RefID: r.RefID, Name: r.Name, Active: r.Active, InactiveParent: r.Under,
				SaleHours: timings.OnSale(r.ID, r.Parent)})
	}
	return err
}

// Bounds of an item's rejections: the menus that are searched, and the different messages.
const (
	menusRead       = 1000
	rejectionsShown = 20
)

// itemRejections returns the problems that platforms reported for an item in accepted menus,
// one per platform and message.
func (c Store) itemRejections(ctx context.Context, business core.BusinessID,
	refID string) (list []console.ItemRejection, err error) {
	quoted, err := json.Marshal(refID) // as it appears in problems
	if err != nil {
		return nil, err
	}
	rows, err := c.db.Tenant(business).QueryContext(ctx,
		`SELECT platform, problems FROM publications WHERE business_id = ?0 AND state = 'published' AND problems LIKE ?1
			ORDER BY platform, settled_at DESC LIMIT ?2`,
		business, postgres.ContainsPattern(string(quoted)), menusRead)
	if err != nil {
		return nil, fmt.Errorf("reading where the item was rejected: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var platform string
		var raw []byte
		if err := rows.Scan(&platform, &raw); err != nil {
			return nil, fmt.Errorf("reading where the item was rejected: %w", err)
		}
		var problems []publish.Problem
		if err := json.Unmarshal(raw, &problems); err != nil {
			return nil, fmt.Errorf("reading a stored publication: %w", err)
		}
		for _, problem := range problems {
			if problem.Entity != "item" || problem.RefID != refID {
				continue
			}
			at := slices.IndexFunc(list, func(r console.ItemRejection) bool {
				return r.Platform == platform && r.Message == problem.Message
			})
			if at < 0 && len(list) < rejectionsShown {
				at, list = len(list), append(list, console.ItemRejection{Platform: platform, Message: problem.Message})
			}
			if at >= 0 {
				list[at].Stores++
			}
		}
	}
	return list, rows.Err()
}
