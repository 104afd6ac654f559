package cause

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// Unheard tells why nobody was told of events that happened.
func Unheard(u console.Unheard, zone *time.Location) ui.Cause {
	if u.Webhook != 0 {
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseUnheardOff, u.EventType, ui.Number(u.Count), clock(u.At, zone), u.Webhook), Detail: text.MendUnheardOff}
	}
	return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseUnheard, u.EventType, ui.Number(u.Count), clock(u.At, zone)), Detail: text.MendUnheard}
}

// Subscribing is the throttle that every POS meets that subscribes to all events at
// once. It waits and goes on: what is over is nobody's trouble any more.
const Subscribing = "WEBHOOKS"

// Throttled tells why requests of a business are refused, or were lately.
func Throttled(t console.Throttled, now time.Time, zone *time.Location) ui.Cause {
	if t.Name == Subscribing {
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseThrottled, t.Name, exact(t.Until, zone)), Detail: text.MendSubscribing}
	}
	state, sentence := ui.Warn, text.CauseThrottledAt
	if t.Until.After(now) {
		state, sentence = ui.Err, text.CauseThrottled
	}
	return ui.Cause{State: state, Text: fmt.Sprintf(sentence, t.Name, exact(t.Until, zone)), Detail: fmt.Sprintf(text.MendThrottled, t.Name)}
}

// Revoked tells that somebody still uses a key that was revoked.
func Revoked(k console.Key, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseRevoked, k.Username, k.Prefix, clock(k.UsedAt, zone)), Detail: text.MendRevoked}
}

// Waiting tells that orders are not acknowledged.
func Waiting(w console.Waiting, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseWaiting, ui.Number(w.Count), clock(w.Since, zone))}
}

// Silent tells that nothing is heard of stores that are open.
func Silent(s console.Silent, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseSilent, ui.Number(s.Count), s.Store, clock(s.Since, zone)), Detail: text.MendSilent}
}

// Closed tells that stores are closed on platforms on which they are listed.
func Closed(n console.Closed, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseClosed, ui.Number(n.Count), n.Store, n.Platform, n.Actor, clock(n.Since, zone)), Detail: text.MendClosed}
}

// exact is an instant for a sentence, to the second: a block is over in a few.
func exact(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("2 Jan 15:04:05 MST")
}
