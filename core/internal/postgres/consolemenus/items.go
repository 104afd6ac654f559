package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
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

// rejectionsShown bounds the different messages of a platform that are shown for an item, the latest first.
const rejectionsShown = 20

// itemRejections returns the problems that platforms reported for an item in accepted menus,
// one per platform and message.
func (c Store) itemRejections(ctx context.Context, business core.BusinessID,
	refID string) ([]console.ItemRejection, error) {
	quoted, err := json.Marshal(refID) // as it appears in problems
	if err != nil {
		return nil, err
	}
	return postgres.Collect(ctx, c.db.Tenant(business), "reading where the item was rejected",
		func(r *console.ItemRejection) []any { return []any{&r.Platform, &r.Message, &r.Stores} },
		bun.SafeQuery(queries.With("item_rejections", postgres.Args{"business": business, "ref": refID,
			"pattern": postgres.ContainsPattern(string(quoted)), "limit": rejectionsShown})))
}
