package deliveries

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// ResendSelected resends the selected deliveries, all or none. If some are order_placed events of orders in a final
// state, it first shows their number, and leaves them out unless the box is ticked.
func (p Pages) ResendSelected(c *fiber.Ctx, v *shell.PageContext) error {
	var ids []core.ID
	for _, raw := range shell.Fields(c, "id") {
		id, err := uuid.Parse(raw)
		if err != nil {
			return core.Errorf(core.NotFound, text.NotFound)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 || len(ids) > shell.PageSize {
		return core.Errorf(core.Invalid, text.ChooseSome)
	}
	selector := webhook.SelectIDs(ids)
	ids = selector.IDs
	selector.FinalOrders = webhook.OnlyFinalOrders
	final, err := p.Deliveries.SelectedIDs(c.UserContext(), v.Business.ID, selector)
	if err != nil {
		return err
	}
	change, done := v.Change(c, "delivery.retry"), "retried"
	if len(final) > 0 {
		included := shell.Field(c, finalBox) != ""
		if problem, confirmed := confirmFinal(c, len(ids), len(final)); !confirmed {
			return showSelected(c, v, ids, len(final), problem)
		}
		if !included {
			done = "retried_rest"
			ids = slices.DeleteFunc(ids, func(id core.ID) bool { return slices.Contains(final, id) })
		}
		change.After = map[string]any{}
		addFinal(change.After, len(final), included)
	}
	if err := p.resend(c, v, ids, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, listPath(c, v), done)
}

// confirmFinal reports whether the user has seen how many of n deliveries are of orders in a final state, and something
// is resent. Otherwise it says why nothing was, or "" if the form did not show the number.
func confirmFinal(c *fiber.Ctx, n, final int) (problem string, confirmed bool) {
	switch shown := shell.Field(c, "final"); {
	case shown == "":
		return "", false
	case shown != fmt.Sprint(final):
		return text.FinalChanged, false
	case n == final && shell.Field(c, finalBox) == "":
		return text.FinalOnly, false
	}
	return "", true
}

// showSelected asks to confirm the resend of selected deliveries. Some are of orders in a final state.
func showSelected(c *fiber.Ctx, v *shell.PageContext, ids []core.ID, final int, problem string) error {
	button := Snapshot{Count: len(ids), Final: final}.Button(v, v.Link("deliveries/retry/"), text.SelectedHelp)
	button.Hidden = []ui.Option{{Label: "final", Value: fmt.Sprint(final)}, {Label: "list", Value: listPath(c, v)}}
	for _, id := range ids {
		button.Hidden = append(button.Hidden, ui.Option{Label: "id", Value: id.String()})
	}
	head := shell.Head{Title: text.RetryChosen,
		Parent: ui.Link{Href: v.Link("deliveries/"), Label: text.Deliveries}}
	ShowChanged(c, &head, &button, problem)
	button.Reason = shell.Field(c, "why")
	return v.Show(c, head, ui.Confirm(button))
}

// listPath returns the path of the list in which deliveries were selected.
func listPath(c *fiber.Ctx, v *shell.PageContext) string {
	list := v.Link("deliveries/")
	if path := shell.Field(c, "list"); strings.HasPrefix(path, list+"?") {
		return path
	}
	return shell.ListPath(c, list)
}
