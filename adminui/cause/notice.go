package cause

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// UnroutedEvents explains why events had no webhook.
func UnroutedEvents(u console.UnroutedEvents, zone *time.Location) ui.Cause {
	off := text.CauseUnroutedOff
	if u.DisabledReason != "" {
		off = text.CauseUnrouted410
	}
	if u.Webhook != 0 {
		return ui.Cause{State: ui.Warn,
			Text: fmt.Sprintf(off, u.EventType, eventCount(u.Count), Moment(u.At, zone),
				u.Webhook),
			Detail: text.RemedyUnroutedOff}
	}
	return ui.Cause{State: ui.Warn,
		Text:   fmt.Sprintf(text.CauseUnrouted, u.EventType, eventCount(u.Count), Moment(u.At, zone)),
		Detail: text.RemedyUnrouted}
}

// SubscriptionLimit is the limit that a POS reaches when it subscribes to all events at once. The POS retries, so
// an expired block is no problem.
const SubscriptionLimit = "WEBHOOKS"

// Throttled explains why requests are rejected, or were recently.
func Throttled(t console.Throttled, now time.Time, zone *time.Location) ui.Cause {
	if t.Name == SubscriptionLimit {
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CauseThrottled, t.Name, formatTimeExact(t.Until, zone)),
			Detail: text.RemedySubscribing}
	}
	state, sentence := ui.Warn, text.CauseThrottledAt
	if t.Until.After(now) {
		state, sentence = ui.Err, text.CauseThrottled
	}
	return ui.Cause{State: state, Text: fmt.Sprintf(sentence, t.Name, formatTimeExact(t.Until, zone)),
		Detail: fmt.Sprintf(text.RemedyThrottled, t.Name)}
}

// FailureWeek reports that objects in requests fail day after day.
func FailureWeek(w console.FailureWeek) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text:   fmt.Sprintf(text.CauseFailureWeek, w.Days, console.WeekDays, ui.Count(w.Jobs, text.OneJob, text.Jobs_)),
		Detail: text.RemedyFailureWeek}
}

// RevokedKey reports requests with a revoked key.
func RevokedKey(k console.Key, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseRevoked, k.Username, k.Prefix,
		Moment(k.UsedAt, zone)),
		Detail: text.RemedyRevoked}
}

// OverdueOrders reports orders overdue for acknowledgement.
func OverdueOrders(w console.OverdueOrders, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseWaiting, orderCount(w.Count), formatTime(w.Since, zone)),
		Detail: text.RemedyWaiting}
}

// SilentStores reports open stores without a sign of life.
func SilentStores(s console.SilentStores, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseSilent, ui.Count(s.Count, text.OneOpenStore, text.OpenStores_), s.Store,
			formatTime(s.Since, zone)),
		Detail: text.RemedySilent}
}

// ClosedStores reports stores closed on platforms that list them.
func ClosedStores(n console.ClosedStores, zone *time.Location) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseClosed, ui.Count(n.Count, text.OneStoreShut, text.StoresShut_), n.Store,
			n.Platform, ActorName(n.Actor), Moment(n.Since, zone)),
		Detail: text.RemedyClosedStores}
}

// callTexts has the singular and the plural of each kind of call.
var callTexts = map[relay.Kind][2]string{
	relay.OrderAcknowledge: {text.OneAcknowledgment, text.Acknowledgements_},
	relay.OrderStatus:      {text.OneOrderState, text.OrderStates_},
	relay.RiderStatus:      {text.OneRiderStatus, text.RiderStatuses_}, relay.Action: {text.OneAction, text.Actions_},
	relay.ItemsOOS:    {text.OneOutOfStockReport, text.OutOfStockReports_},
	relay.StoreAction: {text.OneStoreSwitch, text.StoreSwitches_},
	relay.ItemAction:  {text.OneItemSwitch, text.ItemSwitches_},

	relay.InboundFetch: {text.OneFetch, text.Fetches_},
}

// CallMessage returns the message of the last failed call, with the status of the response.
func CallMessage(r console.FailedCalls) string { return withStatus(r.Message, r.Status) }

// withStatus adds the status of a response to a plugin's message about it, which may lack it.
func withStatus(message string, status int) string {
	if status < http.StatusBadRequest || statusPattern.MatchString(message) {
		return message
	}
	return fmt.Sprintf(text.PlatformResponded, status, message)
}

// FailedCalls reports calls that failed at a platform. plugin is nil if it is unknown to all hubs.
func FailedCalls(r console.FailedCalls, plugin *console.Plugin, zone *time.Location) ui.Cause {
	counts := make([]string, len(r.Kinds))
	for i, kind := range r.Kinds {
		words, known := callTexts[relay.Kind(kind.Kind)]
		if !known {
			words = [2]string{fmt.Sprintf(text.OneCall, kind.Kind), fmt.Sprintf(text.Calls_, kind.Kind, "%s")}
		}
		counts[i] = ui.Count(kind.Count, words[0], words[1])
	}
	message := CallMessage(r)
	c := ui.Cause{State: ui.Err,
		Text: fmt.Sprintf(text.CauseCallsFailed, r.Platform, strings.Join(counts, ", "), Moment(r.At, zone),
			PlatformMessage(r.Platform, message, zone))}
	if plugin != nil {
		c.Detail = SettingsRemedy(plugin.About, message)
	}
	c.Detail = cmp.Or(c.Detail, fmt.Sprintf(text.RemedyCallFailed, r.Platform))
	return c
}

// UnnotifiedOrders reports orders that no webhook received.
func UnnotifiedOrders(u console.UnnotifiedOrders, zone *time.Location) ui.Cause {
	c := ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CauseUnnotified, orderCount(u.Count), formatTime(u.Last, zone)),
		Detail: text.RemedyUnnotifiedOn}
	if u.HasWebhook {
		c.Detail = text.RemedyUnnotified
	}
	return c
}

// RejectedOrders reports rejected orders and the reason of the last.
func RejectedOrders(n console.RejectedOrders, zone *time.Location) ui.Cause {
	c := ui.Cause{State: ui.Warn, Detail: text.RemedyRejectedOrders}
	count := ui.Count(n.Count, text.OneOrderRejected, text.OrdersRejected_)
	if n.HubFault {
		count = ui.Count(n.Count, text.OneOrderMissed, text.OrdersMissed_)
		c = ui.Cause{State: ui.Err, Detail: text.RemedyMissedOrders}
	}
	c.Text = fmt.Sprintf(text.CauseRejectedOrders, count, Moment(n.At, zone),
		ErrorText(strings.TrimSuffix(n.Reason, ".")))
	return c
}

// PartlyFailedJobs reports jobs with many failed objects. subject describes the last one.
func PartlyFailedJobs(j console.PartlyFailedJobs, subject string) ui.Cause {
	return ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseJobsPartlyFailed, ui.Count(j.Count, text.OneRequest, text.Requests_), subject,
			ui.Number(j.Failed), objectCount(j.Kind, j.Total)),
		Detail: text.RemedyFailureWeek}
}

func eventCount(n int) string { return ui.Count(n, text.OneEvent, text.Events_) }

func orderCount(n int) string { return CappedCount(n, text.OneOrder, text.Orders_) }

// formatTimeExact formats a time to the second, because a block lasts only seconds.
func formatTimeExact(at time.Time, zone *time.Location) string {
	return at.In(zone).Format("2 Jan 15:04:05 MST")
}
