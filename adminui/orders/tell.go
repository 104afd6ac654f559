package orders

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// endpointsRead is among how many webhooks those for orders are looked for.
const endpointsRead = 200

// tellButton sends an order of which nobody was told; nil where somebody was, where
// nobody would be told now either, or where the order is not of the present day.
func (p Pages) tellButton(ctx context.Context, v *shell.PageContext, id int64, r order.APIOrder,
	told []webhook.DeliveryRecord) (*ui.Button, error) {
	if !ofToday(v, r) || slices.ContainsFunc(told,
		func(d webhook.DeliveryRecord) bool { return d.EventType == core.OrderPlaced }) {
		return nil, nil
	}
	webhooks, err := p.Notifier.Endpoints(ctx, v.Business.ID, 0, endpointsRead)
	if err != nil || !slices.ContainsFunc(webhooks,
		func(e console.Endpoint) bool { return e.Active && e.EventType == core.OrderPlaced }) {
		return nil, err
	}
	return &ui.Button{Label: text.TellOrder, Action: v.Link(fmt.Sprintf("orders/%d/tell/", id)), Ask: text.Why,
		Say: text.TellOrderSay}, nil
}

// ofToday tells whether the order is of the business's present day: only those are
// sent by an order retry (spec, Endpoint 4).
func ofToday(v *shell.PageContext, r order.APIOrder) bool {
	day := func(at time.Time) string { return at.In(v.Zone).Format(time.DateOnly) }
	return day(time.UnixMilli(r.Order.Details.Created)) == day(v.Now)
}

// Tell has an order sent to the webhooks that are switched on for orders, as an order
// retry of the moment at which it was placed.
func (p Pages) Tell(c *fiber.Ctx, v *shell.PageContext) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	reading, err := record.ToAPI()
	if err != nil {
		return err
	}
	if !ofToday(v, reading) {
		return core.Errorf(core.Conflict, text.TellOrderLate)
	}
	placed := time.UnixMilli(reading.Order.Details.Created).UTC()
	change := v.Change(c, "order.tell")
	change.After = map[string]any{"order": id}
	if _, err := p.retry(c.UserContext(), v, placed, placed, change); err != nil {
		return err
	}
	return shell.Then(c, v.Link(fmt.Sprintf("orders/%d/", id)), "retried")
}

// retry queues an order retry of what was placed from one moment to another.
func (p Pages) retry(ctx context.Context, v *shell.PageContext, from, to time.Time,
	change access.Change) (core.ID, error) {
	retry := webhook.RetryRequest{TimeRange: webhook.TimeRange{From: from, To: to.Add(time.Millisecond)}}
	work, err := retry.Job(v.Business.ID, v.Now)
	if err != nil {
		return core.ID{}, err
	}
	return work.ID, p.Notifier.QueueJob(ctx, work, change)
}

// untold are the orders of the business's present day that nobody was told of; none
// where nobody would be told now either.
func (p Pages) untold(ctx context.Context, v *shell.PageContext) (console.Untold, error) {
	now := v.Now.In(v.Zone)
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, v.Zone)
	found, err := p.Notifier.UntoldOrders(ctx, []core.BusinessID{v.Business.ID}, today)
	if err != nil || len(found) == 0 || !found[0].Heard {
		return console.Untold{}, err
	}
	return found[0], nil
}

// tellButtons send all orders of the day that nobody was told of.
func (p Pages) tellButtons(ctx context.Context, v *shell.PageContext) ([]ui.Button, error) {
	untold, err := p.untold(ctx, v)
	if err != nil || untold.Count == 0 {
		return nil, err
	}
	return []ui.Button{{Label: text.TellOrders, Action: v.Link("orders/tell/"), Ask: text.Why,
		Say: fmt.Sprintf(text.TellSay, cause.Capped(untold.Count, text.OneOrder, text.Orders_),
			v.At(untold.First).Exact())}}, nil
}

// TellAll has the orders of the day sent of which nobody was told, by an order retry
// since the first of them.
func (p Pages) TellAll(c *fiber.Ctx, v *shell.PageContext) error {
	untold, err := p.untold(c.UserContext(), v)
	if err != nil {
		return err
	}
	if untold.Count == 0 {
		return core.Errorf(core.Conflict, text.TellNone)
	}
	change := v.Change(c, "order.tell")
	change.After = map[string]any{"count": untold.Count, "from": untold.First, "to": untold.Last}
	job, err := p.retry(c.UserContext(), v, untold.First, untold.Last, change)
	if err != nil {
		return err
	}
	return shell.Then(c, v.Link("jobs/"+job.String()+"/"), "again")
}
