package jobs

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
	"github.com/servery-hub/servery/core/console"
)

// maxComparedBody limits, in bytes, the bodies whose submitted objects are compared.
const maxComparedBody = 4 << 20

// Keys of the bodies of a job in a comparison.
const requestBody, callbackBody = "request", "callback"

// hasComparison reports whether there is a body to compare the request of a job with.
func hasComparison(j console.JobDetail) bool {
	return (j.Kind == core.StoreJob || j.Kind == core.MenuJob) &&
		(outcomeOf(j) != nil || len(j.Repeats) > 0 || j.RepeatOf != core.ID{})
}

// outcomeOf returns the callback of a job, or the result of a dry run, which has no callback.
func outcomeOf(j console.JobDetail) []byte {
	if j.DryRun {
		return j.Result
	}
	return j.Outcome
}

// Diff compares the request with the outcome. The user may select those of other runs of the same request.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	j, err := p.detail(c, v)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.DiffTitle, Note: text.DiffJobNote,
		Parent: ui.Link{Href: v.Link("jobs/" + j.Reference.String() + "/"),
			Label: optionLabel(kindOptions, string(j.Kind))}}
	choice := compare.Choice{Before: requestBody, Bodies: []compare.Body{
		{Key: requestBody, Label: text.DiffSent, Read: submitted(j.Request)}}}
	if outcomeOf(j) != nil {
		choice.After = callbackBody
		choice.Bodies = append(choice.Bodies,
			compare.Body{Key: callbackBody, Label: text.DiffGot, Read: submitted(outcomeOf(j))})
	}
	for _, run := range append(j.Repeats, j.RepeatOf) {
		if run != (core.ID{}) {
			choice.Bodies = append(choice.Bodies, p.bodiesOfRun(v, run)...)
		}
	}
	return choice.Show(c, v, head)
}

// submitted returns a function that returns the submitted objects of a body, or the body if it is too large to compare.
func submitted(body []byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		switch {
		case body == nil:
			return nil, core.Errorf(core.NotFound, text.BodyGone)
		case len(body) > maxComparedBody:
			return body, nil
		default:
			return console.Submitted(body), nil
		}
	}
}

// bodiesOfRun returns the bodies of another run of the same request.
func (p Pages) bodiesOfRun(v *shell.PageContext, run core.ID) (list []compare.Body) {
	for _, part := range []struct {
		key, label string
		body       func(console.JobDetail) []byte
	}{{requestBody, text.DiffSent, func(j console.JobDetail) []byte { return j.Request }},
		{callbackBody, text.DiffGot, outcomeOf}} {
		list = append(list, compare.Body{Key: "run-" + run.String() + "-" + part.key,
			Label: fmt.Sprintf(text.DiffRun, part.label, cause.Moment(core.TimeOf(run), v.Zone)),
			Read: func(ctx context.Context) ([]byte, error) {
				j, err := p.Jobs.Job(ctx, v.Business.ID, run)
				if err != nil {
					return nil, err
				}
				return submitted(part.body(j))(ctx)
			}})
	}
	return list
}
