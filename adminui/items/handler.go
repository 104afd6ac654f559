// Package items shows the items of a business's menu and, of one, whether
// customers see it, where, and why not.
package items

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// Records is what the pages read.
type Records interface {
	ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error)
	Item(ctx context.Context, business core.BusinessID, id int64) (console.ItemDetail, error)
}

// Pages are the pages of items.
type Pages struct{ Records Records }

// List shows the items of the master catalogue.
func (p Pages) List(c *fiber.Ctx, v *shell.Visit) error {
	f := console.ItemFilter{Text: v.Query.Get("text"), After: v.Query.Get("after"), Limit: v.Limit()}
	found, err := p.Records.ListItems(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Items, EmptyTitle: text.NoItemsTitle, EmptyText: text.NoItemsText, Filters: []ui.Filter{{Name: "text", Label: text.Text, Value: f.Text}},
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Title, Kind: ui.Wide}, {Label: text.State}, {Label: text.Price, Kind: ui.Figure}, {Label: text.Updated}}}
	keys := make([]string, len(found))
	for i, item := range found {
		keys[i] = item.RefID
		href := v.Link(fmt.Sprintf("items/%d/", item.ID))
		state, words := ui.OK, text.Active
		if !item.Active {
			state, words = ui.Err, text.NotActive
		}
		list.Rows = append(list.Rows, ui.Row{Cells: []ui.Cell{{Text: item.RefID, Href: href, Code: true}, ui.Linked(item.Title, href), ui.Stated(state, words),
			ui.T(item.Price), ui.Timed(v.At(item.Updated))}})
	}
	return v.Listed(c, shell.Head{Title: text.Items, Note: text.MasterCatalogue, Live: true}, list, "after", keys)
}

// itemView is an item as the page shows it.
type itemView struct {
	facts  []ui.Fact
	places ui.List
	more   string
	record string
}

// One shows an item.
func (p Pages) One(c *fiber.Ctx, v *shell.Visit) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	item, err := p.Records.Item(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return err
	}
	view := itemView{record: ui.Pretty(item.Record, 16<<10), places: ui.List{Name: text.AtStores, EmptyTitle: text.AtStoresNone, EmptyText: text.AtStoresNoneText,
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Store, Kind: ui.Wide}, {Label: text.State}, {Label: text.Price, Kind: ui.Figure}, {Label: text.Stock, Kind: ui.Figure}}}}
	for _, place := range item.Places {
		state, words := cause.Place(item, place)
		stock := text.NotCounted
		if place.Stock >= 0 {
			stock = ui.Number(place.Stock)
		}
		href := v.Link(fmt.Sprintf("stores/%d/", place.StoreID))
		view.places.Rows = append(view.places.Rows, ui.Row{Cells: []ui.Cell{{Text: place.StoreRef, Href: href, Code: true}, ui.T(place.StoreName), ui.Stated(state, words),
			ui.T(place.Price), ui.T(stock)}})
	}
	if item.MorePlaces {
		view.more = fmt.Sprintf(text.PlacesMore, ui.Number(len(item.Places)))
	}
	view.facts = facts(v, item)
	told := cause.Item(item)
	if told.State != ui.OK {
		told.Link = ui.Link{Href: v.Link("jobs/?kind=" + string(core.MenuJob)), Label: text.ActSeeJobs}
	}
	return v.Show(c, shell.Head{Title: item.Title, Note: item.RefID, Up: ui.Link{Href: v.Link("items/"), Label: text.Items}, Causes: []ui.Cause{told}, Live: true}, itemPage(view))
}

func facts(v *shell.Visit, item console.ItemDetail) []ui.Fact {
	platforms := text.ListedAll
	if item.Platforms != nil {
		if platforms = strings.Join(item.Platforms, ", "); platforms == "" {
			platforms = text.ListedNone
		}
	}
	var categories []string
	for _, category := range item.Categories {
		name := category.RefID
		if !category.Active {
			name += " (" + text.NotActive + ")"
		}
		categories = append(categories, name)
	}
	state, words := ui.OK, text.Active
	if !item.Active {
		state, words = ui.Err, text.NotActive
	}
	return []ui.Fact{{Label: text.State, Cell: ui.Stated(state, words)}, {Label: text.Ref, Cell: ui.Coded(item.RefID)}, {Label: "ID", Cell: ui.T(fmt.Sprint(item.ID))},
		{Label: text.Price, Cell: ui.T(item.Price)}, {Label: text.Categories, Cell: ui.T(strings.Join(categories, ", "))},
		{Label: text.OnPlatforms, Cell: ui.T(platforms)}, {Label: text.Updated, Cell: ui.Timed(v.At(item.Updated))}}
}
