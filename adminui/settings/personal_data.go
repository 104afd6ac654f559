package settings

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/customer"
)

// PersonalData reads and changes for how long a business keeps personal data.
type PersonalData interface {
	PersonalDataRetention(ctx context.Context, business core.BusinessID) (customer.Retention, error)
	SetPersonalDataRetention(ctx context.Context, business core.BusinessID, from, to customer.Retention,
		change access.Change) error
}

// personalDataFact returns for how long the business keeps personal data.
func personalDataFact(keep customer.Retention) ui.Fact {
	words := text.KeepPersonalDataOff
	if keep > 0 {
		words = ui.Count(int(keep), text.KeepPersonalDataOne, text.KeepPersonalDataAll)
	}
	return ui.Fact{Label: text.KeepPersonalData, Cell: ui.T(words)}
}

// personalDataButton returns the button that changes for how long the business keeps personal data.
func personalDataButton(v *shell.PageContext, keep customer.Retention) ui.Button {
	return ui.Button{Label: text.KeepPersonalDataAct, Action: v.Link("settings/personal-data/"), ReasonLabel: text.Why,
		Help: text.KeepPersonalDataSay, Hidden: []ui.Option{{Label: "from", Value: keep.String()}},
		Fields: []ui.Filter{{Name: "keep", Label: text.KeepPersonalDataIn, Value: keep.String()}}, Danger: true}
}

// KeepPersonalData sets for how long the business keeps personal data.
func (p Pages) KeepPersonalData(c *fiber.Ctx, v *shell.PageContext) error {
	from, err := customer.ParseRetention(shell.Field(c, "from"))
	if err != nil {
		return core.Errorf(core.Invalid, text.FormOld)
	}
	keep, err := customer.ParseRetention(shell.Field(c, "keep"))
	if err == nil {
		err = p.PersonalData.SetPersonalDataRetention(c.UserContext(), v.Business.ID, from, keep,
			v.Change(c, "business.personal_data"))
	}
	if err != nil {
		return v.Redisplay(c, err, v.Link("settings/"), p.List)
	}
	return shell.RedirectDone(c, v.Link("settings/"), "stored")
}
