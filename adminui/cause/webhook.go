// Package cause tells in one sentence why things are as they are, and what
// the remedy is. It is pure: what the pages have read goes in, words come out.
package cause

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// said are the sentence and the remedy for a class of failure.
var said = map[webhook.ErrorClass]struct{ sentence, remedy string }{
	webhook.DNS:              {text.CauseDNS, text.RemedyDNS},
	webhook.TLS:              {text.CauseTLS, text.RemedyTLS},
	webhook.Connect:          {text.CauseConnect, text.RemedyConnect},
	webhook.Timeout:          {text.CauseTimeout, text.RemedyTimeout},
	webhook.ConnectionBroken: {text.CauseBroken, text.RemedyBroken},
	webhook.Protocol:         {text.CauseProtocol, text.RemedyProtocol},
	webhook.Redirect:         {text.CauseRedirect, text.RemedyRedirect},
}

// Webhook tells how a webhook fares, by its switch, its latest attempts and
// what waits for it. Times are told in the zone.
func Webhook(e console.Endpoint, now time.Time, zone *time.Location) ui.Cause {
	name := fmt.Sprintf(text.WebhookName, e.EventType, e.ID)
	h := e.Health
	switch {
	case !e.Active && e.DisabledReason != "":
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseGone, name),
			Detail: strings.TrimSpace(held(e) + " " + text.RemedyGone)}
	case !e.Active && e.Held > 0:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePausedHeld, name, deliveries(e.Held)),
			Detail: text.RemedyPaused}
	case !e.Active:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePaused, name), Detail: text.RemedyPaused}
	case !h.FailingSince.IsZero():
		return failing(e, name, now, zone)
	case h.AcceptedAt.IsZero() && e.GivenUp > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseUnused, name), Detail: given(e)}
	case e.GivenUp > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseGivenUp, name, deliveries(e.GivenUp)),
			Detail: strings.TrimSpace(text.RemedyGivenUp + " " + waits(e))}
	case h.AcceptedAt.IsZero():
		return ui.Cause{State: ui.Neutral, Text: fmt.Sprintf(text.CauseUnused, name)}
	case e.Day.Refused > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseSlow, name), Detail: waits(e)}
	default:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseWell, name), Detail: waits(e)}
	}
}

// untried is for how long nothing may be sent to a webhook that fails before that
// is worth a word.
const untried = 10 * time.Minute

// failing tells why a webhook's attempts fail, and since when.
func failing(e console.Endpoint, name string, now time.Time, zone *time.Location) ui.Cause {
	if over(e) {
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseServerBack, name, clock(e.Health.RefusedAt, zone), e.Health.Error),
			Detail: strings.TrimSpace(given(e) + " " + text.RemedyServerBack)}
	}
	cause, since := ui.Cause{State: ui.Err}, clock(e.Health.FailingSince, zone)
	var remedy string
	switch class := webhook.ErrorClass(e.Health.Class); class {
	case webhook.AddressRefused:
		cause.Text, remedy = fmt.Sprintf(text.CauseRefused, name), text.RemedyRefused
	case webhook.Status, webhook.Gone, "":
		cause.Text, remedy = fmt.Sprintf(text.CauseStatus, name, status(e.Health.Status), since),
			remedyOf(e.Health.Status)
	default:
		words, known := said[class]
		if !known {
			words = said[webhook.Protocol]
		}
		cause.Text, remedy = fmt.Sprintf(words.sentence, name, since), words.remedy
	}
	effect := text.EffectEvents
	if e.EventType == core.OrderPlaced {
		effect = text.EffectOrders
	}
	var more []string
	switch {
	case e.Waiting+e.Held > 0 && !e.ProbedSince.IsZero():
		more = []string{effect, waits(e), held(e), fmt.Sprintf(text.CauseProbed, e.Pause), given(e), remedy}
	case e.Waiting+e.Held == 0 && now.Sub(e.Health.RefusedAt) >= untried:
		more = []string{effect, fmt.Sprintf(text.CauseUntried, clock(e.Health.RefusedAt, zone)), given(e), remedy}
	default:
		more = []string{effect, waits(e), held(e), given(e), remedy}
	}
	cause.Detail = strings.Join(slices.DeleteFunc(more, func(words string) bool { return words == "" }), " ")
	return cause
}

// status is the status of a response with its meaning.
func status(code int) string {
	if words := text.StatusWords[code]; words != "" {
		return fmt.Sprintf("%d (%s)", code, words)
	}
	return fmt.Sprint(code)
}

// remedyOf is the remedy for a response with a status.
func remedyOf(code int) string {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return text.RemedyLogin
	case http.StatusNotFound:
		return text.RemedyPath
	}
	return text.RemedyStatus
}

// unreachable are the failures that are a server's, whichever webhook meets them.
var unreachable = []webhook.ErrorClass{webhook.DNS, webhook.TLS, webhook.Connect, webhook.Timeout, webhook.ConnectionBroken}

// over tells whether a failure may be over: the server has answered others since, and
// nothing is sent that would show it.
func over(e console.Endpoint) bool {
	return e.Waiting+e.Held == 0 && e.ServerAnswered.After(e.Health.RefusedAt) &&
		slices.Contains(unreachable, webhook.ErrorClass(e.Health.Class))
}

func given(e console.Endpoint) string {
	if e.GivenUp == 0 {
		return ""
	}
	return fmt.Sprintf(text.DetailGivenUp, deliveries(e.GivenUp))
}

// Failure is webhooks that fail alike at one server, or one webhook.
type Failure struct {
	ui.Cause
	Webhooks []console.Endpoint
}

// Failures tells why webhooks fail, once for those of a business that fail alike at
// one server; what may be over and left nothing undone is not told.
func Failures(endpoints []console.Endpoint, now time.Time, zone *time.Location) (list []Failure) {
	byServer := map[[4]string]int{}
	for _, e := range endpoints {
		if e.Active && over(e) && e.GivenUp == 0 {
			continue
		}
		alike := [4]string{fmt.Sprint(e.Business), server(e.URL), e.Health.Class, fmt.Sprint(e.Health.Status)}
		at, known := byServer[alike]
		if fails := e.Active && !e.Health.FailingSince.IsZero() && !over(e); fails && known {
			list[at].Webhooks = append(list[at].Webhooks, e)
			continue
		} else if fails {
			byServer[alike] = len(list)
		}
		list = append(list, Failure{Cause: Webhook(e, now, zone), Webhooks: []console.Endpoint{e}})
	}
	for i, f := range list {
		if len(f.Webhooks) > 1 {
			list[i].Cause = together(f.Webhooks, now, zone)
		}
	}
	return list
}

// together tells why webhooks fail that do so alike at one server.
func together(webhooks []console.Endpoint, now time.Time, zone *time.Location) ui.Cause {
	all, names := webhooks[0], make([]string, len(webhooks))
	for i, e := range webhooks {
		names[i] = string(e.EventType)
		if i == 0 {
			continue
		}
		if e.EventType == core.OrderPlaced {
			all.EventType = e.EventType
		}
		all.Waiting, all.Held, all.GivenUp = min(all.Waiting+e.Waiting, console.Many),
			min(all.Held+e.Held, console.Many), min(all.GivenUp+e.GivenUp, console.Many)
		if e.Health.FailingSince.Before(all.Health.FailingSince) {
			all.Health.FailingSince = e.Health.FailingSince
		}
		if e.Health.RefusedAt.After(all.Health.RefusedAt) {
			all.Health.RefusedAt = e.Health.RefusedAt
		}
		if !e.ProbedSince.IsZero() {
			all.ProbedSince, all.Pause = e.ProbedSince, max(all.Pause, e.Pause)
		}
	}
	return failing(all, fmt.Sprintf(text.WebhooksAt, len(webhooks), server(all.URL), strings.Join(names, ", ")), now,
		zone)
}

// server is the host and port of an address.
func server(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

func waits(e console.Endpoint) string {
	if e.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf(text.CauseWait, deliveries(e.Waiting))
}

func held(e console.Endpoint) string {
	if e.Held == 0 {
		return ""
	}
	return fmt.Sprintf(text.CauseHeld, deliveries(e.Held))
}

// Counted is a number of which counting stopped at console.Many.
func Counted(n int) string {
	if n >= console.Many {
		return "more than " + ui.Number(console.Many-1)
	}
	return ui.Number(n)
}

// Capped is ui.Count of a number of which counting stopped at console.Many.
func Capped(n int, one, many string) string {
	if n >= console.Many {
		return fmt.Sprintf(many, Counted(n))
	}
	return ui.Count(n, one, many)
}

func deliveries(n int) string { return Capped(n, text.OneDelivery, text.Deliveries_) }

func attempts(n int) string { return ui.Count(n, text.OneAttempt, text.Attempts_) }

// clock is an instant for a sentence, with its zone.
func clock(at time.Time, zone *time.Location) string { return at.In(zone).Format("2 Jan 15:04 MST") }

// DeliveryOf tells where a delivery stands by its attempts, and whether it was sent
// again after it had been accepted.
func DeliveryOf(d webhook.DeliveryRecord, attempts []webhook.AttemptRecord,
	zone *time.Location) (told ui.Cause, again bool) {
	told = Delivery(d, zone)
	var accepted []string
	for _, a := range attempts {
		if a.OK() {
			accepted = append(accepted, fmt.Sprint(a.N))
		}
	}
	if d.State == webhook.Delivered && len(accepted) > 1 {
		told.Text, told.Detail = fmt.Sprintf(text.CauseDeliveredAgain, len(accepted), strings.Join(accepted, ", ")),
			text.DetailAgain
	}
	return told, len(accepted) > 1 || len(accepted) == 1 && d.State != webhook.Delivered
}

// Delivery tells where a delivery stands.
func Delivery(d webhook.DeliveryRecord, zone *time.Location) ui.Cause {
	reason, maybe := d.LastError, ""
	if d.LastClass == webhook.Timeout || d.LastClass == webhook.ConnectionBroken {
		maybe = text.DetailMaybeGot
	}
	switch d.State {
	case webhook.Delivered:
		told := ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseDelivered, d.Attempts)}
		if d.Attempts > 1 {
			told.Detail = text.DetailRepeats
		}
		return told
	case webhook.Failed:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseFailed, attempts(d.Attempts), reason),
			Detail: strings.TrimSpace(text.RemedyFailed + " " + maybe)}
	case webhook.Held:
		return waiting(d, zone, strings.TrimSpace(reason+" "+maybe))
	}
	anew := ""
	if d.AttemptsBeforeRestart > 0 {
		anew = text.SentAnew + " "
	}
	if d.Attempts == d.AttemptsBeforeRestart {
		return ui.Cause{State: ui.Run, Text: anew + text.CausePendingFirst}
	}
	return ui.Cause{State: ui.Warn,
		Text:   anew + fmt.Sprintf(text.CausePending, d.Attempts-d.AttemptsBeforeRestart+1, clock(d.NextAttempt, zone), reason),
		Detail: maybe}
}

// waiting tells why a delivery is held, with what is known of its last attempt.
func waiting(d webhook.DeliveryRecord, zone *time.Location, last string) ui.Cause {
	why, remedy := d.HeldMessage, ""
	switch d.HeldReason {
	case webhook.EarlierEvent:
		why, remedy = text.HeldEarlier, text.RemedyHeldEarlier
	case webhook.WebhookPaused:
		why, remedy = text.HeldPaused, text.RemedyHeldPaused
	case webhook.EndpointDown:
		why, remedy = fmt.Sprintf(text.HeldDown, clock(d.HeldSince, zone)), text.RemedyHeldDown
	}
	if last != "" {
		last = fmt.Sprintf(text.DetailLast, strings.TrimSuffix(last, "."))
	}
	return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CauseDeliveryHeld, why),
		Detail: strings.TrimSpace(remedy + " " + last)}
}

// WaitingNote is why a delivery is held, in a few words; "" where it is not.
func WaitingNote(d webhook.DeliveryRecord) string {
	if d.State != webhook.Held {
		return ""
	}
	switch d.HeldReason {
	case webhook.EarlierEvent:
		return text.NoteEarlier
	case webhook.WebhookPaused:
		return text.NotePaused
	case webhook.EndpointDown:
		return text.NoteDown
	}
	return d.HeldMessage
}
