package cause

import (
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// deliveryCauses explains for each URL why it has not accepted the order, with a button to resend it.
func deliveryCauses(o OrderFacts, now time.Time, zone *time.Location) (causes []ui.Cause) {
	latest := latestDeliveries(o.Deliveries)
	if len(latest) == 0 && !o.Unnotified {
		return []ui.Cause{{State: ui.Neutral, Text: text.OrderDeliveriesGone}}
	}
	if len(latest) == 0 {
		c := ui.Cause{State: ui.Err, Text: text.CauseOrderNobody, Detail: text.RemedySubscribe, Button: o.NotifyButton}
		switch {
		case o.State == order.Cancelled:
			c.Detail, c.Button = "", nil
		case o.NotifyButton != nil:
			c.Detail = ""
		}
		return []ui.Cause{c}
	}
	var accepted time.Time
	confirmed, unaccepted := 0, []webhook.DeliveryRecord(nil)
	for _, d := range latest {
		switch {
		case d.State == webhook.Delivered:
			accepted = d.FinishedAt
			confirmed++
		case d.State == webhook.Pending && d.Attempts == d.AttemptsBeforeRestart: // first attempt pending
		default:
			unaccepted = append(unaccepted, d)
		}
	}
	if len(unaccepted) == 1 {
		causes = append(causes, o.unacceptedCause(unaccepted[0], len(latest), confirmed > 0, zone))
	} else if len(unaccepted) > 1 {
		causes = append(causes, o.unacceptedCauses(unaccepted, len(latest), confirmed, zone)...)
	}
	if o.State == order.Placed && o.Escalated != 0 {
		causes = append(causes, ui.Cause{State: ui.Err,
			Text: fmt.Sprintf(text.CauseOrderWaits, formatTime(time.UnixMilli(o.Escalated), zone))})
	} else if o.State == order.Placed && !accepted.IsZero() && now.Sub(accepted) >= slowAcknowledgement {
		causes = append(causes, ui.Cause{State: ui.Warn,
			Text: fmt.Sprintf(text.CauseOrderSilent, Moment(accepted, zone))})
	}
	return causes
}

// unacceptedCauses counts the servers that have not accepted the order, and says of each why.
func (o OrderFacts) unacceptedCauses(unaccepted []webhook.DeliveryRecord, servers, confirmed int,
	zone *time.Location) []ui.Cause {
	heading := ui.Cause{State: ui.Warn,
		Text: fmt.Sprintf(text.CauseOrderServers, confirmed, servers, len(unaccepted))}
	causes, mayResend := []ui.Cause{heading}, false
	for _, d := range unaccepted {
		c := o.serverCause(d, zone)
		if c.Text = fmt.Sprintf(text.CauseOrderServer, d.URL); o.State != order.Placed {
			c.State = ui.Warn
		}
		if c.State == ui.Err {
			causes[0].State = ui.Err
		}
		mayResend = mayResend || c.Button != nil
		causes = append(causes, c)
	}
	if o.State != order.Placed {
		causes[0].Text = fmt.Sprintf(text.CauseOrderOver, o.State, heading.Text)
		causes[0].Detail = o.laterRemedy(confirmed > 0, mayResend)
	}
	return causes
}

// unacceptedCause explains why a server has not accepted the order. Others may have accepted it.
func (o OrderFacts) unacceptedCause(d webhook.DeliveryRecord, servers int, accepted bool,
	zone *time.Location) ui.Cause {
	c, unreceived := o.serverCause(d, zone), fmt.Sprintf(text.CauseOrderUnreceived, d.URL)
	if maybeReceived(d) {
		unreceived = fmt.Sprintf(text.CauseOrderUnconfirmed, d.URL)
	} else if d.LastClass == webhook.Status {
		unreceived = fmt.Sprintf(text.CauseOrderUnaccepted, d.URL)
	}
	if o.State != order.Placed {
		c.State, c.Text = ui.Warn, fmt.Sprintf(text.CauseOrderOver, o.State, unreceived)
		if o.movedByMerchant() || accepted {
			c.Text = fmt.Sprintf(text.CauseOrderKnown, o.State, d.URL)
		}
		c.Detail = sentences(o.laterRemedy(accepted, c.Button != nil), c.Detail)
		return c
	}
	c.Text = unreceived
	if accepted {
		c.Text = fmt.Sprintf(text.CauseOrderPartly, servers, d.URL)
	}
	return c
}

// serverCause says why a server has not accepted the order, in its details, with a link and a button to resend it.
func (o OrderFacts) serverCause(d webhook.DeliveryRecord, zone *time.Location) ui.Cause {
	c, remedy := Delivery(d, zone), ""
	if d.State == webhook.Held {
		remedy = c.Detail
	}
	c.Detail = sentences(c.Text, remedy)
	if o.DeliveryLink != nil {
		c.Link = o.DeliveryLink(d)
	}
	if o.ResendButton != nil && o.State != order.Cancelled {
		c.Button = o.ResendButton(d)
	}
	return c
}

// laterRemedy returns what to do about a server without an order that is not new anymore.
func (o OrderFacts) laterRemedy(accepted, mayResend bool) string {
	switch {
	case o.State == order.Completed || o.State == order.Cancelled || !o.movedByMerchant() && !accepted:
		return text.RemedyOrderOver
	case mayResend:
		return text.RemedyOrderKnown + " " + text.RemedyOrderResend
	}
	return text.RemedyOrderKnown
}

// latestDeliveries returns the latest order_placed delivery of each webhook and URL.
func latestDeliveries(deliveries []webhook.DeliveryRecord) (latest []webhook.DeliveryRecord) {
	for _, d := range deliveries { // oldest first
		if d.EventType != core.OrderPlaced {
			continue
		}
		same := func(before webhook.DeliveryRecord) bool {
			return before.WebhookID == d.WebhookID && before.URL == d.URL
		}
		latest = append(slices.DeleteFunc(latest, same), d)
	}
	return latest
}
