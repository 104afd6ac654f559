package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/revisions"
	"github.com/servery-hub/servery/core/menu"
)

// ListStores returns stores of a business, sorted by ref_id.
func (c Store) ListStores(ctx context.Context, business core.BusinessID,
	f console.StoreFilter) ([]console.Store, error) {
	only := storeConditions(f)
	only.Add(true, "store.ref_id > ?", f.After)
	var rows []struct {
		ID       int64               `bun:"id"`
		RefID    string              `bun:"ref_id"`
		Name     string              `bun:"name"`
		City     string              `bun:"city"`
		Active   bool                `bun:"active"`
		Ordering bool                `bun:"ordering_enabled"`
		Hidden   bool                `bun:"hide_from_ui"`
		Excluded []string            `bun:"excluded_platforms,array"`
		Included []string            `bun:"included_platforms,array"`
		Status   console.StoreStatus `bun:"status"`
		ClosedOn []string            `bun:"closed_on,array"`
		Updated  time.Time           `bun:"updated_at"`
	}
	if err := c.db.Tenant(business).NewRaw(queries.With("list_stores", postgres.Args{
		"business": business, "only": only, "status": storeStatus(f.Local), "limit": f.Limit,
	})).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading stores: %w", err)
	}
	list := make([]console.Store, len(rows))
	for i, r := range rows {
		list[i] = console.Store(r)
	}
	return list, nil
}

// StoreRef returns the ref_id of a store and when it was last changed, or NotFound.
func (c Store) StoreRef(ctx context.Context, business core.BusinessID,
	id int64) (ref string, updated time.Time, err error) {
	err = c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT ref_id, updated_at FROM stores WHERE business_id = ? AND id = ?`, business, id).Scan(&ref, &updated)
	return ref, updated, postgres.NotFound(err, "there is no such store")
}

// ItemID returns the id of an item by its ref_id, or NotFound.
func (c Store) ItemID(ctx context.Context, business core.BusinessID, refID string) (id int64, err error) {
	err = c.db.Tenant(business).QueryRowContext(ctx,
		`SELECT id FROM catalogue_entities WHERE business_id = ? AND kind = ? AND name = ?`, business, int(menu.Items),
		refID).Scan(&id)
	return id, postgres.NotFound(err, "there is no such item")
}

// Platforms returns the platforms of a business, sorted by name.
func (c Store) Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error) {
	return platforms.PlatformsOf(ctx, c.db.Tenant(business), business)
}

// ListItems returns items of the master catalogue, sorted by ref_id.
func (c Store) ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error) {
	var only postgres.Conditions
	only.Add(f.Text != "", "(item.name ILIKE ? OR item.record->>'title' ILIKE ?)", postgres.ContainsPattern(f.Text),
		postgres.ContainsPattern(f.Text))
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
	var rows []struct {
		ID               int64     `bun:"id"`
		RefID            string    `bun:"name"`
		Title            string    `bun:"title"`
		Price            string    `bun:"price"`
		Active           bool      `bun:"active"`
		Unlisted         bool      `bun:"unlisted"`
		CategoryInactive bool      `bun:"category_inactive"`
		Findings         int       `bun:"findings"`
		Updated          time.Time `bun:"updated_at"`
	}
	if err := c.db.Tenant(business).NewRaw(queries.With("list_items", postgres.Args{
		"category_inactive": categoryInactive, "business": business, "after": f.After, "only": only, "limit": f.Limit,
	})).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	list := make([]console.Item, len(rows))
	for i, r := range rows {
		list[i] = console.Item(r)
	}
	return list, nil
}

// Item returns an item with its categories and findings.
func (c Store) Item(ctx context.Context, business core.BusinessID, id int64) (console.ItemDetail, error) {
	var row struct {
		RefID   string          `bun:"name"`
		Title   string          `bun:"title"`
		Price   string          `bun:"price"`
		Active  bool            `bun:"active"`
		Updated time.Time       `bun:"updated_at"`
		Record  json.RawMessage `bun:"record"`
	}
	if err := c.db.Tenant(business).NewRaw(`SELECT name, coalesce(record->>'title', '') AS title,
		coalesce(record->>'price', '') AS price, active, updated_at, record FROM catalogue_entities
		WHERE business_id = ? AND kind = ? AND id = ?`, business, int(menu.Items), id).Scan(ctx, &row); err != nil {
		return console.ItemDetail{}, postgres.NotFound(err, "there is no such item")
	}
	detail := console.ItemDetail{Record: row.Record, Item: console.Item{ID: id, RefID: row.RefID, Title: row.Title,
		Price: row.Price, Active: row.Active, Updated: row.Updated}}
	var listed struct {
		Platforms []string `json:"included_platforms"`
	}
	if err := json.Unmarshal(row.Record, &listed); err != nil {
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

// findings returns the findings that a condition selects.
func (c Store) findings(ctx context.Context, business core.BusinessID, condition string,
	args ...any) (list []console.ItemFinding, err error) {
	found, err := publications.ReadFindings(ctx, c.db.Tenant(business), condition, business, args...)
	for _, f := range found {
		list = append(list, console.ItemFinding{Platform: f.Platform, Rule: f.Rule, Message: f.Message,
			Warning: f.Warning, Entity: f.Entity, RefID: f.RefID})
	}
	return list, err
}

// StoreFindings returns the findings of platforms against a store.
func (c Store) StoreFindings(ctx context.Context, business core.BusinessID,
	store int64) ([]console.ItemFinding, error) {
	return c.findings(ctx, business, `item_id = 0 AND store_id = ? ORDER BY platform, rule`, store)
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
