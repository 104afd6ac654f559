package consolemenus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/menu"
)

// ItemPlaces returns the stores of an item on each platform, at most f.Limit, and how many stores each reason concerns.
// The counts ignore the filters by platform and reason.
func (c Store) ItemPlaces(ctx context.Context, business core.BusinessID, item console.Item,
	f console.ItemPlaceFilter) (list []console.ItemPlace, counts []console.ItemPlaceCount, err error) {
	read := places{business: business, working: f.WorkingPlugins, local: f.Local}
	read.only.Add(f.Store != "", "store.ref_id = ?", f.Store)
	var matching postgres.Conditions
	matching.Add(f.Platform != "", "place.platform = ?", f.Platform)
	matching.Add(f.Reason == console.Shown, "place.reason = ''")
	matching.Add(f.Reason != "" && f.Reason != console.Shown, "place.reason = ?", f.Reason)
	quoted, err := json.Marshal(item.RefID) // as it appears in problems
	if err != nil {
		return nil, nil, err
	}
	read.refused = bun.Safe(queries.With("item_refused", postgres.Args{
		"pattern": postgres.ContainsPattern(string(quoted)),
		"problem": fmt.Sprintf(`[{"entity":"item","ref_id":%s}]`, quoted),
	}))
	if read.stores, read.facts, err = c.storeReasons(ctx, business, item.ID); err != nil {
		return nil, nil, err
	}
	var rows []struct {
		GridRow
		Platform string              `bun:"platform"`
		Reason   console.PlaceReason `bun:"reason"`
		Values   []byte              `bun:"content"`
		Unmet    string              `bun:"unmet_group"`
		Counts   []byte              `bun:"counts"`
	}
	args := read.args()
	maps.Copy(args, postgres.Args{"catalogue_reason": catalogueReason, "place_reason": itemPlaceReason,
		"refused": read.refused, "missing_group": missingGroup,
		"unsold": f.Store != "", "item": item.ID, "matching": matching,
		"after_ref": f.After.StoreRef, "after_platform": f.After.Platform, "limit": f.Limit})
	if err := c.db.Tenant(business).NewRaw(queries.With("item_places", args)).Scan(ctx, &rows); err != nil {
		return nil, nil, fmt.Errorf("reading the stores of item %d: %w", item.ID, err)
	}
	if len(rows[0].Counts) > 0 {
		if err := json.Unmarshal(rows[0].Counts, &counts); err != nil {
			return nil, nil, fmt.Errorf("reading the stores of item %d: %w", item.ID, err)
		}
	}
	for _, r := range rows {
		if r.ID == 0 { // no store: only the counts
			continue
		}
		place := console.ItemPlace{Platform: r.Platform, Reason: r.Reason,
			ItemStore: console.ItemStore{Sold: len(r.Values) > 0, Values: r.Values, UnmetGroup: r.Unmet}}
		if place.Store, err = r.store(); err != nil {
			return nil, nil, err
		}
		list = append(list, place)
	}
	return list, counts, c.addMenus(ctx, business, list)
}

// addMenus adds the publications to places.
func (c Store) addMenus(ctx context.Context, business core.BusinessID, list []console.ItemPlace) error {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].Store.ID
	}
	published, err := c.StorePublications(ctx, business, ids)
	for i := range list {
		if p, found := published[list[i].Store.ID][list[i].Platform]; found {
			list[i].Menu = &p
		}
	}
	return err
}

// StoreOffers returns how many items of a store each menu.Reason concerns, by platform.
func (c Store) StoreOffers(ctx context.Context, business core.BusinessID,
	store int64) (map[string]map[menu.Reason]int, error) {
	platforms, err := c.Platforms(ctx, business)
	if err != nil {
		return nil, err
	}
	offers := map[string]map[menu.Reason]int{}
	return offers, menus.New(c.db).UseMenu(ctx, business, store, func(atStore menu.Menu) error {
		for _, platform := range platforms {
			counts := map[menu.Reason]int{}
			for _, reason := range menu.Reasons(atStore, platform) {
				counts[reason]++
			}
			delete(counts, menu.NotSold)
			offers[platform.Name] = counts
		}
		return nil
	})
}
