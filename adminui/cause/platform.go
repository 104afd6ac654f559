package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

// Place tells whether an item can be ordered at a store, and else why not.
func Place(i console.ItemDetail, p console.ItemPlace) (ui.State, string) {
	general := Item(i)
	switch {
	case general.State == ui.Err:
		return ui.Err, text.NotShown
	case !p.Sold:
		return ui.Neutral, text.HereNotSold
	case !p.Available:
		return ui.Warn, text.HereUnavailable
	case p.Stock == 0:
		return ui.Warn, text.HereNoStock
	default:
		return ui.OK, text.Shown
	}
}

// ItemOn tells whether an item is listed on a platform, and else why not, by what
// holds at all stores.
func ItemOn(i console.ItemDetail, platform string) (ui.State, string) {
	if general := Item(i); general.State == ui.Err {
		return ui.Err, general.Text
	}
	if i.Platforms != nil && !slices.Contains(i.Platforms, platform) {
		return ui.Neutral, text.ItemNotListed
	}
	for _, f := range i.Findings {
		if f.Platform == platform {
			return ui.Err, fmt.Sprintf(text.ItemRefused, f.Rule, f.Message)
		}
	}
	return ui.OK, ""
}

// PlaceOn tells whether an item can be ordered at a store on a platform, and else
// why not. published is what became of the store's menu there; nil: not known.
func PlaceOn(i console.ItemDetail, p console.ItemPlace, platform string, published *publish.Publication) (ui.State, string) {
	if state, why := ItemOn(i, platform); state != ui.OK {
		return state, why
	}
	if state, why := Place(i, p); state != ui.OK {
		return state, why
	}
	if !(store.Listing{Excluded: p.Excluded, Included: p.Included}).On(platform) {
		return ui.Neutral, text.StoreNotThere
	}
	if published != nil {
		for _, problem := range published.Errors {
			if problem.Entity == "item" && problem.RefID == i.RefID {
				return ui.Err, fmt.Sprintf(text.ItemRefusedThere, problem.Message)
			}
		}
		if state, why := Published(*published); state == ui.Err {
			return state, why
		}
	}
	return ui.OK, text.Shown
}

// Findings tells on which platforms the rules refuse an item.
func Findings(i console.ItemDetail) (told []ui.Cause) {
	for n, f := range i.Findings {
		if n > 0 && i.Findings[n-1].Platform == f.Platform {
			continue
		}
		told = append(told, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemFinding, f.Platform, f.Message), Detail: fmt.Sprintf(text.MendFinding, f.Rule)})
	}
	return told
}

// Published tells what became of publishing a store's menu on a platform.
func Published(p publish.Publication) (ui.State, string) {
	switch {
	case p.State == publish.Failed:
		return ui.Err, fmt.Sprintf(text.PublishFailed, p.Message)
	case p.State == publish.Waiting && p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishWaits, p.Note)
	case p.State == publish.Waiting:
		return ui.Run, text.PublishUnderWay
	case p.State == publish.Unlisted || p.State == publish.Skipped:
		return ui.Neutral, p.Message
	case len(p.Errors) > 0:
		return ui.Warn, fmt.Sprintf(text.PublishWithout, len(p.Errors), p.Errors[0].RefID, p.Errors[0].Message)
	default:
		return ui.OK, ""
	}
}

// StoreAt tells why a store takes orders on a platform or not: by the store, by
// the plugin that serves the platform, by its menu there, the gravest reason first. plugin is nil
// where no hub knows it, published where nothing is known.
func StoreAt(s store.Stored, platform core.Platform, plugin *console.Plugin, published *publish.Publication, now time.Time) (ui.State, string) {
	itself, why := StoreOn(s, platform.Name, now)
	if itself == ui.Err || itself == ui.Neutral || platform.ServedBy == core.ServedByOwn {
		return itself, why
	}
	if plugin == nil {
		return ui.Err, fmt.Sprintf(text.CausePluginUnknown, platform.ServedBy)
	}
	if told := Plugin(*plugin, now.Location()); told.State != ui.OK && told.State != ui.Run && PluginState(*plugin) != pluginhost.Degraded {
		return ui.Err, told.Text
	}
	if published != nil {
		if state, there := Published(*published); state == ui.Err || itself == ui.OK {
			return state, there
		}
	}
	return itself, why
}
