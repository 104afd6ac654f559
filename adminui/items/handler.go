// Package items lists the items of the master catalogue, and shows where customers see an item and why not.
package items

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// Reader reads items and the platforms of their business.
type Reader interface {
	ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error)
	Item(ctx context.Context, business core.BusinessID, id int64, store string) (console.ItemDetail, error)
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
}

// Publications reads the menus published per store and platform.
type Publications interface {
	List(ctx context.Context, business core.BusinessID, f publish.Filter) ([]publish.Publication, error)
}

// Plugins reads the plugins that serve platforms.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
}

// Pages is the item pages.
type Pages struct {
	Items        Reader
	Publications Publications
	Plugins      Plugins
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "items/"
	return shell.Page{Path: path, Label: text.Items,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
		}}
}

// List shows the items of the master catalogue.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f := console.ItemFilter{Text: v.Query.Get("text"), After: v.Query.Get("after"), Limit: v.Limit()}
	found, err := p.Items.ListItems(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Items, EmptyTitle: text.NoItemsTitle, EmptyText: text.NoItemsText,
		Filters: []ui.Filter{{Name: "text", Label: text.Text, Value: f.Text}},
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Title, Kind: ui.Wide}, {Label: text.State},
			{Label: text.Price, Kind: ui.Figure}, {Label: text.Updated}}}
	keys := make([]string, len(found))
	for i, item := range found {
		keys[i] = item.RefID
		href := v.Link(fmt.Sprintf("items/%d/", item.ID))
		state, words := ui.OK, text.Active
		if !item.Active {
			state, words = ui.Err, text.NotActive
		}
		list.Rows = append(list.Rows,
			ui.Row{Cells: []ui.Cell{{Text: item.RefID, Href: href, Code: true}, ui.LinkCell(item.Title, href),
				ui.StateCell(state, words),
				ui.T(ui.Price(item.Price, v.Business.Currency)), ui.TimeCell(v.At(item.Updated))}})
	}
	return v.ShowList(c, shell.Head{Title: text.Items, Note: text.MasterCatalogue, Live: true}, list, "after", keys)
}

// itemView is the view model of an item.
type itemView struct {
	facts     []ui.Fact
	platforms ui.List
	stores    ui.List
	more      string
	record    string
}

// One shows on which platforms an item is listed and what customers see of it at each store. Prices are those of
// the store, or of the platform in the query.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	ctx, store := c.UserContext(), strings.TrimSpace(v.Query.Get("store"))
	item, err := p.Items.Item(ctx, v.Business.ID, id, store)
	if err != nil {
		return err
	}
	platforms, err := p.Items.Platforms(ctx, v.Business.ID)
	if err != nil {
		return err
	}
	var menus []cause.PlatformMenus
	if store == "" { // with a store filter, the row of the store explains it
		if menus, err = p.menus(ctx, v, item, platforms); err != nil {
			return err
		}
	}
	view := itemView{record: ui.Pretty(item.Record, 16<<10), facts: facts(v, item),
		platforms: platformList(v, item, platforms)}
	if view.stores, err = p.storeList(ctx, v, item, store, platforms); err != nil {
		return err
	}
	if item.MoreStores {
		view.more = fmt.Sprintf(text.StoresMore, ui.Number(len(item.Stores)))
	}
	return v.Show(c, shell.Head{Title: item.Title, Note: item.RefID,
		Parent: ui.Link{Href: v.Link("items/"), Label: text.Items}, Causes: causes(v, item, store, menus), Live: true,
		Links: []ui.Link{{Href: v.Link("history/?entity=items&ref=" + url.QueryEscape(item.RefID)),
			Label: text.History}, {Href: v.Link("history/item/?item=" + url.QueryEscape(item.RefID)),
			Label: text.AtAMoment}}}, itemPage(view))
}

// causes explains where customers can order the item, and why not elsewhere.
func causes(v *shell.PageContext, item console.ItemDetail, store string, menus []cause.PlatformMenus) []ui.Cause {
	list := cause.ItemFindings(item)
	if status := cause.Item(item, menus, v.Now.In(v.Zone)); status.State == ui.Err || store == "" {
		list = append([]ui.Cause{status}, list...)
	}
	for i := range list {
		if list[i].State != ui.OK {
			list[i].Link = ui.Link{Href: v.Link("jobs/?kind=" + string(core.MenuJob)), Label: text.ActSeeJobs}
			break
		}
	}
	return list
}

func facts(v *shell.PageContext, item console.ItemDetail) []ui.Fact {
	platforms := text.ListedAll
	if item.Platforms != nil {
		if platforms = strings.Join(item.Platforms, ", "); platforms == "" {
			platforms = text.ListedNone
		}
	}
	var categories []string
	for _, category := range item.Categories {
		name := category.RefID
		if category.SaleHours != nil {
			name += " (" + cause.WeekHours(category.SaleHours) + ")"
		}
		if category.InactiveParent != "" {
			name += " (" + fmt.Sprintf(text.CategoryUnder, category.InactiveParent) + ")"
		} else if !category.Active {
			name += " (" + text.NotActive + ")"
		}
		categories = append(categories, name)
	}
	state, words := ui.OK, text.Active
	if !item.Active {
		state, words = ui.Err, text.NotActive
	}
	return []ui.Fact{{Label: text.State, Cell: ui.StateCell(state, words)},
		{Label: text.Ref, Cell: ui.CodeCell(item.RefID)},
		{Label: "ID", Cell: ui.T(fmt.Sprint(item.ID))},
		{Label: text.Price, Cell: ui.T(ui.Price(item.Price, v.Business.Currency))},
		{Label: text.Categories, Cell: ui.T(strings.Join(categories, ", "))},
		{Label: text.OnPlatforms, Cell: ui.T(platforms)}, {Label: text.Updated, Cell: ui.TimeCell(v.At(item.Updated))}}
}
