package consolemenus

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
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

// Platforms returns the platforms of a business, sorted by name.
func (c Store) Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error) {
	return platforms.PlatformsOf(ctx, c.db.Tenant(business), business)
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

// textCondition returns the condition that a store contains a text.
func textCondition(text string) (only postgres.Conditions) {
	pattern := postgres.ContainsPattern(text)
	only.Add(text != "", "(store.name ILIKE ? OR store.city ILIKE ? OR store.ref_id ILIKE ?)", pattern, pattern,
		pattern)
	return only
}

// storeConditions returns the conditions of a filter on a store.
func storeConditions(f console.StoreFilter) (only postgres.Conditions) {
	only = textCondition(f.Text)
	only.Add(f.Status != "", "? = ?", storeStatus(f.Local), f.Status)
	return only
}

// storeStatus returns the condition for the console.StoreStatus of a store at a local time.
func storeStatus(local time.Time) bun.Safe {
	return bun.Safe(queries.With("store_status", postgres.Args{
		"local":     local.Format(time.DateTime),
		"listed_on": bun.Safe(publications.ListedOn), "sells_on": sellsOn,
	}))
}
