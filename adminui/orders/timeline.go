package orders

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// orderView is the view model of an order.
type orderView struct {
	facts      []ui.Fact
	timeline   *timeline.Timeline
	switches   *timeline.Timeline // of the store and its menu, around that time
	receipt    ui.List
	path       ui.Map
	payload    ui.Payload
	payloadURL string
}

// timelineOf arranges the events of an order by time.
func timelineOf(v *shell.PageContext, r order.Relay, o cause.OrderFacts, repeated map[core.ID]string,
	bodies string) *timeline.Timeline {
	line := timeline.New(v, bodies)
	for i, step := range o.History {
		line.Add(time.UnixMilli(step.At),
			timeline.Entry{State: cause.OrderColour(string(step.State)), Title: string(step.State),
				Words: stepText(r, step, o.History[0].Actor, i == 0),
				Note:  ui.JoinNonEmpty(" ", cause.StepItems(step, o.Titles), cause.StepMessage(step))})
	}
	for _, flag := range o.Flags {
		line.Add(time.UnixMilli(r.Order.Details.Created),
			timeline.Entry{State: ui.Warn, Title: text.FlagTitle,
				Words: cause.Flag(flag, v.Business.Currency),
				Note:  fmt.Sprintf(text.FlagField, flag.Path)})
	}
	for _, ride := range o.Rides {
		line.Add(time.UnixMilli(ride.At), timeline.Entry{State: ui.Run,
			Title: text.Rider + ": " + cause.RiderLabel(ride.Status),
			Words: rideText(ride), Note: strings.TrimSpace(ride.Name + " " + ride.Phone)})
	}
	for _, d := range o.Deliveries {
		status := cause.Delivery(d, v.Zone)
		status.Text = cmp.Or(repeated[d.ID], status.Text)
		line.Add(d.CreatedAt, timeline.Entry{State: status.State,
			Title: fmt.Sprintf(text.EventOf, d.EventType), Words: eventText(v, d, status.Text),
			Note: d.URL, Href: v.Link("deliveries/" + d.ID.String() + "/")})
	}
	for _, call := range o.Calls {
		line.AddCall(call)
	}
	addRepeats(line, o)
	addFollowUps(line, o.FollowUps)
	addRevisions(line, o.Revisions, v.Business.Currency)
	return line
}

// addRepeats adds to the timeline when the order was repeated with other content.
func addRepeats(line *timeline.Timeline, o cause.OrderFacts) {
	for _, r := range o.Repeats {
		entry := timeline.Entry{State: ui.Warn, Title: text.SentAgain, Note: r.Differences,
			Words: fmt.Sprintf(text.SentAgainWords, cause.RepeatActor(r, o.PlacedBy()))}
		if r.Times > 1 {
			entry.Note = fmt.Sprintf(text.SentAgainTimes, r.Differences, ui.Number(r.Times))
		}
		line.Add(r.Last, entry)
	}
}

// repeatedDeliveries describes the deliveries with several attempts, which the server may have accepted several times.
func (p Pages) repeatedDeliveries(ctx context.Context, v *shell.PageContext,
	list []webhook.DeliveryRecord) (map[core.ID]string, error) {
	texts := map[core.ID]string{}
	for _, d := range list {
		if d.State != webhook.Delivered || d.Attempts < 2 || len(texts) == maxResends {
			continue
		}
		_, attempts, err := p.Deliveries.Get(ctx, v.Business.ID, d.ID)
		if err != nil && core.CodeOf(err) != core.NotFound { // it may have expired meanwhile
			return nil, err
		}
		described, _ := cause.DeliveryWithAttempts(d, attempts, v.Zone)
		texts[d.ID] = described.Text
	}
	return texts, nil
}

// eventText adds to the state of a delivery when it ended, if that was a minute or more after the event.
func eventText(v *shell.PageContext, d webhook.DeliveryRecord, words string) string {
	if d.FinishedAt.Sub(d.CreatedAt) >= time.Minute {
		words += " " + fmt.Sprintf(text.EventEnded, cause.Moment(d.FinishedAt, v.Zone))
	}
	if d.State == webhook.Delivered && d.Attempts > 1 {
		words += " " + text.EventRepeated
	}
	return words
}

// maxResends limits how many resends the timeline shows.
const maxResends = 20

// addResends adds to the timeline who resent deliveries of the order.
func (p Pages) addResends(ctx context.Context, v *shell.PageContext, list []webhook.DeliveryRecord,
	line *timeline.Timeline) error {
	objects, events := []string{}, map[string]core.EventType{}
	for _, d := range list {
		object := deliveries.AuditObject(d.ID)
		objects, events[object] = append(objects, object), d.EventType
	}
	entries, err := p.Timeline.Audit(ctx, v.Business.ID, console.EntryFilter{Objects: objects, Limit: maxResends})
	for _, e := range entries {
		line.Add(e.At, timeline.Entry{State: ui.Run, Title: fmt.Sprintf(text.Resent_,
			fmt.Sprintf(text.EventOf, events[e.Object])),
			Words: fmt.Sprintf(text.MovedBy, cause.ActorName(e.Actor)),
			Note:  deliveries.AuditReason(e, v.Zone), Href: v.Link("audit/" + e.ID.String() + "/")})
	}
	return err
}

func stepText(r order.Relay, step order.Step, placedBy string, first bool) string {
	words := fmt.Sprintf(text.MovedBy, cause.StepActor(step, placedBy))
	if first {
		for _, platform := range r.Order.Details.Platforms {
			words = fmt.Sprintf(text.PlacedBy, cause.StepActor(step, placedBy), platform.ID, platform.Name)
			if step.Actor == "platform:"+platform.Name {
				words = fmt.Sprintf(text.PlacedByPlatform, platform.Name, platform.ID)
			}
		}
	}
	if reason := cause.StepReason(step); reason != "" {
		words += " " + reason
	}
	if step.PrepMinutes != nil {
		words += " " + fmt.Sprintf(text.ReadyIn, *step.PrepMinutes)
	}
	return words
}
