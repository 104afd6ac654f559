package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// maxFailedCalls limits the failed calls listed for an order.
const maxFailedCalls = 3

// callCauses explains calls that the aggregator did not receive or accept, latest first.
func (o OrderFacts) callCauses(zone *time.Location) (causes []ui.Cause) {
	for _, call := range slices.Backward(o.Calls) {
		c := Call(call, zone)
		if c.State != ui.Err && c.State != ui.Warn || len(causes) == maxFailedCalls {
			continue
		}
		c.Text = CallTitle(call) + ". " + c.Text
		if c.State == ui.Err {
			c.Detail = callRemedy(call)
		}
		if match := pluginPattern.FindStringSubmatch(call.Message); match != nil {
			if c.State == ui.Warn {
				c.Detail = text.RemedyCallPlugin
			}
			if o.PluginLink != nil {
				c.Link = o.PluginLink(match[1])
			}
		}
		causes = append(causes, c)
	}
	return causes
}

// callRemedy returns the next step for a failed call.
func callRemedy(c console.Call) string {
	if authPattern.MatchString(callMessage(c)) {
		return fmt.Sprintf(text.RemedyCallLogin, c.Platform)
	}
	return fmt.Sprintf(text.RemedyCallFailed, c.Platform)
}

// callMessage returns the message of a call, with the status of the response that it is about.
func callMessage(c console.Call) string {
	if n := len(c.Attempts); n > 0 && c.Attempts[n-1].Error == c.Message {
		return withStatus(c.Message, c.Attempts[n-1].Status)
	}
	return c.Message
}

// callText explains the message of a call.
func callText(c console.Call, zone *time.Location) string {
	return PlatformMessage(c.Platform, callMessage(c), zone)
}

// CallTitle names a call, its value and its platform.
func CallTitle(c console.Call) string {
	switch relay.Kind(c.Kind) {
	case relay.RiderStatus:
		var sent relay.RiderStatusPayload
		_ = json.Unmarshal(c.Payload, &sent) // an unreadable payload leaves the details empty
		return fmt.Sprintf(text.CallRider, RiderLabel(order.RiderStatus(sent.Status)), c.Platform)
	case relay.RiderLocation:
		return fmt.Sprintf(text.CallLocation, c.Platform)
	case relay.Action:
		var sent relay.ActionPayload
		_ = json.Unmarshal(c.Payload, &sent)
		return fmt.Sprintf(text.CallAction, sent.Action, c.Platform)
	case relay.OrderAcknowledge:
		return fmt.Sprintf(text.CallAcknowledge, c.Platform)
	case relay.OrderStatus:
		var sent relay.OrderStatusPayload
		_ = json.Unmarshal(c.Payload, &sent)
		return fmt.Sprintf(text.CallStatus, sent.Status, c.Platform)
	case relay.ItemsOOS:
		return fmt.Sprintf(text.CallOutOfStock, c.Platform)
	case relay.InboundFetch:
		return fmt.Sprintf(text.CallFetch, c.Platform)
	case relay.StoreAction:
		var sent relay.StoreActionPayload
		_ = json.Unmarshal(c.Payload, &sent)
		switch w := sent.Workload; {
		case w != nil && w.Busy:
			return fmt.Sprintf(text.CallBusy, c.Platform)
		case w != nil:
			return fmt.Sprintf(text.CallNormal, c.Platform)
		case sent.Enable && !sent.StaysClosed:
			return fmt.Sprintf(text.CallOpen, c.Platform)
		}
		return fmt.Sprintf(text.CallClose, c.Platform)
	case relay.ItemAction:
		var sent relay.ItemActionPayload
		_ = json.Unmarshal(c.Payload, &sent)
		items, options := sent.SentRefIDs()
		return fmt.Sprintf(text.CallItems, len(items)+len(options), onOff(sent.Enable), c.Platform)
	default:
		return fmt.Sprintf(text.CallOther, c.Kind, c.Platform)
	}
}

func onOff(on bool) string {
	if on {
		return text.SwitchedOn
	}
	return text.SwitchedOff
}

// RiderLocationNote reports whether the platform has the last location of the rider.
func RiderLocationNote(p console.RiderLocation, platform string, zone *time.Location) string {
	switch relay.State(p.State) {
	case relay.Done:
		return text.RiderSeenSent
	case relay.Failed:
		return fmt.Sprintf(text.RiderSeenRejected, PlatformMessage(platform, p.Message, zone))
	case relay.Skipped:
		return fmt.Sprintf(text.RiderSeenSkipped, LocalTimes(p.Message, zone))
	}
	if p.Message != "" {
		return fmt.Sprintf(text.RiderSeenWaits, PlatformMessage(platform, p.Message, zone))
	}
	return text.RiderSeenUnsent
}

// staleLocation is the age of a rider location that is reported as old.
const staleLocation = 5 * time.Minute

// RiderLocationIsStale reports whether a newer location of the rider is missing.
func RiderLocationIsStale(o order.APIOrder, p console.RiderLocation, now time.Time) bool {
	arrived := o.Rider != nil && o.Rider.Status == order.Delivered
	return !arrived && o.State != order.Completed &&
		o.State != order.Cancelled && now.Sub(p.ReceivedAt) >= staleLocation
}

// Call explains the state of a call to an aggregator. Times are in the zone.
func Call(c console.Call, zone *time.Location) ui.Cause {
	switch relay.State(c.State) {
	case relay.Done:
		detail := LocalTimes(c.Message, zone)
		if c.Result != "" {
			detail = fmt.Sprintf(text.CallResult, c.Result)
		}
		return ui.Cause{State: ui.OK, Text: text.CallDone, Detail: detail}
	case relay.Failed:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CallFailed, callText(c, zone))}
	case relay.Skipped:
		return ui.Cause{State: ui.Neutral, Text: fmt.Sprintf(text.CallSkipped, LocalTimes(c.Message, zone))}
	case relay.Pending:
		return ui.Cause{State: ui.Wait, Text: text.CallPending, Detail: LocalTimes(c.Message, zone)}
	}
	if c.EarlierWaits {
		return ui.Cause{State: ui.Held, Text: text.CallEarlier, Detail: text.RemedyEarlier}
	}
	if c.Message != "" {
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CallRetry, callText(c, zone))}
	}
	return ui.Cause{State: ui.Wait, Text: text.CallWaiting}
}
