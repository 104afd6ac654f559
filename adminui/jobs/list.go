package jobs

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/checklist"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/job"
)

// read reads a page of the list, or searches.
func (p Pages) read(ctx context.Context, v *shell.PageContext, f filter) ([]console.Job, shell.Searched, error) {
	f.Limit = v.Limit()
	f.Before, _ = uuid.Parse(v.Query.Get("before"))
	if f.text == "" {
		found, err := p.Jobs.ListJobs(ctx, v.Business.ID, f.JobFilter)
		return found, shell.Searched{}, err
	}
	f.Limit = v.SearchLimit()
	found, progress, err := p.Jobs.SearchJobs(ctx, v.Business.ID, f.JobFilter, f.text)
	return found, shell.Searched{Rows: progress.Searched, Until: progress.Last.CreatedAt,
		Cursor: progress.Last.Reference.String(), Done: progress.Done, Oldest: f.Oldest}, err
}

// List shows the jobs of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f, err := parseFilter(v.Query.Get, v.Now, v.Zone)
	if err != nil {
		return err
	}
	found, searched, err := p.read(c.UserContext(), v, f)
	if err != nil {
		return err
	}
	list := Table(v, found)
	list.Filters = []ui.Filter{{Name: "kind", Label: text.Kind, Value: f.Kind, Options: kindOptions},
		{Name: "state", Label: text.State, Value: f.State, Options: stateOptions},
		{Name: "about", Label: text.Subject, Value: f.Subject, Hint: text.StoreRefHint},
		{Name: "text", Label: text.TextInJob, Value: f.text, Hint: text.TextInHint}}
	f.times.AddTo(&list, v, text.Created, shell.AnyTime)
	list.Sorts, list.Sort = shell.TimeSorts("created"), v.Query.Get("sort")
	if f.text != "" {
		v.ShowProgress(&list, searched, f.times)
	}
	week, err := p.Jobs.FailureWeek(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Jobs, Note: text.JobsNote, Live: f.text == ""}
	if week.Days >= checklist.PersistentDays {
		warning := cause.FailureWeek(week)
		if f.State != console.WithFailures {
			warning.Link = ui.Link{Href: v.Link("jobs/?state=" + console.WithFailures), Label: text.ActSeeRequests}
		}
		head.Causes = append(head.Causes, warning)
	}
	return v.ShowList(c, head, list, "before")
}

// Table lists jobs.
func Table(v *shell.PageContext, found []console.Job) ui.List {
	list := ui.List{Name: text.Jobs, EmptyTitle: text.NoJobsTitle, EmptyText: text.NoJobsText, Columns: []ui.Column{
		{Label: text.Kind}, {Label: text.State, Key: "state"}, {Label: text.Subject, Kind: ui.Wide, Key: "subject"},
		{Label: text.Objects, Kind: ui.Figure, Key: "objects"}, {Label: text.Errors, Kind: ui.Figure, Key: "errors"},
		{Label: text.Created, Key: "created"}, {Label: text.Took, Kind: ui.Figure, Key: "took"},
		{Label: text.Reference_, Key: "reference"}, {Label: text.Finished, Key: "finished", Extra: true},
		{Label: text.Attempts, Kind: ui.Figure, Key: "attempts", Extra: true},
		{Label: text.JobError, Kind: ui.Wide, Key: "error", Extra: true}}}
	for _, j := range found {
		href := v.Link("jobs/" + j.Reference.String() + "/")
		kind := ui.LinkCell(optionLabel(kindOptions, string(j.Kind)), href)
		if j.DryRun {
			kind.Note = text.DryRun
		}
		state, words := stateOf(j)
		objects, failures, took := "", "", ""
		if j.Total > 0 {
			objects = ui.Number(j.Total)
			if j.State == string(job.Running) {
				objects = ui.Number(j.Done) + " / " + objects
			}
		}
		_, orders := cause.RetriedOrders(j)
		_, deliveries := cause.MissedDeliveries(j)
		if n := job.FailedObjects(j.Result) + orders + deliveries; n > 0 {
			failures = ui.Number(n)
		}
		if !j.FinishedAt.IsZero() && !j.StartedAt.IsZero() {
			took = ui.Took(j.FinishedAt.Sub(j.StartedAt))
		}
		list.AddAt(j.Reference.String(), kind, ui.StateCell(state, words), ui.T(subject(j.Subject)),
			ui.T(objects), ui.T(failures),
			ui.TimeCell(v.At(j.CreatedAt)), ui.T(took), ui.Cell{Text: j.Reference.String(), Href: href, Code: true},
			ui.TimeCell(v.At(j.FinishedAt)), ui.T(ui.Number(j.Attempts)), ui.T(j.Error))
	}
	return list
}
