package history

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/menu"
)

// PreviewRollback shows what a rollback to a revision would change.
func (p Pages) PreviewRollback(c *fiber.Ctx, v *shell.PageContext) error {
	r, err := p.find(c, v)
	if err != nil {
		return err
	}
	preview, err := p.Menus.PreviewRollback(c.UserContext(), v.Business.ID, r.ID)
	if err != nil {
		return err
	}
	return p.showRollback(c, v, r, preview, "")
}

func (p Pages) showRollback(c *fiber.Ctx, v *shell.PageContext, r menu.Revision, preview menu.RollbackPreview,
	problem string) error {
	facts := []ui.Fact{{Label: text.RollbackTo,
		Cell: ui.Cell{Text: fmt.Sprintf(text.ChangeOf, kindLabels[r.Kind], v.At(time.UnixMilli(r.At)).Exact()),
			Href: revisionLink(v, r.ID)}},
		{Label: text.Actor, Cell: ui.T(cause.ActorLabel(r.Actor))},
		{Label: text.RollbackCount, Cell: ui.T(ui.Number(preview.Count()))}}
	for _, kind := range menu.Kinds() {
		if n := preview.Objects[kind]; n > 0 {
			cell := ui.T(ui.Number(n))
			if kind != menu.Taxes && kind != menu.Charges {
				cell.Note = names(preview.Names[kind], n)
			}
			facts = append(facts, ui.Fact{Label: entityLabel(kind.String()), Cell: cell})
		}
	}
	if preview.Timings > 0 {
		facts = append(facts, ui.Fact{Label: entityLabel(menu.TimingsEntity), Cell: ui.T(ui.Number(preview.Timings))})
	}
	button := ui.Button{Label: fmt.Sprintf(text.RollbackDo, ui.Count(preview.Count(), text.OneObject, text.Objects_)),
		Action: revisionLink(v, r.ID) + "rollback/", Token: v.Token(), ReasonLabel: text.Why, Help: text.RollbackSay,
		Hidden: []ui.Option{{Label: "latest", Value: preview.Latest.String()},
			{Label: "count", Value: fmt.Sprint(preview.Count())}}, Danger: true}
	head := shell.Head{Title: text.RollbackTitle, Parent: ui.Link{Href: v.Link("history/"), Label: text.History}}
	if problem != "" {
		c.Status(http.StatusConflict)
		button.Reason = shell.Field(c, "why")
		head.Causes = []ui.Cause{{State: ui.Warn, Text: problem}}
	}
	question := ui.Quiet(text.RollbackNone)
	if preview.Count() > 0 {
		question = ui.Confirm(button)
	}
	return v.Show(c, head, templ.Join(ui.FactsOf(facts), question))
}

// names joins the first names of n objects.
func names(list []string, n int) string {
	if len(list) > 0 && len(list) < n {
		list = append(slices.Clip(list), "…")
	}
	return strings.Join(list, ", ")
}

// QueueRollback queues the rollback if nothing has changed since its preview. Otherwise it shows a new preview.
func (p Pages) QueueRollback(c *fiber.Ctx, v *shell.PageContext) error {
	r, err := p.find(c, v)
	if err != nil {
		return err
	}
	preview, err := p.Menus.PreviewRollback(c.UserContext(), v.Business.ID, r.ID)
	if err != nil {
		return err
	}
	if shell.Field(c, "latest") != preview.Latest.String() || preview.Count() == 0 {
		return p.showRollback(c, v, r, preview,
			fmt.Sprintf(text.RollbackChanged, shell.Field(c, "count"), ui.Number(preview.Count())))
	}
	job := menu.RollbackJob(v.Business.ID, r.ID, v.Now)
	change := v.Change(c, "menu.rollback")
	change.After = map[string]any{"back_to": r.ID.String(), "objects": preview.Count()}
	if err := p.Queue.QueueJob(c.UserContext(), job, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("jobs/"+job.ID.String()+"/"), "back")
}
