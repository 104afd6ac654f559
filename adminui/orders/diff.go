package orders

import (
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
)

// choice returns the bodies of an order: the order itself, its deliveries, and its calls to the aggregator.
func (p Pages) choice(c *fiber.Ctx, v *shell.PageContext) (int64, compare.Choice, error) {
	var choice compare.Choice
	id, record, err := p.get(c, v)
	if err != nil {
		return id, choice, err
	}
	found, err := p.Timeline.DeliveriesOfOrder(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return id, choice, err
	}
	calls, err := p.Timeline.CallsOfOrder(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return id, choice, err
	}
	choice.Bodies = append(choice.Bodies, compare.Static("payload", text.OrderPayload, record.Relay))
	choice.Bodies = append(choice.Bodies, deliveries.BodiesOf(v, p.Bodies, found)...)
	choice.Bodies = append(choice.Bodies, timeline.Bodies(calls, v.Zone)...)
	return id, choice, nil
}

// Diff compares two bodies of an order.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	id, choice, err := p.choice(c, v)
	if err != nil {
		return err
	}
	return choice.Show(c, v, shell.Head{Title: text.DiffTitle,
		Parent: ui.Link{Href: v.Link(fmt.Sprintf("orders/%d/", id)), Label: fmt.Sprintf(text.OrderTitle, id)}})
}

// Body downloads a body of an order.
func (p Pages) Body(c *fiber.Ctx, v *shell.PageContext) error {
	_, choice, err := p.choice(c, v)
	if err != nil {
		return err
	}
	return choice.Send(c, c.Params("key"))
}
