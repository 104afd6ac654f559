package stores

import (
	"fmt"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// choice returns the bodies of the calls about a store, and the ref_id of the store.
func (p Pages) choice(c *fiber.Ctx, v *shell.PageContext) (ref string, choice compare.Choice, err error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return "", choice, core.Errorf(core.NotFound, text.NotFound)
	}
	if ref, _, err = p.Lister.StoreRef(c.UserContext(), v.Business.ID, id); err != nil {
		return "", choice, err
	}
	calls, err := p.Timeline.CallsOfStore(c.UserContext(), v.Business.ID, id, callsShown)
	choice.Bodies = timeline.Bodies(calls, v.Zone)
	return ref, choice, err
}

// Diff compares two bodies of calls about a store.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	ref, choice, err := p.choice(c, v)
	if err != nil {
		return err
	}
	return choice.Show(c, v, shell.Head{Title: text.DiffTitle,
		Parent: ui.Link{Href: v.Link(fmt.Sprintf("stores/%s/", c.Params("id"))), Label: ref}})
}

// Body downloads a body of a call about a store.
func (p Pages) Body(c *fiber.Ctx, v *shell.PageContext) error {
	_, choice, err := p.choice(c, v)
	if err != nil {
		return err
	}
	return choice.Send(c, c.Params("key"))
}
