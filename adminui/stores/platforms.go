package stores

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

// visibility is the visibility of a store on a platform.
type visibility struct {
	cause.Visibility
	platform    cause.Platform
	unconfirmed *cause.Switch // the platform may not know that the store has opened or closed; nil: it knows
}

// platformsRead bounds the publications read for a store.
const platformsRead = 500

// visibilities returns the visibility of a store on each platform. The calls are the last ones about the store.
func (p Pages) visibilities(ctx context.Context, v *shell.PageContext, s store.Stored, platforms []core.Platform,
	calls []console.Call) ([]visibility, error) {
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
	offers, err := p.Lister.StoreOffers(ctx, v.Business.ID, s.ID)
	if err != nil {
		return nil, err
	}
	list := make([]visibility, len(platforms))
	for i, platform := range platforms {
		platformState := cause.Platform{Platform: platform, Plugin: byID[platform.ServedBy],
			Published: byPlatform[platform.Name], NoItems: cause.NoItems(offers[platform.Name])}
		list[i] = visibility{cause.StoreVisibility(s, platformState, v.LocalNow(), v.Zone), platformState,
			cause.StoreSwitch(s, platform.Name, calls, v.Zone)}
	}
	return list, nil
}

// platformsNotLive returns the platforms on which the store may not be live for a reason other than the store itself.
// If they all only wait, wait explains it. Otherwise it is "".
func platformsNotLive(shown []visibility) (names []string, wait string) {
	opening, starting := true, true
	for _, vis := range shown {
		lacks := vis.State != ui.Err && vis.platform.LacksMenu()
		down := vis.State == ui.Err && vis.Remedy != cause.AtStore
		if !down && !lacks && (vis.unconfirmed == nil || !vis.unconfirmed.Opens) {
			continue
		}
		names = append(names, vis.platform.Name)
		opening = opening && !down && !lacks && vis.unconfirmed.Cause.State != ui.Err
		starting = starting && lacks && vis.platform.Published.State == publish.Waiting
	}
	switch {
	case len(names) == 0:
		return nil, ""
	case starting:
		return names, text.StoreFirstMenu
	case opening:
		return names, text.StoreOpens
	}
	return names, ""
}

// switches returns the causes of platforms that may not know that the store has opened or closed.
func switches(v *shell.PageContext, shown []visibility) (causes []ui.Cause) {
	for _, vis := range shown {
		if vis.unconfirmed != nil {
			c := vis.unconfirmed.Cause
			c.Link = ui.Link{Href: v.Link("calls/" + vis.unconfirmed.Call.String() + "/"), Label: text.ActSeeCall}
			causes = append(causes, c)
		}
	}
	return causes
}

// partly explains what customers see on a platform that shows a menu with a problem.
func (v visibility) partly() string {
	if v.unconfirmed != nil {
		return fmt.Sprintf(text.MenuOn, v.platform.Name, v.Why)
	}
	return fmt.Sprintf(text.CauseStoreOnPart, v.platform.Name, v.Why)
}

// problems returns the problems of platforms, each with its remedy. It omits those of the store itself.
func (p Pages) problems(ctx context.Context, v *shell.PageContext, shown []visibility) (causes []ui.Cause, err error) {
	for _, vis := range shown {
		c := ui.Cause{State: vis.State, Text: fmt.Sprintf(text.CauseStoreOnBut, vis.platform.Name, vis.Why)}
		if vis.Label == text.PlatformAway {
			c.Text = fmt.Sprintf(text.CauseNotConnected, vis.platform.Name, vis.Why)
		}
		switch vis.Remedy {
		case cause.AtStore:
			continue
		case cause.AtPlugin:
			c.Link = ui.Link{Href: shell.PluginsPath + vis.platform.ServedBy + "/", Label: text.ActSeePlugin}
			c.Detail = cause.Plugin(*vis.platform.Plugin, v.Zone).Detail
		case cause.AtSettings:
			if vis.State == ui.Warn && !vis.platform.LacksMenu() {
				c.Text = vis.partly()
			}
			var atSettings bool
			if c.Detail, atSettings = menuRemedy(vis); atSettings {
				c.Link = ui.Link{Href: shell.PlatformLink(v.Business.ID, vis.platform.Name), Label: text.ActSeeSettings}
			}
		case cause.AtItems:
			c.Link = ui.Link{Href: v.Link("items/"), Label: text.ActSeeItems}
		case cause.AtItem:
			c.Text = vis.partly()
			if c.Link, err = p.itemLink(ctx, v, *vis.platform.Published); err != nil {
				return nil, err
			}
		}
		causes = append(causes, c)
	}
	return causes, nil
}

// menuRemedy returns what to do about a menu that a platform does not have, and whether the settings are the place.
func menuRemedy(vis visibility) (remedy string, atSettings bool) {
	plugin, published := vis.platform.Plugin, vis.platform.Published
	if plugin == nil || published == nil {
		return "", true
	}
	if remedy = cause.SettingsRemedy(plugin.About, vis.Why); remedy != "" {
		return remedy, true
	}
	if published.State == publish.Failed {
		return cause.FailedMenuRemedy(vis.platform.Name, published.Message), false
	}
	return fmt.Sprintf(text.RemedyMenuWaits, vis.platform.Name), false
}

// itemLink returns the link to the item that a platform lacks, or to the list of several. It is zero for another entity
// or a deleted item.
func (p Pages) itemLink(ctx context.Context, v *shell.PageContext, published publish.Publication) (ui.Link, error) {
	missing := published.Errors[0]
	if missing.Entity != "item" {
		return ui.Link{}, nil
	}
	if slices.ContainsFunc(published.Errors,
		func(e publish.Problem) bool { return e.Entity == "item" && e.RefID != missing.RefID }) {
		query := url.Values{"problem": {string(console.ItemLacking)}, "platform": {published.Platform},
			"store": {published.StoreRef}}
		return ui.Link{Href: v.Link("items/?" + query.Encode()), Label: text.ActSeeItems}, nil
	}
	id, err := p.Lister.ItemID(ctx, v.Business.ID, missing.RefID)
	if core.CodeOf(err) == core.NotFound {
		return ui.Link{}, nil
	}
	return ui.Link{Href: v.Link(fmt.Sprintf("items/%d/", id)), Label: text.ActSeeItem}, err
}

// MenuLink returns the link to the menu of a store that was last sent to a platform.
func MenuLink(v *shell.PageContext, store int64, platform string) string {
	return lastSent{store: store, platform: platform}.path(v, "")
}

func platformList(v *shell.PageContext, store int64, shown []visibility) ui.List {
	list := ui.List{Name: text.Platform, EmptyTitle: text.ListedNone,
		Columns: []ui.Column{{Label: text.Platform}, {Label: text.State}, {Label: text.WhyNot, Kind: ui.Wide},
			{Label: text.MenuThere}, {Label: text.ServedBy}}}
	for _, vis := range shown {
		served, menu := ui.T(cause.ServedBy(vis.platform.Platform)), menuCell(v, vis)
		if vis.platform.ServedBy != core.ServedByMerchant {
			served.Href = shell.PluginsPath + vis.platform.ServedBy + "/"
			menu.Below = ui.Link{Href: MenuLink(v, store, vis.platform.Name), Label: text.LastSent}
		}
		state, label, why := vis.State, vis.Label, vis.Why
		if vis.unconfirmed != nil && (state != ui.Err || vis.Remedy == cause.AtStore) {
			state, label, why = vis.unconfirmed.Cause.State, vis.unconfirmed.Label, vis.unconfirmed.Cause.Text
		}
		list.Add(ui.T(vis.platform.Name), ui.StateCell(state, label), ui.T(why), menu, served)
	}
	return list
}

// menuCell returns when a platform received the store's menu, or the state of the publication.
func menuCell(v *shell.PageContext, shown visibility) ui.Cell {
	p := shown.platform.Published
	if shown.platform.ServedBy == core.ServedByMerchant {
		if shown.State == ui.Neutral { // not listed there
			return ui.Cell{}
		}
		return ui.T(text.MenuOwn)
	}
	if p == nil {
		return ui.Cell{}
	}
	cell := ui.T(map[publish.State]string{publish.Failed: text.MenuFailed, publish.Waiting: text.MenuWaits}[p.State])
	if !p.PublishedAt.IsZero() && (p.State == publish.Published || p.State == publish.Failed) {
		at := v.At(p.PublishedAt)
		cell = ui.Cell{Instant: &at}
		if p.State == publish.Failed {
			cell.Note = text.ChangeFailed
		}
	}
	return cell
}
