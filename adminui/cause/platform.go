package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
)

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
	there := StoreVisibility(StoreOf(p.Store), platform, now)
	switch {
	case there.State == ui.Err && there.Remedy != AtStore: // the platform may still show an earlier menu
		if published != nil && published.State == publish.Published && published.Note != "" {
			_, there.Why = PublicationState(*published, now.Location())
		}
		return there
	case there.State == ui.Err || there.State == ui.Neutral:
		there.Label = text.NotShown
		return there
	case published != nil && published.State == publish.Published:
		for _, problem := range published.Errors {
			if problem.Entity == "item" && problem.RefID == i.RefID {
				return Visibility{State: ui.Err, Label: text.NotShown,
					Why: fmt.Sprintf(text.ItemRejectedByPlatform, problem.Message)}
			}
		}
	}
	if there.State == ui.OK || there.Remedy == AtItem { // of another item
		return saleVisibility(i, now)
	}
	return there
}

// StoreOf returns the parts of a store that decide whether it accepts orders.
func StoreOf(s console.GridStore) store.Stored {
	stored := store.Stored{ID: s.ID,
		Object: store.Object{Active: &s.Active, OrderingEnabled: &s.Ordering, HideFromUI: &s.Hidden,
			ExcludedPlatforms: s.Excluded, IncludedPlatforms: s.Included, Timings: s.Timings}}
	if len(s.ClosedOn) > 0 {
		// ignore an unreadable value; the page of the store reports it
		_ = json.Unmarshal(s.ClosedOn, &stored.ClosedOn)
	}
	return stored
}

// ItemFindings explains on which platforms the rules, or the platforms, reject an item.
func ItemFindings(i console.ItemDetail) (told []ui.Cause) {
	for n, f := range i.Findings {
		if n > 0 && i.Findings[n-1].Platform == f.Platform {
			continue
		}
		told = append(told, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemFinding, f.Platform, f.Message),
			Detail: fmt.Sprintf(text.RemedyFinding, f.Rule)})
	}
	for _, r := range i.Rejections {
		told = append(told, ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseItemRejected, r.Platform, ui.Count(r.Stores, text.OneStore, text.Stores_),
				r.Message), Detail: text.RemedyItemRejected})
	}
	return told
}

// PublicationState explains whether the menu of a store is published on a platform, and which menu the platform
// shows.
func PublicationState(p publish.Publication, zone *time.Location) (ui.State, string) {
	changes := !p.DueAt.IsZero() // since the last result
	switch {
	case p.State == publish.Failed && !p.PublishedAt.IsZero():
		return ui.Warn, fmt.Sprintf(text.PublishOldFailed, formatTime(p.PublishedAt, zone), p.Message)
	case p.State == publish.Failed:
		return ui.Err, fmt.Sprintf(text.PublishFailed, p.Message)
	case p.State == publish.Published && changes && p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishOldWaits, formatTime(p.PublishedAt, zone), p.Note)
	case p.State == publish.Published && len(p.Errors) > 0:
		return ui.Warn, missingText(p.Errors)
	case p.State == publish.Published && changes:
		return ui.Run, fmt.Sprintf(text.PublishOldGoes, formatTime(p.PublishedAt, zone))
	case p.State == publish.Published:
		return ui.OK, ""
	case p.State == publish.Skipped || p.State == publish.Unlisted && !changes:
		return ui.Neutral, p.Message
	case p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishWaits, p.Note)
	default:
		return ui.Run, text.PublishUnderWay
	}
}

// missingText reports the objects that a platform lacks, with the reason of the first.
func missingText(errors []publish.Problem) string {
	first := cmp.Or(errors[0].RefID, errors[0].Entity)
	if slices.ContainsFunc(errors, func(e publish.Problem) bool { return cmp.Or(e.RefID, e.Entity) != first }) {
		first += ", …"
	}
	return fmt.Sprintf(text.PublishWithout, MissingCount(errors), first, errors[0].Message)
}

// MissingCount counts the objects that a platform lacks.
func MissingCount(errors []publish.Problem) string {
	objects, items := map[[2]string]bool{}, true
	for _, e := range errors {
		objects[[2]string{e.Entity, e.RefID}] = true
		items = items && e.Entity == "item"
	}
	if items {
		return ui.Count(len(objects), text.OneItem, text.Items_)
	}
	return ui.Count(len(objects), text.OneObject, text.Objects_)
}

// Remedy is where to fix the problem of a store on a platform.
type Remedy int

// The zero value is the store itself.
const (
	AtStore Remedy = iota
	AtPlugin
	AtSettings // of the platform
	AtItem     // the first missing item
)

// Visibility is how a store is on a platform.
type Visibility struct {
	State  ui.State
	Label  string // label of a table cell
	Why    string // a sentence; "": no problem
	Remedy Remedy
}

// Platform is a platform with its plugin and the menu of a store.
type Platform struct {
	core.Platform
	Plugin    *console.Plugin      // serves the platform; nil: unknown to all hubs
	Published *publish.Publication // menu of the store; nil: unknown
}

// StoreVisibility explains whether a store is live on a platform, by the most severe problem of store, plugin and
// menu.
func StoreVisibility(s store.Stored, platform Platform, now time.Time) Visibility {
	state, why := StoreAvailability(s, platform.Name, now)
	itself := Visibility{State: state, Label: visibilityLabels[state], Why: why}
	if known := visibilityReasons[why]; known != "" {
		itself.Label = known
	} else if state == ui.Err && s.ClosureOn(platform.Name) != nil {
		itself.Label = text.GridShut
	}
	if state == ui.Err || state == ui.Neutral || platform.ServedBy == core.ServedByMerchant {
		return itself
	}
	plugin := platform.Plugin
	if plugin == nil {
		return Visibility{ui.Err, text.NotLive, fmt.Sprintf(text.CausePluginUnknown, platform.ServedBy), AtSettings}
	}
	if told := Plugin(*plugin, now.Location()); told.State != ui.OK && told.State != ui.Run &&
		PluginState(*plugin) != pluginhost.Degraded {
		return Visibility{ui.Err, text.NotLive, told.Text, AtPlugin}
	}
	if published := platform.Published; published != nil {
		if there := menuVisibility(*published, now.Location()); there.State == ui.Err || state == ui.OK {
			return there
		}
	}
	return itself
}

// menuVisibility explains whether a store is live, by its menu on the platform.
func menuVisibility(p publish.Publication, zone *time.Location) Visibility {
	state, why := PublicationState(p, zone)
	seen := Visibility{State: state, Label: visibilityLabels[state], Why: why}
	switch {
	case state == ui.Warn && p.State == publish.Failed:
		seen.Label, seen.Remedy = text.OldMenu, AtSettings
	case state == ui.Err || state == ui.Warn && p.Note != "":
		seen.Remedy = AtSettings
	case state == ui.Warn:
		seen.Label, seen.Remedy = fmt.Sprintf(text.LiveWithout, MissingCount(p.Errors)), AtItem
	}
	return seen
}

// visibilityLabels are the labels of states. visibilityReasons replace them where one word gives the reason.
var (
	visibilityLabels = map[ui.State]string{ui.Neutral: text.GridNot, ui.OK: text.GridLive, ui.Warn: text.GridWaits,
		ui.Err: text.NotLive, ui.Run: text.GridRun}
	visibilityReasons = map[string]string{text.CauseStoreClosed: text.GridClosed, text.CauseStoreHidden: text.Hidden,
		text.CauseStoreOff: text.NotActive, text.CauseStoreNoOrder: text.NoOrders}
)

// SettingsRemedy returns which setting to check for an error of a platform, or "" if the error is not about
// secrets or URLs.
func SettingsRemedy(about console.PluginAbout, message string) string {
	var words []string
	if authPattern.MatchString(message) {
		for _, s := range about.Secrets {
			words = append(words, fmt.Sprintf(text.TheSecret, s.Name))
		}
	} else if addressPattern.MatchString(message) {
		for _, e := range about.Endpoints {
			words = append(words, fmt.Sprintf(text.TheAddress, e.Name))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf(text.RemedyRejectedMenu, strings.Join(words, ", "))
}

// authPattern matches errors about secrets, and addressPattern errors about URLs.
var (
	authPattern    = regexp.MustCompile(`(?i)\b40[13]\b|unauthori|forbidden|credential|signature|\b(key|secret|token)s?\b`)
	addressPattern = regexp.MustCompile(`(?i)\b404\b|\baddress|\burl\b|\bhost\b|certificate|connection`)
)

// PublishResult explains whether platforms have the menu changes of a request.
func PublishResult(found []console.Publishing) ui.Cause {
	told, words := ui.Cause{State: ui.OK}, make([]string, len(found))
	for i, p := range found {
		stores := ui.Count(p.Stores, text.OneStore, text.Stores_)
		switch publish.State(p.State) {
		case publish.Failed:
			told.State, words[i] = ui.Err, fmt.Sprintf(text.MenuRejectedBy, p.Platform, stores, p.Message)
		case publish.Published:
			words[i] = fmt.Sprintf(text.MenuPublished, p.Platform, stores)
		default:
			words[i] = fmt.Sprintf(text.MenuPending, p.Platform, stores)
			if p.Message != "" {
				words[i] += ": " + p.Message
			}
			if told.State == ui.OK {
				told.State = ui.Run
			}
		}
	}
	told.Text = fmt.Sprintf(text.CausePublished, strings.Join(words, "; "))
	return told
}

// RefusedMenus reports menus that a platform rejects. plugin is nil if it is unknown to all hubs.
func RefusedMenus(r console.RejectedMenus, plugin *console.Plugin) ui.Cause {
	c := ui.Cause{State: ui.Err,
		Text: fmt.Sprintf(text.CauseRejectedMenus, r.Platform, ui.Count(r.Count, text.OneStore, text.Stores_),
			r.Message)}
	if plugin != nil {
		c.Detail = SettingsRemedy(plugin.About, r.Message)
	}
	return c
}
