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

// bodies returns the bodies of an order: the order itself, its deliveries, and its calls to the aggregator.
func (p Pages) bodies(c *fiber.Ctx, v *shell.PageContext) (link ui.Link, choice compare.Choice, err error) {
	id, record, err := p.get(c, v)
	if err != nil {
		return link, choice, err
	}
	found, err := p.Timeline.DeliveriesOfOrder(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return link, choice, err
	}
	calls, err := p.Timeline.CallsOfOrder(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return link, choice, err
	}
	choice.Bodies = append(choice.Bodies, compare.Static("payload", text.OrderPayload, record.Relay))
	revisions, err := p.revisionBodies(c.UserContext(), v, id)
	if err != nil {
		return link, choice, err
	}
	choice.Bodies = append(choice.Bodies, revisions...)
	choice.Bodies = append(choice.Bodies, deliveries.BodiesOf(v, p.Bodies, found)...)
	choice.Bodies = append(choice.Bodies, timeline.Bodies(calls, v.Zone)...)
	return ui.Link{Href: v.Link(fmt.Sprintf("orders/%d/", id)), Label: fmt.Sprintf(text.OrderTitle, id)}, choice, nil
}
