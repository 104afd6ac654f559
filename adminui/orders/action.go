package orders

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
)

// Actions lists and requests the feature actions of orders.
type Actions interface {
	Possible(ctx context.Context, business core.BusinessID, platform string, orderID int64) ([]action.Offer, error)
	SubmitChange(ctx context.Context, platform string, r action.Request, change access.Change) (core.ID, error)
}

// actionButtons returns a button for each action that the order allows, with a field for each parameter.
func (p Pages) actionButtons(ctx context.Context, v *shell.PageContext, id int64,
	platform string) (buttons []ui.Button, err error) {
	offers, err := p.Actions.Possible(ctx, v.Business.ID, platform, id)
	for _, offer := range offers {
		help := text.ActionHelp
		if offer.SendsEvent {
			help = text.ActionEventHelp
		}
		button := ui.Button{Label: cmp.Or(offer.Title, offer.Name), ReasonLabel: text.Why,
			Action: v.Link(fmt.Sprintf("orders/%d/action/%s/", id, offer.Name)), Help: fmt.Sprintf(help, platform)}
		for _, field := range ui.SchemaFields(offer.Schema) {
			button.Fields = append(button.Fields, field.Input())
		}
		buttons = append(buttons, button)
	}
	return buttons, err
}

// RequestAction requests a feature action from the platform of an order.
func (p Pages) RequestAction(c *fiber.Ctx, v *shell.PageContext) error {
	id, record, err := p.get(c, v)
	if err != nil {
		return err
	}
	page := v.Link(fmt.Sprintf("orders/%d/", id))
	if err := p.requestAction(c, v, id, record.Platform); err != nil {
		return v.Redisplay(c, err, page, p.One)
	}
	return shell.RedirectDone(c, page, "action")
}

func (p Pages) requestAction(c *fiber.Ctx, v *shell.PageContext, id int64, platform string) error {
	offers, err := p.Actions.Possible(c.UserContext(), v.Business.ID, platform, id)
	if err != nil {
		return err
	}
	for _, offer := range offers {
		if offer.Name != c.Params("action") {
			continue
		}
		parameters := ui.SchemaObject(offer.Schema, func(name string) string { return shell.Field(c, name) })
		request, err := decodeAction(offer.Name, id, parameters)
		if err != nil {
			return err
		}
		change := v.Change(c, "order.action")
		change.After = map[string]any{"order": id, "action": offer.Name}
		_, err = p.Actions.SubmitChange(c.UserContext(), platform, request, change)
		return err
	}
	return core.Errorf(core.Conflict, text.ActionImpossible)
}

// decodeAction decodes an action like a request to the API. The parameters of a specified action are fields of the
// request.
func decodeAction(name string, id int64, parameters jsontext.Value) (action.Request, error) {
	request := map[string]jsontext.Value{}
	if action.IsSpecified(name) {
		if err := json.Unmarshal(parameters, &request); err != nil {
			return action.Request{}, err
		}
	} else {
		request["parameters"] = parameters
	}
	request["action"], request["order_id"] = jsontext.Value(fmt.Sprintf("%q", name)), jsontext.Value(fmt.Sprint(id))
	body, err := json.Marshal(request, json.Deterministic(true))
	if err != nil {
		return action.Request{}, err
	}
	return action.Decode(body)
}
