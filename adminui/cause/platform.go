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

// Place tells whether an item can be ordered at a store by the store's own values,
// and else why not.
func Place(i console.ItemDetail, p console.ItemPlace, now time.Time) Visibility {
	if general := Item(i, now); general.State == ui.Err {
		return Visibility{State: ui.Err, Words: text.NotShown}
	}
	if state, why := atStore(p); state != ui.OK {
		return Visibility{State: state, Words: text.NotShown, Why: why}
	}
	return onSale(i, now)
}

// onSale tells whether it is the time for an item that is shown.
func onSale(i console.ItemDetail, now time.Time) Visibility {
	if why := notNow(i, now); why != "" {
		return Visibility{State: ui.Warn, Words: text.NotNow, Why: why}
	}
	return Visibility{State: ui.OK, Words: text.Shown}
}

// atStore tells the same by what is of the store alone.
func atStore(p console.ItemPlace) (ui.State, string) {
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
	case p.Unmet != "":
		return ui.Warn, fmt.Sprintf(text.HereUnmet, p.Unmet)
	default:
		return ui.OK, ""
	}
}

// ItemOn tells whether an item is shown on a platform, and else why not, by what
// holds at all stores, and by what the platform said of their menus.
func ItemOn(i console.ItemDetail, platform string, now time.Time) (ui.State, string) {
	if state, why := itemOn(i, platform, now); state != ui.OK {
		return state, why
	}
	for _, r := range i.Refusals {
		if r.Platform == platform {
			return ui.Err, fmt.Sprintf(text.ItemRefusedAt, ui.Count(r.Stores, text.OneStore, text.Stores_), r.Message)
		}
	}
	return ui.OK, ""
}

func itemOn(i console.ItemDetail, platform string, now time.Time) (ui.State, string) {
	if general := Item(i, now); general.State == ui.Err {
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
// why not: by the item, by the store's values, and by how the store and its menu are
// there.
func PlaceOn(i console.ItemDetail, p console.ItemPlace, platform Platform, now time.Time) Visibility {
	published := platform.Published
	if state, why := itemOn(i, platform.Name, now); state != ui.OK {
		return Visibility{State: state, Words: text.NotShown, Why: why}
	}
	if state, why := atStore(p); state != ui.OK {
		return Visibility{State: state, Words: text.NotShown, Why: why}
	}
	there := StoreAt(Stored(p.Store), platform, now)
	switch {
	case there.State == ui.Err && there.Remedy != AtStore: // it may be there with an earlier menu
		if published != nil && published.State == publish.Published && published.Note != "" {
			_, there.Why = Published(*published, now.Location())
		}
		return there
	case there.State == ui.Err || there.State == ui.Neutral:
		there.Words = text.NotShown
		return there
	case published != nil && published.State == publish.Published:
		for _, problem := range published.Errors {
			if problem.Entity == "item" && problem.RefID == i.RefID {
				return Visibility{State: ui.Err, Words: text.NotShown,
					Why: fmt.Sprintf(text.ItemRefusedThere, problem.Message)}
			}
		}
	}
	if there.State == ui.OK || there.Remedy == AtItem { // of another one
		return onSale(i, now)
	}
	return there
}

// Stored is a store as far as it decides whether it takes orders.
func Stored(s console.GridStore) store.Stored {
	stored := store.Stored{ID: s.ID,
		Object: store.Object{Active: &s.Active, OrderingEnabled: &s.Ordering, HideFromUI: &s.Hidden,
			ExcludedPlatforms: s.Excluded, IncludedPlatforms: s.Included, Timings: s.Timings}}
	if len(s.ClosedOn) > 0 {
		// what cannot be read is not told here; the store's page says so
		_ = json.Unmarshal(s.ClosedOn, &stored.ClosedOn)
	}
	return stored
}

// Findings tells on which platforms the rules refuse an item, and which platforms
// themselves did.
func Findings(i console.ItemDetail) (told []ui.Cause) {
	for n, f := range i.Findings {
		if n > 0 && i.Findings[n-1].Platform == f.Platform {
			continue
		}
		told = append(told, ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemFinding, f.Platform, f.Message),
			Detail: fmt.Sprintf(text.RemedyFinding, f.Rule)})
	}
	for _, r := range i.Refusals {
		told = append(told, ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseItemRefused, r.Platform, ui.Count(r.Stores, text.OneStore, text.Stores_),
				r.Message), Detail: text.RemedyItemRefused})
	}
	return told
}

// Published tells what became of publishing a store's menu on a platform on which it
// is listed, and what the platform has meanwhile.
func Published(p publish.Publication, zone *time.Location) (ui.State, string) {
	changes := !p.DueAt.IsZero() // since what came of it last
	switch {
	case p.State == publish.Failed && !p.PublishedAt.IsZero():
		return ui.Warn, fmt.Sprintf(text.PublishOldFailed, clock(p.PublishedAt, zone), p.Message)
	case p.State == publish.Failed:
		return ui.Err, fmt.Sprintf(text.PublishFailed, p.Message)
	case p.State == publish.Published && changes && p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishOldWaits, clock(p.PublishedAt, zone), p.Note)
	case p.State == publish.Published && len(p.Errors) > 0:
		return ui.Warn, without(p.Errors)
	case p.State == publish.Published && changes:
		return ui.Run, fmt.Sprintf(text.PublishOldGoes, clock(p.PublishedAt, zone))
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

// without tells what a platform does not have as it should, and of the first why.
func without(errors []publish.Problem) string {
	first := cmp.Or(errors[0].RefID, errors[0].Entity)
	if slices.ContainsFunc(errors, func(e publish.Problem) bool { return cmp.Or(e.RefID, e.Entity) != first }) {
		first += ", …"
	}
	return fmt.Sprintf(text.PublishWithout, Missing(errors), first, errors[0].Message)
}

// Missing counts the objects that a platform does not have as it should.
func Missing(errors []publish.Problem) string {
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

// Remedy is where to correct what keeps a store from a platform.
type Remedy int

// The places: the store itself unless another is named.
const (
	AtStore Remedy = iota
	AtPlugin
	AtSettings // of the platform
	AtItem     // the first that is missing
)

// Visibility is how a store is on a platform.
type Visibility struct {
	State  ui.State
	Words  string // how it is, for a cell
	Why    string // in a sentence; "" where all is well
	Remedy Remedy
}

// Platform is a platform with what is known there of a store.
type Platform struct {
	core.Platform
	Plugin    *console.Plugin      // that serves it; nil where no hub knows it
	Published *publish.Publication // of the store's menu; nil where nothing is known
}

// StoreAt tells how a store is on a platform: by the store, by the plugin that
// serves the platform, by its menu there, the gravest reason first.
func StoreAt(s store.Stored, platform Platform, now time.Time) Visibility {
	state, why := StoreOn(s, platform.Name, now)
	itself := Visibility{State: state, Words: visibilityWords[state], Why: why}
	if known := visibilityReasons[why]; known != "" {
		itself.Words = known
	} else if state == ui.Err && s.ClosureOn(platform.Name) != nil {
		itself.Words = text.GridShut
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
		if there := menuAt(*published, now.Location()); there.State == ui.Err || state == ui.OK {
			return there
		}
	}
	return itself
}

// menuAt is how a store is on a platform by its menu there.
func menuAt(p publish.Publication, zone *time.Location) Visibility {
	state, why := Published(p, zone)
	seen := Visibility{State: state, Words: visibilityWords[state], Why: why}
	switch {
	case state == ui.Warn && p.State == publish.Failed:
		seen.Words, seen.Remedy = text.OldMenu, AtSettings
	case state == ui.Err || state == ui.Warn && p.Note != "":
		seen.Remedy = AtSettings
	case state == ui.Warn:
		seen.Words, seen.Remedy = fmt.Sprintf(text.LiveWithout, Missing(p.Errors)), AtItem
	}
	return seen
}

// visibilityWords say how it is, visibilityReasons why, where a word is enough.
var (
	visibilityWords = map[ui.State]string{ui.Neutral: text.GridNot, ui.OK: text.GridLive, ui.Warn: text.GridWaits,
		ui.Err: text.NotLive, ui.Run: text.GridRun}
	visibilityReasons = map[string]string{text.CauseStoreClosed: text.GridClosed, text.CauseStoreHidden: text.Hidden,
		text.CauseStoreOff: text.NotActive, text.CauseStoreNoOrder: text.NoOrders}
)

// RemedyFor tells what of a platform's settings is to be looked at, by what is said of the
// platform; "" where it says nothing of who calls it or where.
func RemedyFor(about console.PluginAbout, message string) string {
	var words []string
	if denied.MatchString(message) {
		for _, s := range about.Secrets {
			words = append(words, fmt.Sprintf(text.TheSecret, s.Name))
		}
	} else if astray.MatchString(message) {
		for _, e := range about.Endpoints {
			words = append(words, fmt.Sprintf(text.TheAddress, e.Name))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf(text.RemedyRefusedMenu, strings.Join(words, ", "))
}

// denied matches what is said of an aggregator that does not accept the secret,
// astray of an address at which it is not.
var (
	denied = regexp.MustCompile(`(?i)\b40[13]\b|unauthori|forbidden|credential|signature|\b(key|secret|token)s?\b`)
	astray = regexp.MustCompile(`(?i)\b404\b|\baddress|\burl\b|\bhost\b|certificate|connection`)
)

// Taken tells whether platforms have what a request changed of menus.
func Taken(found []console.Publishing) ui.Cause {
	told, words := ui.Cause{State: ui.OK}, make([]string, len(found))
	for i, p := range found {
		stores := ui.Count(p.Stores, text.OneStore, text.Stores_)
		switch publish.State(p.State) {
		case publish.Failed:
			told.State, words[i] = ui.Err, fmt.Sprintf(text.TakenNot, p.Platform, stores, p.Message)
		case publish.Published:
			words[i] = fmt.Sprintf(text.Taken, p.Platform, stores)
		default:
			words[i] = fmt.Sprintf(text.TakenLater, p.Platform, stores)
			if p.Message != "" {
				words[i] += ": " + p.Message
			}
			if told.State == ui.OK {
				told.State = ui.Run
			}
		}
	}
	told.Text = fmt.Sprintf(text.CauseTaken, strings.Join(words, "; "))
	return told
}

// MenusRefused tells that a platform does not take menus of a business. plugin is nil
// where no hub knows it.
func MenusRefused(r console.RefusedMenus, plugin *console.Plugin) ui.Cause {
	c := ui.Cause{State: ui.Err,
		Text: fmt.Sprintf(text.CauseRefusedMenus, r.Platform, ui.Count(r.Count, text.OneStore, text.Stores_),
			r.Message)}
	if plugin != nil {
		c.Detail = RemedyFor(plugin.About, r.Message)
	}
	return c
}
