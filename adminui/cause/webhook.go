// Package cause explains the state of webhooks, orders, items and other objects in one sentence, with a remedy. It
// only formats what the pages have read.
package cause

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/retry"
	"github.com/servery-hub/servery/core/webhook"
)

// failureTexts maps failure classes to a sentence and a remedy.
var failureTexts = map[webhook.ErrorClass]struct{ sentence, remedy string }{
	webhook.DNS:              {text.CauseDNS, text.RemedyDNS},
	webhook.TLS:              {text.CauseTLS, text.RemedyTLS},
	webhook.Connect:          {text.CauseConnect, text.RemedyConnect},
	webhook.Timeout:          {text.CauseTimeout, text.RemedyTimeout},
	webhook.ConnectionBroken: {text.CauseBroken, text.RemedyBroken},
	webhook.Protocol:         {text.CauseProtocol, text.RemedyProtocol},
	webhook.Redirect:         {text.CauseRedirect, text.RemedyRedirect},
}

// Webhook explains the state of a webhook by its latest attempts and pending deliveries. Times are in the zone.
func Webhook(e console.Endpoint, now time.Time, zone *time.Location) ui.Cause {
	name := fmt.Sprintf(text.WebhookName, e.EventType, e.ID)
	h := e.Health
	switch {
	case !e.Active && e.DisabledReason != "":
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseGone, name),
			Detail: ui.JoinNonEmpty(" ", heldText(e), text.RemedyGone, missedText(e, zone))}
	case !e.Active && e.Held > 0:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePausedHeld, name, deliveryCount(e.Held)),
			Detail: text.RemedyHeld + " " + missedText(e, zone)}
	case !e.Active:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePaused, name),
			Detail: text.RemedyPaused + " " + missedText(e, zone)}
	case !h.FailingSince.IsZero():
		return failingCause(e, name, now, zone)
	case h.SucceededAt.IsZero() && e.FailedDeliveries > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseUnused, name), Detail: failedText(e)}
	case e.FailedDeliveries > 0:
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseFailedDeliveries, name, deliveryCount(e.FailedDeliveries)),
			Detail: strings.TrimSpace(text.RemedyFailedDeliveries + " " + pendingText(e))}
	case h.SucceededAt.IsZero():
		return ui.Cause{State: ui.Neutral, Text: fmt.Sprintf(text.CauseUnused, name)}
	case e.LastDay.Failed > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseSlow, name), Detail: pendingText(e)}
	default:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseWorks, name), Detail: pendingText(e)}
	}
}

// missedText says which events a paused or disabled webhook never gets.
func missedText(e console.Endpoint, zone *time.Location) string {
	if e.DisabledAt.IsZero() {
		return text.EventsMissed
	}
	return fmt.Sprintf(text.EventsMissedAt, formatTime(e.DisabledAt, zone))
}

// staleFailureAge is the time without attempts after which a failure report mentions it.
const staleFailureAge = 10 * time.Minute

// failingCause explains why the attempts of a webhook fail, and since when.
func failingCause(e console.Endpoint, name string, now time.Time, zone *time.Location) ui.Cause {
	if maybeRecovered(e) {
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseServerBack, name, Moment(e.Health.FailedAt, zone), e.Health.Error),
			Detail: strings.TrimSpace(failedText(e) + " " + text.RemedyServerBack)}
	}
	cause, since := ui.Cause{State: ui.Err}, formatTime(e.Health.FailingSince, zone)
	var remedy string
	switch class := webhook.ErrorClass(e.Health.Class); class {
	case webhook.AddressRefused:
		cause.Text, remedy = fmt.Sprintf(text.CauseBlockedURL, name), text.RemedyBlockedURL
	case webhook.Status, webhook.Gone, "":
		cause.Text, remedy = fmt.Sprintf(text.CauseStatus, name, statusText(e.Health.Status), since),
			statusRemedy(e.Health.Status)
		if remedy == text.RemedyLogin {
			remedy += " " + headersSent(e, zone)
		}
	default:
		texts, known := failureTexts[class]
		if !known {
			texts = failureTexts[webhook.Protocol]
		}
		cause.Text, remedy = fmt.Sprintf(texts.sentence, name, since), texts.remedy
	}
	if webhook.ErrorClass(e.Health.Class) == webhook.TLS && e.Health.Error != "" {
		remedy = fmt.Sprintf(text.LastError, FailureReason("", e.Health.Error, zone)) + " " + remedy
	}
	effect := text.EffectEvents
	if e.EventType == core.OrderPlaced {
		effect = text.EffectOrders
	}
	var details []string
	switch {
	case e.Waiting+e.Held > 0 && !e.CircuitOpenedAt.IsZero():
		details = []string{effect, pendingText(e), heldText(e), fmt.Sprintf(text.CauseProbed, e.ProbeInterval),
			failedText(e), remedy}
	case e.Waiting+e.Held == 0 && now.Sub(e.Health.FailedAt) >= staleFailureAge:
		details = []string{effect, fmt.Sprintf(text.CauseUntried, formatTime(e.Health.FailedAt, zone)), failedText(e),
			remedy}
	default:
		details = []string{effect, pendingText(e), heldText(e), failedText(e), remedy}
	}
	cause.Detail = sentences(details...)
	return cause
}

// headersSent says which headers a webhook sends for the login, and when they last changed.
func headersSent(e console.Endpoint, zone *time.Location) string {
	switch {
	case len(e.HeaderNames) == 0:
		return text.HeadersNone
	case e.HeadersChangedAt.IsZero():
		return fmt.Sprintf(text.HeadersSent, MaskedHeaders(e.HeaderNames), formatTime(e.CreatedAt, zone))
	}
	return fmt.Sprintf(text.HeadersSent, MaskedHeaders(e.HeaderNames), formatTime(e.HeadersChangedAt, zone))
}

// MaskedHeaders lists headers without their values.
func MaskedHeaders(names []string) string {
	masked := make([]string, len(names))
	for i, name := range names {
		masked[i] = name + ": " + webhook.Masked
	}
	return strings.Join(masked, ", ")
}

// statusText returns a response status with its meaning.
func statusText(code int) string {
	if words := text.StatusWords[code]; words != "" {
		return fmt.Sprintf("%d (%s)", code, words)
	}
	return fmt.Sprint(code)
}

// statusRemedy returns the remedy for a response status.
func statusRemedy(code int) string {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return text.RemedyLogin
	case http.StatusNotFound:
		return text.RemedyPath
	}
	return text.RemedyStatus
}

// unreachableClasses are failures of the server rather than of one webhook.
var unreachableClasses = []webhook.ErrorClass{webhook.DNS, webhook.TLS, webhook.Connect, webhook.Timeout,
	webhook.ConnectionBroken}

// maybeRecovered reports whether a failing server may work again. It has since responded to other webhooks, and no
// pending delivery would show it.
func maybeRecovered(e console.Endpoint) bool {
	return e.Waiting+e.Held == 0 && e.ServerSucceededAt.After(e.Health.FailedAt) &&
		slices.Contains(unreachableClasses, webhook.ErrorClass(e.Health.Class))
}

func failedText(e console.Endpoint) string {
	if e.FailedDeliveries == 0 {
		return ""
	}
	return fmt.Sprintf(text.DetailFailedDeliveries, deliveryCount(e.FailedDeliveries))
}

// Failure is a cause shared by failing webhooks of one server, or the cause of one webhook.
type Failure struct {
	ui.Cause
	Webhooks []console.Endpoint
}

// Failures explains why webhooks fail, once for those of a business with the same failure at one server. It omits
// failures that may be over and left no failed delivery.
func Failures(endpoints []console.Endpoint, now time.Time, zone *time.Location) (list []Failure) {
	byServer := map[[4]string]int{}
	for _, e := range endpoints {
		if e.Active && maybeRecovered(e) && e.FailedDeliveries == 0 {
			continue
		}
		key := [4]string{fmt.Sprint(e.Business), webhook.Host(e.URL), e.Health.Class, fmt.Sprint(e.Health.Status)}
		at, known := byServer[key]
		if fails := e.Active && !e.Health.FailingSince.IsZero() && !maybeRecovered(e); fails && known {
			list[at].Webhooks = append(list[at].Webhooks, e)
			continue
		} else if fails {
			byServer[key] = len(list)
		}
		list = append(list, Failure{Cause: Webhook(e, now, zone), Webhooks: []console.Endpoint{e}})
	}
	for i, f := range list {
		if len(f.Webhooks) > 1 {
			list[i].Cause = sharedCause(f.Webhooks, now, zone)
		}
	}
	return list
}

// sharedCause explains the failure that webhooks of one server share.
func sharedCause(webhooks []console.Endpoint, now time.Time, zone *time.Location) ui.Cause {
	all, names := webhooks[0], make([]string, len(webhooks))
	for i, e := range webhooks {
		names[i] = string(e.EventType)
		if i == 0 {
			continue
		}
		if e.EventType == core.OrderPlaced {
			all.EventType = e.EventType
		}
		all.Waiting, all.Held, all.FailedDeliveries = min(all.Waiting+e.Waiting, console.MaxCount),
			min(all.Held+e.Held, console.MaxCount), min(all.FailedDeliveries+e.FailedDeliveries, console.MaxCount)
		if e.Health.FailingSince.Before(all.Health.FailingSince) {
			all.Health.FailingSince = e.Health.FailingSince
		}
		if e.Health.FailedAt.After(all.Health.FailedAt) {
			all.Health.FailedAt = e.Health.FailedAt
		}
		if !e.CircuitOpenedAt.IsZero() {
			all.CircuitOpenedAt, all.ProbeInterval = e.CircuitOpenedAt, max(all.ProbeInterval, e.ProbeInterval)
		}
	}
	name := fmt.Sprintf(text.WebhooksAt, len(webhooks), webhook.Host(all.URL), strings.Join(names, ", "))
	return failingCause(all, name, now, zone)
}

func pendingText(e console.Endpoint) string {
	if e.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf(text.CauseWait, deliveryCount(e.Waiting))
}

func heldText(e console.Endpoint) string {
	if e.Held == 0 {
		return ""
	}
	return fmt.Sprintf(text.CauseHeld, deliveryCount(e.Held))
}

// CappedNumber formats a count that stops at console.MaxCount.
func CappedNumber(n int) string { return numberUpTo(n, console.MaxCount) }

// numberUpTo formats a count that stops at a bound.
func numberUpTo(n, bound int) string {
	if n >= bound {
		return "more than " + ui.Number(bound-1)
	}
	return ui.Number(n)
}

// CappedCount is ui.Count for a count that stops at console.MaxCount.
func CappedCount(n int, one, many string) string {
	if n >= console.MaxCount {
		return fmt.Sprintf(many, CappedNumber(n))
	}
	return ui.Count(n, one, many)
}

func deliveryCount(n int) string { return CappedCount(n, text.OneDelivery, text.Deliveries_) }

func attemptCount(n int) string { return ui.Count(n, text.OneAttempt, text.Attempts_) }

// formatTime formats a time with its zone, after a word such as since.
func formatTime(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("2 Jan 15:04 MST")
}

// Moment formats when something happened: on 21 Nov at 12:34 CET.
func Moment(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("on 2 Jan at 15:04 MST")
}

// DeliveryWithAttempts explains the state of a delivery by its attempts. again reports whether it was resent after
// it had been accepted.
func DeliveryWithAttempts(d webhook.DeliveryRecord, attempts []webhook.AttemptRecord,
	zone *time.Location) (cause ui.Cause, resent bool) {
	cause = Delivery(d, zone)
	var accepted []string
	for _, a := range attempts {
		if a.OK() {
			accepted = append(accepted, fmt.Sprint(a.N))
		}
	}
	if d.State == webhook.Delivered && len(accepted) > 1 {
		cause.Text, cause.Detail = fmt.Sprintf(text.CauseDeliveredRepeatedly, len(accepted),
			Join(accepted)), text.DetailRepeatedDelivery
	}
	for _, a := range attempts {
		if a.SentTwice && len(accepted) < 2 {
			cause.Detail = strings.TrimSpace(text.SentTwiceWhy + " " + text.DetailRepeatedDelivery)
		}
	}
	return cause, len(accepted) > 1 || len(accepted) == 1 && d.State != webhook.Delivered
}

// attemptsPlanned is the number of attempts of a delivery.
var attemptsPlanned = retry.Default(time.Second).Attempts

// Delivery explains the state of a delivery.
func Delivery(d webhook.DeliveryRecord, zone *time.Location) ui.Cause {
	reason, note := FailureReason(d.LastClass, d.LastError, zone), ""
	if maybeReceived(d) {
		note = text.DetailMaybeGot
	}
	switch d.State {
	case webhook.Delivered:
		cause := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseDelivered, d.Attempts)}
		if d.Attempts > 1 {
			cause.Detail = text.DetailRepeats
		}
		return cause
	case webhook.Failed:
		if d.Attempts == 0 { // created by an order retry
			c := ui.Cause{State: ui.Err, Text: text.CauseNotSent, Detail: text.RemedyFailed}
			if d.WebhookOff {
				c.Text = text.CauseUnsentOff
			}
			return c
		}
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseFailed, attemptCount(d.Attempts), reason),
			Detail: strings.TrimSpace(text.RemedyFailed + " " + note)}
	case webhook.Held:
		return heldCause(d, zone, reason, note)
	}
	prefix := ""
	if d.AttemptsBeforeRestart > 0 {
		prefix = text.Resent + " "
	}
	if d.Attempts == d.AttemptsBeforeRestart {
		return ui.Cause{State: ui.Wait, Text: prefix + text.CausePendingFirst, Detail: text.DetailPendingFirst}
	}
	return ui.Cause{State: ui.Warn,
		Text: prefix + fmt.Sprintf(text.CausePending, d.Attempts-d.AttemptsBeforeRestart+1, attemptsPlanned,
			Moment(d.NextAttempt, zone), reason),
		Detail: note}
}

// maybeReceived reports whether the server may have received the last attempt, although it failed.
func maybeReceived(d webhook.DeliveryRecord) bool {
	return d.LastClass == webhook.Timeout || d.LastClass == webhook.ConnectionBroken
}

// heldCause explains why a delivery waits, with its last error.
func heldCause(d webhook.DeliveryRecord, zone *time.Location, last, note string) ui.Cause {
	why, remedy := d.HeldMessage, ""
	switch d.HeldReason {
	case webhook.EarlierEvent:
		why, remedy = text.HeldEarlier, text.RemedyHeldEarlier
	case webhook.WebhookPaused:
		if why, remedy = text.HeldPaused, text.RemedyHeldPaused; d.DisabledReason != "" {
			why = text.HeldGone
		}
	case webhook.EndpointDown:
		why, remedy = fmt.Sprintf(text.HeldDown, formatTime(d.HeldSince, zone)),
			fmt.Sprintf(text.RemedyHeldDown, attemptsPlanned)
	}
	if last != "" {
		last = fmt.Sprintf(text.DetailLast, last)
	}
	return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CauseDeliveryHeld, why),
		Detail: strings.TrimSpace(remedy + " " + strings.TrimSpace(last+" "+note))}
}

// WaitingNote returns in a few words why a delivery waits, or "" if it does not.
func WaitingNote(d webhook.DeliveryRecord) string {
	if d.State != webhook.Held {
		return ""
	}
	switch d.HeldReason {
	case webhook.EarlierEvent:
		return text.NoteEarlier
	case webhook.WebhookPaused:
		if d.DisabledReason != "" {
			return text.NoteGone
		}
		return text.NotePaused
	case webhook.EndpointDown:
		return text.NoteDown
	}
	return d.HeldMessage
}
