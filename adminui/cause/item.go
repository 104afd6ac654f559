package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// Item explains where customers can order an item, or why they cannot. The counts are of all stores on all platforms.
func Item(i console.ItemDetail, platforms []string, counts []console.ItemPlaceCount, now time.Time) ui.Cause {
	if general := masterCause(i); general.State == ui.Err {
		return general
	}
	if len(counts) == 0 {
		return ui.Cause{State: ui.Warn, Text: text.CauseItemNoStore, Detail: text.RemedyItemNoStore}
	}
	found := orderableCause(i, platforms, counts)
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

// orderableCause explains at which stores and on which platforms customers can order an item of the catalogue.
// Platforms that list none of its stores do not count.
func orderableCause(i console.ItemDetail, platforms []string, counts []console.ItemPlaceCount) ui.Cause {
	if found := sharedReason(counts); found.Text != "" {
		return found
	}
	var on, uncertain, off, reasons []string
	complete, soft, down, partly := true, true, true, false
	shown := 0
	for _, p := range itemPlatforms(platforms, counts) {
		if p.stores == 0 {
			continue
		}
		complete = complete && p.shown == p.stores && (on == nil || p.shown == shown)
		shown, partly = p.shown, partly || p.shown < p.stores
		switch {
		case p.shown > 0:
			on = append(on, p.name)
		case p.uncertain > 0:
			uncertain = append(uncertain, p.name)
		default:
			off, soft, down = append(off, p.name), soft && p.soft, down && p.down
		}
		if p.shown == p.stores {
			continue
		}
		why := strings.Join(p.parts, ", ")
		if state, general := catalogueReason(i, p.name); state != ui.OK {
			why = general
		}
		if !hasOwnCause(i, p.name) {
			reasons = append(reasons, fmt.Sprintf(text.ItemPlatformAt, p.name, why))
		}
	}
	detail := strings.Join(reasons, "; ")
	switch {
	case len(uncertain) > 0 && len(on) == 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.ItemUncertain, Join(uncertain)), Detail: detail}
	case len(uncertain) > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.ItemOnSurely, Join(on), Join(uncertain)),
			Detail: detail}
	case len(on) == 0 && len(off) > 0 && soft:
		return ui.Cause{State: ui.Warn, Text: text.ItemSoonest, Detail: detail}
	case len(on) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseItemOnNone, Detail: detail}
	case len(off) > 0 && down:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.ItemPluginDown, Join(on), Join(off))}
	case len(off) > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseItemOnSome, Join(on), Join(off)), Detail: detail}
	case complete && shown == 1:
		return ui.Cause{State: ui.OK, Text: text.CauseItemAtOne}
	case complete:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseItemAtAll, ui.Number(shown))}
	case partly:
		return ui.Cause{State: ui.Warn, Text: text.ItemAllPlatforms, Detail: detail}
	default: // the platforms list different stores
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseItemEverywhere, Join(on))}
	}
}

// hasOwnCause reports whether ItemFindings explains why a platform does not show an item.
func hasOwnCause(i console.ItemDetail, platform string) bool {
	return slices.ContainsFunc(i.Findings, func(f console.ItemFinding) bool {
		return f.Platform == platform && !f.Warning
	}) ||
		slices.ContainsFunc(i.Rejections, func(r console.ItemRejection) bool { return r.Platform == platform })
}

// sharedReason returns the cause for a reason that all stores share on all platforms that list them.
func sharedReason(counts []console.ItemPlaceCount) ui.Cause {
	listed := slices.DeleteFunc(slices.Clone(counts),
		func(c console.ItemPlaceCount) bool { return c.Reason == console.PlaceUnlisted })
	if len(listed) == 0 || slices.ContainsFunc(listed,
		func(c console.ItemPlaceCount) bool { return c.Reason != listed[0].Reason }) {
		return ui.Cause{}
	}
	return sharedReasons[listed[0].Reason]
}

// sharedReasons are the causes for a reason that all stores share.
var sharedReasons = map[console.PlaceReason]ui.Cause{
	console.PlaceInactive: {State: ui.Warn, Text: text.CauseItemStoresOff, Detail: text.RemedyStoresOff},
	console.PlaceNoOrders: {State: ui.Warn, Text: text.CauseItemNoOrders, Detail: text.RemedyNoOrders},
	console.PlaceReason(menu.Unavailable): {State: ui.Warn, Text: text.CauseItemNotThere,
		Detail: text.RemedyItemNotThere},
	console.PlaceReason(menu.OutOfStock): {State: ui.Warn, Text: text.CauseItemNoStock, Detail: text.RemedyItemNoStock},
	console.PlaceFirstMenu:               {State: ui.Warn, Text: text.ItemFirstMenus},
}

// saleVisibility explains whether a visible item is on sale now.
func saleVisibility(i console.ItemDetail, now time.Time) Visibility {
	if why := notOnSaleReason(i, now); why != "" {
		return Visibility{State: ui.Warn, Label: text.NotNow, Why: why}
	}
	return Visibility{State: ui.OK, Label: text.Shown}
}

func catalogueReason(i console.ItemDetail, platform string) (ui.State, string) {
	if general := masterCause(i); general.State == ui.Err {
		return ui.Err, general.Text
	}
	if i.Platforms != nil && !slices.Contains(i.Platforms, platform) {
		return ui.Neutral, text.ItemNotListed
	}
	var broken []string
	for _, f := range i.Findings {
		if f.Platform == platform && !f.Warning {
			broken = append(broken, fmt.Sprintf(text.ItemRejected, f.Rule, ErrorText(f.Message)))
		}
	}
	if len(broken) > 0 {
		return ui.Err, strings.Join(broken, "; ")
	}
	return ui.OK, ""
}

// ItemVisibility explains whether customers can order an item at a store on a platform. The reason is that of the
// place. Both zones are those of StoreVisibility.
func ItemVisibility(i console.ItemDetail, p console.ItemPlace, platform Platform, now time.Time,
	zone *time.Location) Visibility {
	if why, known := itemReasons[menu.Reason(p.Reason)]; known {
		state := ui.Warn
		switch menu.Reason(p.Reason) {
		case menu.NotSold:
			state = ui.Neutral
		case menu.NotListed, menu.BreaksRule, menu.Inactive, menu.CategoryInactive:
			state, why = catalogueReason(i, p.Platform)
		case menu.OptionsMissing:
			why = fmt.Sprintf(text.HereUnmet, p.UnmetGroup)
		}
		return Visibility{State: state, Label: text.NotShown, Why: why}
	}
	if p.Reason == console.ItemRejected {
		vis := Visibility{State: ui.Err, Label: text.NotShown, Why: Capital(text.ReasonItemRejected)}
		if p.Menu != nil {
			if problem := p.Menu.Lacks(i.RefID); problem != nil {
				vis.Why = fmt.Sprintf(text.ItemRejectedByPlatform, problem.Message)
			}
		}
		return vis
	}
	if p.Reason == console.PlaceLive {
		return saleVisibility(i, now)
	}
	visibility := StoreVisibility(StoreOf(p.Store), platform, now, zone)
	switch {
	case p.Reason.Orderable():
	case p.Reason.Uncertain() && visibility.State != ui.OK:
		visibility.Why = text.ItemMayLack + " " + visibility.Why
	case visibility.State == ui.OK: // it has changed meanwhile
		return Visibility{State: ui.Warn, Label: text.NotShown, Why: Capital(ItemPlaceLabel(p.Reason))}
	case visibility.Label == visibilityLabels[visibility.State]:
		visibility.Label = text.NotShown
	}
	return visibility
}

// itemReasons are the sentences for the reasons of an item. Some are more specific.
var itemReasons = map[menu.Reason]string{menu.NotSold: text.HereNotSold, menu.NotListed: "", menu.BreaksRule: "",
	menu.Inactive: "", menu.CategoryInactive: "", menu.Unavailable: text.HereUnavailable,
	menu.OutOfStock: text.HereNoStock, menu.OptionsMissing: ""}

// StoreFindings explains on which platforms the rules reject a store.
func StoreFindings(findings []console.ItemFinding) (causes []ui.Cause) {
	for _, f := range findings {
		causes = append(causes, finding(f, text.FindingOfStore, text.RemedyStoreFinding, text.RemedyStoreWarning))
	}
	return causes
}

// finding explains a finding. The remedies name its rule.
func finding(f console.ItemFinding, about, remedy, ofWarning string) ui.Cause {
	if f.Warning {
		return ui.Cause{State: ui.Warn, Detail: fmt.Sprintf(ofWarning, f.Rule),
			Text: fmt.Sprintf(text.CauseItemWarning, f.Platform, about, ErrorText(f.Message))}
	}
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemFinding, f.Platform, about, ErrorText(f.Message)),
		Detail: fmt.Sprintf(remedy, f.Rule)}
}

// ItemFindings explains on which platforms the rules, or the platforms, reject an item. Each rule has its own cause.
func ItemFindings(i console.ItemDetail) (causes []ui.Cause) {
	for _, f := range i.Findings {
		about := text.FindingOfItem
		if f.Entity != "" {
			about = fmt.Sprintf(text.FindingOfEntity, strings.ReplaceAll(f.Entity, "_", " "), f.RefID)
		}
		causes = append(causes, finding(f, about, text.RemedyFinding, text.RemedyWarning))
	}
	for _, r := range i.Rejections {
		causes = append(causes, ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseItemRejected, r.Platform, ui.Count(r.Stores, text.OneStore, text.Stores_),
				r.Message), Detail: text.RemedyItemRejected})
	}
	return causes
}
