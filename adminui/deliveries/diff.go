package deliveries

import (
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// Diff compares the body of a delivery with the previous body that the webhook received for the same object.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	d, _, err := p.get(c, v)
	if err != nil {
		return err
	}
	body, err := p.Bodies.EventBody(c.UserContext(), v.Business.ID, d.EventID)
	if err != nil {
		return err
	}
	page := v.Link("deliveries/" + d.ID.String() + "/")
	head := shell.Head{Title: text.DiffTitle, Note: string(d.EventType),
		Parent: ui.Link{Href: page, Label: d.ID.String()}}
	previous, before, err := p.Bodies.PreviousBody(c.UserContext(), v.Business.ID, d)
	if core.CodeOf(err) == core.NotFound {
		return v.Show(c, head, ui.DiffOf(ui.Diff{Problem: text.DiffNoBefore}))
	}
	if err != nil {
		return err
	}
	head.Links = []ui.Link{{Href: v.Link("deliveries/" + previous.String() + "/"),
		Label: text.Delivery + " " + v.At(core.TimeOf(previous)).Exact()}}
	return v.Show(c, head,
		ui.DiffOf(ui.Compare(ui.Diff{Before: fmt.Sprintf(text.DiffEarlier, v.At(core.TimeOf(previous)).Exact()),
			After: fmt.Sprintf(text.DiffThis, v.At(d.CreatedAt).Exact())}, before, body, text.DiffTooLarge,
			text.DiffTooMany)))
}
