package overview

import (
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/stores"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// StoreGrid reads stores, platforms and publications.
type StoreGrid interface {
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
	GridStores(ctx context.Context, business core.BusinessID, f console.StoreFilter,
		after console.GridCursor) ([]console.GridStore, error)
	StorePublications(ctx context.Context, business core.BusinessID,
		stores []int64) (map[int64]map[string]publish.Publication, error)
}

// Plugins reads the plugins of all hubs.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
}

// maxGridPlatforms limits the columns of the grid. The store page lists all platforms.
const maxGridPlatforms = 10

// Grid shows the stores of a business on its platforms, those with problems first.
func (p Pages) Grid(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Plugins.ListPlugins(c.UserContext(), []core.BusinessID{})
	if err != nil {
		return err
	}
	f := stores.Filter(v)
	f.WorkingPlugins = workingPlugins(found, v.Zone)
	list, keys, err := p.grid(c.UserContext(), v, found, f, console.ParseGridCursor(v.Query.Get("after")))
	if err != nil {
		return err
	}
	list.Filters = stores.Filters(f, ui.Option{Value: string(console.StoreNotLive), Label: text.NotLive},
		ui.Option{Value: string(console.MenuRejected), Label: text.MenuRejected})
	return v.ShowList(c, shell.Head{Title: text.Grid, Note: text.GridNote,
		Parent: ui.Link{Href: v.Link(""), Label: v.Business.Name}, Live: true}, list, "after", keys)
}

// workingPlugins returns the ids of the plugins that can publish menus.
func workingPlugins(found []console.Plugin, zone *time.Location) []string {
	ids := []string{}
	for _, plugin := range found {
		if cause.PluginWorks(plugin, zone) {
			ids = append(ids, plugin.ID)
		}
	}
	return ids
}

func (p Pages) grid(ctx context.Context, v *shell.PageContext, found []console.Plugin, f console.StoreFilter,
	after console.GridCursor) (ui.List, []string, error) {
	list := ui.List{Name: text.Grid, EmptyTitle: text.NoStoresTitle, EmptyText: text.NoStoresText}
	platforms, err := p.Stores.Platforms(ctx, v.Business.ID)
	if err != nil {
		return list, nil, err
	}
	listed, err := p.Stores.GridStores(ctx, v.Business.ID, f, after)
	if err != nil {
		return list, nil, err
	}
	ids := make([]int64, len(listed))
	for i, s := range listed {
		ids[i] = s.ID
	}
	published, err := p.Stores.StorePublications(ctx, v.Business.ID, ids)
	if err != nil {
		return list, nil, err
	}
	plugins := byID(found)
	if all := len(platforms); all > maxGridPlatforms {
		platforms = platforms[:maxGridPlatforms]
		list.More = fmt.Sprintf(text.MorePlatforms, maxGridPlatforms, all)
	}
	list.Columns = []ui.Column{{Label: text.Store, Kind: ui.Wide}}
	for _, platform := range platforms {
		list.Columns = append(list.Columns, ui.Column{Label: platform.Name})
	}
	keys := make([]string, len(listed))
	for i, s := range listed {
		keys[i] = s.Cursor().String()
		row := ui.Row{Cells: []ui.Cell{{Text: s.Name, Href: v.Link(fmt.Sprintf("stores/%d/", s.ID)), Note: s.RefID}}}
		for _, platform := range platforms {
			row.Cells = append(row.Cells, visibilityCell(v, s, platform, plugins[platform.ServedBy], published[s.ID]))
		}
		list.Rows = append(list.Rows, row)
	}
	return list, keys, nil
}

// visibilityCell shows whether a store is live on a platform, with the reason as its hint.
func visibilityCell(v *shell.PageContext, s console.GridStore, platform core.Platform, plugin *console.Plugin,
	published map[string]publish.Publication) ui.Cell {
	onPlatform := cause.Platform{Platform: platform, Plugin: plugin}
	if p, found := published[platform.Name]; found {
		onPlatform.Published = &p
	}
	visibility := cause.StoreVisibility(cause.StoreOf(s), onPlatform, v.Now.In(v.Zone))
	cell := ui.StateCell(visibility.State, visibility.Label)
	cell.Hint = visibility.Why
	return cell
}
