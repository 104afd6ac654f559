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
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// OrderFacts is the input of Order.
type OrderFacts struct {
	State      order.State
	Unnotified bool  // no webhook has received it
	Escalated  int64 // when it became overdue, in epoch milliseconds; 0: never
	History    []order.Step
	Rides      order.RiderHistory
	Flags      []order.Flag
	Currency   string            // of the business
	Titles     map[string]string // OrderTitles
	Deliveries []webhook.DeliveryRecord
	Calls      []console.Call
	Repeats    []console.OrderRepeat
	FollowUps  []console.OrderFollowUp
	Revisions  []console.OrderRevision
	// DeliveryLink links a delivery, and ResendButton resends it; nil: not allowed.
	DeliveryLink func(webhook.DeliveryRecord) ui.Link
	ResendButton func(webhook.DeliveryRecord) *ui.Button
	// PluginLink links a plugin; nil: no link.
	PluginLink func(id string) ui.Link
	// NotifyButton sends an order that no webhook received to the current ones; nil: not possible.
	NotifyButton *ui.Button
}

// movedByMerchant reports whether the merchant has acted on the order. A channel may also complete or cancel it.
func (o OrderFacts) movedByMerchant() bool {
	return slices.ContainsFunc(o.History, func(s order.Step) bool {
		return s.State != order.Placed && s.State != order.Completed && s.State != order.Cancelled
	})
}

// slowAcknowledgement is when a delivered but unacknowledged order becomes a warning.
const slowAcknowledgement = 5 * time.Minute

// Order explains the state of an order and its rider, then its problems, most severe first.
func Order(o OrderFacts, now time.Time, zone *time.Location) []ui.Cause {
	causes := []ui.Cause{currentState(o, zone)}
	causes = append(causes, deliveryCauses(o, now, zone)...)
	for _, r := range o.Repeats {
		causes = append(causes, o.repeatCause(r, zone))
	}
	causes = append(causes, o.callCauses(zone)...)
	if n := len(o.Flags); n > 0 {
		causes = append(causes, ui.Cause{State: ui.Warn,
			Text:   fmt.Sprintf(text.CauseFlags, ui.Count(n, text.OneWarning, text.Warnings_)),
			Detail: Flag(o.Flags[0], o.Currency)})
	}
	return causes
}

// repeatCause explains a repeat with other content. It needs no action once the order has ended.
func (o OrderFacts) repeatCause(r console.OrderRepeat, zone *time.Location) ui.Cause {
	kept := text.SentAgainKept
	if slices.ContainsFunc(o.Deliveries, func(d webhook.DeliveryRecord) bool {
		return d.EventType == core.OrderPlaced && d.State == webhook.Delivered
	}) {
		kept = text.SentAgainDelivered
	}
	asked := text.PlatformSupport
	if strings.HasPrefix(r.Actor, "key:") && r.Actor == o.PlacedBy() {
		asked = text.ChannelDeveloper
	}
	c := ui.Cause{State: ui.Warn, Detail: fmt.Sprintf(text.RemedySentAgain, asked, r.Differences),
		Text: fmt.Sprintf(text.CauseSentAgain, Moment(r.Last, zone), RepeatActor(r, o.PlacedBy()), kept)}
	if o.State == order.Completed || o.State == order.Cancelled {
		c.State = ui.Neutral
	}
	return c
}

func currentState(o OrderFacts, zone *time.Location) ui.Cause {
	last := order.Step{State: o.State}
	if n := len(o.History); n > 0 {
		last = o.History[n-1]
	}
	c := ui.Cause{State: OrderColour(string(o.State)),
		Text:   fmt.Sprintf(text.CauseOrder, o.State, Moment(time.UnixMilli(last.At), zone)),
		Detail: ui.JoinNonEmpty(" ", StepItems(last, o.Titles), StepReason(last), StepMessage(last))}
	if last.Actor != "" {
		c.Text = fmt.Sprintf(text.CauseOrderBy, o.State, Moment(time.UnixMilli(last.At), zone),
			StepActor(last, o.PlacedBy()))
	}
	if n := len(o.Rides); n > 0 && RiderStateLabel(o.State, o.Rides[n-1].Status) == "" {
		if o.State == order.Completed {
			c.Text += " " + text.RiderUnreported
		}
	} else if n > 0 {
		ride := o.Rides[n-1]
		c.Text += " " + fmt.Sprintf(RiderText(ride.Status), riderName(ride.Rider),
			Moment(time.UnixMilli(ride.At), zone))
	}
	return c
}

// PlacedBy returns the actor that placed the order.
func (o OrderFacts) PlacedBy() string {
	if len(o.History) == 0 {
		return ""
	}
	return o.History[0].Actor
}

// StepMessage quotes the message of a step, or returns "" if it has none.
func StepMessage(s order.Step) string {
	if s.Message == "" {
		return ""
	}
	return fmt.Sprintf(text.CauseMessage, strings.TrimSuffix(s.Message, "."))
}

// StepReason returns the reason code of a step in words, as a sentence, or "" if it has none.
func StepReason(s order.Step) string {
	if s.ReasonCode == "" {
		return ""
	}
	return fmt.Sprintf(text.CauseReason, strings.ReplaceAll(strings.TrimSuffix(s.ReasonCode, "."), "_", " "))
}

// Flag describes a warning of an order in a sentence, with amounts in the currency of the business.
func Flag(f order.Flag, currency string) string {
	words := fieldLabel(f.Path)
	if f.Sent == nil || f.Computed == nil {
		return words + ": " + f.Message + "."
	}
	sent, computed := ui.Price(f.Sent.String(), currency), ui.Price(f.Computed.String(), currency)
	switch {
	case f.Code == order.BelowMinimum:
		return fmt.Sprintf(text.FlagMinimum, sent, computed)
	case f.Code == order.Exceeds:
		return fmt.Sprintf(text.FlagExceeds, sent, computed)
	case strings.HasSuffix(f.Path, ".price"):
		return fmt.Sprintf(text.FlagPrice, words, sent, computed)
	default:
		return fmt.Sprintf(text.FlagDiffers, words, sent, computed)
	}
}

// arrayElement matches an array index in a path.
var arrayElement = regexp.MustCompile(`s\[(\d+)\]`)

// fieldLabel converts a path to words: items[0].price becomes "Item 1, price".
func fieldLabel(path string) string {
	path = arrayElement.ReplaceAllStringFunc(path, func(s string) string {
		n, _ := strconv.Atoi(s[2 : len(s)-1]) // cannot fail: the pattern matches digits
		return " " + strconv.Itoa(n+1)
	})
	path = strings.ReplaceAll(strings.ReplaceAll(path, ".", ", "), "_", " ")
	return Capital(path)
}

// Capital begins a label with a capital letter.
func Capital(label string) string {
	if label == "" {
		return ""
	}
	return strings.ToUpper(label[:1]) + label[1:]
}

// ActorName describes an actor.
func ActorName(actor string) string {
	kind, name, _ := strings.Cut(actor, ":")
	switch kind {
	case "key":
		return fmt.Sprintf(text.WhoKey, name)
	case "platform":
		return fmt.Sprintf(text.WhoPlatform, name)
	case "user":
		return name
	}
	switch actor {
	case "hub":
		return text.WhoHub
	case "cli":
		return text.WhoCLI
	}
	return actor
}

// ActorLabel is ActorName without an article, for a table.
func ActorLabel(actor string) string { return strings.TrimPrefix(ActorName(actor), "the ") }

// StepActor describes who moved an order, which placedBy had placed. A platform also cancels for the customer. An
// API key that places orders belongs to a website or app.
func StepActor(s order.Step, placedBy string) string {
	if name, found := strings.CutPrefix(s.Actor, "key:"); found && s.Actor == placedBy {
		if s.State == order.Cancelled {
			return fmt.Sprintf(text.WhoShopCustomer, name)
		}
		return fmt.Sprintf(text.WhoChannel, name)
	}
	if platform, found := strings.CutPrefix(s.Actor, "platform:"); found && s.State == order.Cancelled {
		return fmt.Sprintf(text.WhoCustomer, platform)
	}
	return ActorName(s.Actor)
}

// RepeatActor describes who repeated an order, which placedBy had placed.
func RepeatActor(r console.OrderRepeat, placedBy string) string {
	return StepActor(order.Step{State: order.Placed, Actor: r.Actor}, placedBy)
}

// OrderColour returns the badge colour of an order state.
func OrderColour(s string) ui.State {
	switch order.State(s) {
	case order.Completed:
		return ui.OK
	case order.Cancelled:
		return ui.Off
	default:
		return ui.Run
	}
}

func riderName(r order.Rider) string {
	if r.Name == "" {
		return text.TheRider
	}
	return fmt.Sprintf(text.TheRiderNamed, r.Name)
}

var riderTexts = map[order.RiderStatus]string{
	order.Assigned: text.RiderAssigned, order.Unassigned: text.RiderUnassigned, order.AtStore: text.RiderAtStore,
	order.OutForDelivery: text.RiderOut,
	order.RiderReached:   text.RiderReached, order.Delivered: text.RiderDelivered, order.NoRiderFound: text.RiderNone,
}

// RiderText returns the sentence of a rider status, a format for the rider and the time.
func RiderText(s order.RiderStatus) string {
	if words, known := riderTexts[s]; known {
		return words
	}
	return "%s: " + string(s) + " %s."
}

var riderLabels = map[order.RiderStatus]string{
	order.Assigned: text.RiderIsAssigned, order.Unassigned: text.RiderIsUnassigned, order.AtStore: text.RiderIsAtStore,
	order.OutForDelivery: text.RiderIsOut, order.RiderReached: text.RiderHasReached,
	order.Delivered: text.RiderHasDelivered, order.NoRiderFound: text.RiderIsNone,
}

// RiderLabel returns a rider status in words.
func RiderLabel(s order.RiderStatus) string { return cmp.Or(riderLabels[s], string(s)) }

// RiderStateLabel returns the last rider status of an order in words. It is "" for a finished order, unless the rider
// delivered it.
func RiderStateLabel(state order.State, last order.RiderStatus) string {
	if (state == order.Completed || state == order.Cancelled) && last != order.Delivered {
		return ""
	}
	return RiderLabel(last)
}
