package cause

import (
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// Unheard tells why nobody was told of events that happened.
func Unheard(u console.Unheard, zone *time.Location) ui.Cause {
	if u.Webhook != 0 {
		return ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseUnheardOff, u.EventType, events(u.Count), clock(u.At, zone), u.Webhook),
			Detail: text.RemedyUnheardOff}
	}
	return ui.Cause{State: ui.Warn,
		Text:   fmt.Sprintf(text.CauseUnheard, u.EventType, events(u.Count), clock(u.At, zone)),
		Detail: text.RemedyUnheard}
}

// Subscribing is the throttle that every POS meets that subscribes to all events at
// once. It waits and goes on: what is over is nobody's problem any more.
const Subscribing = "WEBHOOKS"

// Throttled tells why requests of a business are refused, or were lately.
func Throttled(t console.Throttled, now time.Time, zone *time.Location) ui.Cause {
	if t.Name == Subscribing {
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseThrottled, t.Name, exact(t.Until, zone)),
			Detail: text.RemedySubscribing}
	}
	state, sentence := ui.Warn, text.CauseThrottledAt
	if t.Until.After(now) {
		state, sentence = ui.Err, text.CauseThrottled
	}
	return ui.Cause{State: state, Text: fmt.Sprintf(sentence, t.Name, exact(t.Until, zone)),
		Detail: fmt.Sprintf(text.RemedyThrottled, t.Name)}
}

// RefusedWeek tells that objects of a business's requests fail day after day.
func RefusedWeek(w console.RefusedWeek) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text:   fmt.Sprintf(text.CauseRefusedWeek, w.Days, console.WeekDays, ui.Count(w.Jobs, text.OneJob, text.Jobs_)),
		Detail: text.RemedyRefusedWeek}
}

// Revoked tells that somebody still uses a key that was revoked.
func Revoked(k console.Key, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseRevoked, k.Username, k.Prefix, clock(k.UsedAt, zone)),
		Detail: text.RemedyRevoked}
}

// Waiting tells that orders are not acknowledged.
func Waiting(w console.Waiting, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseWaiting, orders(w.Count), clock(w.Since, zone)),
		Detail: text.RemedyWaiting}
}

// Silent tells that nothing is heard of stores that are open.
func Silent(s console.Silent, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseSilent, ui.Count(s.Count, text.OneOpenStore, text.OpenStores_), s.Store,
			clock(s.Since, zone)),
		Detail: text.RemedySilent}
}

// Closed tells that stores are closed on platforms on which they are listed.
func Closed(n console.Closed, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseClosed, ui.Count(n.Count, text.OneStoreShut, text.StoresShut_), n.Store,
			n.Platform, Who(n.Actor), clock(n.Since, zone)),
		Detail: text.RemedyClosed}
}

// calls are kinds of call in words: one, and as many as the format tells.
var calls = map[relay.Kind][2]string{
	relay.OrderAcknowledge: {text.OneAcknowledgment, text.Acknowledgements_},
	relay.OrderStatus:      {text.OneOrderState, text.OrderStates_},
	relay.RiderStatus:      {text.OneRiderStatus, text.RiderStatuses_}, relay.Action: {text.OneAction, text.Actions_},
	relay.ItemsOOS:    {text.OneShortage, text.Shortages_},
	relay.StoreAction: {text.OneStoreSwitch, text.StoreSwitches_},
	relay.ItemAction:  {text.OneItemSwitch, text.ItemSwitches_},
}

// CallsRefused tells what a platform did not take of what it was told. plugin is nil
// where no hub knows it.
func CallsRefused(r console.RefusedCalls, plugin *console.Plugin, zone *time.Location) ui.Cause {
	told := make([]string, len(r.Kinds))
	for i, kind := range r.Kinds {
		words, known := calls[relay.Kind(kind.Kind)]
		if !known {
			words = [2]string{fmt.Sprintf(text.OneCall, kind.Kind), fmt.Sprintf(text.Calls_, kind.Kind, "%s")}
		}
		told[i] = ui.Count(kind.Count, words[0], words[1])
	}
	c := ui.Cause{State: ui.Err,
		Text: fmt.Sprintf(text.CauseCallsRefused, r.Platform, strings.Join(told, ", "), clock(r.At, zone), r.Message)}
	if plugin != nil {
		c.Detail = RemedyFor(plugin.About, r.Message)
	}
	return c
}

// Untold tells of orders that came while no webhook was there for them.
func Untold(u console.Untold, zone *time.Location) ui.Cause {
	c := ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseUntold, orders(u.Count), clock(u.Last, zone)),
		Detail: text.RemedyUntoldOn}
	if u.Heard {
		c.Detail = text.RemedyUntold
	}
	return c
}

// JobsRefused tells of requests of which much was refused; subject is that of the last in words.
func JobsRefused(j console.RefusedJobs, subject string) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseJobsRefused, ui.Count(j.Count, text.OneRequest, text.Requests_), subject,
			ui.Number(j.Refused), objects(j.Kind, j.Total))}
}

func events(n int) string { return ui.Count(n, text.OneEvent, text.Events_) }

func orders(n int) string { return Capped(n, text.OneOrder, text.Orders_) }

// exact is an instant for a sentence, to the second: a block is over in a few.
func exact(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("2 Jan 15:04:05 MST")
}
