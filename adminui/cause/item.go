package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// Item explains why customers see an item or not, as far as all stores agree.
func Item(i console.ItemDetail, now time.Time) ui.Cause {
	if !i.Active {
		return ui.Cause{State: ui.Err, Text: text.CauseItemInactive, Detail: text.RemedyItemInactive}
	}
	if i.Platforms != nil && len(i.Platforms) == 0 {
		return ui.Cause{State: ui.Err, Text: text.CauseItemNoList, Detail: text.RemedyItemNoList}
	}
	for _, category := range i.Categories {
		if category.InactiveParent != "" {
			return ui.Cause{State: ui.Err,
				Text:   fmt.Sprintf(text.CauseItemUnder, category.InactiveParent, category.RefID),
				Detail: text.RemedyItemCategory}
		}
		if !category.Active {
			return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemCategory, category.RefID),
				Detail: text.RemedyItemCategory}
		}
	}
	if len(i.Stores) == 0 {
		return ui.Cause{State: ui.Warn, Text: text.CauseItemNoStore, Detail: text.RemedyItemNoStore}
	}
	visible := 0
	for _, itemStore := range i.Stores {
		if state, _ := storeReason(itemStore); state == ui.OK {
			visible++
		}
	}
	state := ui.OK
	if visible < len(i.Stores) {
		state = ui.Warn
	}
	sentence := fmt.Sprintf(text.CauseItemShown, ui.Number(visible),
		ui.Count(len(i.Stores), text.OneStore, text.Stores_))
	if why := notOnSaleReason(i, now); why != "" {
		return ui.Cause{State: ui.Warn, Text: why, Detail: sentence}
	}
	return ui.Cause{State: state, Text: sentence}
}

// ItemVisibility explains whether an item can be ordered at a store, by the values of the store.
func ItemVisibility(i console.ItemDetail, p console.ItemStore, now time.Time) Visibility {
	if general := Item(i, now); general.State == ui.Err {
		return Visibility{State: ui.Err, Label: text.NotShown}
	}
	if state, why := storeReason(p); state != ui.OK {
		return Visibility{State: state, Label: text.NotShown, Why: why}
	}
	return saleVisibility(i, now)
}

// saleVisibility explains whether a visible item is on sale now.
func saleVisibility(i console.ItemDetail, now time.Time) Visibility {
	if why := notOnSaleReason(i, now); why != "" {
		return Visibility{State: ui.Warn, Label: text.NotNow, Why: why}
	}
	return Visibility{State: ui.OK, Label: text.Shown}
}

// storeReason explains why a store does not sell an item.
func storeReason(p console.ItemStore) (ui.State, string) {
	switch {
	case !p.Sold:
		return ui.Neutral, text.HereNotSold
	case !p.Store.Active:
		return ui.Warn, text.HereStoreOff
	case !p.Store.Ordering:
		return ui.Warn, text.HereNoOrders
	case !p.Available:
		return ui.Warn, text.HereUnavailable
	case p.Stock == 0:
		return ui.Warn, text.HereNoStock
	case p.UnmetGroup != "":
		return ui.Warn, fmt.Sprintf(text.HereUnmet, p.UnmetGroup)
	default:
		return ui.OK, ""
	}
}

// ItemOnPlatform explains whether an item is visible on a platform. It checks the catalogue, and what the platform
// rejected.
func ItemOnPlatform(i console.ItemDetail, platform string, now time.Time) (ui.State, string) {
	if state, why := catalogueReason(i, platform, now); state != ui.OK {
		return state, why
	}
	for _, r := range i.Rejections {
		if r.Platform == platform {
			return ui.Err, fmt.Sprintf(text.ItemRejectedAt, ui.Count(r.Stores, text.OneStore, text.Stores_), r.Message)
		}
	}
	return ui.OK, ""
}

func catalogueReason(i console.ItemDetail, platform string, now time.Time) (ui.State, string) {
	if general := Item(i, now); general.State == ui.Err {
		return ui.Err, general.Text
	}
	if i.Platforms != nil && !slices.Contains(i.Platforms, platform) {
		return ui.Neutral, text.ItemNotListed
	}
	for _, f := range i.Findings {
		if f.Platform == platform {
			return ui.Err, fmt.Sprintf(text.ItemRejected, f.Rule, f.Message)
		}
	}
	return ui.OK, ""
}

// ItemVisibilityOn explains whether an item can be ordered at a store on a platform. It checks the item, the
// store, the plugin and the menu there.
func ItemVisibilityOn(i console.ItemDetail, p console.ItemStore, platform Platform, now time.Time) Visibility {
	published := platform.Published
	if state, why := catalogueReason(i, platform.Name, now); state != ui.OK {
		return Visibility{State: state, Label: text.NotShown, Why: why}
	}
	if state, why := storeReason(p); state != ui.OK {
		return Visibility{State: state, Label: text.NotShown, Why: why}
	}
	visibility := StoreVisibility(StoreOf(p.Store), platform, now)
	switch {
	case visibility.State == ui.Err && visibility.Remedy != AtStore: // the platform may still show an earlier menu
		if published != nil && published.State == publish.Published && published.Note != "" {
			_, visibility.Why = PublicationState(*published, now.Location())
		}
		return visibility
	case visibility.State == ui.Err || visibility.State == ui.Neutral:
		visibility.Label = text.NotShown
		return visibility
	case published != nil && published.State == publish.Published:
		for _, problem := range published.Errors {
			if problem.Entity == "item" && problem.RefID == i.RefID {
				return Visibility{State: ui.Err, Label: text.NotShown,
					Why: fmt.Sprintf(text.ItemRejectedByPlatform, problem.Message)}
			}
		}
	}
	if visibility.State == ui.OK || visibility.Remedy == AtItem { // of another item
		return saleVisibility(i, now)
	}
	return visibility
}

// ItemFindings explains on which platforms the rules, or the platforms, reject an item.
func ItemFindings(i console.ItemDetail) (causes []ui.Cause) {
	for n, f := range i.Findings {
		if n > 0 && i.Findings[n-1].Platform == f.Platform {
			continue
		}
		causes = append(causes, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemFinding, f.Platform, f.Message),
			Detail: fmt.Sprintf(text.RemedyFinding, f.Rule)})
	}
	for _, r := range i.Rejections {
		causes = append(causes, ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseItemRejected, r.Platform, ui.Count(r.Stores, text.OneStore, text.Stores_),
				r.Message), Detail: text.RemedyItemRejected})
	}
	return causes
}
