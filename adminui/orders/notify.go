package orders

import (
	"context"
	"fmt"
	"net/url"
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

// maxEndpoints limits how many webhooks are read.
const maxEndpoints = 200

// notifyButton sends an order that no webhook received. It is nil if one has received it, if no webhook is active,
// or if an order retry would not send the order.
func (p Pages) notifyButton(ctx context.Context, v *shell.PageContext, id int64, r order.APIOrder,
	sent []webhook.DeliveryRecord) (*ui.Button, error) {
	if !isToday(v, r) || r.State == order.Cancelled || slices.ContainsFunc(sent,
		func(d webhook.DeliveryRecord) bool { return d.EventType == core.OrderPlaced }) {
		return nil, nil
	}
	webhooks, err := p.Notifier.Endpoints(ctx, v.Business.ID, 0, maxEndpoints)
	if err != nil || !slices.ContainsFunc(webhooks,
		func(e console.Endpoint) bool { return e.Active && e.EventType == core.OrderPlaced }) {
		return nil, err
	}
	return &ui.Button{Label: text.SendOrder, Action: v.Link(fmt.Sprintf("orders/%d/send/", id)), ReasonLabel: text.Why,
		Help: text.SendOrderHelp}, nil
}

// isToday reports whether the order was placed on the current day of the business. An order retry sends no others.
func isToday(v *shell.PageContext, r order.APIOrder) bool {
	now := v.LocalNow()
	placed := time.UnixMilli(r.Order.Details.Created).In(now.Location())
	return placed.Format(time.DateOnly) == now.Format(time.DateOnly)
}

// Notify sends an order to the active order webhooks, as an order retry of its creation time.
func (p Pages) Notify(c *fiber.Ctx, v *shell.PageContext) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	apiOrder, err := record.ToAPI()
	if err != nil {
		return err
	}
	if !isToday(v, apiOrder) {
		return core.Errorf(core.Conflict, text.SendOrderLate)
	}
	if apiOrder.State == order.Cancelled {
		return core.Errorf(core.Conflict, text.SendOrderCancelled)
	}
	placed := time.UnixMilli(apiOrder.Order.Details.Created).UTC()
	change := v.Change(c, "order.send")
	change.After = map[string]any{"order": id}
	if _, err := p.queueRetry(c.UserContext(), v, placed, placed, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link(fmt.Sprintf("orders/%d/", id)), "retried")
}

// queueRetry queues an order retry for orders placed in [from, to].
func (p Pages) queueRetry(ctx context.Context, v *shell.PageContext, from, to time.Time,
	change access.Change) (core.ID, error) {
	retry := webhook.RetryRequest{TimeRange: webhook.TimeRange{From: from, To: to.Add(time.Millisecond)}}
	job, err := retry.Job(v.Business.ID, v.Now)
	if err != nil {
		return core.ID{}, err
	}
	return job.ID, p.Notifier.QueueJob(ctx, job, change)
}

// unnotified returns today's orders that no webhook received. It is zero if no webhook is active now.
func (p Pages) unnotified(ctx context.Context, v *shell.PageContext) (console.UnnotifiedOrders, error) {
	now := v.LocalNow()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	found, err := p.Notifier.UnnotifiedOrders(ctx, []core.BusinessID{v.Business.ID}, today)
	if err != nil || len(found) == 0 || !found[0].HasWebhook {
		return console.UnnotifiedOrders{}, err
	}
	return found[0], nil
}

// notifyAllButtons sends all of today's orders that no webhook received.
func (p Pages) notifyAllButtons(ctx context.Context, v *shell.PageContext) ([]ui.Button, error) {
	pending, err := p.unnotified(ctx, v)
	if err != nil || pending.Count == 0 {
		return nil, err
	}
	return []ui.Button{{Label: text.SendOrders, Action: v.Link("orders/send/"), ReasonLabel: text.Why,
		Help: fmt.Sprintf(text.SendOrdersHelp, cause.CappedCount(pending.Count, text.OneOrder, text.Orders_),
			v.At(pending.First).Exact()), Hidden: []ui.Option{{Label: "count", Value: fmt.Sprint(pending.Count)}}}}, nil
}

// NotifyAll sends today's orders that no webhook received, as an order retry from the first to the last. If their
// number is not the one that the form has shown, it shows the new one instead.
func (p Pages) NotifyAll(c *fiber.Ctx, v *shell.PageContext) error {
	pending, err := p.unnotified(c.UserContext(), v)
	if err != nil {
		return err
	}
	if pending.Count == 0 {
		return core.Errorf(core.Conflict, text.SendOrdersNone)
	}
	if counted := shell.Field(c, "count"); counted != fmt.Sprint(pending.Count) {
		v.Query = url.Values{"state": {Unnotified}}
		return v.Redisplay(c, core.Errorf(core.Conflict, text.SendOrdersOld, counted,
			cause.CappedNumber(pending.Count)), v.Link("orders/"), p.List)
	}
	change := v.Change(c, "order.send")
	change.After = map[string]any{"count": pending.Count, "from": pending.First, "to": pending.Last}
	job, err := p.queueRetry(c.UserContext(), v, pending.First, pending.Last, change)
	if err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("jobs/"+job.String()+"/"), "queued")
}
