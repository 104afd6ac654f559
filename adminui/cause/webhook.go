// Package cause tells in one sentence why things are as they are, and what
// mends them. It is pure: what the pages have read goes in, words come out.
package cause

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// said are the sentence and the remedy for a class of failure.
var said = map[webhook.ErrorClass]struct{ sentence, mend string }{
	webhook.DNS:      {text.CauseDNS, text.MendDNS},
	webhook.TLS:      {text.CauseTLS, text.MendTLS},
	webhook.Connect:  {text.CauseConnect, text.MendConnect},
	webhook.Timeout:  {text.CauseTimeout, text.MendTimeout},
	webhook.Broken:   {text.CauseBroken, text.MendConnect},
	webhook.Protocol: {text.CauseProtocol, text.MendStatus},
	webhook.Redirect: {text.CauseRedirect, text.MendRedirect},
}

// Webhook tells how a webhook fares, by its switch, its latest attempts and
// what waits for it. Times are told in the zone.
func Webhook(e console.Endpoint, zone *time.Location) ui.Cause {
	name := fmt.Sprintf("%s (%d)", e.EventType, e.ID)
	h := e.Health
	switch {
	case !e.Active && e.DisabledReason != "":
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseGone, name), Detail: heldThen(e, text.MendGone)}
	case !e.Active && e.Held > 0:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePausedHeld, name, Counted(e.Held)), Detail: text.MendPaused}
	case !e.Active:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePaused, name), Detail: text.MendPaused}
	case !h.FailingSince.IsZero():
		return failing(e, name, clock(h.FailingSince, zone))
	case h.AcceptedAt.IsZero():
		return ui.Cause{State: ui.Neutral, Text: fmt.Sprintf(text.CauseUnused, name)}
	case e.Day.Refused > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseSlow, name), Detail: waits(e)}
	default:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseWell, name), Detail: waits(e)}
	}
}

// failing tells why a webhook's attempts fail, and since when.
func failing(e console.Endpoint, name, since string) ui.Cause {
	cause := ui.Cause{State: ui.Err}
	mend := text.MendStatus
	switch class := webhook.ErrorClass(e.Health.Class); class {
	case webhook.Refused:
		cause.Text, mend = fmt.Sprintf(text.CauseRefused, name), text.MendRefused
	case webhook.Status, webhook.Gone, "":
		cause.Text = fmt.Sprintf(text.CauseStatus, name, e.Health.Status, since)
	default:
		words, known := said[class]
		if !known {
			words = said[webhook.Protocol]
		}
		cause.Text, mend = fmt.Sprintf(words.sentence, name, since), words.mend
	}
	cause.Detail = mend
	if !e.ProbedSince.IsZero() {
		cause.Detail = fmt.Sprintf(text.CauseProbed, e.Pause) + " " + mend
	}
	if waiting := waits(e); waiting != "" {
		cause.Detail = waiting + " " + cause.Detail
	}
	return cause
}

func waits(e console.Endpoint) string {
	if e.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf(text.CauseWait, Counted(e.Waiting))
}

func heldThen(e console.Endpoint, mend string) string {
	if e.Held == 0 {
		return mend
	}
	return fmt.Sprintf(text.CauseHeld, Counted(e.Held)) + " " + mend
}

// Counted is a number of which counting stopped at console.Many.
func Counted(n int) string {
	if n >= console.Many {
		return "more than " + ui.Number(console.Many-1)
	}
	return ui.Number(n)
}

// clock is an instant for a sentence, with its zone.
func clock(at time.Time, zone *time.Location) string { return at.In(zone).Format("2 Jan 15:04 MST") }

// Delivery tells where a delivery stands.
func Delivery(d webhook.DeliveryRecord, zone *time.Location) ui.Cause {
	reason := d.LastError
	switch d.State {
	case webhook.Delivered:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CauseDelivered, d.Attempts)}
	case webhook.Failed:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseFailed, d.Attempts, reason)}
	case webhook.Held:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CauseDeliveryHeld, d.HeldBecause), Detail: reason}
	}
	if d.Attempts == 0 {
		return ui.Cause{State: ui.Run, Text: text.CausePendingFirst}
	}
	return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CausePending, d.Attempts+1, clock(d.NextAttempt, zone), reason)}
}
