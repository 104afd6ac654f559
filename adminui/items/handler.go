// Package items lists the items of the master catalogue, and shows where customers see an item and why not.
package items

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// Reader reads items and the platforms of their business.
type Reader interface {
	ListItems(ctx context.Context, business core.BusinessID, f console.ItemFilter) ([]console.Item, error)
	Item(ctx context.Context, business core.BusinessID, id int64) (console.ItemDetail, error)
	ItemPlaces(ctx context.Context, business core.BusinessID, item console.Item,
		f console.ItemPlaceFilter) ([]console.ItemPlace, []console.ItemPlaceCount, error)
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
}

// Plugins reads the plugins that serve platforms.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
}

// Pages is the item pages.
type Pages struct {
	Items   Reader
	Plugins Plugins
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "items/"
	return shell.Page{Path: path, Label: text.Items,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/record.json", access.Viewer, p.Record),
		}}
}

// List shows the items of the master catalogue.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f := console.ItemFilter{Text: v.Query.Get("text"), Problem: console.ItemProblem(v.Query.Get("problem")),
		Platform: v.Query.Get("platform"), Store: strings.TrimSpace(v.Query.Get("store")), After: v.Query.Get("after"),
		Limit: v.Limit()}
	found, err := p.Items.ListItems(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	platforms, err := p.Items.Platforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Items, EmptyTitle: text.NoItemsTitle, EmptyText: text.NoItemsText,
		Filters: []ui.Filter{{Name: "text", Label: text.Text, Value: f.Text},
			{Name: "problem", Label: text.Problem, Value: string(f.Problem), Options: []ui.Option{
				{Value: "", Label: text.Any}, {Value: string(console.ItemBreaksRule), Label: text.ProblemRule},
				{Value: string(console.ItemLacking), Label: text.ProblemRejected},
				{Value: string(console.ItemInactive), Label: text.ProblemInactive}}},
			{Name: "platform", Label: text.Platform, Value: f.Platform, Options: platformOptions(platforms)}},
		Columns: []ui.Column{{Label: text.Ref}, {Label: text.Title, Kind: ui.Wide}, {Label: text.MasterState},
			{Label: text.MasterPrice, Kind: ui.Figure}, {Label: text.Updated}}}
	if f.Problem == console.ItemLacking {
		list.Filters = append(list.Filters, ui.Filter{Name: "store", Label: text.RejectedAtStore, Value: f.Store,
			Hint: "ref_id"})
	}
	for _, item := range found {
		href := v.Link(fmt.Sprintf("items/%d/", item.ID))
		list.AddAt(item.RefID, ui.Cell{Text: item.RefID, Href: href, Code: true}, ui.LinkCell(item.Title, href),
			stateCell(item), ui.T(ui.Price(item.Price, v.Business.Currency)), ui.TimeCell(v.At(item.Updated)))
	}
	return v.ShowList(c, shell.Head{Title: text.Items, Note: text.MasterNote, Live: true}, list, "after")
}

// stateCell shows what the catalogue and the rules of platforms say of an item.
func stateCell(item console.Item) ui.Cell {
	switch {
	case !item.Active:
		return ui.StateCell(ui.Err, text.NotActive)
	case item.Unlisted:
		return ui.StateCell(ui.Err, text.NotListed)
	case item.CategoryInactive:
		return ui.StateCell(ui.Err, text.CategoryOff)
	case item.Findings > 0:
		return ui.StateCell(ui.Warn, fmt.Sprintf(text.BreaksRules, ui.Count(item.Findings, text.OneRule, text.Rules_)))
	default:
		return ui.StateCell(ui.OK, text.Active)
	}
}

func platformOptions(platforms []core.Platform) []ui.Option {
	options := []ui.Option{{Value: "", Label: text.Any}}
	for _, platform := range platforms {
		options = append(options, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	return options
}

// item reads the item of the URL.
func (p Pages) item(c *fiber.Ctx, v *shell.PageContext) (console.ItemDetail, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return console.ItemDetail{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Items.Item(c.UserContext(), v.Business.ID, id)
}

// Record downloads the master record of an item.
func (p Pages) Record(c *fiber.Ctx, v *shell.PageContext) error {
	item, err := p.item(c, v)
	if err != nil {
		return err
	}
	return ui.File(c, fmt.Sprintf("item-%d.json", item.ID), item.Record)
}

// One shows on which platforms customers can order an item, and why not at each store.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	ctx := c.UserContext()
	item, err := p.item(c, v)
	if err != nil {
		return err
	}
	platforms, err := p.Items.Platforms(ctx, v.Business.ID)
	if err != nil {
		return err
	}
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	if err != nil {
		return err
	}
	f := placeFilter(v, cause.WorkingPlugins(plugins, v.Zone))
	places, counts, err := p.Items.ItemPlaces(ctx, v.Business.ID, item.Item, f)
	if err != nil {
		return err
	}
	matrix := matrix{v: v, item: item, platforms: platforms, plugins: plugins}
	if err := menu.DecodeStored(string(item.Record), &matrix.master); err != nil {
		return fmt.Errorf("reading item %d: %w", item.ID, err)
	}
	head := shell.Head{Title: item.Title, Note: item.RefID,
		Parent: ui.Link{Href: v.Link("items/"), Label: text.Items}, Live: true,
		RefreshSeconds: shell.OutsideRefresh,
		Causes:         causes(v, item, f.Store, cause.Item(item, platformNames(platforms), counts, v.LocalNow())),
		Links: []ui.Link{{Href: v.Link("history/?entity=items&ref=" + url.QueryEscape(item.RefID)),
			Label: text.History}, {Href: v.Link("history/item/?item=" + url.QueryEscape(item.RefID)),
			Label: text.AtAMoment}},
		Above: []templ.Component{itemPage(itemView{facts: facts(v, item),
			platforms: platformList(item, platforms, counts),
			record: ui.PayloadOf("record", text.MasterRecord, item.Record, ui.MaxShown,
				v.Link(fmt.Sprintf("items/%d/record.json", item.ID))),
			counts: countLinks(v, f, counts)})}}
	return v.ShowList(c, head, matrix.list(f, places), "after")
}

func platformNames(platforms []core.Platform) []string {
	names := make([]string, len(platforms))
	for i, platform := range platforms {
		names[i] = platform.Name
	}
	return names
}

// causes explains where customers can order the item, and each finding against it. With a store filter, the status of
// all stores is shown only if it is an error.
func causes(v *shell.PageContext, item console.ItemDetail, store string, status ui.Cause) []ui.Cause {
	list := cause.ItemFindings(item)
	if status.State == ui.Err || store == "" {
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
		{Label: text.RefFact, Cell: ui.CodeCell(item.RefID)},
		{Label: "ID", Cell: ui.T(fmt.Sprint(item.ID))},
		{Label: text.MasterPrice, Cell: ui.T(ui.Price(item.Price, v.Business.Currency))},
		{Label: text.Categories, Cell: ui.T(strings.Join(categories, ", "))},
		{Label: text.OnPlatforms, Cell: ui.T(platforms)}, {Label: text.Updated, Cell: ui.TimeCell(v.At(item.Updated))}}
}
