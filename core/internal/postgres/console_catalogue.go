package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// part is a pattern for what contains the text, whatever its signs mean to LIKE.
func part(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// ListStores reads stores of a business by their ref_id.
func (c Console) ListStores(ctx context.Context, business core.BusinessID, f console.StoreFilter) ([]console.Store, error) {
	only := chosenStores(business, f)
	only.add(true, "s.ref_id > ?", f.After)
	var rows []struct {
		ID       int64            `bun:"id"`
		RefID    string           `bun:"ref_id"`
		Name     string           `bun:"name"`
		City     string           `bun:"city"`
		Active   bool             `bun:"active"`
		Ordering bool             `bun:"ordering_enabled"`
		Hidden   bool             `bun:"hide_from_ui"`
		Excluded []string         `bun:"excluded_platforms,array"`
		Included []string         `bun:"included_platforms,array"`
		Standing console.Standing `bun:"standing"`
		ClosedOn []string         `bun:"closed_on,array"`
		Updated  time.Time        `bun:"updated_at"`
	}
	if err := c.of(business).NewRaw(`SELECT s.id, s.ref_id, s.name, s.city, s.active, s.ordering_enabled, s.hide_from_ui, s.excluded_platforms, s.included_platforms,
			`+standing(f.Local)+` AS standing, s.updated_at,
			ARRAY(SELECT w.platform FROM store_switches w WHERE w.business_id = s.business_id AND w.store_id = s.id AND NOT w.open ORDER BY 1) AS closed_on
		FROM stores s WHERE `+only.text+` ORDER BY s.ref_id LIMIT ?`, append(only.args, f.Limit)...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading stores: %w", err)
	}
	list := make([]console.Store, len(rows))
	for i, r := range rows {
		list[i] = console.Store(r)
	}
	return list, nil
}

// StoreRef finds the ref_id of a store and when it was last changed; NotFound
// where the business has none of that id.
func (c Console) StoreRef(ctx context.Context, business core.BusinessID, id int64) (ref string, updated time.Time, err error) {
	err = c.of(business).QueryRowContext(ctx, `SELECT ref_id, updated_at FROM stores WHERE business_id = ? AND id = ?`, business, id).Scan(&ref, &updated)
	return ref, updated, notFound(err, "there is no such store")
}

// ItemOf finds the id of an item by its ref_id; NotFound where there is none.
func (c Console) ItemOf(ctx context.Context, business core.BusinessID, refID string) (id int64, err error) {
	err = c.of(business).QueryRowContext(ctx, `SELECT id FROM menu_masters WHERE business_id = ? AND kind = ? AND name = ?`, business, int(menu.Items), refID).Scan(&id)
	return id, notFound(err, "there is no such item")
}

// Platforms reads the platforms of a business by their names.
func (c Console) Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error) {
	return platformsOf(ctx, c.of(business), business)
}

type itemRow struct {
	ID        int64           `bun:"id"`
	RefID     string          `bun:"name"`
	Title     string          `bun:"title"`
	Price     string          `bun:"price"`
	Active    bool            `bun:"active"`
	Available bool            `bun:"available"`
	Updated   time.Time       `bun:"updated_at"`
	Record    json.RawMessage `bun:"record"`
}

const itemColumns = `id, name, coalesce(record->>'title', '') AS title, coalesce(record->>'price', '') AS price, active,
	coalesce((record->>'available')::boolean, false) AS available, updated_at`

func (r itemRow) item() console.Item {
	return console.Item{ID: r.ID, RefID: r.RefID, Title: r.Title, Price: r.Price, Active: r.Active, Available: r.Available, Updated: r.Updated}
}

// ListItems reads items of the master catalogue by their ref_id.
func (c Console) ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error) {
	only := conditions{text: "business_id = ? AND kind = ? AND name > ?", args: []any{business, int(menu.Items), f.After}}
	only.add(f.Text != "", "(name ILIKE ? OR record->>'title' ILIKE ?)", part(f.Text), part(f.Text))
	var rows []itemRow
	if err := c.of(business).NewRaw(`SELECT `+itemColumns+` FROM menu_masters WHERE `+only.text+` ORDER BY name LIMIT ?`, append(only.args, f.Limit)...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading items: %w", err)
	}
	list := make([]console.Item, len(rows))
	for i, r := range rows {
		list[i] = r.item()
	}
	return list, nil
}

// placesShown is how many stores stand on an item's page.
const placesShown = 100

// Item reads an item with its categories, its findings, and the stores that have
// it; with store, a ref_id, that store alone, whether it has it or not.
func (c Console) Item(ctx context.Context, business core.BusinessID, id int64, store string) (console.ItemDetail, error) {
	var row itemRow
	if err := c.of(business).NewRaw(`SELECT `+itemColumns+`, record FROM menu_masters WHERE business_id = ? AND kind = ? AND id = ?`,
		business, int(menu.Items), id).Scan(ctx, &row); err != nil {
		return console.ItemDetail{}, notFound(err, "there is no such item")
	}
	detail := console.ItemDetail{Item: row.item(), Record: row.Record}
	var listed struct {
		Platforms []string `json:"included_platforms"`
	}
	if err := json.Unmarshal(row.Record, &listed); err != nil {
		return detail, fmt.Errorf("reading item %d: %w", id, err)
	}
	detail.Platforms = listed.Platforms
	if err := c.itemCategories(ctx, business, &detail); err != nil {
		return detail, err
	}
	found, err := readFindings(ctx, c.of(business), `item_id = ? ORDER BY platform, rule`, business, id)
	if err != nil {
		return detail, err
	}
	for _, f := range found {
		detail.Findings = append(detail.Findings, console.ItemFinding{Platform: f.Platform, Rule: f.Rule, Message: f.Message})
	}
	if detail.Refusals, err = c.itemRefusals(ctx, business, detail.RefID, store); err != nil {
		return detail, err
	}
	return detail, c.itemPlaces(ctx, business, store, &detail)
}

// itemCategories reads the categories of an item, with the times at which they are on sale.
func (c Console) itemCategories(ctx context.Context, business core.BusinessID, detail *console.ItemDetail) error {
	var rows []struct {
		ID     int64  `bun:"id"`
		Parent int64  `bun:"parent_id"`
		RefID  string `bun:"name"`
		Name   string `bun:"title"`
		Active bool   `bun:"open"`
		Under  string `bun:"under"`
	}
	if err := c.of(business).NewRaw(`SELECT m.id, m.parent_id, m.name, coalesce(m.record->>'name', '') AS title, m.active AND coalesce(p.active, true) AS open,
			CASE WHEN NOT p.active THEN p.name ELSE '' END AS under
		FROM menu_links l JOIN menu_masters m ON m.business_id = l.business_id AND m.kind = ? AND m.id = l.to_id
		LEFT JOIN menu_masters p ON m.parent_id <> 0 AND p.business_id = m.business_id AND p.kind = m.kind AND p.id = m.parent_id
		WHERE l.business_id = ? AND l.relation = ? AND l.from_id = ? ORDER BY l.position, m.name`,
		int(menu.Categories), business, int(menu.ItemCategory), detail.ID).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("reading the categories of item %d: %w", detail.ID, err)
	}
	timings, _, err := readTimings(ctx, c.of(business), business, keptTimings.present())
	for _, r := range rows {
		detail.Categories = append(detail.Categories, console.ItemCategory{RefID: r.RefID, Name: r.Name, Active: r.Active, Under: r.Under, OnSale: timings.OnSale(r.ID, r.Parent)})
	}
	return err
}

// unmetGroup is the first group of the item ?1 of which more options must be chosen
// than can be ordered at a store s, as long as it sells any (menu.Effective); what
// is nested under options is not looked at.
const unmetGroup = `SELECT g.name FROM menu_links l JOIN menu_masters g ON g.business_id = l.business_id AND g.kind = 2 AND g.id = l.from_id AND g.active
	CROSS JOIN LATERAL (SELECT count(*) AS sold, count(*) FILTER (WHERE m.active AND (o.content->>'available')::boolean) AS there FROM menu_links i
		JOIN menu_masters m ON m.business_id = i.business_id AND m.kind = 3 AND m.id = i.from_id
		JOIN menu_at_store o ON o.business_id = i.business_id AND o.store_id = s.id AND o.kind = 3 AND o.id = i.from_id
		WHERE i.business_id = g.business_id AND i.relation = 2 AND i.to_id = g.id) n
	WHERE l.business_id = s.business_id AND l.relation = 1 AND l.to_id = ?1 AND n.sold > 0
		AND n.there < CASE WHEN (g.record->>'multi_options_enabled')::boolean THEN least((g.record->>'min_selectable')::bigint, 1) ELSE (g.record->>'min_selectable')::bigint END
	ORDER BY g.name LIMIT 1`

func (c Console) itemPlaces(ctx context.Context, business core.BusinessID, store string, detail *console.ItemDetail) error {
	// By the key of each store's row: an index by item would cost every menu that is written.
	var rows []struct {
		GridRow
		Sold      bool   `bun:"sold"`
		Price     string `bun:"price"`
		Available bool   `bun:"available"`
		Stock     int64  `bun:"stock"`
		Unmet     string `bun:"unmet"`
		Values    []byte `bun:"content"`
	}
	if err := c.of(business).NewRaw(`SELECT `+gridColumns+`, a.id IS NOT NULL AS sold, coalesce(a.content->>'price', '') AS price,
			coalesce((a.content->>'available')::boolean, false) AS available, coalesce((a.content->>'current_stock')::bigint, -1) AS stock,
			coalesce((`+unmetGroup+`), '') AS unmet, coalesce(a.content::text, '{}') AS content
		FROM (SELECT *, `+closedOn+` AS closed_on FROM stores) s LEFT JOIN menu_at_store a ON a.business_id = s.business_id AND a.store_id = s.id AND a.kind = ?0 AND a.id = ?1
		WHERE s.business_id = ?2 AND CASE WHEN ?3 = '' THEN a.id IS NOT NULL ELSE s.ref_id = ?3 END ORDER BY s.ref_id LIMIT ?4`,
		int(menu.Items), detail.ID, business, store, placesShown+1).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("reading the stores of item %d: %w", detail.ID, err)
	}
	detail.MorePlaces = len(rows) > placesShown
	for _, r := range rows[:min(len(rows), placesShown)] {
		at, err := r.store()
		if err != nil {
			return err
		}
		detail.Places = append(detail.Places, console.ItemPlace{Store: at, Sold: r.Sold, Price: r.Price, Available: r.Available, Stock: r.Stock, Unmet: r.Unmet, Values: r.Values})
	}
	return nil
}
