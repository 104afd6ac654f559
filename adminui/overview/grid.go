package overview

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// StoreGrid reads stores, platforms and publications.
type StoreGrid interface {
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
	Grid(ctx context.Context, business core.BusinessID, f console.GridFilter) (console.Grid, error)
	StorePublications(ctx context.Context, business core.BusinessID,
		stores []int64) (map[int64]map[string]publish.Publication, error)
}

// Plugins reads the plugins of all hubs.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
}

// maxGridPlatforms limits the columns of the grid. The store page and the CSV list all platforms.
const maxGridPlatforms = 10

// Grid shows the stores of a business on its platforms, with the number of stores for each reason why customers cannot
// order.
func (p Pages) Grid(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Plugins.ListPlugins(c.UserContext(), []core.BusinessID{})
	if err != nil {
		return err
	}
	platforms, err := p.Stores.Platforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	f := console.GridFilter{Text: v.Query.Get("text"), Platform: v.Query.Get("platform"),
		Reason: console.PlaceReason(v.Query.Get("reason")), Sort: console.GridSort(v.Query.Get("sort")),
		After: console.ParseGridCursor(v.Query.Get("after")), Limit: v.Limit()}
	table, err := p.grid(c.UserContext(), v, gridSource{found, platforms}, f)
	if err != nil {
		return err
	}
	table.list.Filters = gridFilters(f, platforms)
	head := shell.Head{Title: text.Grid, Note: text.GridNote,
		Parent: ui.Link{Href: v.Link(""), Label: v.Business.Name}, Live: true,
		RefreshSeconds: shell.OutsideRefresh}
	if len(table.counts) > 0 {
		head.Above = append(head.Above, ui.Counts(fmt.Sprintf(text.GridCountsAll,
			ui.Count(table.total, text.OneStore, text.Stores_)), countLinks(v, f, table.counts)))
	}
	return v.ShowList(c, head, table.list, "after")
}

func gridFilters(f console.GridFilter, platforms []core.Platform) []ui.Filter {
	names := []ui.Option{{Value: "", Label: text.Any}}
	for _, platform := range platforms {
		names = append(names, ui.Option{Value: platform.Name, Label: platform.Name})
	}
	reasons := []ui.Option{{Value: "", Label: text.Any}}
	for _, reason := range append([]console.PlaceReason{console.PlaceNotLive, console.PlaceMenuRejected},
		console.PlaceReasons()...) {
		reasons = append(reasons, ui.Option{Value: string(reason), Label: cause.PlaceLabel(reason)})
	}
	return []ui.Filter{{Name: "text", Label: text.Text, Value: f.Text},
		{Name: "platform", Label: text.Platform, Value: f.Platform, Options: names},
		{Name: "reason", Label: text.Reason, Value: string(f.Reason), Options: reasons},
		{Name: "sort", Label: text.Sort, Value: string(f.Sort), Options: []ui.Option{
			{Value: string(console.SortProblems), Label: text.SortProblems},
			{Value: string(console.SortRef), Label: text.SortRef},
			{Value: string(console.SortOpening), Label: text.SortOpening}}}}
}

// countLinks returns the counts of reasons, each with a link to its stores.
func countLinks(v *shell.PageContext, f console.GridFilter, counts []console.PlaceCount) []ui.Link {
	links := make([]ui.Link, len(counts))
	for i, count := range counts {
		query := url.Values{"reason": {string(count.Reason)}}
		for name, value := range map[string]string{"text": f.Text, "platform": f.Platform, "sort": string(f.Sort)} {
			if value != "" {
				query.Set(name, value)
			}
		}
		links[i] = ui.Link{Href: v.Path + "?" + query.Encode(),
			Label: fmt.Sprintf(text.ReasonCount, ui.Number(count.Stores), cause.PlaceLabel(count.Reason))}
	}
	return links
}

// gridSource is the plugins and platforms of a grid.
type gridSource struct {
	plugins   []console.Plugin
	platforms []core.Platform
}

// gridTable is the rows of a grid, and the counts of its reasons.
type gridTable struct {
	list   ui.List
	counts []console.PlaceCount
	total  int
}

func (p Pages) grid(ctx context.Context, v *shell.PageContext, source gridSource,
	f console.GridFilter) (table gridTable, err error) {
	table.list = ui.List{Name: text.Grid, EmptyTitle: text.NoStoresTitle, EmptyText: text.NoStoresText}
	f.WorkingPlugins, f.Local = cause.WorkingPlugins(source.plugins, v.Zone), v.LocalNow()
	found, err := p.Stores.Grid(ctx, v.Business.ID, f)
	if err != nil {
		return table, err
	}
	table.counts, table.total = found.Counts, found.Total
	ids := make([]int64, len(found.Stores))
	for i, s := range found.Stores {
		ids[i] = s.ID
	}
	published, err := p.Stores.StorePublications(ctx, v.Business.ID, ids)
	if err != nil {
		return table, err
	}
	plugins := byID(source.plugins)
	platforms := source.platforms
	if f.Platform != "" {
		platforms = slices.DeleteFunc(slices.Clone(platforms),
			func(platform core.Platform) bool { return platform.Name != f.Platform })
	}
	if all := len(platforms); all > maxGridPlatforms && !v.WantsCSV() {
		platforms = platforms[:maxGridPlatforms]
		table.list.More = fmt.Sprintf(text.MorePlatforms, maxGridPlatforms, all)
	}
	table.list.Columns = []ui.Column{{Label: text.Store, Kind: ui.Wide}}
	for _, platform := range platforms {
		table.list.Columns = append(table.list.Columns, ui.Column{Label: platform.Name})
	}
	table.list.Columns = append(table.list.Columns, ui.Column{Label: text.OpensAt})
	for _, s := range found.Stores {
		cells := []ui.Cell{{Text: s.Name, Href: v.Link(fmt.Sprintf("stores/%d/", s.ID)), Note: s.RefID}}
		for _, platform := range platforms {
			cells = append(cells, visibilityCell(v, s, platform, plugins[platform.ServedBy], published[s.ID]))
		}
		opens := ui.Cell{}
		if !s.OpensAt.IsZero() {
			opens = ui.TimeCell(v.At(s.OpensAt))
		}
		table.list.AddAt(s.Cursor.String(), append(cells, opens)...)
	}
	return table, nil
}

// visibilityCell shows whether a store is live on a platform, with the reason as its hint.
func visibilityCell(v *shell.PageContext, s console.GridStore, platform core.Platform, plugin *console.Plugin,
	published map[string]publish.Publication) ui.Cell {
	onPlatform := cause.Platform{Platform: platform, Plugin: plugin}
	if s.Reasons[platform.Name] == console.PlaceNoItems {
		onPlatform.NoItems = text.NoItemsHint
	}
	if p, found := published[platform.Name]; found {
		onPlatform.Published = &p
	}
	visibility := cause.StoreVisibility(cause.StoreOf(s), onPlatform, v.LocalNow(), v.Zone)
	cell := ui.StateCell(visibility.State, visibility.Label)
	cell.Hint = visibility.Why
	return cell
}
