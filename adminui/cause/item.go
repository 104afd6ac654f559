package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// Item explains where customers can order an item, or why they cannot, as far as all stores agree. Without
// platforms it checks the catalogue and the stores only.
func Item(i console.ItemDetail, platforms []PlatformMenus, now time.Time) ui.Cause {
	if general := masterCause(i); general.State == ui.Err {
		return general
	}
	if len(i.Stores) == 0 {
		return ui.Cause{State: ui.Warn, Text: text.CauseItemNoStore, Detail: text.RemedyItemNoStore}
	}
	found := orderableCause(i, platforms, now)
	if why := notOnSaleReason(i, now); why != "" && found.State != ui.Err {
		return ui.Cause{State: ui.Warn, Text: why, Detail: fmt.Sprintf(text.InSaleHours, found.Text)}
	}
	return found
}

// masterCause explains why the master catalogue hides an item at all stores. Its state is OK if it does not.
func masterCause(i console.ItemDetail) ui.Cause {
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
	return ui.Cause{State: ui.OK}
}

// PlatformMenus is a platform with its plugin and the menus of stores.
type PlatformMenus struct {
	core.Platform
	Plugin    *console.Plugin                 // serves the platform; nil: unknown to all hubs
	Published map[string]*publish.Publication // by ref_id of the store; missing: unknown
}

// orderableCause explains at which stores and on which platforms customers can order an item of the catalogue.
func orderableCause(i console.ItemDetail, platforms []PlatformMenus, now time.Time) ui.Cause {
	selling := slices.DeleteFunc(slices.Clone(i.Stores), func(s console.ItemStore) bool {
		state, _ := storeReason(s)
		return state != ui.OK
	})
	if len(selling) == 0 {
		return nowhereCause(i)
	}
	var on, off, reasons []string
	shown := map[string]bool{} // stores at which some platform shows the item
	for _, platform := range platforms {
		stores, state, why := storesOn(i, selling, platform, now)
		if state == ui.OK {
			on = append(on, platform.Name)
		} else {
			off = append(off, platform.Name)
		}
		if why != "" && !hasOwnCause(i, platform.Name) {
			reasons = append(reasons, fmt.Sprintf(text.ItemOffAt, platform.Name, why))
		}
		for _, ref := range stores {
			shown[ref] = true
		}
	}
	visible := len(shown)
	if len(platforms) == 0 {
		visible = len(selling)
	}
	atStores := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseItemShown, ui.Number(visible),
		ui.Count(len(i.Stores), text.OneStore, text.Stores_))}
	if visible < len(i.Stores) {
		atStores.State = ui.Warn
	}
	if visible == len(i.Stores) && !i.MoreStores {
		atStores.Text = text.CauseItemAtOne
		if visible > 1 {
			atStores.Text = fmt.Sprintf(text.CauseItemAtAll, ui.Number(visible))
		}
	}
	switch {
	case visible == 0 && len(on) > 0: // perhaps at stores that are not listed here
		return nowhereCause(i)
	case len(off) == 0:
		return atStores
	case len(on) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseItemOnNone, Detail: strings.Join(reasons, "; ")}
	default:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseItemOnSome, strings.Join(on, ", "),
			strings.Join(off, ", ")), Detail: strings.Join(reasons, "; ")}
	}
}

// hasOwnCause reports whether ItemFindings explains why a platform does not show an item.
func hasOwnCause(i console.ItemDetail, platform string) bool {
	return slices.ContainsFunc(i.Findings, func(f console.ItemFinding) bool { return f.Platform == platform }) ||
		slices.ContainsFunc(i.Rejections, func(r console.ItemRejection) bool { return r.Platform == platform })
}

// storesOn returns the stores at which customers can order an item on a platform. If there are none, why is the
// reason at the first store. If the item has further stores, only the catalogue can be the reason. The state is OK
// if the platform may show the item.
func storesOn(i console.ItemDetail, selling []console.ItemStore, platform PlatformMenus,
	now time.Time) (refs []string, state ui.State, why string) {
	for _, s := range selling {
		here := Platform{platform.Platform, platform.Plugin, platform.Published[s.Store.RefID]}
		visibility := ItemVisibilityOn(i, s, here, now)
		if visibility.State != ui.Err && visibility.State != ui.Neutral && visibility.Why != text.CauseStoreHidden &&
			!here.LacksMenu() {
			refs = append(refs, s.Store.RefID)
		} else if why == "" {
			why = visibility.Why
		}
	}
	if len(refs) > 0 {
		return refs, ui.OK, ""
	}
	if i.MoreStores {
		state, why = catalogueReason(i, platform.Name)
		return nil, state, why
	}
	return nil, ui.Err, why
}

// nowhereCause explains why customers can order an item at no store.
func nowhereCause(i console.ItemDetail) ui.Cause {
	if i.MoreStores {
		return ui.Cause{State: ui.Warn,
			Text: fmt.Sprintf(text.CauseItemNotFirst, ui.Count(len(i.Stores), text.OneStore, text.Stores_))}
	}
	_, first := storeReason(i.Stores[0])
	for _, s := range i.Stores {
		if _, why := storeReason(s); why != first {
			return ui.Cause{State: ui.Warn, Text: text.CauseItemNowhere}
		}
	}
	if known := nowhereReasons[first]; known.Text != "" {
		return known
	}
	return ui.Cause{State: ui.Warn, Text: text.CauseItemNowhere, Detail: first}
}

// nowhereReasons are the causes for a reason that all stores share.
var nowhereReasons = map[string]ui.Cause{
	text.HereStoreOff:    {State: ui.Warn, Text: text.CauseItemStoresOff, Detail: text.RemedyStoresOff},
	text.HereNoOrders:    {State: ui.Warn, Text: text.CauseItemNoOrders, Detail: text.RemedyNoOrders},
	text.HereUnavailable: {State: ui.Warn, Text: text.CauseItemNotThere, Detail: text.RemedyItemNotThere},
	text.HereNoStock:     {State: ui.Warn, Text: text.CauseItemNoStock, Detail: text.RemedyItemNoStock},
}

// ItemVisibility explains whether an item can be ordered at a store, by the values of the store.
func ItemVisibility(i console.ItemDetail, p console.ItemStore, now time.Time) Visibility {
	if general := masterCause(i); general.State == ui.Err {
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
func ItemOnPlatform(i console.ItemDetail, platform string) (ui.State, string) {
	if state, why := catalogueReason(i, platform); state != ui.OK {
		return state, why
	}
	for _, r := range i.Rejections {
		if r.Platform == platform {
			return ui.Err, fmt.Sprintf(text.ItemRejectedAt, ui.Count(r.Stores, text.OneStore, text.Stores_), r.Message)
		}
	}
	return ui.OK, ""
}

func catalogueReason(i console.ItemDetail, platform string) (ui.State, string) {
	if general := masterCause(i); general.State == ui.Err {
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
	if state, why := catalogueReason(i, platform.Name); state != ui.OK {
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
