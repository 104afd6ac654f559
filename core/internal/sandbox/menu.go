package sandbox

import (
	"context"
	"net/url"

	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/plugins/simulator"
)

// readMenus reads the menu of the store on each platform.
func (s *Scenario) readMenus(ctx context.Context) error {
	for _, platform := range s.platforms {
		var m menu.EffectiveMenu
		if err := s.read(ctx, "/channel/api/v1/stores/"+url.PathEscape(s.Store)+"/menu/?"+
			url.Values{"platform": {platform}}.Encode(), &m); err != nil {
			return err
		}
		orderable := orderableMenu(m)
		orderable.City = s.store.City
		if s.store.Latitude != nil && s.store.Longitude != nil {
			orderable.Point = &simulator.Point{Latitude: *s.store.Latitude, Longitude: *s.store.Longitude}
		}
		for _, data := range s.store.PlatformData {
			if data.Name == platform {
				orderable.Code = data.PlatformStoreID
			}
		}
		if _, err := orderable.RandomBasket(simulator.OrderSpec{}, s.Seed, 0); err != nil {
			return err // before any order is placed
		}
		s.menus[platform] = orderable
	}
	return nil
}

// orderableMenu returns the part of a menu that can be ordered.
func orderableMenu(m menu.EffectiveMenu) simulator.Menu {
	options := map[string][]simulator.Option{}
	for _, o := range m.Options {
		for _, group := range o.OptGrpRefIDs {
			options[group] = append(options[group],
				simulator.Option{Ref: o.RefID, Title: o.Title, Price: o.Price.String()})
		}
	}
	choices := map[string]simulator.OptionGroup{}
	for _, g := range m.OptionGroups {
		choices[g.RefID] = simulator.OptionGroup{Min: g.MinSelectable, Max: g.MaxSelectable, Options: options[g.RefID]}
	}
	orderable := simulator.Menu{Store: m.StoreRefID}
	for _, item := range m.Items {
		sold := simulator.Item{Ref: item.RefID, Title: item.Title, Price: item.Price.String(),
			OutOfStock: item.CurrentStock == 0}
		for _, ref := range item.OptionGroupRefIDs {
			if choice, seen := choices[ref]; seen {
				sold.OptionGroups = append(sold.OptionGroups, choice)
			}
		}
		orderable.Items = append(orderable.Items, sold)
	}
	return orderable
}

// Orders returns n random orders of a menu in the form of the channel API, each without its platform_order_id.
func Orders(m menu.EffectiveMenu, platform string, n int) ([]map[string]any, error) {
	orderable, orders := orderableMenu(m), make([]map[string]any, n)
	for i := range orders {
		basket, err := orderable.RandomBasket(simulator.OrderSpec{Mode: simulator.Delivery,
			DeliveredBy: simulator.BySelf}, 0, i)
		if err != nil {
			return nil, err
		}
		orders[i] = normalForm(platform, basket)
		delete(orders[i], "platform_order_id")
	}
	return orders, nil
}

// normalForm returns an order in the form of the channel API (contract, Orders and channels).
func normalForm(platform string, b simulator.Basket) map[string]any {
	items := make([]map[string]any, len(b.Lines))
	for i, l := range b.Lines {
		options := []map[string]any{}
		for _, o := range l.Options {
			options = append(options,
				map[string]any{"ref_id": o.Ref, "title": o.Title, "quantity": 1, "price": rawNumber(o.Price)})
		}
		items[i] = map[string]any{"ref_id": l.Ref, "title": l.Title, "quantity": l.Quantity,
			"price": rawNumber(l.Price), "instructions": l.Note, "options": options}
	}
	c := b.Customer
	return map[string]any{
		"platform": platform, "platform_order_id": "W-" + b.Number, "store_ref_id": b.Store, "order_type": b.Mode,
		"delivery_type": b.DeliveredBy,
		"is_bulk_order": b.Bulk, "instructions": b.Note, "items": items,
		"customer": map[string]any{"name": c.Name, "phone": c.Phone, "address": map[string]any{
			"line_1": c.Street, "city": c.City, "pin": c.Zip, "latitude": c.Point.Latitude,
			"longitude": c.Point.Longitude}},
	}
}
