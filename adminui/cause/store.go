package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
)

// Store explains why a store accepts orders or not. down lists platforms where it is not live for other reasons. If
// they all only wait, wait explains it. Otherwise it is "".
func Store(s store.Stored, platforms, down []string, wait string, now time.Time) ui.Cause {
	within, _ := s.OpeningHours().OpenAt(now)
	listed := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}.Filter(platforms)
	switch {
	case s.Active != nil && !*s.Active:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreOff, Detail: text.RemedyStoreOff}
	case len(listed) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreNoList, Detail: text.RemedyStoreNoList}
	case s.OrderingEnabled != nil && !*s.OrderingEnabled:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreNoOrder, Detail: text.RemedyStoreNoOrder}
	case s.HideFromUI != nil && *s.HideFromUI:
		return ui.Cause{State: ui.Warn, Text: text.CauseStoreHidden, Detail: text.RemedyStoreHidden}
	case !within:
		return ui.Cause{State: ui.Warn, Text: text.CauseStoreClosed,
			Detail: closedDetail(s.OpeningHours(), now)}
	}
	open := slices.DeleteFunc(slices.Clone(listed), func(platform string) bool {
		return s.ClosureOn(platform) != nil || s.ClosedBy(platform, now) != nil
	})
	accepting := slices.DeleteFunc(slices.Clone(open),
		func(platform string) bool { return slices.Contains(down, platform) })
	switch live := (ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseStoreLive, Join(accepting))}); {
	case len(open) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreShut}
	case len(accepting) == 0 && wait != "":
		return ui.Cause{State: ui.Warn, Text: wait}
	case len(accepting) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreNowhere}
	case len(accepting) < len(listed):
		live.State = ui.Warn
		return live
	default:
		return live
	}
}

// ClosuresByPlatforms explains which listed platforms report a store as closed. Times are in the zone.
func ClosuresByPlatforms(s store.Stored, now time.Time, zone *time.Location) (causes []ui.Cause) {
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	for _, status := range s.PlatformStatus {
		if listing.ListedOn(status.Platform) && status.Closed(now) {
			causes = append(causes, ui.Cause{State: ui.Err, Detail: text.RemedyClosedThere,
				Text: fmt.Sprintf(text.CauseClosedBy, status.Platform, status.State,
					reportText(status, zone))})
		}
	}
	return causes
}

// reportText describes since when a platform has closed a store, why, and until when.
func reportText(status store.PlatformStatus, zone *time.Location) string {
	sentence := formatTime(time.UnixMilli(status.Since), zone)
	if status.Reason != "" {
		sentence += " (" + status.Reason + ")"
	}
	if status.Until != 0 {
		sentence += fmt.Sprintf(text.ClosedTill, Moment(time.UnixMilli(status.Until), zone))
	}
	return sentence
}

// platformGroups groups platforms by a text, in the order of the first platform of each.
type platformGroups struct {
	texts     []string
	platforms [][]string
}

// add adds a platform, and reports whether it is the first with the text.
func (g *platformGroups) add(platform, text string) (first bool) {
	if at := slices.Index(g.texts, text); at >= 0 {
		g.platforms[at] = append(g.platforms[at], platform)
		return false
	}
	g.texts, g.platforms = append(g.texts, text), append(g.platforms, []string{platform})
	return true
}

// StoreClosures explains on which listed platforms a store is closed, and how it opens. Platforms closed by the
// same action are grouped.
func StoreClosures(s store.Stored, zone *time.Location) (causes []ui.Cause) {
	var closed platformGroups
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	for _, c := range s.ClosedOn {
		if !listing.ListedOn(c.Platform) || !closed.add(c.Platform, closedText(c, zone)) {
			continue
		}
		remedy := text.RemedyClosed
		switch {
		case c.Source == toggle.SourcePresence:
			remedy = text.RemedyClosedSilent
		case c.TurnOnAt != 0:
			remedy = text.RemedyClosedTill
		}
		causes = append(causes, ui.Cause{State: ui.Err, Detail: remedy})
	}
	for i := range causes {
		causes[i].Text = fmt.Sprintf(text.CauseClosedOn, Join(closed.platforms[i]), closed.texts[i])
	}
	return causes
}

// StoreBusy explains on which listed platforms a store is busy. Platforms with the same text are grouped.
func StoreBusy(s store.Stored, zone *time.Location) (causes []ui.Cause) {
	var busy platformGroups
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	for _, b := range s.BusyOn {
		if listing.ListedOn(b.Platform) {
			busy.add(b.Platform, busyText(b, zone))
		}
	}
	for i, detail := range busy.texts {
		causes = append(causes, ui.Cause{State: ui.Warn, Detail: text.RemedyBusy,
			Text: fmt.Sprintf(detail, Join(busy.platforms[i]))})
	}
	return causes
}

// busyText describes who set a store to busy, with a placeholder for the platforms.
func busyText(b store.PlatformBusy, zone *time.Location) string {
	sentence := fmt.Sprintf(text.CauseBusyOn, "%s", strings.ReplaceAll(ActorName(b.Actor), "%", "%%"),
		formatTime(time.UnixMilli(b.Since), zone))
	if b.PrepMinutes > 0 {
		sentence += fmt.Sprintf(text.BusyPrep, b.PrepMinutes)
	}
	if b.Until != 0 {
		sentence += fmt.Sprintf(text.BusyTill, Moment(time.UnixMilli(b.Until), zone))
	}
	return sentence + "."
}

// closedText describes who closed a store, since when, and until when.
func closedText(c store.PlatformClosure, zone *time.Location) string {
	if c.Source == toggle.SourcePresence {
		return fmt.Sprintf(text.ClosedSilent, formatTime(time.UnixMilli(c.Since), zone))
	}
	who := ActorName(c.Actor)
	if c.Reason != "" {
		who += " (" + c.Reason + ")"
	}
	sentence := fmt.Sprintf(text.ClosedBy, who, formatTime(time.UnixMilli(c.Since), zone))
	if c.TurnOnAt != 0 {
		sentence += fmt.Sprintf(text.ClosedTill, Moment(time.UnixMilli(c.TurnOnAt), zone))
	}
	return sentence
}

// StoreOf returns the parts of a store that decide whether it accepts orders.
func StoreOf(s console.GridStore) store.Stored {
	stored := store.Stored{ID: s.ID,
		Object: store.Object{Active: &s.Active, OrderingEnabled: &s.Ordering, HideFromUI: &s.Hidden,
			ExcludedPlatforms: s.Excluded, IncludedPlatforms: s.Included,
			Timings: s.Hours.Week, SpecialTimings: s.Hours.Dates}}
	if len(s.ClosedOn) > 0 {
		// ignore an unreadable value; the page of the store reports it
		_ = json.Unmarshal(s.ClosedOn, &stored.ClosedOn)
	}
	if len(s.Reported) > 0 {
		_ = json.Unmarshal(s.Reported, &stored.PlatformStatus)
	}
	return stored
}

// Remedy is where to fix the problem of a store on a platform.
type Remedy int

// The zero value is the store itself.
const (
	AtStore Remedy = iota
	AtPlugin
	AtSettings // settings of the platform
	AtItem     // the first missing item
	AtItems    // all items
)

// Visibility describes whether a store or item is visible on a platform.
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
	NoItems   string               // why no item of the store can be ordered there; "": one can, or it is unknown
}

// ServedBy names what connects a platform: the merchant itself, or a plugin.
func ServedBy(p core.Platform) string {
	if p.ServedBy == core.ServedByMerchant {
		return text.ServedByOwn
	}
	return fmt.Sprintf(text.ServedByPlugin, p.ServedBy)
}

// LacksMenu reports whether the platform is known to show no menu of the store.
func (p Platform) LacksMenu() bool {
	menu := p.menu()
	if menu == nil || menu.State == publish.Published {
		return false
	}
	return menu.State == publish.Unlisted || menu.State == publish.Skipped || menu.PublishedAt.IsZero()
}

// StoreVisibility explains whether a store is live on a platform, by the first reason of console.Place. The hours
// follow the zone of now, and times are shown in the other zone.
func StoreVisibility(s store.Stored, platform Platform, now time.Time, zone *time.Location) Visibility {
	switch placeOn(s, platform, now).Reason() {
	case console.PlaceUnlisted:
		return Visibility{State: ui.Neutral, Label: text.GridNot, Why: text.CauseNotListed}
	case console.PlaceInactive:
		return Visibility{State: ui.Err, Label: text.NotActive, Why: text.CauseStoreOff}
	case console.PlaceNoOrders:
		return Visibility{State: ui.Err, Label: text.NoOrders, Why: text.CauseStoreNoOrder}
	case console.PlaceClosed:
		return Visibility{State: ui.Err, Label: text.GridShut,
			Why: fmt.Sprintf(text.CauseClosedHere, closedText(*s.ClosureOn(platform.Name), zone))}
	case console.PlaceClosedThere:
		report := s.ClosedBy(platform.Name, now)
		return Visibility{State: ui.Err, Label: text.GridShut,
			Why: fmt.Sprintf(text.CauseClosedThere, report.State, reportText(*report, zone))}
	case console.PlaceNoItems:
		return Visibility{ui.Err, text.NoItemsLabel, platform.NoItems, AtItems}
	case console.PlacePluginDown:
		if platform.Plugin == nil {
			why := fmt.Sprintf(text.CausePluginUnknown, platform.ServedBy)
			return withoutPlugin(why, AtSettings, platform.Published, zone)
		}
		return withoutPlugin(Plugin(*platform.Plugin, zone).Text, AtPlugin, platform.Published, zone)
	case console.PlaceHidden:
		return Visibility{State: ui.Warn, Label: text.Hidden, Why: text.CauseStoreHidden}
	case console.PlaceShut:
		return Visibility{State: ui.Warn, Label: text.GridClosed, Why: text.CauseStoreClosed}
	}
	if menu := platform.menu(); menu != nil {
		return menuVisibility(*menu, zone)
	}
	return Visibility{State: ui.OK, Label: text.GridLive}
}

// placeOn returns the conditions that decide whether customers can order at a store on a platform.
func placeOn(s store.Stored, platform Platform, now time.Time) console.Place {
	open, _ := s.OpeningHours().OpenAt(now)
	return console.Place{
		Listed: store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}.ListedOn(platform.Name),
		Active: s.Active == nil || *s.Active, Ordering: s.OrderingEnabled == nil || *s.OrderingEnabled,
		Closed: s.ClosureOn(platform.Name) != nil, ClosedThere: s.ClosedBy(platform.Name, now) != nil,
		NoItems: platform.NoItems != "",
		PluginDown: platform.ServedBy != core.ServedByMerchant &&
			(platform.Plugin == nil || !PluginWorks(*platform.Plugin, now.Location())),
		Hidden: s.HideFromUI != nil && *s.HideFromUI, Open: open, Menu: platform.menu(),
	}
}

// menu returns the menu of the store on an aggregator, or nil.
func (p Platform) menu() *publish.Publication {
	if p.ServedBy == core.ServedByMerchant {
		return nil
	}
	return p.Published
}

// withoutPlugin is the visibility without a working plugin. The platform may show an earlier menu.
func withoutPlugin(why string, remedy Remedy, p *publish.Publication, zone *time.Location) Visibility {
	if p == nil || p.PublishedAt.IsZero() {
		return Visibility{ui.Err, text.NotLive, why, remedy}
	}
	why += " " + fmt.Sprintf(text.StillOld, formatTime(p.PublishedAt, zone))
	return Visibility{ui.Err, text.PlatformAway, why, remedy}
}

// menuVisibility explains whether a store is live, by its menu on the platform.
func menuVisibility(p publish.Publication, zone *time.Location) Visibility {
	state, why := PublicationState(p, zone)
	visibility := Visibility{State: state, Label: visibilityLabels[state], Why: why}
	switch {
	case state == ui.Wait:
		visibility.Label = text.Unconfirmed
	case state == ui.Warn && p.State == publish.Failed:
		visibility.Label, visibility.Remedy = text.OldMenu, AtSettings
	case state == ui.Err || state == ui.Warn && p.Note != "":
		visibility.Remedy = AtSettings
		if p.State == publish.Published {
			visibility.Label = text.LiveWaits
		}
	case state == ui.Warn:
		visibility.Label, visibility.Remedy = fmt.Sprintf(text.LiveWithout, MissingCount(p.Errors)), AtItem
	}
	return visibility
}

// visibilityLabels are the labels of states where no word gives the reason.
var visibilityLabels = map[ui.State]string{ui.Neutral: text.GridNot, ui.OK: text.GridLive, ui.Warn: text.GridWaits,
	ui.Err: text.NotLive, ui.Run: text.GridRun}
