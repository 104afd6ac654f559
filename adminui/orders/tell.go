package orders

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// endpointsRead is among how many webhooks those for orders are looked for.
const endpointsRead = 200

// tellButton sends an order of which nobody was told; nil where somebody was, where
// nobody would be told now either, or where the order is not of the present day.
func (p Pages) tellButton(ctx context.Context, v *shell.Visit, id int64, r order.Reading, told []webhook.DeliveryRecord) (*ui.Button, error) {
	if !ofToday(v, r) || slices.ContainsFunc(told, func(d webhook.DeliveryRecord) bool { return d.EventType == core.OrderPlaced }) {
		return nil, nil
	}
	webhooks, err := p.Records.Endpoints(ctx, v.Business.ID, 0, endpointsRead)
	if err != nil || !slices.ContainsFunc(webhooks, func(e console.Endpoint) bool { return e.Active && e.EventType == core.OrderPlaced }) {
		return nil, err
	}
	return &ui.Button{Label: text.TellOrder, Action: v.Link(fmt.Sprintf("orders/%d/tell/", id)), Ask: text.Why, Say: text.TellOrderSay}, nil
}

// ofToday tells whether the order is of the business's present day: only those are
// sent by an order retry (spec, Endpoint 4).
func ofToday(v *shell.Visit, r order.Reading) bool {
	day := func(at time.Time) string { return at.In(v.Zone).Format(time.DateOnly) }
	return day(time.UnixMilli(r.Order.Details.Created)) == day(v.Now)
}

// Tell has an order sent to the webhooks that are switched on for orders, as an order
// retry of the moment at which it was placed.
func (p Pages) Tell(c *fiber.Ctx, v *shell.Visit) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	reading, err := record.Read()
	if err != nil {
		return err
	}
	if !ofToday(v, reading) {
		return core.Errorf(core.Conflict, text.TellOrderLate)
	}
	placed := time.UnixMilli(reading.Order.Details.Created).UTC()
	retry := webhook.RetryRequest{Window: webhook.Window{From: placed, To: placed.Add(time.Millisecond)}}
	work, err := retry.Job(v.Business.ID, v.Now)
	if err != nil {
		return err
	}
	change := v.Change(c, "order.tell")
	change.After = map[string]any{"order": id}
	if err := p.Records.QueueJob(c.UserContext(), work, change); err != nil {
		return err
	}
	return shell.Then(c, v.Link(fmt.Sprintf("orders/%d/", id)), "retried")
}
