package deliveries

import (
	"context"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// maxCompared limits how many deliveries of the same thing can be selected for a comparison.
const maxCompared = 30

// thisBody is the key of the body of the delivery itself.
const thisBody = "this"

// BodyKey returns the key of the body of a delivery in a comparison.
func BodyKey(id core.ID) string { return "delivery-" + id.String() }

// BodiesOf returns the bodies of deliveries, for comparison.
func BodiesOf(v *shell.PageContext, bodies EventBodies, found []webhook.DeliveryRecord) []compare.Body {
	list := make([]compare.Body, len(found))
	for i, d := range found {
		list[i] = compare.Body{Key: BodyKey(d.ID), Label: fmt.Sprintf(text.DiffEvent, d.EventType, target(d),
			cause.Moment(d.CreatedAt, v.Zone)), Read: func(ctx context.Context) ([]byte, error) {
			return bodies.EventBody(ctx, v.Business.ID, d.EventID)
		}}
	}
	return list
}

// target names the webhook of a delivery, or its URL if it has none.
func target(d webhook.DeliveryRecord) string {
	if d.WebhookID == 0 {
		return d.URL
	}
	return fmt.Sprintf(text.DiffWebhook, d.WebhookID)
}

// Diff compares the body of a delivery with the previous body that the webhook received for the same object. The user
// may select other deliveries of the same thing, and the responses to the attempts.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	d, attempts, err := p.get(c, v)
	if err != nil {
		return err
	}
	read := func(ctx context.Context) ([]byte, error) { return p.Bodies.EventBody(ctx, v.Business.ID, d.EventID) }
	if _, err := read(c.UserContext()); err != nil {
		return err
	}
	page := v.Link("deliveries/" + d.ID.String() + "/")
	head := shell.Head{Title: text.DiffTitle, Note: string(d.EventType),
		Parent: ui.Link{Href: page, Label: d.ID.String()}}
	choice := compare.Choice{After: thisBody, Bodies: []compare.Body{{Key: thisBody,
		Label: fmt.Sprintf(text.DiffThis, v.At(d.CreatedAt).Exact()), Read: read}}}
	previous, before, err := p.previous(c.UserContext(), v, d)
	if err != nil {
		return err
	}
	if before != nil {
		choice.Before = BodyKey(previous)
		choice.Bodies = append(choice.Bodies, compare.Static(choice.Before, fmt.Sprintf(text.DiffEarlier,
			v.At(core.TimeOf(previous)).Exact()), before))
		head.Links = []ui.Link{{Href: v.Link("deliveries/" + previous.String() + "/"),
			Label: text.Delivery + " " + v.At(core.TimeOf(previous)).Exact()}}
	} else if d.WebhookID != 0 {
		choice.Missing = text.DiffNoBefore
	}
	related, err := p.related(c.UserContext(), v, d)
	if err != nil {
		return err
	}
	for _, body := range BodiesOf(v, p.Bodies, related) {
		if body.Key != BodyKey(d.ID) && body.Key != choice.Before {
			choice.Bodies = append(choice.Bodies, body)
		}
	}
	for _, a := range attempts {
		if len(a.ResponseBody) > 0 {
			choice.Bodies = append(choice.Bodies, compare.Static(fmt.Sprintf("response-%d", a.N),
				fmt.Sprintf(text.DiffResponse, a.N), a.ResponseBody))
		}
	}
	return choice.Show(c, v, head)
}

// previous returns the previous delivery for the same object and its body. The body is nil if there is none.
func (p Pages) previous(ctx context.Context, v *shell.PageContext, d webhook.DeliveryRecord) (core.ID, []byte, error) {
	if d.WebhookID == 0 {
		return core.ID{}, nil, nil
	}
	previous, body, err := p.Bodies.PreviousBody(ctx, v.Business.ID, d)
	if core.CodeOf(err) == core.NotFound {
		return core.ID{}, nil, nil
	}
	return previous, body, err
}

// related returns the deliveries of the same order or request. Without either, it returns the latest deliveries of the
// same event to the same webhook.
func (p Pages) related(ctx context.Context, v *shell.PageContext,
	d webhook.DeliveryRecord) ([]webhook.DeliveryRecord, error) {
	filter := webhook.Filter{OrderID: d.OrderID, Reference: d.Reference, Limit: maxCompared}
	if d.OrderID != 0 {
		filter.Reference = ""
	} else if d.Reference == "" {
		filter.WebhookID, filter.EventType = d.WebhookID, d.EventType
	}
	return p.Deliveries.List(ctx, v.Business.ID, filter)
}
