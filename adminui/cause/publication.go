package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/publish"
)

// PublicationState explains whether the menu of a store is published on a platform, and which menu the platform
// shows.
func PublicationState(p publish.Publication, zone *time.Location) (ui.State, string) {
	changes := !p.DueAt.IsZero() // since the last result
	switch {
	case !p.Deadline.IsZero() && p.Note == "":
		return ui.Wait, PendingOutcome(p, zone)
	case p.State == publish.Failed && !p.PublishedAt.IsZero():
		return ui.Warn, fmt.Sprintf(text.PublishOldFailed, formatTime(p.PublishedAt, zone),
			menuMessage(p.Platform, p.Message, zone))
	case p.State == publish.Failed:
		return ui.Err, fmt.Sprintf(text.PublishFailed, menuMessage(p.Platform, p.Message, zone))
	case p.State == publish.Published && changes && p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishOldWaits, formatTime(p.PublishedAt, zone),
			menuMessage(p.Platform, p.Note, zone))
	case p.State == publish.Published && len(p.Errors) > 0:
		return ui.Warn, missingText(p.Errors)
	case p.State == publish.Published && changes:
		return ui.Run, fmt.Sprintf(text.PublishOldGoes, formatTime(p.PublishedAt, zone))
	case p.State == publish.Published && len(p.Warnings) > 0:
		return ui.OK, fmt.Sprintf(text.PublishWarnings, ui.Count(len(p.Warnings), text.OneWarning, text.Warnings_),
			p.Warnings[0].Message)
	case p.State == publish.Published:
		return ui.OK, ""
	case p.State == publish.Skipped || p.State == publish.Unlisted && !changes:
		return ui.Neutral, LocalTimes(p.Message, zone)
	case p.Note != "":
		return ui.Warn, fmt.Sprintf(text.PublishWaits, menuMessage(p.Platform, p.Note, zone))
	default:
		return ui.Run, text.PublishUnderWay
	}
}

// PendingOutcome explains that a platform has accepted a menu, and reports its outcome later.
func PendingOutcome(p publish.Publication, zone *time.Location) string {
	words := fmt.Sprintf(text.PublishUnconfirmed, p.Platform, formatTime(p.Since, zone), formatTime(p.Deadline, zone))
	if p.PublishedAt.IsZero() {
		return words
	}
	return sentences(words, fmt.Sprintf(text.PublishOldShown, formatTime(p.PublishedAt, zone)))
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

// SettingsRemedy returns which setting to check for an error of a platform, or "" if the error is not about
// secrets or URLs.
func SettingsRemedy(about console.PluginAbout, message string) string {
	var words []string
	if authPattern.MatchString(message) {
		for _, s := range loginSecrets(about) {
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
	return fmt.Sprintf(text.RemedyRejectedMenu, Join(words))
}

// loginSecrets returns the secrets of calls to a platform: not those that authenticate its requests, unless no other
// exists.
func loginSecrets(about console.PluginAbout) []console.PluginSecret {
	outgoing := slices.DeleteFunc(slices.Clone(about.Secrets), func(s console.PluginSecret) bool {
		return slices.ContainsFunc(about.Inbound, func(in console.PluginInbound) bool { return in.Secret == s.Name })
	})
	if len(outgoing) == 0 {
		return about.Secrets
	}
	return outgoing
}

// authPattern matches errors about secrets, and addressPattern errors about URLs.
var (
	authPattern = regexp.MustCompile(`(?i)\b40[13]\b|unauthori|forbidden|credential|signature|` +
		`\b(key|secret|token)s?\b`)
	addressPattern = regexp.MustCompile(`(?i)\b404\b|\baddress|\burl\b|\bhost\b|server name|certificate|connection`)
)

// statusPattern matches the response of an aggregator, and pluginPattern the plugin that is not running.
var (
	statusPattern = regexp.MustCompile(`^the aggregator responded with ((\d{3})\b.*)`)
	pluginPattern = regexp.MustCompile(`^(?:failed after a day: )?(?:planning the call failed: )?plugin (\S+) is ` +
		`(?:not running|unavailable: it is \w+(?: \(plugin_unavailable\))?)$`)
)

// PlatformMessage explains the message of a call to a platform, with the platform's name. Times are in the zone.
func PlatformMessage(platform, message string, zone *time.Location) string {
	return explainMessage(platform, LocalTimes(message, zone), text.PlatformContent)
}

// menuMessage explains the message of a menu that was sent to a platform.
func menuMessage(platform, message string, zone *time.Location) string {
	return explainMessage(platform, LocalTimes(message, zone), text.PlatformMenu)
}

// explainMessage puts the meaning of a response before it. invalid is the text for 422.
func explainMessage(platform, message, invalid string) string {
	if match := pluginPattern.FindStringSubmatch(message); match != nil {
		return fmt.Sprintf(text.PluginNotRunning, platform, match[1])
	}
	match := statusPattern.FindStringSubmatch(message)
	if match == nil {
		return message
	}
	words := text.PlatformStatus
	switch match[2] {
	case "401":
		words = text.PlatformLogin
	case "422":
		words = invalid
	case "429":
		words = text.PlatformOverloaded
	case "502", "503", "504":
		words = text.PlatformUnavailable
	}
	return fmt.Sprintf(words, platform, match[1])
}

// statusWords returns the meaning of a response after a sentence that names the platform.
func statusWords(message string, zone *time.Location) string {
	message = LocalTimes(message, zone)
	match := statusPattern.FindStringSubmatch(message)
	if match == nil {
		return message
	}
	code, _ := strconv.Atoi(match[2]) // cannot fail: the pattern matches digits
	if words := text.StatusWords[code]; words != "" {
		return fmt.Sprintf("%s (%s)", words, match[1])
	}
	return match[1]
}

// PublishResult explains whether platforms have the menu changes of a request.
func PublishResult(found []console.Publishing, zone *time.Location) ui.Cause {
	cause, parts, pending := ui.Cause{State: ui.OK}, make([]string, len(found)), false
	for i, p := range found {
		stores := ui.Count(p.Stores, text.OneStore, text.Stores_)
		switch publish.State(p.State) {
		case publish.Failed:
			cause.State, parts[i] = ui.Err, fmt.Sprintf(text.MenuRejectedBy, p.Platform, stores,
				statusWords(p.Message, zone))
		case publish.Published:
			parts[i] = fmt.Sprintf(text.MenuPublished, p.Platform, stores)
		default:
			pending = true
			parts[i] = fmt.Sprintf(text.MenuPending, p.Platform, stores)
			if !p.Until.IsZero() {
				parts[i] = fmt.Sprintf(text.MenuUnconfirmed, p.Platform, stores, formatTime(p.Since, zone),
					formatTime(p.Until, zone))
			} else if p.Message != "" {
				parts[i] += fmt.Sprintf(text.Because, menuMessage(p.Platform, p.Message, zone))
			}
			if cause.State == ui.OK {
				cause.State = ui.Run
			}
		}
	}
	cause.Text, cause.Detail = strings.Join(parts, "; ")+".", text.PublishedOwn
	if pending {
		cause.Detail = sentences(text.MenusSentLater, cause.Detail)
	}
	return cause
}

// RejectedMenus reports menus that a platform rejects. plugin is nil if it is unknown to all hubs.
func RejectedMenus(r console.RejectedMenus, plugin *console.Plugin, zone *time.Location) ui.Cause {
	c := ui.Cause{State: ui.Err,
		Text: fmt.Sprintf(text.CauseRejectedMenus, r.Platform, ui.Count(r.Count, text.OneStore, text.Stores_),
			statusWords(r.Message, zone))}
	if plugin != nil {
		c.Detail = SettingsRemedy(plugin.About, r.Message)
	}
	c.Detail = cmp.Or(c.Detail, FailedMenuRemedy(r.Platform, r.Message))
	return c
}

// FailedMenuRemedy returns what to do about a menu that failed at a platform, with the message of the publication.
func FailedMenuRemedy(platform, message string) string {
	match := statusPattern.FindStringSubmatch(message)
	if match != nil && (match[2] == "429" || match[2][0] == '5') {
		return fmt.Sprintf(text.RemedyMenuBusy, platform)
	}
	return fmt.Sprintf(text.RemedyMenuRejected, platform)
}
