package items

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/stores"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

// itemView is the view model of the causes and filters above the stores of an item.
type itemView struct {
	facts     []ui.Fact
	platforms ui.List
	record    ui.Payload
	counts    []ui.Link
}

// platformList lists the platforms and at how many stores customers can order the item there.
func platformList(item console.ItemDetail, platforms []core.Platform, counts []console.ItemPlaceCount) ui.List {
	list := ui.List{Name: text.Platforms, EmptyTitle: text.ListedNone,
		Columns: []ui.Column{{Label: text.Platform}, {Label: text.State}, {Label: text.WhyNot, Kind: ui.Wide},
			{Label: text.ServedBy}}}
	for _, platform := range platforms {
		state, words, why := cause.ItemOnPlatform(item, platform.Name, counts)
		list.Add(ui.T(platform.Name), ui.StateCell(state, words), ui.T(why), ui.T(cause.ServedBy(platform)))
	}
	return list
}

// placeFilter returns the filter of the stores from the URL.
func placeFilter(v *shell.PageContext, working []string) console.ItemPlaceFilter {
	return console.ItemPlaceFilter{Store: strings.TrimSpace(v.Query.Get("store")), Platform: v.Query.Get("platform"),
		Reason: console.PlaceReason(v.Query.Get("reason")), WorkingPlugins: working, Local: v.LocalNow(),
		After: parseCursor(v.Query.Get("after")), Limit: v.Limit()}
}

// cursorText returns the form that parseCursor parses: the length of the ref_id, the ref_id and the platform.
func cursorText(p console.ItemPlace) string {
	return fmt.Sprintf("%d-%s%s", len(p.Store.RefID), p.Store.RefID, p.Platform)
}

// parseCursor parses the form of cursorText. Any other text is the start.
func parseCursor(s string) (cursor console.ItemPlaceCursor) {
	size, rest, found := strings.Cut(s, "-")
	if n, err := strconv.Atoi(size); found && err == nil && n >= 0 && n <= len(rest) {
		cursor.StoreRef, cursor.Platform = rest[:n], rest[n:]
	}
	return cursor
}

// countLinks returns the counts of reasons on the selected platform, or on all, each with a link to its stores.
func countLinks(v *shell.PageContext, f console.ItemPlaceFilter, counts []console.ItemPlaceCount) (links []ui.Link) {
	for _, reason := range append([]console.PlaceReason{console.PlaceLive}, console.ItemReasons()...) {
		n := 0
		for _, c := range counts {
			if c.Reason == reason && (f.Platform == "" || c.Platform == f.Platform) {
				n += c.Stores
			}
		}
		if n == 0 {
			continue
		}
		query := url.Values{"reason": {string(reason)}}
		if reason == console.PlaceLive {
			query.Set("reason", string(console.Shown))
		}
		for name, value := range map[string]string{"platform": f.Platform, "store": f.Store} {
			if value != "" {
				query.Set(name, value)
			}
		}
		links = append(links, ui.Link{Href: v.Path + "?" + query.Encode(),
			Label: fmt.Sprintf(text.ReasonOf, cause.ItemPlaceLabel(reason), ui.Number(n))})
	}
	return links
}

// matrix is the stores of an item on platforms.
type matrix struct {
	v         *shell.PageContext
	item      console.ItemDetail
	platforms []core.Platform
	plugins   []console.Plugin
	master    menu.Item
}

// list lists the stores of the item on each platform: whether customers can order it there, and its price.
func (m matrix) list(f console.ItemPlaceFilter, places []console.ItemPlace) (list ui.List) {
	reasons := []ui.Option{{Value: "", Label: text.Any},
		{Value: string(console.Shown), Label: cause.ItemPlaceLabel(console.Shown)}}
	for _, reason := range console.ItemReasons() {
		reasons = append(reasons, ui.Option{Value: string(reason), Label: cause.ItemPlaceLabel(reason)})
	}
	list = ui.List{Name: text.AtStores, EmptyTitle: text.AtStoresNone, EmptyText: text.AtStoresNoneText,
		Filters: []ui.Filter{{Name: "platform", Label: text.Platform, Value: f.Platform,
			Options: platformOptions(m.platforms)},
			{Name: "reason", Label: text.Reason, Value: string(f.Reason), Options: reasons},
			{Name: "store", Label: text.Store, Value: f.Store, Hint: text.StoreRefHint}},
		Columns: []ui.Column{{Label: text.Store, Kind: ui.Wide}, {Label: text.Platform}, {Label: text.State},
			{Label: text.WhyNot, Kind: ui.Wide}, {Label: text.Price, Kind: ui.Figure},
			{Label: text.Stock, Kind: ui.Figure}}}
	if f.Store != "" {
		list.NoMatchTitle, list.NoMatchText = text.NoSuchStore, text.NoSuchStoreText
	}
	for _, place := range places {
		list.AddAt(cursorText(place), m.cells(place)...)
	}
	return list
}

func (m matrix) cells(place console.ItemPlace) []ui.Cell {
	at := slices.IndexFunc(m.platforms, func(p core.Platform) bool { return p.Name == place.Platform })
	if at < 0 { // removed meanwhile
		return []ui.Cell{ui.T(place.Store.Name), ui.T(place.Platform), {}, {}, {}, {}}
	}
	onPlatform := cause.Platform{Platform: m.platforms[at], Published: place.Menu}
	if n := slices.IndexFunc(m.plugins, func(p console.Plugin) bool { return p.ID == onPlatform.ServedBy }); n >= 0 {
		onPlatform.Plugin = &m.plugins[n]
	}
	visibility := cause.ItemVisibility(m.item, place, onPlatform, m.v.LocalNow(), m.v.Zone)
	price, stock := m.values(place, onPlatform.Platform, visibility.State)
	price.Text = ui.Price(price.Text, m.v.Business.Currency)
	platform := ui.T(place.Platform)
	if onPlatform.ServedBy != core.ServedByMerchant {
		platform.Href = stores.MenuLink(m.v, place.Store.ID, place.Platform)
	}
	return []ui.Cell{{Text: place.Store.Name, Note: place.Store.RefID,
		Href: m.v.Link(fmt.Sprintf("stores/%d/", place.Store.ID))}, platform,
		ui.StateCell(visibility.State, visibility.Label), ui.T(visibility.Why), price, ui.T(stock)}
}

// values returns the price at a store on a platform, with the rule that sets it as its note, and the stock.
func (m matrix) values(place console.ItemPlace, platform core.Platform, state ui.State) (price ui.Cell,
	stock string) {
	var values menu.ItemValues
	if !place.Sold || menu.DecodeStored(string(place.Values), &values) != nil {
		return ui.Cell{}, ""
	}
	amount, rule := menu.RulePrice(&m.master, &values, platform)
	note := priceLabels[rule]
	switch sent := place.Menu; {
	case sent == nil:
	case !sent.DueAt.IsZero():
		note = fmt.Sprintf(text.PriceToCome, note)
	case state == ui.OK && sent.State == publish.Published && !sent.PublishedAt.IsZero():
		note = fmt.Sprintf(text.PriceSent, note, cause.Moment(sent.PublishedAt, m.v.Zone))
	}
	if stock = text.NotCounted; values.CurrentStock >= 0 {
		stock = ui.Number(values.CurrentStock)
	}
	return ui.Cell{Text: amount.String(), Note: note}, stock
}

var priceLabels = map[menu.PriceRule]string{menu.StorePlatformPrice: text.PriceStorePlatform,
	menu.MasterPlatformPrice: text.PriceOfPlatform,
	menu.StoreExternalPrice:  text.PriceExternal, menu.StorePrice: text.PriceOfStore}
