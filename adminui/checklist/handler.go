// Package checklist shows the progress of the first integration of a business and its next steps.
package checklist

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/checklist"
)

// Reader reads the facts that the steps depend on.
type Reader interface {
	Facts(ctx context.Context, business core.BusinessID) (checklist.Facts, error)
}

// Pages is the checklist page.
type Pages struct {
	Facts   Reader
	BaseURL string // public URL of the hub; "": taken from the request
}

// Page describes the page.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "checklist/"
	return shell.Page{Path: path, Label: text.Checklist,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.Show),
		}}
}

// Show shows the steps with the commands for the open ones.
func (p Pages) Show(c *fiber.Ctx, v *shell.PageContext) error {
	facts, err := p.Facts.Facts(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	steps := checklist.Steps(facts, cmp.Or(p.BaseURL, c.BaseURL()))
	list := ui.List{Name: text.Checklist, Columns: []ui.Column{{Label: text.Step, Kind: ui.Wide}, {Label: text.State}}}
	head := shell.Head{Title: text.Checklist, Note: fmt.Sprintf(text.ChecklistDone, checklist.Done(steps), len(steps)),
		Live: true}
	for _, step := range steps {
		state, words := ui.Neutral, text.StepOpen
		switch {
		case step.Done:
			state, words = ui.OK, text.StepDone
		case step.Reference != uuid.UUID{}:
			state, words = ui.Err, text.StepWrong
			head.Causes = append(head.Causes, ui.Cause{State: ui.Err, Text: step.Next,
				Link: ui.Link{Href: v.Link("jobs/" + step.Reference.String() + "/"), Label: text.StepJob}})
		}
		list.Add(ui.T(step.Title), ui.StateCell(state, words))
	}
	return v.Show(c, head, page(list, steps))
}
