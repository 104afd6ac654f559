package stores

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

// sight is a store on one platform.
type sight struct {
	platform  core.Platform
	published *publish.Publication // nil: nothing is known
	state     ui.State
	why       string
	foreign   bool // the store itself is not the reason
}

// platformsRead is of how many platforms what was published is looked at.
const platformsRead = 500

// sights tells of each platform whether the store is live there.
func (p Pages) sights(ctx context.Context, v *shell.Visit, s store.Stored, platforms []core.Platform) ([]sight, error) {
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	if err != nil {
		return nil, err
	}
	byID := map[string]*console.Plugin{}
	for i := range plugins {
		byID[plugins[i].ID] = &plugins[i]
	}
	published, err := p.Publications.List(ctx, v.Business.ID, publish.Filter{StoreRef: *s.RefID, Limit: platformsRead})
	if err != nil {
		return nil, err
	}
	byPlatform := map[string]*publish.Publication{}
	for i := range published {
		byPlatform[published[i].Platform] = &published[i]
	}
	list := make([]sight, len(platforms))
	for i, platform := range platforms {
		one := sight{platform: platform, published: byPlatform[platform.Name]}
		one.state, one.why = cause.StoreAt(s, platform, byID[platform.ServedBy], one.published, v.Now.In(v.Zone))
		itself, _ := cause.StoreOn(s, platform.Name, v.Now.In(v.Zone))
		one.foreign = one.state == ui.Err && itself != ui.Err
		list[i] = one
	}
	return list, nil
}

// troubles are the platforms on which the store alone is not the reason.
func troubles(shown []sight) (told []ui.Cause) {
	for _, one := range shown {
		if one.foreign {
			told = append(told, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseStoreOnBut, one.platform.Name, one.why),
				Link: ui.Link{Href: shell.PluginsPath + one.platform.ServedBy + "/", Label: text.ActSeePlugin}})
		}
	}
	return told
}

func platformList(v *shell.Visit, shown []sight) ui.List {
	list := ui.List{Name: text.Platform, EmptyTitle: text.ListedNone, Columns: []ui.Column{{Label: text.Platform}, {Label: text.State}, {Label: text.WhyNot, Kind: ui.Wide}, {Label: text.MenuThere}, {Label: text.ServedBy}}}
	for _, one := range shown {
		words := text.Live
		if one.state != ui.OK && one.state != ui.Run {
			words = text.NotLive
		}
		served := ui.T(one.platform.ServedBy)
		if one.platform.ServedBy != core.ServedByOwn {
			served.Href = shell.PluginsPath + one.platform.ServedBy + "/"
		}
		list.Rows = append(list.Rows, ui.Row{Cells: []ui.Cell{ui.T(one.platform.Name), ui.Stated(one.state, words), ui.T(one.why), menuThere(v, one.published), served}})
	}
	return list
}

// menuThere tells since when a platform has the store's menu.
func menuThere(v *shell.Visit, p *publish.Publication) ui.Cell {
	if p == nil {
		return ui.Cell{}
	}
	if p.State == publish.Published {
		return ui.Timed(v.At(p.PublishedAt))
	}
	return ui.T(map[publish.State]string{publish.Failed: text.MenuFailed, publish.Waiting: text.MenuWaits}[p.State])
}
