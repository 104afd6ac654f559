package items

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

// platformList lists the platforms and whether the item is listed there.
func platformList(v *shell.PageContext, item console.ItemDetail, platforms []core.Platform) ui.List {
	list := ui.List{Name: text.Platforms, EmptyTitle: text.ListedNone,
		Columns: []ui.Column{{Label: text.Platform}, {Label: text.State}, {Label: text.WhyNot, Kind: ui.Wide},
			{Label: text.ServedBy}}}
	for _, platform := range platforms {
		state, why := cause.ItemOnPlatform(item, platform.Name)
		words := text.ItemSelected
		if state != ui.OK {
			words = text.NotShown
		}
		list.Rows = append(list.Rows,
			ui.Row{Cells: []ui.Cell{ui.T(platform.Name), ui.StateCell(state, words), ui.T(why),
				ui.T(cause.ServedBy(platform))}})
	}
	return list
}

// storeList lists the stores and what customers see there, by store values or by those of the platform in the
// query.
func (p Pages) storeList(ctx context.Context, v *shell.PageContext, item console.ItemDetail, store string,
	platforms []core.Platform) (ui.List, error) {
	options := []ui.Option{{Value: "", Label: text.OwnValues}}
	for _, platform := range platforms {
		options = append(options, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	at := slices.IndexFunc(platforms, func(p core.Platform) bool { return p.Name == v.Query.Get("platform") })
	list := ui.List{Name: text.AtStores, EmptyTitle: text.AtStoresNone, EmptyText: text.AtStoresNoneText,
		Filters: []ui.Filter{{Name: "platform", Label: text.PriceOn, Value: v.Query.Get("platform"), Options: options},
			{Name: "store", Label: text.Store, Value: store, Hint: "ref_id"}},
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Store, Kind: ui.Wide}, {Label: text.State},
			{Label: text.WhyNot, Kind: ui.Wide}, {Label: text.Price, Kind: ui.Figure},
			{Label: text.Stock, Kind: ui.Figure}}}
	if store != "" {
		list.EmptyTitle, list.EmptyText = text.NoSuchStore, text.NoSuchStoreText
	}
	if store != "" || at >= 0 {
		list.Clear = v.Path
	}
	view := platformView{item: item}
	if at >= 0 {
		if err := p.loadPlatform(ctx, v, &view, platforms[at], store); err != nil {
			return list, err
		}
	}
	for _, itemStore := range item.Stores {
		visibility, price := view.visibility(itemStore, v.Now.In(v.Zone))
		price.Text = ui.Price(price.Text, v.Business.Currency)
		stock := text.NotCounted
		if itemStore.Stock >= 0 {
			stock = ui.Number(itemStore.Stock)
		}
		list.Rows = append(list.Rows,
			ui.Row{Cells: []ui.Cell{{Text: itemStore.Store.RefID, Code: true,
				Href: v.Link(fmt.Sprintf("stores/%d/", itemStore.Store.ID))}, ui.T(itemStore.Store.Name),
				ui.StateCell(visibility.State, visibility.Label), ui.T(visibility.Why), price, ui.T(stock)}})
	}
	return list, nil
}

// menus returns the platforms with the menus of the item's stores.
func (p Pages) menus(ctx context.Context, v *shell.PageContext, item console.ItemDetail,
	platforms []core.Platform) ([]cause.PlatformMenus, error) {
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	if err != nil {
		return nil, err
	}
	filter := publish.Filter{Limit: maxPublications}
	if len(item.Stores) == 1 {
		filter.StoreRef = item.Stores[0].Store.RefID
	}
	published, err := p.Publications.List(ctx, v.Business.ID, filter)
	if err != nil {
		return nil, err
	}
	list := make([]cause.PlatformMenus, len(platforms))
	for i, platform := range platforms {
		list[i] = cause.PlatformMenus{Platform: platform, Published: map[string]*publish.Publication{}}
		if at := slices.IndexFunc(plugins, func(p console.Plugin) bool { return p.ID == platform.ServedBy }); at >= 0 {
			list[i].Plugin = &plugins[at]
		}
		for n := range published {
			if published[n].Platform == platform.Name {
				list[i].Published[published[n].StoreRef] = &published[n]
			}
		}
	}
	return list, nil
}

// platformView decides how an item appears on a platform, or with the store values if platform is nil.
type platformView struct {
	item      console.ItemDetail
	platform  *core.Platform  // nil: no platform selected
	plugin    *console.Plugin // serves the platform; nil: unknown to all hubs
	master    menu.Item
	published map[string]*publish.Publication // by ref_id of the store
}

// maxPublications limits how many publications are read for one page.
const maxPublications = 5000

func (p Pages) loadPlatform(ctx context.Context, v *shell.PageContext, s *platformView, platform core.Platform,
	store string) error {
	s.platform, s.published = &platform, map[string]*publish.Publication{}
	if err := menu.DecodeStored(string(s.item.Record), &s.master); err != nil {
		return fmt.Errorf("reading item %d: %w", s.item.ID, err)
	}
	if platform.ServedBy == core.ServedByMerchant {
		return nil
	}
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(plugins, func(p console.Plugin) bool { return p.ID == platform.ServedBy }); at >= 0 {
		s.plugin = &plugins[at]
	}
	list, err := p.Publications.List(ctx, v.Business.ID,
		publish.Filter{Platform: platform.Name, StoreRef: store, Limit: maxPublications})
	for i := range list {
		s.published[list[i].StoreRef] = &list[i]
	}
	return err
}

// visibility returns whether customers see the item at a store, and its price. On a platform, the note of the
// price names the rule that set it.
func (s platformView) visibility(itemStore console.ItemStore, now time.Time) (cause.Visibility, ui.Cell) {
	if s.platform == nil {
		return cause.ItemVisibility(s.item, itemStore, now), ui.T(itemStore.Price)
	}
	visibility := cause.ItemVisibilityOn(s.item, itemStore, cause.Platform{Platform: *s.platform, Plugin: s.plugin,
		Published: s.published[itemStore.Store.RefID]}, now)
	var values menu.ItemValues
	if !itemStore.Sold || menu.DecodeStored(string(itemStore.Values), &values) != nil {
		return visibility, ui.T(itemStore.Price)
	}
	price, rule := menu.RulePrice(&s.master, &values, *s.platform)
	note := priceLabels[rule]
	if p := s.published[itemStore.Store.RefID]; p != nil && !p.DueAt.IsZero() {
		note = fmt.Sprintf(text.PriceToCome, note)
	}
	return visibility, ui.Cell{Text: price.String(), Note: note}
}

var priceLabels = map[menu.PriceRule]string{menu.StorePlatformPrice: text.PriceStorePlatform,
	menu.MasterPlatformPrice: text.PriceOfPlatform,
	menu.StoreExternalPrice:  text.PriceExternal, menu.StorePrice: text.PriceOfStore}
