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
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/core/toggle"
	"github.com/servery-hub/servery/core/webhook"
)

// Job explains the state of a job and the errors of its objects.
func Job(j console.Job, groups []console.Group) ui.Cause {
	wrong := 0
	for _, group := range groups {
		wrong += group.Count
	}
	first := ""
	if len(groups) > 0 {
		first = groups[0].Cause
	}
	if len(groups) > 1 {
		first = fmt.Sprintf(text.MostFrequent, first)
	}
	switch {
	case j.State == string(job.Failed):
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseJobFailed, attemptCount(j.Attempts), j.Error)}
	case j.State == string(job.Queued) && j.Error != "":
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseJobTried, j.Attempts, j.Error)}
	case j.State == string(job.Queued):
		return ui.Cause{State: ui.Run, Text: text.CauseJobQueued}
	case j.State == string(job.Running) && j.Error != "":
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseJobTried, j.Attempts, j.Error)}
	case j.State == string(job.Running):
		return ui.Cause{State: ui.Run,
			Text: fmt.Sprintf(text.CauseJobRunning, ui.Number(j.Done), objectCount(j.Kind, j.Total))}
	case j.DryRun:
		return ui.Cause{State: ui.Neutral, Text: text.CauseJobDry}
	case j.Kind == core.BulkResendJob:
		return resendCause(j)
	case j.Kind == core.TimingJob && failedTimings(j) > 0:
		return ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseJobTimings, ui.Number(failedTimings(j)),
				ui.Count(j.Total, text.OneTiming, text.Timings_))}
	case wrong > 0:
		return ui.Cause{State: ui.Err,
			Text:   fmt.Sprintf(text.CauseJobErrors, ui.Number(wrong), objectCount(j.Kind, j.Total), first),
			Detail: strings.Join(Warnings(j), " ")}
	case len(Warnings(j)) > 0:
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseJobWarned, objectCount(j.Kind, j.Total)),
			Detail: strings.Join(Warnings(j), " ")}
	default:
		return ui.Cause{State: ui.OK,
			Text: fmt.Sprintf(text.CauseJobDone, objectCount(j.Kind, j.Total))}
	}
}

// objectCount returns n objects, named for the kind of the job.
func objectCount(kind core.JobKind, n int) string {
	switch kind {
	case core.StoreJob:
		return ui.Count(n, text.OneStore, text.Stores_)
	case core.MenuJob:
		return ui.Count(n, text.OneEntry, text.Entries_)
	}
	return ui.Count(n, text.OneObject, text.Objects_)
}

// maxWarnings limits the warnings listed for a job.
const maxWarnings = 3

// Warnings returns the first warnings of a job, each a sentence.
func Warnings(j console.Job) (told []string) {
	var so struct {
		Warnings []struct {
			Message string `json:"message"`
		} `json:"warnings"`
	}
	_ = json.Unmarshal(j.Result, &so)
	for i, w := range so.Warnings {
		if i == maxWarnings {
			return append(told, fmt.Sprintf(text.MoreWarnings, ui.Number(len(so.Warnings)-i)))
		}
		told = append(told, w.Message+".")
	}
	return told
}

// failedTimings returns how many timing groups failed at least in part.
func failedTimings(j console.Job) int {
	var so struct {
		Errors int `json:"errors"`
	}
	_ = json.Unmarshal(j.Result, &so)
	return so.Errors
}

// resendCause reports the result of a bulk resend.
func resendCause(j console.Job) ui.Cause {
	var so webhook.ResendResult
	_ = json.Unmarshal(j.Result, &so)
	if so.Skipped == 0 {
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseJobResent, deliveryCount(so.Resent))}
	}
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseJobResentBut, deliveryCount(so.Resent), deliveryCount(so.Skipped))}
}

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
			return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseItemUnder, category.InactiveParent, category.RefID),
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
	shown := 0
	for _, place := range i.Stores {
		if state, _ := storeReason(place); state == ui.OK {
			shown++
		}
	}
	state := ui.OK
	if shown < len(i.Stores) {
		state = ui.Warn
	}
	told := fmt.Sprintf(text.CauseItemShown, ui.Number(shown),
		ui.Count(len(i.Stores), text.OneStore, text.Stores_))
	if why := notOnSaleReason(i, now); why != "" {
		return ui.Cause{State: ui.Warn, Text: why, Detail: told}
	}
	return ui.Cause{State: state, Text: told}
}

// Store explains why a store accepts orders or not. down lists platforms where it is not live for other reasons.
func Store(s store.Stored, platforms, down []string, now time.Time) ui.Cause {
	within, _ := store.OpenAt(s.Timings, now)
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
		return ui.Cause{State: ui.Warn, Text: text.CauseStoreClosed}
	}
	opened := slices.DeleteFunc(slices.Clone(listed), func(platform string) bool { return s.ClosureOn(platform) != nil })
	takes := slices.DeleteFunc(slices.Clone(opened),
		func(platform string) bool { return slices.Contains(down, platform) })
	switch told := (ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseStoreLive, strings.Join(takes, ", "))}); {
	case len(opened) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreShut}
	case len(takes) == 0:
		return ui.Cause{State: ui.Err, Text: text.CauseStoreNowhere}
	case len(takes) < len(listed):
		told.State = ui.Warn
		return told
	default:
		return told
	}
}

// StoreAvailability explains why a store accepts orders on one platform or not.
func StoreAvailability(s store.Stored, platform string, now time.Time) (ui.State, string) {
	if !(store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}).ListedOn(platform) {
		return ui.Neutral, text.CauseNotListed
	}
	if closing := s.ClosureOn(platform); closing != nil {
		return ui.Err, fmt.Sprintf(text.CauseClosedHere, closedText(*closing, now.Location()))
	}
	if cause := Store(s, []string{platform}, nil, now); cause.State != ui.OK {
		return cause.State, cause.Text
	}
	return ui.OK, ""
}

// StoreClosures explains on which listed platforms a store is closed, and how it opens. Platforms closed by the
// same action are grouped.
func StoreClosures(s store.Stored, zone *time.Location) (told []ui.Cause) {
	var platforms, words []string
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	for _, c := range s.ClosedOn {
		if !listing.ListedOn(c.Platform) {
			continue
		}
		by := closedText(c, zone)
		if at := slices.Index(words, by); at >= 0 {
			platforms[at] += ", " + c.Platform
			continue
		}
		remedy := text.RemedyClosed
		if c.Source == toggle.SourcePresence {
			remedy = text.RemedyClosedSilent
		}
		platforms, words, told = append(platforms, c.Platform), append(words, by),
			append(told, ui.Cause{State: ui.Err, Detail: remedy})
	}
	for i := range told {
		told[i].Text = fmt.Sprintf(text.CauseClosedOn, platforms[i], words[i])
	}
	return told
}

// closedText describes who closed a store, since when, and until when.
func closedText(c store.PlatformClosure, zone *time.Location) string {
	who := ActorName(c.Actor)
	if c.Reason != "" {
		who += " (" + c.Reason + ")"
	}
	told := fmt.Sprintf(text.ClosedBy, who, formatTime(time.UnixMilli(c.Since), zone))
	if c.TurnOnAt != 0 {
		told += fmt.Sprintf(text.ClosedTill, formatTime(time.UnixMilli(c.TurnOnAt), zone))
	}
	return told
}
